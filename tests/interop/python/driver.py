"""Speaks the line protocol of ../README.md for nacos-sdk-python 3 (gRPC): one command in, one answer out, events as they come."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from v2.nacos import (
    BatchRegisterInstanceParam,
    ClientConfigBuilder,
    DeregisterInstanceParam,
    ListInstanceParam,
    ListServiceParam,
    NacosNamingService,
    RegisterInstanceParam,
    SubscribeServiceParam,
)


class Driver:
    def __init__(self, naming):
        self.naming = naming
        self.callbacks = {}

    async def execute(self, command):
        where = {"service_name": command.get("service", ""), "group_name": command.get("group", "")}
        match command["cmd"]:
            case "register":
                succeeded(await self.naming.register_instance(RegisterInstanceParam(**where, **fields(command["instance"]))))
            case "batch":
                instances = [RegisterInstanceParam(**where, **fields(one)) for one in command["instances"]]
                succeeded(await self.naming.batch_register_instances(BatchRegisterInstanceParam(**where, instances=instances)))
            case "batch_deregister":
                instances = [RegisterInstanceParam(**where, **fields(one)) for one in command["instances"]]
                succeeded(await self.naming.batch_deregister_instances(BatchRegisterInstanceParam(**where, instances=instances)))
            case "deregister":
                known = fields(command["instance"])
                known = {name: known[name] for name in ("ip", "port", "cluster_name", "ephemeral")}
                succeeded(await self.naming.deregister_instance(DeregisterInstanceParam(**where, **known)))
            case "list":
                # Without `subscribe` the SDK subscribes all the same, and then answers from what it was pushed.
                found = await self.naming.list_instances(ListInstanceParam(
                    **where, clusters=command.get("clusters", []), subscribe=False, healthy_only=command.get("healthy"),
                ))
                return plain(found)
            case "subscribe":
                callback = self.printer(where["service_name"])
                self.callbacks[where["service_name"]] = callback
                await self.naming.subscribe(SubscribeServiceParam(**where, subscribe_callback=callback))
            case "unsubscribe":
                callback = self.callbacks.pop(where["service_name"])
                await self.naming.unsubscribe(SubscribeServiceParam(**where, subscribe_callback=callback))
            case "services":
                page = await self.naming.list_services(ListServiceParam(group_name=where["group_name"], page_no=1, page_size=10_000))
                return {"count": page.count, "names": page.services}
            case "exit":
                await self.naming.shutdown()
            case _:
                raise ValueError("unknown command")
        return None

    @staticmethod
    def printer(service):
        async def changed(instances):
            send({"event": "change", "at": int(time.time() * 1000), "service": service, "instances": plain(instances)})

        return changed


def succeeded(answer):
    if answer is not True:
        raise RuntimeError(f"the SDK answered {answer}")


def fields(instance):
    same = ("ip", "port", "weight", "healthy", "enabled", "ephemeral", "metadata")
    return {**{name: instance[name] for name in same}, "cluster_name": instance["cluster"]}


def plain(instances):
    same = ("ip", "port", "weight", "healthy", "enabled", "ephemeral", "metadata")
    return [{**{name: getattr(one, name) for name in same}, "cluster": one.clusterName} for one in instances]


def send(line):
    print(json.dumps(line), flush=True)


async def main(address, directory):
    # The SDK would otherwise keep the last instance of a service for ever.
    config = ClientConfigBuilder().server_address(address)
    if user := os.environ.get("INTEROP_USERNAME"):
        config = config.username(user).password(os.environ["INTEROP_PASSWORD"])
    config = config.build()
    config.set_cache_dir(str(Path(directory, "cache"))).set_log_dir(str(Path(directory, "log")))
    config.set_load_cache_at_start(False).set_update_cache_when_empty(True)
    driver = Driver(await NacosNamingService.create_naming_service(config))
    send({"event": "ready"})
    lines = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while raw := await lines.readline():
        command = json.loads(raw)
        try:
            send({"id": command["id"], "ok": True, "result": await driver.execute(command)})
        except Exception as error:  # Whatever the SDK raises is its answer.
            send({"id": command["id"], "ok": False, "error": f"{type(error).__name__}: {error}"})
        if command["cmd"] == "exit":
            break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
