"""A person with curl at the HTTP API of 1.x: calls as they are typed, and the answers that a real Nacos 2.5.1 gave to them: status, content type, body."""

import http.client
import json
import re
import urllib.parse

from process import Failure, wait_until

TEXT, JSON, NONE = "text/plain;charset=UTF-8", "application/json", None
AGENT = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
#: Changes with every answer.
VOLATILE = ("lastRefTime", "timestamp")
SEEN_S = 5

SELECTOR = {"type": "none", "contextType": "NONE"}
SWITCHES = {
    "name": "00-00---000-NACOS_SWITCH_DOMAIN-000---00-00", "masters": None, "adWeightMap": {}, "defaultPushCacheMillis": 10000,
    "clientBeatInterval": 5000, "defaultCacheMillis": 3000, "distroThreshold": 0.7, "healthCheckEnabled": True,
    "autoChangeHealthCheckEnabled": True, "distroEnabled": True, "enableStandalone": True, "pushEnabled": True, "checkTimes": 3,
    "httpHealthParams": {"max": 5000, "min": 500, "factor": 0.85}, "tcpHealthParams": {"max": 5000, "min": 1000, "factor": 0.75},
    "mysqlHealthParams": {"max": 3000, "min": 2000, "factor": 0.65}, "incrementalList": [],
    "serverStatusSynchronizationPeriodMillis": 2000, "serviceStatusSynchronizationPeriodMillis": 5000, "disableAddIP": False,
    "sendBeatOnly": False, "lightBeatEnabled": True, "limitedUrlMap": {}, "distroServerExpiredMillis": 10000, "pushGoVersion": "0.1.0",
    "pushJavaVersion": "0.1.0", "pushPythonVersion": "0.4.3", "pushCVersion": "1.0.12", "pushCSharpVersion": "0.9.0",
    "enableAuthentication": False, "overriddenServerStatus": None, "defaultInstanceEphemeral": True, "healthCheckWhiteList": [], "checksum": None,
}
METRICS = {
    "status", "serviceCount", "instanceCount", "subscribeCount", "responsibleInstanceCount", "clientCount", "connectionBasedClientCount",
    "ephemeralIpPortClientCount", "persistentIpPortClientCount", "responsibleClientCount", "cpu", "load", "mem",
}
CHECKERS = {"TCP": {}, "HTTP": {"path": "", "headers": "", "expectedResponseCode": 200}, "MYSQL": {"user": None, "pwd": None, "cmd": None}, "NONE": {}}


def host(ip, weight=1.0, metadata=None, enabled=True):
    """An instance of the service `typed` as lists show it."""
    metadata = metadata or {}
    return {
        "instanceId": f"{ip}#8080#DEFAULT#DEFAULT_GROUP@@typed", "ip": ip, "port": 8080, "weight": weight, "healthy": True, "enabled": enabled,
        "ephemeral": True, "clusterName": "DEFAULT", "serviceName": "DEFAULT_GROUP@@typed", "metadata": metadata, "ipDeleteTimeout": 30000,
        "instanceHeartBeatInterval": 5000, "instanceHeartBeatTimeOut": 15000, **({} if metadata else {"instanceIdGenerator": "simple"}),
    }


def hosts(*instances):
    return {
        "name": "DEFAULT_GROUP@@typed", "groupName": "DEFAULT_GROUP", "clusters": "", "cacheMillis": 10000, "hosts": list(instances),
        "checksum": "", "allIPs": False, "reachProtectionThreshold": False, "valid": True,
    }


def detail(ip, weight, metadata):
    return {
        "service": "DEFAULT_GROUP@@typed", "ip": ip, "port": 8080, "clusterName": "DEFAULT", "weight": weight, "healthy": True,
        "instanceId": f"{ip}#8080#DEFAULT#DEFAULT_GROUP@@typed", "metadata": metadata,
    }


def kept(name, threshold, metadata, namespace="desk"):
    return {
        "namespaceId": namespace, "groupName": "DEFAULT_GROUP", "name": name, "protectThreshold": threshold, "metadata": metadata,
        "selector": SELECTOR, "clusters": [],
    }


def missing_api(method, path):
    return {"status": 501, "error": "Not Implemented", "message": f"no such api:{method}:/nacos{path}", "path": f"/nacos{path}"}


