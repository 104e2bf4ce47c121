"""Routes by the metadata that Spring Cloud Alibaba and our registrar published: our balancer follows rules in the form of their file."""

from mall import GROUP, PROVIDERS, SERVICE, failed, judge_shares
from process import Failure

#: Who asks for a version gets it, or nothing.
ASKED = {
    "name": "asked", "when": [{"header": {"name": "x-version", "present": True}}],
    "to": [{"label-from": {"key": "version", "header": "x-version"}}], "miss": "fail",
}
#: A fifth of all others gets the new one.
CANARY = {"name": "canary", "to": [{"label": {"version": "v2"}, "percent": 20}, {"baseline": True, "percent": 80}]}


def routes(pair):
    """A version that is asked for, a share of a canary, and their end: each takes effect with the next call."""
    mall = pair.mall
    new, old = of_version(mall, "v2"), of_version(mall, "v1")
    said = []
    try:
        set_routes(mall, [ASKED])
        said.append(judge_shares(mall.call("rust-caller", 1000, any_cluster=True), old))
        said.append(judge_shares(asking(mall, "v2", 1000, any_cluster=True), new))
        # The version comes before the own cluster, which counts within it.
        judge_shares(asking(mall, "v2", 200), {"rust-hz": 1})
        expect_miss(mall)
        set_routes(mall, [ASKED, CANARY])
        shares = {**part(new, 0.2), **part(old, 0.8)}
        said.append(judge_shares(mall.call("rust-caller", 4000, any_cluster=True), shares))
        judge_shares(asking(mall, "v2", 200), {"rust-hz": 1})
    finally:
        mall.app("rust-caller").call("routes", document={"services": {}})
    said.append(judge_shares(mall.call("rust-caller", 2000, any_cluster=True), mall.weights))
    return ", ".join(said)


def set_routes(mall, rules):
    mall.app("rust-caller").call("routes", document={"services": {f"{GROUP}@@{SERVICE}": {"baseline": {"version": "v1"}, "routes": rules}}})


def of_version(mall, version):
    return {app.name: mall.weights[app.name] for app in PROVIDERS if app.version == version}


def part(weights, share):
    """The same weights, as parts of this share of all calls."""
    whole = sum(weights.values())
    return {name: share * weight / whole for name, weight in weights.items()}


def asking(mall, version, calls, **more):
    return mall.call("rust-caller", calls, headers={"x-version": version}, **more)


def expect_miss(mall):
    """A version that nobody has: every call fails, and says for want of what."""
    driver = mall.app("rust-caller")
    seen = driver.call("call", service=SERVICE, path="/who", calls=50, threads=2, headers={"x-version": "v3"}, any_cluster=True)
    if seen["answers"] or failed(seen) != 50 or not all("version=v3" in text for text in seen["failures"]):
        raise Failure(f"expected 50 calls to fail for want of version=v3\n  seen: {seen}")
