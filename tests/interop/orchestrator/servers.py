"""The servers under test or used as peers, free ports for them, and the HTTP list that stands beside every SDK as an independent witness."""

import json
import random
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from process import Child, Failure, clean_env

_given = set()
_lock = threading.Lock()
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port():
    """A port p below the range of outgoing connections, with p - 1000, p + 1000 and p + 1001 free as well."""
    with _lock:
        for _ in range(1000):
            port = random.randrange(21_010, 30_990)
            wanted = (port - 1000, port, port + 1000, port + 1001)
            if not _given.intersection(wanted) and all(_is_free(one) for one in wanted):
                _given.update(wanted)
                return port
    raise Failure("no free ports between 20000 and 32000")


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


class Server:
    """One server process on fixed ports, which can be killed and started again on them."""

    #: Within how many ms a change must reach a subscriber.
    push_limit_ms = 1000
    #: Whether it speaks gRPC, as servers since 2.x do.
    grpc = True
    #: Within how many seconds after its restart everything must be back.
    restart_s = 60
    #: The user and the password that it lets in; nobody else, if there are any.
    user = None

    def __init__(self, name, directory):
        self.name = name
        self.directory = Path(directory)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.child = None

    def command(self):
        raise NotImplementedError

    def start(self, deadline_s=180):
        self.child = Child(self.name, self.command(), self.directory, self.env())
        end = time.monotonic() + deadline_s
        while not (self._answers() and (self._takes_grpc() or not self.grpc)):
            if self.child.process.poll() is not None:
                raise Failure(f"server {self.name} ended at its start{self.child.tail(30)}")
            if time.monotonic() > end:
                raise Failure(f"server {self.name} not ready after {deadline_s} s{self.child.tail(30)}")
            time.sleep(0.05)

    def env(self):
        return clean_env(self.directory)

    def kill(self):
        self.child.kill()

    def stop(self):
        if self.child:
            self.child.stop()

    def tail(self):
        return self.child.tail() if self.child else ""

    def _answers(self):
        try:
            with _opener.open(f"http://{self.address}/nacos/v1/ns/operator/metrics", timeout=2) as answer:
                return answer.status == 200
        except (OSError, ValueError):
            return False

    def _takes_grpc(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port + 1000)) == 0

    def _http(self, method, path, parameters):
        if self.user:
            parameters = {**parameters, "username": self.user[0], "password": self.user[1]}
        url = f"http://{self.address}/nacos{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with _opener.open(urllib.request.Request(url, method=method), timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path} on {self.name}: {error.code} {error.read()[:300]}{self.tail()}") from None
        except OSError as error:
            raise Failure(f"{method} {path} on {self.name}: {error}{self.tail()}") from None

    def http_list(self, group, service):
        """The instances of a service as the HTTP API of 1.x shows them, in the drivers' form."""
        return [
            {
                "ip": host["ip"], "port": host["port"], "weight": host["weight"], "healthy": host["healthy"],
                "enabled": host["enabled"], "ephemeral": host["ephemeral"], "cluster": host["clusterName"],
                "metadata": host["metadata"],
            }
            for host in self.http_hosts(group, service)
        ]

    def http_hosts(self, group, service):
        """The same, with every field that the server shows."""
        body = self._http("GET", "/v1/ns/instance/list", {"serviceName": f"{group}@@{service}"})
        return json.loads(body)["hosts"]

    def http_register(self, group, service, instance):
        body = self._http("POST", "/v1/ns/instance", self._form(group, service, instance))
        if body.strip() != "ok":
            raise Failure(f"HTTP registration on {self.name} answered {body[:300]}")

    def http_deregister(self, group, service, instance):
        self._http("DELETE", "/v1/ns/instance", self._form(group, service, instance))

    @staticmethod
    def _form(group, service, instance):
        return {
            "serviceName": f"{group}@@{service}", "ip": instance["ip"], "port": instance["port"],
            "weight": instance["weight"], "clusterName": instance["cluster"],
            "healthy": str(instance["healthy"]).lower(), "enabled": str(instance["enabled"]).lower(),
            "ephemeral": str(instance["ephemeral"]).lower(), "metadata": json.dumps(instance["metadata"]),
        }


    def driver_env(self):
        """What a driver is to log in with."""
        return {"INTEROP_USERNAME": self.user[0], "INTEROP_PASSWORD": self.user[1]} if self.user else {}


class OurServer(Server):
    def __init__(self, name, directory, binary, arguments=(), user=None):
        super().__init__(name, directory)
        self.binary = binary
        self.arguments = list(arguments)
        self.user = user
        if arguments:
            self.push_limit_ms = 2000
        if user:
            # Its tokens end with it, and some SDKs ask for another one only when the life of theirs is over. Java's looks every 5 s whether a tenth of
            # that is left: with little more than 50 s it would now and then have none that is good.
            self.arguments += ["--auth-user", user[0], "--token-seconds", "80"]
            # Java's log in again after a denial, but only once a minute.
            self.restart_s = 120

    def command(self):
        return [self.binary, "--host", "127.0.0.1", "--port", self.port, "--log", "debug", *self.arguments]

    def env(self):
        return {**super().env(), **({"NACOS_SERVER_AUTH_PASSWORD": self.user[1]} if self.user else {})}


class RealServer(Server):
    """A real Nacos from its published artifacts; it merges changes for half a second (1.x: one second) before it pushes."""

    push_limit_ms = 2000

    def __init__(self, name, directory, runner, version, cache):
        super().__init__(name, directory)
        self.runner = runner
        self.version = version
        self.grpc = not version.startswith("1.")
        self.cache = cache

    def env(self):
        return {**super().env(), "NACOS_INTEROP_CACHE": str(self.cache)}

    def command(self):
        return [self.runner, self.version, self.port, self.directory / "data"]
