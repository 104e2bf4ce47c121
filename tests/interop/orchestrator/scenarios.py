"""The scenarios of one peer alone. Each asserts the whole content of what is seen: ip, port, weight, flags, cluster, metadata."""

import socket
import statistics
import time

from beats import Watch
from process import CommandError, Failure, NoEvent, wait_until

GROUP = "interop"
SEEN_S = 10
#: For what is registered over HTTP and does not beat: it stays healthy, or not, for ten minutes.
LASTING = {"preserved.heart.beat.timeout": "600000", "preserved.ip.delete.timeout": "600000"}


class Pair:
    """A peer at work: one driver that provides and one that consumes, on services of their own."""

    def __init__(self, peer, number, server):
        self.peer = peer
        self.name = peer.name
        self.number = number
        self.server = server
        self.provider = None
        self.consumer = None
        #: The applications of a peer that is a framework.
        self.mall = None
        self.cross_changes = 0
        #: Starts one more driver of this peer, by its role and what is added to its environment.
        self.begin = None
        #: A look at the first service, kept up as long as the other scenarios take.
        self.watch = None
        #: Service → instances that this peer's processes leave registered after a scenario: what a restart must bring back.
        self.holds = {}

    def drivers(self):
        return [driver for driver in (self.provider, self.consumer) if driver]

    @property
    def beats(self):
        """Whether its instances live by beats, as they do over HTTP."""
        return self.peer.protocol == "http" or not self.server.grpc

    def held_by_provider(self):
        """The services of `holds` that live and die with the provider; in the push scenario the consumer holds the keeper."""
        return [service for service in self.holds if service != self.service("push")]

    def service(self, topic):
        return f"{topic}-{self.name}"

    def instance(self, last, **fields):
        """An instance of this peer's own address range; the fields that a scenario does not name are unlike every default."""
        plain = {
            "ip": f"127.0.{self.number}.{last}", "port": 9000 + last, "weight": 1.5, "healthy": True, "enabled": True,
            "ephemeral": True, "cluster": "c1", "metadata": {"peer": self.name, "greeting": "grüße, 世界"},
        }
        return {**plain, **fields}


def ordered(instances):
    return sorted(instances, key=lambda one: (one["ip"], one["port"], one["cluster"]))


def equal(expected):
    """A test for a list with exactly these instances, field by field, in any order."""
    expected = ordered(expected)
    return lambda seen: ordered(seen) == expected


def expect_server_list(pair, service, expected, deadline_s=SEEN_S, group=GROUP):
    """The server itself, asked over HTTP, lists exactly these."""
    def probe():
        seen = pair.server.http_list(group, service)
        return equal(expected)(seen), seen

    wait_until(f"{pair.server.name} lists {service} over HTTP as {expected}", deadline_s, probe, pair.server.tail)


def expect_driver_list(driver, service, expected, deadline_s=None, group=GROUP, **filters):
    """The SDK, asked for a list, answers exactly these; refusals are tried again until the deadline."""
    def probe():
        try:
            seen = driver.call("list", service=service, group=group, **filters)
        except CommandError as error:
            return False, f"error {error}"
        return equal(expected)(seen), seen

    wait_until(f"{driver.name} lists {service} {filters or ''} as {expected}", deadline_s or driver.seen_s, probe, driver.tail)


def start(pair):
    for driver in pair.drivers():
        driver.wait_ready(120)
    return "both drivers connected"


def register(pair):
    own = pair.instance(1, weight=2.5)
    service = pair.service("register")
    pair.provider.call("register", service=service, group=GROUP, instance=own)
    expect_server_list(pair, service, [own])
    expect_driver_list(pair.consumer, service, [own])
    pair.holds[service] = [own]
    if pair.beats:
        pair.watch = Watch(pair.server, GROUP, service, [own])
    return "one instance, every field"


def query(pair):
    """One instance from this SDK and four by HTTP: two clusters, one unhealthy, one disabled (which no list shows)."""
    service = pair.service("query")
    own = pair.instance(10, cluster="c1", weight=0.5)
    sick = pair.instance(11, cluster="c1", healthy=False, metadata=LASTING)
    second = pair.instance(12, cluster="c2", weight=7.0, metadata=LASTING)
    third = pair.instance(13, cluster="c3", weight=100.0, metadata=LASTING)
    disabled = pair.instance(14, cluster="c2", enabled=False, metadata=LASTING)
    others = [sick, second, third, disabled]
    try:
        for instance in others:
            pair.server.http_register(GROUP, service, instance)
        pair.provider.call("register", service=service, group=GROUP, instance=own)
        expect_server_list(pair, service, [own, sick, second, third])
        cases = [
            ({}, [own, sick, second, third]),
            ({"clusters": ["c1"]}, [own, sick]),
            ({"clusters": ["c2"]}, [second]),
            ({"clusters": ["c1", "c3"]}, [own, sick, third]),
            ({"clusters": ["none"]}, []),
            ({"healthy": True}, [own, second, third]),
            ({"healthy": False}, [sick]),
            ({"clusters": ["c1"], "healthy": True}, [own]),
            ({"clusters": ["c1"], "healthy": False}, [sick]),
            ({"clusters": ["c2"], "healthy": False}, []),
        ]
        for filters, expected in cases:
            expect_driver_list(pair.consumer, service, expected, **filters)
    finally:
        for instance in others:
            pair.server.http_deregister(GROUP, service, instance)
    pair.holds[service] = [own]
    return f"{len(cases)} filters"


