"""The table of results, and the rule for cells in which an error is right."""

import fnmatch
import re
import threading

from process import CommandError, NoEvent


COLUMNS = 9


class Table:
    """What became of each peer × server × scenario."""

    def __init__(self, unsupported):
        self.unsupported = unsupported
        self.cells = {}
        self.lock = threading.Lock()

    def entry(self, peer, server, scenario):
        for one in self.unsupported:
            if one["scenario"] == scenario and one["server"] in ("*", server) and any(fnmatch.fnmatch(peer, name) for name in one["peers"]):
                return one
        return None

    def put(self, peer, server, scenario, outcome):
        """outcome: a text (passed) or the exception that ended the scenario."""
        entry = self.entry(peer, server, scenario)
        if not isinstance(outcome, Exception):
            if entry:
                cell = ("FAIL", f"passed, though unsupported.json expects the error {entry['error']!r}: the entry is no longer needed")
            else:
                cell = ("pass", outcome or "")
        elif entry and isinstance(outcome, (CommandError, NoEvent)) and re.search(entry["error"], str(outcome)):
            cell = ("unsupported", f"{outcome}: {entry['reason']}")
        else:
            cell = ("FAIL", str(outcome) or repr(outcome))
        with self.lock:
            self.cells[peer, server, scenario] = cell
            mark = "" if cell[0] == "pass" else f" {cell[0]}"
            print(f"  {peer}@{server}: {scenario}{mark}: {cell[1]}", flush=True)

    def failed(self):
        return [key for key, cell in self.cells.items() if cell[0] == "FAIL"]

    def show(self, scenarios, columns):
        """As many columns side by side as a wide terminal takes."""
        for first in range(0, len(columns), COLUMNS):
            self._show(scenarios, columns[first:first + COLUMNS])

    def _show(self, scenarios, columns):
        left = max(len(scenario) for scenario in scenarios) + 2
        widths = [max(len(peer), len(server) + 2, len("pass 10 names")) for peer, server in columns]
        rows = [("", [peer for peer, _ in columns]), ("", [f"@ {server}" for _, server in columns])]
        for scenario in scenarios:
            cells = [self.cells.get((peer, server, scenario), ("-", "")) for peer, server in columns]
            if all(state == "-" for state, _ in cells):
                continue
            # A short note, such as the time a push took, has its place in the table.
            rows.append((scenario, [f"{state} {note}" if state == "pass" and 0 < len(note) <= 8 else state for state, note in cells]))
        print()
        for title, texts in rows:
            print(title.ljust(left) + "  ".join(text.ljust(width) for text, width in zip(texts, widths)).rstrip())
