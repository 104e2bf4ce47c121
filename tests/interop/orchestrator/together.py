"""The scenarios of all peers of one server together: everyone sees everyone, the server dies and comes back empty, providers die, all leave."""

import threading
import time
import traceback

from beats import judge_decay, watch_decay
from process import CommandError, Failure, wait_until
from scenarios import GROUP, SEEN_S, equal, expect_driver_list, expect_protocol, expect_server_list

CROSS_GROUP = "DEFAULT_GROUP"
CROSS = "cross"
#: A server may answer over HTTP before it does over gRPC: a client that chose HTTP for that looks again after a minute.
GRPC_AGAIN_S = 100
DECAY_S = 60


def for_each(pairs, work):
    """Calls work(pair) for all pairs at once and returns name → text or exception."""
    results = {}

    def one(pair):
        try:
            results[pair.name] = work(pair)
        except (Failure, CommandError) as problem:
            results[pair.name] = problem
        except Exception:  # A fault of this program or an answer of unknown shape: it must show, not vanish with the thread.
            results[pair.name] = Failure(traceback.format_exc())

    threads = [threading.Thread(target=one, args=(pair,), daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def offered(pair):
    """What this peer's provider has in the common service."""
    fields = {"peer": pair.name, "change": str(pair.cross_changes)}
    return pair.instance(60, cluster=f"cluster-{pair.number}", weight=pair.number + 0.25, metadata=fields)


def kept(pair):
    """What this peer's consumer has in the common service, so that it is never empty."""
    return pair.instance(61, cluster="keepers", metadata={"peer": pair.name})


def everything(pairs):
    return [one for pair in pairs for one in (offered(pair), kept(pair))]


def offer(pair):
    pair.provider.call("register", service=CROSS, group=CROSS_GROUP, instance=offered(pair))


def subscribe_all(pairs):
    def work(pair):
        pair.consumer.call("subscribe", service=CROSS, group=CROSS_GROUP)
        pair.consumer.call("register", service=CROSS, group=CROSS_GROUP, instance=kept(pair))
        offer(pair)

    return for_each(pairs, work)


def expect_latest(pair, expected, deadline_s=None):
    """The newest event of the common service (not just any) has exactly these; where an SDK has no event for an update, these addresses."""
    def probe():
        seen = pair.consumer.latest(CROSS)
        if seen is None or pair.peer.hears_updates:
            return seen is not None and equal(expected)(seen), seen
        return addresses(seen) == addresses(expected), seen

    wait_until(f"{pair.consumer.name} was told that {CROSS} is {expected}", deadline_s or pair.peer.seen_s, probe, pair.consumer.tail)


def addresses(instances):
    return sorted((one["ip"], one["port"], one["cluster"]) for one in instances)


def expect_among(server, wanted, deadline_s):
    """The server's own list of the common service has these, whatever else it has."""
    def probe():
        seen = server.http_list(CROSS_GROUP, CROSS)
        return all(one in seen for one in wanted), seen

    wait_until(f"{server.name} lists in {CROSS} {wanted}", deadline_s, probe, server.tail)


def cross(pairs, live):
    """Every consumer is told of, and lists, the instances of all peers."""
    started = subscribe_all(live)
    expected = everything(live)

    def work(pair):
        problem = started[pair.name]
        if isinstance(problem, Exception):
            raise problem
        expect_latest(pair, expected)
        expect_driver_list(pair.consumer, CROSS, expected, group=CROSS_GROUP)
        expect_driver_list(pair.consumer, CROSS, [offered(pairs[0])], group=CROSS_GROUP, clusters=[offered(pairs[0])["cluster"]])
        return f"{len(expected)} seen"

    return for_each(live, work)


def restart(server, live):
    """kill -9 of the server; it comes back empty on the same ports, and every SDK must restore what it had."""
    forgotten = live[0].instance(70)
    server.http_register(GROUP, "by-http", forgotten)
    server.kill()
    began = time.monotonic()
    server.start()
    again = time.monotonic()
    if server.http_list(GROUP, "by-http"):
        raise Failure(f"{server.name} still has an instance of before its restart: it did not start empty")

    old = everything(live)

    def back(pair):
        for service, instances in pair.holds.items():
            expect_server_list(pair, service, instances, server.restart_s)
        own = [offered(pair), kept(pair)]
        expect_among(server, own, server.restart_s)
        seconds = time.monotonic() - again
        expect_server_list(pair, CROSS, old, server.restart_s, CROSS_GROUP)
        return seconds

    returned = for_each(live, back)

    # Then a change of each provider: every subscription must work again, too.
    for pair in live:
        pair.cross_changes += 1
    changed = for_each(live, change_after_restart)
    expected = everything(live)

    def work(pair):
        for earlier in (returned[pair.name], changed[pair.name]):
            if isinstance(earlier, Exception):
                raise earlier
        expect_driver_list(pair.consumer, CROSS, expected, server.restart_s, group=CROSS_GROUP)
        expect_latest(pair, expected, server.restart_s)
        if pair.peer.tells_status:
            expect_protocol(pair, GRPC_AGAIN_S)
        return f"{returned[pair.name]:.1f} s"

    results = for_each(live, work)
    print(f"  {server.name}: was down for {again - began:.1f} s", flush=True)
    return results


def change_after_restart(pair):
    """A register while an SDK is still reconnecting may fail: tried until the deadline, as an application would."""
    def probe():
        try:
            offer(pair)
            return True, "registered"
        except CommandError as error:
            return False, f"error {error}"

    wait_until(f"{pair.provider.name} registers again after the restart", pair.server.restart_s, probe, pair.provider.tail)


def kill_providers(server, live):
    """kill -9 of every provider; every consumer must be told that its instance is gone, and only that."""
    connected = [pair for pair in live if not pair.beats]
    beating = [pair for pair in live if pair.beats]
    results = kill_connected(connected, beating, live)
    results.update(kill_beating(server, beating, live))
    return results


def kill_connected(victims, others, live):
    """Those that hold a connection, one after the other: it ends with them. Who polls is asked at the end."""
    results = {}
    remaining = list(victims)
    told_at_once = [pair for pair in live if not pair.peer.polls]
    for victim in victims:
        remaining.remove(victim)
        expected = [offered(pair) for pair in remaining + others] + [kept(pair) for pair in live]
        killed = time.monotonic()
        victim.provider.kill()
        audience = told_at_once if remaining else live

        def told(pair, expected=expected, killed=killed):
            expect_latest(pair, expected)
            return time.monotonic() - killed

        seen = for_each(audience, told)
        problems = [f"{name}: {problem}" for name, problem in seen.items() if isinstance(problem, Exception)]
        problems += left_of(victim, SEEN_S)
        at_once = [seen[pair.name] for pair in told_at_once]
        results[victim.name] = Failure("\n".join(problems)) if problems else f"{max(at_once) * 1000:.0f} ms"
    return results


def left_of(victim, deadline_s):
    """What the server still lists of the killed provider's other services, as problems."""
    try:
        for service in victim.held_by_provider():
            expect_server_list(victim, service, [], deadline_s)
    except Failure as failure:
        return [str(failure)]
    return []


def kill_beating(server, victims, live):
    """Those that beat, all at once: their instances turn unhealthy and vanish later, and every consumer is told of both."""
    if not victims:
        return {}
    gone_wrong = {}
    lost = [offered(pair) for pair in victims]
    marks = {pair.name: pair.consumer.mark(CROSS) for pair in live}
    for victim in victims:
        victim.provider.kill()

    def told(pair):
        expect_latest(pair, [kept(one) for one in live], DECAY_S)
        if pair.peer.hears_updates:
            expect_sick(pair, lost, marks[pair.name])

    def audience():
        gone_wrong.update({name: problem for name, problem in for_each(live, told).items() if isinstance(problem, Exception)})

    listeners = threading.Thread(target=audience, daemon=True)
    listeners.start()
    unhealthy, gone = watch_decay(server, CROSS_GROUP, CROSS, lost, DECAY_S)
    listeners.join()

    def judged(victim):
        instance = offered(victim)
        said = judge_decay((instance["ip"], instance["port"]), unhealthy, gone)
        problems = [f"{name}: {problem}" for name, problem in gone_wrong.items()] + left_of(victim, SEEN_S)
        if problems:
            raise Failure("\n".join(problems))
        return said

    return for_each(victims, judged)


def expect_sick(pair, instances, mark):
    """Each of these was in some list as unhealthy before it vanished."""
    heard = pair.consumer.heard(CROSS, mark)
    for instance in instances:
        sick = {**instance, "healthy": False}
        if not any(sick in known for known in heard):
            raise Failure(f"{pair.consumer.name} was never told of {sick}\n  its lists: {heard}{pair.consumer.tail()}")


def leave(server, live):
    """Every consumer ends in its SDK's own way; nothing of it stays on the server."""
    def work(pair):
        pair.consumer.call("exit")
        pair.consumer.process.wait(20)

        def probe():
            seen = [one for one in server.http_list(CROSS_GROUP, CROSS) if one["metadata"].get("peer") == pair.name]
            return not seen, seen

        wait_until(f"nothing of {pair.name} is left in {CROSS}", SEEN_S, probe, server.tail)
        return "nothing left"

    return for_each(live, work)