def push(pair):
    """Subscribes and sees a provider come, go and come, each by an event."""
    keeper = pair.instance(20, cluster="c9", metadata={"keeper": "yes"})
    own = pair.instance(21)
    service = pair.service("push")
    pair.consumer.call("register", service=service, group=GROUP, instance=keeper)
    pair.consumer.call("subscribe", service=service, group=GROUP)
    pair.consumer.wait_event(service, equal([keeper]), f"the first list, {[keeper]}")
    steps = [("register", [keeper, own]), ("deregister", [keeper]), ("register", [keeper, own])]
    return timed_steps(pair, service, [(command, own, expected) for command, expected in steps])


def metadata(pair):
    """The subscriber of the push scenario sees metadata, weight and cluster change."""
    keeper = pair.instance(20, cluster="c9", metadata={"keeper": "yes"})
    service = pair.service("push")
    versions = [
        pair.instance(21, metadata={"peer": pair.name, "version": "2"}),
        pair.instance(21, metadata={}, weight=9.0),
        last_version(pair),
    ]
    steps = [("register", one, [keeper, one]) for one in versions]
    if pair.peer.polls and not pair.peer.hears_updates:
        for command, one, expected in steps:
            pair.provider.call(command, service=service, group=GROUP, instance=one)
            expect_driver_list(pair.consumer, service, expected)
        return "by its list"
    return timed_steps(pair, service, steps)


def last_version(pair):
    """To 1.x an address in another cluster is another instance: there only our client takes the first one back itself."""
    moves = pair.server.grpc or pair.peer.tells_status
    return pair.instance(21, metadata={"quote": "\"\\ \t,;=&"}, cluster="c2" if moves else "c1")


def deregister(pair):
    keeper = pair.instance(20, cluster="c9", metadata={"keeper": "yes"})
    service = pair.service("push")
    last = last_version(pair)
    said = timed_steps(pair, service, [("deregister", last, [keeper])])
    expect_server_list(pair, service, [keeper])
    expect_driver_list(pair.consumer, service, [keeper])
    pair.holds[service] = [keeper]
    return said


def update(pair):
    """Somebody else changes the fields of an instance; the subscriber is told, and the list has it."""
    service = pair.service("update")
    before = pair.instance(25, cluster="c2", metadata=LASTING)
    after = {**before, "weight": 3.0, "metadata": {**LASTING, "changed": "yes"}}
    try:
        pair.server.http_register(GROUP, service, before)
        pair.consumer.call("subscribe", service=service, group=GROUP)
        pair.consumer.wait_event(service, equal([before]), f"the first list, {[before]}")
        mark = pair.consumer.mark(service)
        pair.server.http_register(GROUP, service, after)
        expect_driver_list(pair.consumer, service, [after])
        try:
            pair.consumer.wait_event(service, equal([after]), f"{[after]}", after=mark)
        except Failure as failure:
            if pair.consumer.mark(service) == mark:
                raise NoEvent(f"the list of {pair.consumer.name} shows an update, and no event told of it") from None
            raise failure
    finally:
        pair.server.http_deregister(GROUP, service, after)
    return "by another"


def timed_steps(pair, service, steps):
    """Each command must show as an event with exactly the expected list; where it is pushed, the median of the times is held to the server's limit."""
    times = []
    for command, instance, expected in steps:
        mark = pair.consumer.mark(service)
        sent = time.time() * 1000
        pair.provider.call(command, service=service, group=GROUP, instance=instance)
        event = pair.consumer.wait_event(service, equal(expected), f"after {command}: {expected}", after=mark)
        times.append(event["at"] - sent)
    median = statistics.median(times)
    if median > pair.server.push_limit_ms and not pair.peer.polls:
        raise Failure(f"pushes took {[round(one) for one in times]} ms, expected at most {pair.server.push_limit_ms} ms")
    return f"{median:.0f} ms"


def batch(pair):
    """Three instances in one call, seen by a subscriber and a list; then two of them. Where they beat, none of them is unhealthy."""
    service = pair.service("batch")
    three = [
        pair.instance(30, cluster="c1", weight=1.0),
        pair.instance(31, cluster="c2", healthy=pair.beats),
        pair.instance(32, cluster="c1", metadata={"n": "3"}),
    ]
    pair.consumer.call("subscribe", service=service, group=GROUP)
    pair.provider.call("batch", service=service, group=GROUP, instances=three)
    expect_server_list(pair, service, three)
    pair.consumer.wait_event(service, equal(three), f"{three}")
    expect_driver_list(pair.consumer, service, [three[0], three[2]], clusters=["c1"])
    expect_driver_list(pair.consumer, service, [three[1]], clusters=["c2"], healthy=pair.beats)
    mark = pair.consumer.mark(service)
    if pair.name.startswith(("java", "python")):
        pair.provider.call("batch_deregister", service=service, group=GROUP, instances=[three[1]])
    else:
        pair.provider.call("batch", service=service, group=GROUP, instances=[three[0], three[2]])
    two = [three[0], three[2]]
    pair.consumer.wait_event(service, equal(two), f"{two}", after=mark)
    expect_server_list(pair, service, two)
    pair.holds[service] = two
    return "three, then two"


