"""Speaks the line protocol of ../README.md for nacos-sdk-python 2.0 (HTTP, polling): one command in, one answer out, events as they come."""

import json
import os
import sys
import threading
import time
from pathlib import Path

from nacos import NacosClient
from nacos.listener import SubscribeListener

BEAT_S = 5
#: The SDK's own default is 7 s.
POLL_S = 1


class Driver:
    def __init__(self, client):
        self.client = client
        #: Service, ip, port → what removes it.
        self.registered = {}

    def execute(self, command):
        service, group = command.get("service", ""), command.get("group", "")
        match command["cmd"]:
            case "register":
                one = command["instance"]
                succeeded(self.client.add_naming_instance(
                    service, one["ip"], one["port"], one["cluster"], one["weight"], one["metadata"], one["enabled"], one["healthy"], one["ephemeral"],
                    group, heartbeat_interval=BEAT_S if one["ephemeral"] else None,
                ))
                self.registered[service, one["ip"], one["port"]] = (one["cluster"], one["ephemeral"], group)
            case "deregister":
                one = command["instance"]
                self.remove(service, one["ip"], one["port"], one["cluster"], one["ephemeral"], group)
                self.registered.pop((service, one["ip"], one["port"]), None)
            case "list":
                return self.list(service, group, command.get("clusters", []), command.get("healthy"))
            case "subscribe":
                self.subscribe(service, group)
            case "unsubscribe":
                self.client.unsubscribe(service, service)
            case "batch":
                raise RuntimeError("nacos-sdk-python 2.0 has no batch registration")
            case "services":
                raise RuntimeError("nacos-sdk-python 2.0 has no list of services")
            case "exit":
                # The SDK has no way to end: its instances would stay for half a minute.
                for place, rest in self.registered.items():
                    self.remove(*place, *rest)
                self.client.stop_subscribe()
            case _:
                raise ValueError("unknown command")
        return None

    def remove(self, *instance):
        succeeded(self.client.remove_naming_instance(*instance))

    def list(self, service, group, clusters, healthy):
        answer = self.client.list_naming_instance(service, ",".join(clusters) or None, group_name=group, healthy_only=healthy is True)
        return plain(one for one in answer["hosts"] if healthy is not False or not one["healthy"])

    def subscribe(self, service, group):
        """The SDK tells of single instances, and not of those of its first answer: what it knows at that moment is sent as a list."""
        def changed(_event=None, _instance=None):
            known = self.client.subscribed_local_manager.get_local_instances(service) or {}
            send({"event": "change", "at": int(time.time() * 1000), "service": service, "instances": plain(one.instance for one in list(known.values()))})

        self.client.subscribe(SubscribeListener(changed, service), POLL_S, service, group_name=group)
        # Otherwise the first refused connection would end the polling for good.
        self.client.subscribe_timer_manager.all_timers()[f"service-subscribe-timer-{service}"].set_ignore_ex(True)
        changed()


def succeeded(answer):
    if answer is not True:
        raise RuntimeError(f"the SDK answered {answer}")


def plain(hosts):
    same = ("ip", "port", "weight", "healthy", "enabled", "ephemeral", "metadata")
    return [{**{name: one[name] for name in same}, "cluster": one["clusterName"]} for one in hosts]


_output = threading.Lock()


def send(line):
    with _output:
        print(json.dumps(line), flush=True)


def main(address, directory):
    client = NacosClient(address, namespace="public", logDir=str(Path(directory, "log")))
    client.set_options(snapshot_base=str(Path(directory, "snapshot")), failover_base=str(Path(directory, "failover")))
    driver = Driver(client)
    send({"event": "ready"})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            send({"id": command["id"], "ok": True, "result": driver.execute(command)})
        except Exception as error:  # Whatever the SDK raises is its answer.
            send({"id": command["id"], "ok": False, "error": f"{type(error).__name__}: {error}"})
        if command["cmd"] == "exit":
            break
    # A timer of the SDK that fires at this moment would start the next one.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
