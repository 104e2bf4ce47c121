"""What only time shows: an instance that beats stays as it is, and one whose process was killed turns unhealthy and vanishes."""

import threading
import time

from process import Failure

LOOK_S = 0.25
#: After kill -9, seen by the server's list: the last beat was up to 5 s earlier, and the server looks every 5 s.
UNHEALTHY_S = (9, 22)
GONE_S = (24, 37)


class Watch:
    """Asks the server again and again, over HTTP, whether a service is exactly as expected."""

    def __init__(self, server, group, service, expected, look_s=LOOK_S):
        self.look_s = look_s
        self.server = server
        self.where = (group, service)
        self.expected = expected
        self.began = time.monotonic()
        self.looks = 0
        self.problem = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.wait(self.look_s) and not self.problem:
            seconds = time.monotonic() - self.began
            try:
                seen = self.server.http_list(*self.where)
            except Failure as failure:
                self.problem = f"after {seconds:.1f} s: {failure}"
                return
            self.looks += 1
            if seen != self.expected:
                self.problem = f"after {seconds:.1f} s expected {self.expected}\n  seen: {seen}"

    def end(self, at_least_s):
        """Waits until it has looked for so long, and says how long that was."""
        self.over.wait(max(0, self.began + at_least_s - time.monotonic()))
        self.stop()
        if self.problem:
            raise Failure(f"{self.where} did not stay as it was: {self.problem}")
        if self.looks < at_least_s:
            raise Failure(f"only {self.looks} looks at {self.where} in {at_least_s} s")
        return f"{time.monotonic() - self.began:.0f} s"

    def stop(self):
        self.over.set()
        self.thread.join()


def watch_decay(server, group, service, instances, deadline_s):
    """For each of these instances of killed processes: after how many seconds the server shows it as unhealthy, and no more."""
    began = time.monotonic()
    unhealthy, gone = {}, {}
    while len(gone) < len(instances):
        seconds = time.monotonic() - began
        if seconds > deadline_s:
            raise Failure(f"after {deadline_s} s {server.name} still shows {service} as {server.http_list(group, service)}")
        shown = {(one["ip"], one["port"]): one["healthy"] for one in server.http_list(group, service)}
        for instance in instances:
            address = (instance["ip"], instance["port"])
            if address not in shown:
                gone.setdefault(address, seconds)
            elif not shown[address]:
                unhealthy.setdefault(address, seconds)
        time.sleep(LOOK_S)
    return unhealthy, gone


def judge_decay(address, unhealthy, gone):
    """A text with both times, or a failure."""
    first, last = unhealthy.get(address), gone[address]
    if first is None or not UNHEALTHY_S[0] <= first <= UNHEALTHY_S[1] or not GONE_S[0] <= last <= GONE_S[1]:
        seen = f"unhealthy after {'no time' if first is None else f'{first:.1f} s'}, gone after {last:.1f} s"
        raise Failure(f"{address} of a killed process: expected unhealthy within {UNHEALTHY_S} s and gone within {GONE_S} s\n  seen: {seen}")
    return f"{first:.0f}, {last:.0f} s"