def persistent(pair):
    """A persistent instance, whose port is open in case the server probes it; another process of the SDK removes it."""
    service = pair.service("persistent")
    with socket.create_server(("127.0.0.1", 0)) as port:
        own = pair.instance(40, ip="127.0.0.1", port=port.getsockname()[1], ephemeral=False)
        pair.provider.call("register", service=service, group=GROUP, instance=own)
        expect_server_list(pair, service, [own])
        expect_driver_list(pair.consumer, service, [own])
        pair.consumer.call("deregister", service=service, group=GROUP, instance=own)
        expect_server_list(pair, service, [])
    return "removed by another process"


def services(pair):
    """Names with an instance are in the list of services, others are not."""
    wanted, absent = pair.service("register"), pair.service("absent")

    def probe():
        seen = pair.consumer.call("services", group=GROUP)
        return wanted in seen["names"] and absent not in seen["names"] and seen["count"] >= len(seen["names"]), seen

    seen = wait_until(f"the services of {GROUP} have {wanted} and not {absent}", SEEN_S, probe, pair.consumer.tail)
    return f"{seen['count']} names"


def unsubscribe(pair):
    """After it, a change that another subscriber of the same SDK is told of gives the first one no event."""
    service = pair.service("unsubscribe")
    keeper = pair.instance(50)
    own = pair.instance(51)
    pair.consumer.call("register", service=service, group=GROUP, instance=keeper)
    for driver in pair.drivers():
        driver.call("subscribe", service=service, group=GROUP)
        driver.wait_event(service, equal([keeper]), f"the first list, {[keeper]}")
    pair.consumer.call("unsubscribe", service=service, group=GROUP)
    mark = pair.consumer.mark(service)
    pair.provider.call("register", service=service, group=GROUP, instance=own)
    pair.provider.wait_event(service, equal([keeper, own]), f"{[keeper, own]}")
    # An answer that left the server after the change, since no SDK can know this service: an event would stand before it.
    stranger = pair.instance(52, metadata=LASTING)
    pair.server.http_register(GROUP, pair.service("stranger"), stranger)
    expect_driver_list(pair.consumer, pair.service("stranger"), [stranger])
    pair.server.http_deregister(GROUP, pair.service("stranger"), stranger)
    if pair.consumer.mark(service) != mark:
        raise Failure(f"{pair.consumer.name} was told of a change after its unsubscribe: {pair.consumer.latest(service)}")
    pair.provider.call("deregister", service=service, group=GROUP, instance=own)
    return "no event afterwards"


def beats(pair):
    """The provider's beats keep the instance of the register scenario healthy, for longer than a server waits for the next one."""
    return pair.watch.end(40)


def wrong_password(pair):
    """Whoever logs in with another password registers nothing, and the SDK says so."""
    name, _ = pair.server.user
    stranger = pair.begin("stranger", {"INTEROP_USERNAME": name, "INTEROP_PASSWORD": "a wrong one"})
    service = pair.service("stranger")
    try:
        stranger.wait_ready(60)
        stranger.call("register", service=service, group=GROUP, instance=pair.instance(55))
    except CommandError as refusal:
        said = str(refusal)
    except Failure as failure:
        # Some SDKs make no client at all then.
        if not stranger.gone:
            raise failure
        said = "it ended"
    else:
        raise Failure(f"{stranger.name} registered with a wrong password")
    finally:
        stranger.stop()
    expect_server_list(pair, service, [])
    return said.splitlines()[0][:60]


def protocol(pair):
    """What our client chose, by its own status."""
    return expect_protocol(pair, SEEN_S)


def expect_protocol(pair, deadline_s):
    """Both drivers speak what is best for this server: HTTP where they are held to it or nothing else is offered. Over gRPC nothing beats any more, or
    what HTTP registered would outlive the connection."""
    expected = "http" if pair.peer.protocol == "http" or not pair.server.grpc else "grpc"
    for driver in pair.drivers():
        def probe(driver=driver):
            try:
                seen = driver.call("status")
            except CommandError as error:
                return False, f"error {error}"
            return seen["protocol"] == expected and (expected == "http" or seen["beating"] == 0), seen

        wait_until(f"{driver.name} speaks {expected} and nothing else", deadline_s, probe, driver.tail)
    return expected


ALONE = [start, register, query, push, metadata, update, deregister, batch, persistent, services, unsubscribe]
