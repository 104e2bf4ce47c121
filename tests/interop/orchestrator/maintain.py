"""The management calls of an SDK, over HTTP: services, and instances that others registered."""

import socket

from process import CommandError, Failure
from scenarios import GROUP, equal, expect_driver_list, expect_server_list


def maintain(pair):
    """The SDK's own management calls: a service with metadata and protection, made, read, changed and removed, and an instance changed by it."""
    well = pair.instance(80, ephemeral=False)
    with socket.create_server((well["ip"], well["port"])):
        manage(pair, well)
    return "service and instances"


def manage(pair, well):
    """`well` is persistent, and its port is open in case the server probes it; nobody listens at the other one's."""
    service, call = pair.service("maintain"), pair.consumer.call
    where = {"service": service, "group": GROUP}
    call("create_service", **where, threshold=0.5, metadata={"owner": "grüße", "k": "v"})
    expect_service(pair, service, 0.5, {"owner": "grüße", "k": "v"})
    expect_refusal("already exists", lambda: call("create_service", **where, threshold=0.5, metadata={}))

    # What is made this way is for persistent instances. One of two is healthy: half of them, and not more than the threshold.
    sick = pair.instance(81, ephemeral=False, healthy=False, cluster="c2")
    pair.provider.call("register", **where, instance=well)
    pair.server.http_register(GROUP, service, sick)
    expect_driver_list(pair.consumer, service, [well, {**sick, "healthy": True}], group=GROUP)
    call("update_service", **where, threshold=0.25, metadata={"owner": "nobody"})
    expect_service(pair, service, 0.25, {"owner": "nobody"})
    expect_driver_list(pair.consumer, service, [well, sick], group=GROUP)

    # Both kinds of instance, changed by management: seen over gRPC and over HTTP.
    changed = {**well, "weight": 4.5, "metadata": {**well["metadata"], "by": "management"}}
    call("update_instance", **where, instance=changed)
    expect_driver_list(pair.consumer, service, [changed, sick], group=GROUP)
    expect_server_list(pair, service, [changed, sick])
    ephemeral, shown = pair.service("maintain-ephemeral"), pair.instance(82)
    pair.provider.call("register", service=ephemeral, group=GROUP, instance=shown)
    pair.consumer.call("subscribe", service=ephemeral, group=GROUP)
    pair.consumer.wait_event(ephemeral, equal([shown]), f"{[shown]}")
    hidden = {**shown, "weight": 0.5, "metadata": {**shown["metadata"], "by": "management"}}
    call("update_instance", service=ephemeral, group=GROUP, instance=hidden)
    pair.consumer.wait_event(ephemeral, equal([hidden]), f"{[hidden]}")
    call("update_instance", service=ephemeral, group=GROUP, instance={**hidden, "enabled": False})
    expect_driver_list(pair.consumer, ephemeral, [], group=GROUP)
    pair.provider.call("deregister", service=ephemeral, group=GROUP, instance=shown)

    names = call("services", group=GROUP)["names"]
    if service not in names:
        raise Failure(f"expected {service} among the services {names}")
    expect_refusal("is not empty", lambda: call("delete_service", **where))
    for one in (changed, sick):
        pair.consumer.call("deregister", **where, instance=one)
    expect_server_list(pair, service, [])
    if call("delete_service", **where) is not True:
        raise Failure(f"{pair.consumer.name} could not remove the empty service {service}")
    expect_refusal("service not found", lambda: call("query_service", **where))


def expect_service(pair, service, threshold, metadata):
    expected = {"name": service, "group": GROUP, "threshold": threshold, "metadata": metadata}
    seen = pair.consumer.call("query_service", service=service, group=GROUP)
    if seen != expected:
        raise Failure(f"expected from {pair.consumer.name} the service {expected}\n  seen: {seen}")


def expect_refusal(text, work):
    try:
        seen = work()
    except CommandError as error:
        if text in str(error):
            return
        seen = error
    raise Failure(f"expected a refusal with the text {text!r}\n  seen: {seen}")
