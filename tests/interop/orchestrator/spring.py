"""The scenarios of Spring Cloud Alibaba and our crate in one mall: what they register, how they choose, and what it costs when one leaves or dies."""

import json
import urllib.request

from mall import CALLERS, GROUP, PROVIDERS, READY_S, SEEN_S, SERVICE, Loads, failed, judge_shares
from process import Failure, wait_until
from routes import routes
from scenarios import equal, expect_server_list

NAMES = [app.name for app in PROVIDERS]
#: What of an instance differs by nature.
OWN = ("port", "weight", "clusterName", "instanceId", "metadata")
#: How many of ours read and write at the same time.
READERS, WRITERS = 4, 2
#: Each connection to an instance that dies may take a write with it, which is not repeated, since it may have reached the instance.
CONNECTIONS = READERS + WRITERS


def start(pair):
    """All run, and what is registered is the address where the one that is named answers."""
    mall = pair.mall
    mall.start()
    mall.expect_listed(NAMES, READY_S)
    for host in pair.server.http_list(GROUP, SERVICE):
        name, url = host["metadata"]["name"], f"http://{host['ip']}:{host['port']}/who"
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
            seen = answer.read().decode()
        if seen != name:
            raise Failure(f"{name} is registered at {url}, where {seen!r} answers")
        mall.ports[name] = host["port"]
    mall.open = True
    return f"{len(NAMES)} provide, {len(CALLERS)} call"


def listed(pair):
    """What either side registered looks alike, to the server and to our crate: the same fields, and but for its own ones the same values."""
    mall = pair.mall
    expected = [mall.instance(app) for app in PROVIDERS]
    expect_server_list(pair, SERVICE, expected, group=GROUP)
    looks = {host["metadata"]["name"]: look(host) for host in pair.server.http_hosts(GROUP, SERVICE)}
    if any(one != looks[NAMES[0]] for one in looks.values()):
        raise Failure(f"expected all to look alike\n  seen: {json.dumps(looks, indent=1)}")
    expect_instances(mall, "rust-caller", equal(expected), expected)
    return "alike"


def look(host):
    """An instance without what is its own; its identifier with placeholders."""
    form = "-"
    if host.get("instanceId"):
        form = host["instanceId"].replace(host["ip"], "ip").replace(str(host["port"]), "port").replace(host["clusterName"], "cluster")
    return {**{field: value for field, value in host.items() if field not in OWN}, "fields": sorted(host), "form": form}


def expect_instances(mall, name, matches, expected):
    """This application's own discovery shows the instances that are expected."""
    def probe():
        seen = mall.app(name).call("instances", service=SERVICE)
        return matches(seen), seen

    wait_until(f"{name} sees {expected}", SEEN_S, probe, mall.app(name).tail)


def weights(pair):
    """Our balancer calls them all by the weights that they registered."""
    answers = pair.mall.call("rust-caller", 4000, any_cluster=True)
    return judge_shares(answers, pair.mall.weights)


def own_cluster(pair):
    """Our balancer, with a cluster of its own: nobody else is called, by weight within."""
    answers = pair.mall.call("rust-caller", 2000)
    return judge_shares(answers, within(pair.mall, "HZ"))


def within(mall, cluster):
    return {app.name: mall.weights[app.name] for app in PROVIDERS if app.cluster == cluster}


def theirs(pair):
    """The balancer of Spring Cloud Alibaba: weights, its own cluster, the metadata, and what our registrar changes of them."""
    mall = pair.mall
    expect_seen_by_spring(mall)
    said = [judge_shares(mall.call("spring-caller", 2000), mall.weights), judge_shares(mall.call("spring-hz", 1000), within(mall, "HZ"))]
    mall.weights["rust-hz"] = 8.0
    mall.metadata["rust-hz"]["changed"] = "grüße"
    mall.app("rust-hz").call("update", weight=8.0, metadata={"changed": "grüße"})
    expect_seen_by_spring(mall)
    said.append(judge_shares(mall.call("spring-caller", 2000), mall.weights))
    return ", ".join(said)