FIRST, SECOND = "127.0.200.1", "127.0.200.2"
AT_FIRST, AT_SECOND = f"serviceName=typed&ip={FIRST}&port=8080", f"serviceName=typed&ip={SECOND}&port=8080"
ZONE = urllib.parse.quote('{"zone":"a"}')
LIST, INSTANCE, SERVICE = "/v1/ns/instance/list", "/v1/ns/instance", "/v1/ns/service"

#: Method, path, parameters (of a POST: the form), status, content type, body: a text, a JSON value, a pattern, or a set of keys.
CALLS = [
    ("GET", "/v1/console/health/liveness", "", 200, TEXT, "OK"),
    ("GET", "/v1/ns/operator/metrics", "", 200, JSON, {"status": "UP"}),
    ("GET", "/v1/ns/operator/metrics", "onlyStatus=false", 200, JSON, METRICS),
    ("GET", "/v1/ns/health/server", "", 200, JSON, re.compile(r'\{"msg":"Hello! I am Nacos-Naming and healthy! total services: \d+, local port:\d+"\}')),
    ("GET", "/v1/ns/health/checkers", "", 200, JSON, CHECKERS),
    # Instances: two registered, read, changed.
    ("POST", INSTANCE, AT_FIRST, 200, TEXT, "ok"),
    ("POST", INSTANCE, f"{AT_SECOND}&weight=2.5&metadata={ZONE}", 200, TEXT, "ok"),
    ("GET", LIST, "serviceName=typed", 200, JSON, hosts(host(FIRST), host(SECOND, 2.5, {"zone": "a"}))),
    ("GET", LIST, "serviceName=typed&healthyOnly=true&clusters=none", 200, JSON, {**hosts(), "clusters": "none"}),
    ("GET", INSTANCE, AT_SECOND, 200, JSON, detail(SECOND, 2.5, {"zone": "a"})),
    ("PUT", INSTANCE, f"{AT_SECOND}&weight=5&metadata=rack%3D7", 200, TEXT, "ok"),
    ("GET", INSTANCE, AT_SECOND, 200, JSON, detail(SECOND, 5.0, {"zone": "a", "rack": "7"})),
    ("PUT", INSTANCE, f"{AT_FIRST}&enabled=false", 200, TEXT, "ok"),
    ("GET", LIST, "serviceName=typed", 200, JSON, hosts(host(SECOND, 5.0, {"zone": "a", "rack": "7"}))),
    # The catalogue of the console shows what is disabled, too.
    ("GET", "/v1/ns/catalog/instances", "serviceName=typed&clusterName=DEFAULT&pageNo=1&pageSize=10", 200, JSON,
     {"list": [host(FIRST, enabled=False), host(SECOND, 5.0, {"zone": "a", "rack": "7"})], "count": 2}),
    ("GET", "/v1/ns/catalog/service", "serviceName=typed", 200, JSON, {
        "service": {"name": "typed", "groupName": "DEFAULT_GROUP", "protectThreshold": 0.0, "selector": SELECTOR, "metadata": {}},
        "clusters": [{
            "serviceName": "DEFAULT_GROUP@@typed", "name": "DEFAULT", "healthChecker": {"type": "TCP"}, "defaultPort": 80, "defaultCheckPort": 80,
            "useIPPort4Check": True, "metadata": {},
        }],
    }),
    ("GET", "/v1/ns/catalog/services", "pageNo=1&pageSize=10&serviceNameParam=typed", 200, JSON, {"count": 1, "serviceList": [
        {"name": "typed", "groupName": "DEFAULT_GROUP", "clusterCount": 1, "ipCount": 2, "healthyInstanceCount": 2, "triggerFlag": "false"},
    ]}),
    # Services, in a namespace of their own, so that the list is complete.
    ("POST", SERVICE, "serviceName=ordered&namespaceId=desk&protectThreshold=0.5&metadata=k%3Dv", 200, TEXT, "ok"),
    ("POST", SERVICE, "serviceName=ordered&namespaceId=desk", 400, TEXT, "specified service DEFAULT_GROUP@@ordered already exists!"),
    ("GET", SERVICE, "serviceName=ordered&namespaceId=desk", 200, JSON, kept("ordered", 0.5, {"k": "v"})),
    ("PUT", SERVICE, "serviceName=ordered&namespaceId=desk&protectThreshold=0.25&metadata=%7B%22n%22%3A%221%22%7D", 200, TEXT, "ok"),
    ("GET", SERVICE, "serviceName=ordered&namespaceId=desk", 200, JSON, kept("ordered", 0.25, {"n": "1"})),
    ("GET", f"{SERVICE}/list", "pageNo=1&pageSize=10&namespaceId=desk", 200, JSON, {"count": 1, "doms": ["ordered"]}),
    ("GET", f"{SERVICE}/subscribers", "serviceName=typed", 200, JSON, {"subscribers": [], "count": 0}),
    ("DELETE", SERVICE, "serviceName=ordered&namespaceId=desk", 200, TEXT, "ok"),
    ("DELETE", SERVICE, "serviceName=ordered&namespaceId=desk", 400, TEXT, "service DEFAULT_GROUP@@ordered not found!"),
    ("DELETE", SERVICE, "serviceName=typed", 400, TEXT, "Service DEFAULT_GROUP@@typed is not empty, can't be delete. Please unregister instance first"),
    # Switches: read, changed, changed back.
    ("GET", "/v1/ns/operator/switches", "", 200, JSON, SWITCHES),
    ("PUT", "/v1/ns/operator/switches", "entry=clientBeatInterval&value=6000&debug=true", 200, TEXT, "ok"),
    ("GET", "/v1/ns/operator/switches", "", 200, JSON, {**SWITCHES, "clientBeatInterval": 6000}),
    ("PUT", "/v1/ns/operator/switches", "entry=clientBeatInterval&value=5000&debug=true", 200, TEXT, "ok"),
    # Slips of the hand.
    ("GET", LIST, "", 400, TEXT, "Param 'serviceName' is required."),
    ("GET", INSTANCE, "serviceName=typed&ip=127.0.200.9&port=8080", 404, TEXT, "no matched ip found!"),
    ("GET", INSTANCE, f"serviceName=typed&ip={FIRST}&port=abc", 400, NONE, "Param 'port' is illegal, the value should be between 0 and 65535.\r\n"),
    ("GET", "/v1/ns/operator/servers", "", 501, JSON, missing_api("GET", "/v1/ns/operator/servers")),
    # And all of it taken back.
    ("DELETE", INSTANCE, AT_FIRST, 200, TEXT, "ok"),
    ("DELETE", INSTANCE, AT_SECOND, 200, TEXT, "ok"),
    ("GET", LIST, "serviceName=typed", 200, JSON, hosts()),
    ("DELETE", SERVICE, "serviceName=typed", 200, TEXT, "ok"),
]


