"""Shows that the checks can fail: a wrong field, an error that was not expected, and an expected one that did not come. Run before everything else."""

import contextlib
import io

from beats import Watch, judge_decay
from http_user import JSON, TEXT, right
from mall import judge_shares
from process import CommandError, Failure, NoEvent
from scenarios import equal
from spring import CONNECTIONS, expect_order, judge_losses, look
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
#: Who answered 1000 calls of instances with the weights 1 and 3; 14 is one standard deviation.
SHARES = [({"a": 250, "b": 750}, True), ({"a": 185, "b": 815}, True), ({"a": 175, "b": 825}, False), ({"b": 1000}, False), ({"a": 250, "b": 749, "c": 1}, False)]
#: Lost calls: of ours that read, of ours that write, of Spring's.
LOSSES = [((0, 0, 0), True), ((0, CONNECTIONS, 9), True), ((1, 0, 0), False), ((0, CONNECTIONS + 1, 0), False)]
LEFT = {"clean": True, "steps": ["hook before", "deregister", "propagate", "drain", "close"]}
OTHER_ENDS = [None, {**LEFT, "clean": False}, {**LEFT, "steps": ["drain", "deregister", "propagate", "close"]}, {**LEFT, "steps": ["deregister", "drain", "close"]}]
HOST = {
    "ip": "127.0.0.1", "port": 80, "clusterName": "c1", "weight": 1.0, "metadata": {}, "instanceId": "127.0.0.1#80#c1#g@@s", "healthy": True, "ephemeral": True,
}
ALIKE = [{"port": 81, "instanceId": "127.0.0.1#81#c1#g@@s"}, {"clusterName": "c2", "instanceId": "127.0.0.1#80#c2#g@@s"}, {"weight": 2.0, "metadata": {"k": "v"}}]
UNLIKE = [{"ephemeral": False}, {"more": 1}, {"instanceId": ""}, {"instanceId": "127.0.0.1#82#c1#g@@s"}]


class Leaver:
    """An application that told how it left."""

    name = "leaver"

    def __init__(self, told):
        self.told = told

    def event(self, _name):
        return self.told

    def tail(self, _lines):
        return ""


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
    for answers, good in SHARES:
        assert fails(lambda answers=answers: judge_shares(answers, {"a": 1.0, "b": 3.0})) != good, f"the shares {answers}"
    for lost, good in LOSSES:
        counts = {name: {"answers": {}, "failures": {"refused": count}} for name, count in zip(("GET", "POST", "Spring"), lost)}
        assert fails(lambda counts=counts: judge_losses(counts)) != good, f"the losses {counts}"
    assert not fails(lambda: expect_order(Leaver(LEFT))), "an orderly end must pass"
    assert all(fails(lambda told=told: expect_order(Leaver(told))) for told in OTHER_ENDS), "any other end must not"
    assert all(look({**HOST, **one}) == look(HOST) for one in ALIKE), "what is an instance's own must not matter"
    assert all(look({**HOST, **one}) != look(HOST) for one in UNLIKE), "all else must"