def expect_seen_by_spring(mall):
    """Spring's discovery shows what each registered, and what it derives from it."""
    expected = {}
    for app in PROVIDERS:
        one = mall.instance(app)
        derived = {"nacos.weight": str(one["weight"]), "nacos.healthy": "true", "nacos.cluster": one["cluster"], "nacos.ephemeral": "true"}
        expected[f"127.0.0.1:{one['port']}"] = {**one["metadata"], **derived}

    def matches(seen):
        shown = {f"{one['ip']}:{one['port']}": {key: value for key, value in one["metadata"].items() if key != "nacos.instanceId"} for one in seen}
        return shown == expected

    expect_instances(mall, "spring-caller", matches, expected)


def ours_leaves(pair):
    """SIGTERM for one of ours, under calls by Spring's balancers: neither the one that goes by Nacos nor the one with a cache loses a call."""
    mall = pair.mall
    loads = Loads(mall, [("spring-caller", "by weight", {"threads": 2}), ("spring-sh", "by turns", {"threads": 2})], NAMES)
    loads.go_on(100)
    mall.ask_to_end("rust-sh")
    mall.expect_listed(remaining("rust-sh"))
    mall.expect_ended("rust-sh", 0)
    expect_order(mall.apps["rust-sh"])
    loads.go_on(100)
    counts = loads.end()
    if any(failed(seen) for seen in counts.values()):
        raise Failure(f"expected Spring to lose no call when rust-sh leaves in order\n  seen: {counts}{mall.apps['rust-sh'].tail(30)}")
    return "0 lost"


def remaining(*gone):
    return [name for name in NAMES if name not in gone]


def expect_order(driver):
    """It told what it did: deregistered, waited, drained."""
    left = driver.event("left")
    wanted = ["deregister", "propagate", "drain", "close"]
    if not left or not left["clean"] or [step for step in left["steps"] if step in wanted] != wanted:
        raise Failure(f"expected {driver.name} to leave cleanly by {wanted}\n  seen: {left}{driver.tail(30)}")


def theirs_leaves(pair):
    """SIGTERM for one of Spring's, under our calls: none that may be repeated is lost."""
    mall = pair.mall
    loads = Loads(mall, our_loads(), remaining("rust-sh"))
    loads.go_on(100)
    mall.ask_to_end("spring-sh")
    # A JVM that ends by a signal says so.
    mall.expect_ended("spring-sh", 143)
    mall.expect_listed(remaining("rust-sh", "spring-sh"))
    loads.go_on(100)
    return judge_losses(loads.end())


def theirs_dies(pair):
    """kill -9 of one of Spring's, under our calls: none that may be repeated is lost."""
    mall = pair.mall
    loads = Loads(mall, our_loads(), remaining("rust-sh", "spring-sh"))
    loads.go_on(100)
    mall.app("spring-hz").kill()
    mall.expect_listed(["rust-hz"])
    loads.go_on(100)
    return judge_losses(loads.end())


def our_loads():
    return [
        ("rust-caller", "GET", {"threads": READERS, "any_cluster": True}),
        ("rust-caller", "POST", {"threads": WRITERS, "any_cluster": True, "method": "POST"}),
        ("spring-caller", "Spring", {"threads": 2}),
    ]


def judge_losses(counts):
    """No read of ours may be lost, and at most one write for each connection. What Spring's balancer lost is told."""
    if failed(counts["GET"]) or failed(counts["POST"]) > CONNECTIONS:
        raise Failure(f"expected no lost GET, and at most {CONNECTIONS} lost POST\n  seen: {counts}")
    return f"lost by us 0 GET and {failed(counts['POST'])} POST, by Spring {failed(counts['Spring'])} GET"


def leave(pair):
    """The last provider and the callers end: nothing is left, and nobody ends badly."""
    mall = pair.mall
    for name in ("rust-hz", "rust-caller", "spring-caller"):
        mall.ask_to_end(name)
    for name, code in (("rust-hz", 0), ("rust-caller", 0), ("spring-caller", 143)):
        mall.expect_ended(name, code)
    mall.expect_listed([])
    return "nothing left"


SCENARIOS = [start, listed, weights, own_cluster, routes, theirs, ours_leaves, theirs_leaves, theirs_dies, leave]