def calls(pair):
    for method, path, parameters, *expected in CALLS:
        what = f"{pair.server.name} answers {method} {path}?{parameters} with {expected}"

        def probe(method=method, path=path, parameters=parameters, expected=expected):
            seen = ask(pair.server, method, path, parameters)
            return right(*expected, *seen), seen

        # What was just written may show a little later on a real server.
        wait_until(what, SEEN_S if method == "GET" else 0, probe, pair.server.tail)
    return f"{len(CALLS)} calls"


def ask(server, method, path, parameters):
    """One call on a connection of its own, as curl makes it: status, content type, body."""
    connection = http.client.HTTPConnection(server.address, timeout=5)
    try:
        if method == "POST":
            connection.request(method, f"/nacos{path}", parameters, {**AGENT, "Content-Type": "application/x-www-form-urlencoded"})
        else:
            connection.request(method, f"/nacos{path}?{parameters}" if parameters else f"/nacos{path}", headers=AGENT)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Failure(f"{method} {path} on {server.name}: {error!r}{server.tail()}") from None
    finally:
        connection.close()


def right(status, kind, body, seen_status, seen_kind, seen_body):
    if (status, kind) != (seen_status, seen_kind):
        return False
    if isinstance(body, str):
        return body == seen_body
    if isinstance(body, re.Pattern):
        return body.fullmatch(seen_body) is not None
    try:
        seen = json.loads(seen_body)
    except ValueError:
        return False
    if isinstance(body, set):
        return isinstance(seen, dict) and set(seen) == body
    return settled(seen) == settled(body)


def settled(value):
    """Without what changes with every answer, and lists of instances in one order."""
    if not isinstance(value, dict):
        return value
    plain = {name: one for name, one in value.items() if name not in VOLATILE}
    if plain.get("allIps") == plain.get("allIPs"):
        plain.pop("allIps", None)  # Nacos 3 spells it this way: this project's server writes both.
    for name in ("hosts", "list"):
        if name in plain:
            plain[name] = sorted(plain[name], key=lambda one: one["ip"])
    return plain
