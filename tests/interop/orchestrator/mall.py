"""A mall: applications of Spring Cloud Alibaba and ours that provide one service together, and others that call it. Their settings, their
processes, and how their calls are judged."""

import json
import math
import signal
from collections import namedtuple

from peers import our_binary
from process import Driver, Failure, wait_until

GROUP = "mall-group"
SERVICE = "mall"
#: A JVM among many others on a busy machine.
READY_S = 180
CALLS_S = 120
SEEN_S = 20

#: `balancer` is what spring.cloud.loadbalancer.nacos.enabled says: weights and clusters, or turns.
App = namedtuple("App", "name kind cluster weight version balancer", defaults=(None, None, None, True))
PROVIDERS = [
    App("spring-hz", "spring", "HZ", 1.0, "v1"),
    App("spring-sh", "spring", "SH", 3.0, "v2", balancer=False),
    App("rust-hz", "rust", "HZ", 2.0, "v2"),
    App("rust-sh", "rust", "SH", 4.0, "v1"),
]
CALLERS = [App("spring-caller", "spring"), App("rust-caller", "rust", "HZ")]
SOURCES = {"spring": "SPRING_CLOUD", "rust": "RUST"}


class Mall:
    """The applications of one server, by name."""

    def __init__(self, peer, cache, server, directory):
        self.peer = peer
        self.cache = cache
        self.server = server
        self.directory = directory
        self.apps = {}
        #: Whether all started, so that there is something to be seen.
        self.open = False
        #: Provider → the weight that it has registered.
        self.weights = {app.name: app.weight for app in PROVIDERS}
        #: Provider → the metadata that it has registered.
        self.metadata = {app.name: {"name": app.name, "version": app.version} for app in PROVIDERS}
        #: Provider → the port that it has registered.
        self.ports = {}

    def start(self):
        """Starts all at once, and waits until each says that it is ready."""
        for app in PROVIDERS + CALLERS:
            place = self.directory / app.name
            place.mkdir(parents=True)
            # JSON is YAML: Spring and our crate read the same form of file.
            (place / "application.yml").write_text(json.dumps(settings(app, self.server), indent=1))
            command = self.peer.command(self.cache, None, place) if app.kind == "spring" else [our_binary("interop_app"), "application.yml"]
            self.apps[app.name] = Driver(app.name, command, place, SEEN_S)
        for driver in self.apps.values():
            driver.wait_ready(READY_S)

    def app(self, name):
        if not self.open or self.apps[name].gone:
            raise Failure(f"{name} is not running, as an earlier scenario failed")
        return self.apps[name]

    def call(self, name, calls, path="/who", **more):
        """So many calls by this application; name of the provider → how often it answered. None may fail."""
        seen = self.app(name).call("call", CALLS_S, service=SERVICE, path=path, calls=calls, threads=4, **more)
        if seen["failures"] or sum(seen["answers"].values()) != calls:
            raise Failure(f"expected {calls} answers for {name}\n  seen: {seen}{self.app(name).tail()}")
        return seen["answers"]

    def instance(self, app):
        """What this provider should have registered, in the form all drivers share."""
        return {
            "ip": "127.0.0.1", "port": self.ports[app.name], "weight": self.weights[app.name], "healthy": True, "enabled": True, "ephemeral": True,
            "cluster": app.cluster, "metadata": {**self.metadata[app.name], "preserved.register.source": SOURCES[app.kind]},
        }

    def expect_listed(self, names, deadline_s=SEEN_S):
        """The server lists the providers with these names and nobody else."""
        def probe():
            seen = sorted(host["metadata"].get("name", "") for host in self.server.http_list(GROUP, SERVICE))
            return seen == sorted(names), seen

        wait_until(f"{self.server.name} lists {names}", deadline_s, probe, self.server.tail)

    def ask_to_end(self, name):
        """SIGTERM."""
        self.app(name).process.send_signal(signal.SIGTERM)

    def expect_ended(self, name, code, deadline_s=60):
        driver = self.apps[name]
        wait_until(f"{name} ended", deadline_s, lambda: (driver.process.poll() is not None, "it runs"), driver.tail)
        if driver.process.returncode != code:
            raise Failure(f"expected {name} to end with {code}, it ended with {driver.process.returncode}{driver.tail(30)}")

    def stop(self):
        for driver in self.apps.values():
            if driver.process.poll() is None:
                driver.process.terminate()
        for driver in self.apps.values():
            driver.stop()


class Loads:
    """Calls by several applications at once, until they are ended. A load is (name of the application, name of the load, more arguments)."""

    def __init__(self, mall, loads, among):
        """Returns once each load had an answer of each provider of `among`."""
        self.mall = mall
        self.names = [(app, load) for app, load, _ in loads]
        for app, load, more in loads:
            mall.app(app).call("load", load=load, service=SERVICE, path="/work", **more)
        self._wait("answers of all", lambda seen, _: set(seen["answers"]) >= set(among))

    def go_on(self, calls):
        """Waits until each load made so many more calls."""
        before = {name: total(self._so_far(*name)) for name in self.names}
        self._wait(f"{calls} more calls", lambda seen, name: total(seen) >= before[name] + calls)

    def end(self):
        """Load → what it counted."""
        return {load: self.mall.app(app).call("end", load=load) for app, load in self.names}

    def _so_far(self, app, load):
        return self.mall.app(app).call("so_far", load=load)

    def _wait(self, what, done):
        for name in self.names:
            def probe(name=name):
                seen = self._so_far(*name)
                return done(seen, name), seen

            wait_until(f"the load {name[1]} of {name[0]} had {what}", CALLS_S, probe, self.mall.apps[name[0]].tail)


def settings(app, server):
    """The application.yml of an application."""
    # Ours tries again where a server is slow at its start, Spring would not.
    discovery = {"ip": "127.0.0.1", "group": GROUP, "register-enabled": app.weight is not None, "fail-fast": app.kind == "spring"}
    if app.cluster:
        discovery["cluster-name"] = app.cluster
    if app.weight is not None:
        discovery.update({"weight": app.weight, "metadata": {"name": app.name, "version": app.version}})
    return {
        "server": {"port": 0, "address": "127.0.0.1", "shutdown": "graceful"},
        "spring": {
            "application": {"name": SERVICE},
            "main": {"banner-mode": "off"},
            "lifecycle": {"timeout-per-shutdown-phase": "20s"},
            "cloud": {
                "nacos": {"server-addr": server.address, "discovery": discovery},
                # The cache counts for the balancer that goes by turns only.
                "loadbalancer": {"nacos": {"enabled": app.balancer}, "cache": {"ttl": "1s"}},
            },
        },
    }


def total(seen):
    return sum(seen["answers"].values()) + sum(seen["failures"].values())


def failed(seen):
    return sum(seen["failures"].values())


def judge_shares(answers, weights):
    """Each must have its share by weight, within five standard deviations, and nobody else any. The largest deviation, as text."""
    calls, whole = sum(answers.values()), sum(weights.values())
    worst = 0
    for name in sorted({*answers, *weights}):
        share = weights.get(name, 0) / whole
        sigma = math.sqrt(calls * share * (1 - share))
        off = abs(answers.get(name, 0) - calls * share)
        if off > 5 * sigma:
            raise Failure(f"expected of {calls} calls shares by the weights {weights}\n  seen: {answers}")
        worst = max(worst, off / sigma if sigma else 0)
    return f"{worst:.1f} σ"
