"""Shows that the checks can fail: a wrong field, an error that was not expected, and an expected one that did not come. Run before everything else."""

import contextlib
import io

from beats import Watch, judge_decay
from http_user import JSON, TEXT, right
from process import CommandError, Failure, NoEvent
from scenarios import equal
from table import Table

ENTRY = {"peers": ["pe*"], "server": "old", "scenario": "batch", "error": "Not Found", "reason": "too old"}
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
    ("old", NoEvent("Not Found by an event"), "unsupported"),
    ("new", NoEvent("Not Found by an event"), "FAIL"),
    ("old", Failure("Not Found"), "FAIL"),
    ("old", "three, then two", "FAIL"),
]
ANSWER = (200, JSON, {"count": 1, "hosts": [{"ip": "a"}, {"ip": "b"}]})
SEEN = '{"lastRefTime":1,"count":1,"hosts":[{"ip":"b"},{"ip":"a"}]}'
WRONG_ANSWERS = [
    (400, JSON, SEEN), (200, TEXT, SEEN), (200, None, SEEN), (200, JSON, SEEN.replace('"count":1', '"count":2')), (200, JSON, SEEN.replace('"b"', '"c"')),
    (200, JSON, '{"count":1}'), (200, JSON, "ok"),
]


ADDRESS = ("127.0.0.1", 80)
#: Seconds until a killed instance was unhealthy and gone.
DECAYS = [((17, 32), True), ((None, 32), False), ((2, 32), False), ((17, 18), False), ((17, 50), False), ((30, 32), False)]


class Flapping:
    """Shows an instance, and after a few looks another state of it."""

    def __init__(self, *later):
        self.lists = iter([[INSTANCE]] * 3 + list(later))

    def http_list(self, _group, _service):
        return next(self.lists, [INSTANCE])


def fails(work):
    try:
        work()
    except Failure:
        return True
    return False


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
    assert Table([ENTRY]).entry("other", "old", "batch") is None, "an entry must count for its peers alone"
    assert right(*ANSWER, 200, JSON, SEEN), "times and the order of instances must not matter"
    for wrong in WRONG_ANSWERS:
        assert not right(*ANSWER, *wrong), f"the answer {wrong} must not pass"
    assert right(200, TEXT, "ok", 200, TEXT, "ok") and not right(200, TEXT, "ok", 200, TEXT, "OK"), "a text must be the same"
    assert right(200, JSON, {"a"}, 200, JSON, '{"a":1}') and not right(200, JSON, {"a"}, 200, JSON, '{"a":1,"b":1}'), "keys must be the same"
    for (unhealthy, gone), good in DECAYS:
        first = {} if unhealthy is None else {ADDRESS: unhealthy}
        assert fails(lambda first=first, gone=gone: judge_decay(ADDRESS, first, {ADDRESS: gone})) != good, f"unhealthy {unhealthy} s, gone {gone} s"
    watches = [Watch(Flapping(*later), "g", "s", [INSTANCE], look_s=0.001) for later in ([], [[]], [[{**INSTANCE, "healthy": False}]])]
    seen = [fails(lambda watch=watch: watch.end(0.1)) for watch in watches]
    assert seen == [False, True, True], f"one look without the instance, or with an unhealthy one, must show: {seen}"
