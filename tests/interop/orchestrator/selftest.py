"""Shows that the checks can fail: a wrong field, an error that was not expected, and an expected one that did not come. Run before everything else."""

import contextlib
import io

from process import CommandError, Failure
from scenarios import equal
from table import Table

ENTRY = {"peer": "*", "server": "old", "scenario": "batch", "error": "Not Found", "reason": "too old"}
INSTANCE = {
    "ip": "127.0.0.1", "port": 80, "weight": 1.5, "healthy": True, "enabled": True, "ephemeral": True,
    "cluster": "c1", "metadata": {"k": "v"},
}
OTHER_VALUES = {
    "ip": "127.0.0.2", "port": 81, "weight": 1.0, "healthy": False, "enabled": False, "ephemeral": False,
    "cluster": "c2", "metadata": {},
}
OUTCOMES = [
    ("new", "three, then two", "pass"),
    ("new", CommandError("Not Found"), "FAIL"),
    ("new", Failure("seen: []"), "FAIL"),
    ("old", CommandError("302 Not Found"), "unsupported"),
    ("old", CommandError("broken pipe"), "FAIL"),
    ("old", Failure("Not Found"), "FAIL"),
    ("old", "three, then two", "FAIL"),
]


def selftest():
    same = equal([INSTANCE, {**INSTANCE, "port": 82}])
    assert same([{**INSTANCE, "port": 82}, dict(INSTANCE)]), "the order of a list must not matter"
    assert not same([INSTANCE]) and not same([INSTANCE] * 2) and not same([]), "a missing instance must not pass"
    for field, value in OTHER_VALUES.items():
        assert not equal([INSTANCE])([{**INSTANCE, field: value}]), f"another {field} must not pass"
    for server, outcome, expected in OUTCOMES:
        table = Table([ENTRY])
        with contextlib.redirect_stdout(io.StringIO()):
            table.put("peer", server, "batch", outcome)
        cell = table.cells["peer", server, "batch"][0]
        assert cell == expected, f"{outcome!r} on {server} must be {expected}, is {cell}"
        assert bool(table.failed()) == (expected == "FAIL")
