"""Installs the peers, starts them all at once, and prints a table of peer and scenario."""

import argparse
import functools
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import spring
import together
from http_user import calls
from maintain import maintain
from mall import Mall
from peers import HERE, PEERS, build_ours, our_binary, run
from process import CommandError, Driver, Failure, NoEvent, kill_children
from scenarios import ALONE, Pair, beats, protocol, wrong_password
from selftest import selftest
from servers import OurServer, RealServer
from table import Table

OURS = "ours"
# Name → seed: the oddities of a run come from it.
NACOS25 = {f"nacos25-seed-{seed}": seed for seed in (1, 2, 3)}
# It lets one user in.
WITH_USERS = "ours-with-users"
USER = ("app", "p&ss=w0rd +%")
# Name → version of the published artifacts.
REAL = {"nacos-2.0.4": "2.0.4.RELEASE", "nacos-1.4.1": "1.4.1"}
SERVERS = {
    OURS: "this project's server",
    WITH_USERS: "this project's server where it lets only users in",
    **{name: "this project's server made as slow and odd as Nacos 2.5.1" for name in NACOS25},
    **{name: f"a real Nacos {version} from its published artifacts" for name, version in REAL.items()},
}
DEFAULT = (
    [f"{peer.name}@{OURS}" for peer in PEERS]
    + [f"{peer.name}@{WITH_USERS}" for peer in PEERS if peer.logs_in]
    + [f"nacos-client@{server}" for server in SERVERS if server not in (OURS, WITH_USERS)]
    + [f"nacos-client-http@{server}" for server in ("nacos25-seed-1", *REAL)]
    + [f"{peer.name}@nacos-2.0.4" for peer in PEERS if peer.framework]
)
TOGETHER = ["cross", "restart", "kill -9", "exit"]


def title(scenario):
    return scenario.__name__.replace("_", " ")


# Each once: a mall has a start, too.
SCENARIOS = list(dict.fromkeys([*map(title, [*ALONE, maintain, calls, protocol, beats, wrong_password]), *TOGETHER, *map(title, spring.SCENARIOS)]))
SERVER_TOOLS = {name: ("java", "javac", "mvn") if name in REAL else ("cargo",) for name in SERVERS}


def main():
    options = arguments()
    selftest()
    if options.list:
        show_list()
        return 0
    cache = Path(os.environ.get("NACOS_INTEROP_CACHE") or HERE / ".cache").resolve()
    cache.mkdir(parents=True, exist_ok=True)
    pairs, skipped = choose(options.only)
    for peer, why in skipped:
        print(f"skipped: {peer}, for lack of {why}")
    if not pairs:
        print("nothing to run")
        return 1
    began = time.monotonic()
    table = Table(json.loads((HERE / "unsupported.json").read_text()))
    broken = install(pairs, cache)
    for (peer, server), problem in broken.items():
        table.put(peer, server, "start", problem)
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)

    work = Path(tempfile.mkdtemp(prefix="nacos-interop-"))
    runs = {}
    for peer, server in pairs:
        if (peer.name, server) not in broken:
            runs.setdefault(server, []).append(peer)
    threads = [
        threading.Thread(target=run_server, args=(name, peers, cache, work / name, table), daemon=True)
        for name, peers in runs.items()
    ]
    tested = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    columns = [(peer.name, server) for peer, server in pairs]
    table.show(SCENARIOS, columns)
    return verdict(table, skipped, options, work, time.monotonic() - tested)


def verdict(table, skipped, options, work, seconds):
    failed = table.failed()
    print()
    for peer, server, scenario in failed:
        print(f"FAIL {peer}@{server} {scenario}\n  {table.cells[peer, server, scenario][1]}\n")
    for peer, why in skipped:
        print(f"skipped: {peer}, for lack of {why}" + (" (a failure, since all are required)" if options.require_all else ""))
    if failed or options.keep_logs:
        print(f"logs: {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
    states = [cell[0] for cell in table.cells.values()]
    print(f"tested in {seconds:.0f} s; {states.count('unsupported')} unsupported as expected")
    bad = len(failed) + (len(skipped) if options.require_all else 0)
    print(f"interop: {len(states) - len(failed)} passed, {bad} failed, {len(skipped)} skipped")
    return 1 if bad or not states else 0


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/interop/run", description="Real Nacos SDKs against this project's server, and this project's client against a real Nacos server.",
        epilog="NACOS_INTEROP_CACHE is the folder for what is installed (default tests/interop/.cache); NACOS_INTEROP_REQUIRE_ALL=1 is --require-all.",
    )
    parser.add_argument("--only", action="append", metavar="PEER[@SERVER]", help="only these (repeat it, or separate by commas); any pair may be asked for, --list names them")
    parser.add_argument("--list", action="store_true", help="list peers, servers and scenarios, and end")
    parser.add_argument("--require-all", action="store_true", default=os.environ.get("NACOS_INTEROP_REQUIRE_ALL") == "1", help="a peer that must be skipped for lack of a toolchain is a failure")
    parser.add_argument("--keep-logs", action="store_true", help="keep the logs of a successful run, too")
    return parser.parse_args()


def show_list():
    print("peers:     " + ", ".join(peer.name for peer in PEERS))
    print("servers:   " + "\n           ".join(f"{name}: {text}" for name, text in SERVERS.items()))
    print("scenarios: " + ", ".join(SCENARIOS))
    print("runs by default: " + ", ".join(DEFAULT))


def choose(only):
    """The (peer, server) pairs to run, and those skipped with the tools they lack."""
    by_name = {peer.name: peer for peer in PEERS}
    wanted = DEFAULT
    if only:
        wanted = []
        for one in ",".join(only).split(","):
            peer, _, server = one.partition("@")
            if peer not in by_name or server not in ("", *SERVERS):
                sys.exit(f"unknown: {one}; see --list")
            wanted += [f"{peer}@{server}"] if server else [pair for pair in DEFAULT if pair.startswith(f"{peer}@")]
    pairs, skipped = [], []
    for one in wanted:
        name, _, server = one.partition("@")
        tools = [*by_name[name].tools, *SERVER_TOOLS[server]]
        missing = sorted({tool for tool in tools if shutil.which(tool) is None})
        if missing:
            skipped.append((one, ", ".join(missing)))
        else:
            pairs.append((by_name[name], server))
    return pairs, skipped


def install(pairs, cache):
    """Installs what the pairs need, package clients side by side; returns the pairs that cannot run and why."""
    peers = {peer.name: peer for peer, _ in pairs}
    steps = {name: peer.install for name, peer in peers.items()}
    servers = {server for _, server in pairs}
    if servers - set(REAL) or any(peer.framework for peer in peers.values()):
        steps["server"] = build_ours
    for name in servers & set(REAL):
        steps[name] = functools.partial(build_real, name)
    # One package client works on one thing at a time, different ones side by side.
    queues = {}
    for name in steps:
        queue = peers[name].queue if name in peers else "maven" if name in REAL else "cargo"
        queues.setdefault(queue, []).append(name)
    problems = {}

    def work(names):
        for name in names:
            began = time.monotonic()
            try:
                steps[name](cache)
                print(f"  installed {name} in {time.monotonic() - began:.1f} s", flush=True)
            except (Failure, OSError) as problem:
                problems[name] = problem

    threads = [threading.Thread(target=work, args=(names,), daemon=True) for names in queues.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    broken = {}
    for peer, server in pairs:
        for part in (peer.name, server, "" if server in REAL and not peer.framework else "server"):
            if part in problems:
                broken[peer.name, server] = problems[part]
    return broken


def build_real(name, cache):
    run(name, cache, [HERE / "nacos-server/build", REAL[name]], {"NACOS_INTEROP_CACHE": str(cache)})


def make_server(name, directory, cache):
    if name in REAL:
        return RealServer(name, directory, HERE / "nacos-server/run", REAL[name], cache)
    odd = ("--behaviour", "nacos25", "--seed", NACOS25[name]) if name in NACOS25 else ()
    return OurServer(name, directory, our_binary("nacos-server-min"), odd, USER if name == WITH_USERS else None)


def run_server(name, peers, cache, directory, table):
    """One server and all its peers: first each peer alone (all at the same time), then together."""
    server = make_server(name, directory, cache)
    # Servers are run at the same time, and some instances listen: no two pairs may have the same addresses.
    first = 10 + len(PEERS) * list(SERVERS).index(name)
    pairs = [Pair(peer, number, server) for number, peer in enumerate(peers, first)]
    try:
        began = time.monotonic()
        server.start()
        print(f"  {name} listens on {server.address} after {time.monotonic() - began:.1f} s", flush=True)
        for pair in pairs:
            if pair.peer.framework:
                pair.mall = Mall(pair.peer, cache, server, directory / pair.name)
        talking = [pair for pair in pairs if pair.peer.drives]
        for pair in talking:
            pair.begin = functools.partial(begin_driver, pair, cache, directory)
            for role in ("provider", "consumer"):
                setattr(pair, role, pair.begin(role, server.driver_env()))
        started = together.for_each(talking, ALONE[0])
        for pair in talking:
            table.put(pair.name, name, "start", started[pair.name])
        live = [pair for pair in pairs if not isinstance(started.get(pair.name), Exception)]
        together.for_each(live, lambda pair: alone(pair, table))
        talking = [pair for pair in live if pair.peer.drives]
        if talking:
            all_together(server, talking, table)
    except Exception:  # Whatever it was, every peer of this server must show a failure.
        problem = Failure(f"the run against {name} ended early: {traceback.format_exc()}")
        for pair in pairs:
            if (pair.name, name, "exit") not in table.cells:
                table.put(pair.name, name, "exit", problem)
    finally:
        for pair in pairs:
            if pair.watch:
                pair.watch.stop()
            if pair.mall:
                pair.mall.stop()
            for driver in pair.drivers():
                driver.stop()
        server.stop()


def begin_driver(pair, cache, directory, role, env):
    name = f"{pair.name}-{role}"
    place = directory / name
    place.mkdir(parents=True)
    return Driver(name, pair.peer.command(cache, pair.server.address, place), place, pair.peer.seen_s, env)


def scenarios_of(pair):
    if pair.mall:
        return spring.SCENARIOS
    if not pair.peer.drives:
        return [calls]
    # Services of 1.x are managed by other rules.
    more = {
        maintain: pair.peer.maintains and pair.server.grpc, protocol: pair.peer.tells_status, beats: pair.beats,
        wrong_password: pair.server.user is not None,
    }
    return [*ALONE[1:], *(scenario for scenario, wanted in more.items() if wanted)]


def alone(pair, table):
    for scenario in scenarios_of(pair):
        try:
            outcome = scenario(pair)
        except (Failure, CommandError, NoEvent) as problem:
            outcome = problem
        except Exception:  # A fault of this program or an answer of unknown shape: it must show, not end the peer's thread unseen.
            outcome = Failure(traceback.format_exc())
        table.put(pair.name, pair.server.name, title(scenario), outcome)


def all_together(server, live, table):
    phases = [
        ("cross", lambda: together.cross(live, live)),
        ("restart", lambda: together.restart(server, live)),
        ("kill -9", lambda: together.kill_providers(server, live)),
        ("exit", lambda: together.leave(server, live)),
    ]
    for scenario, phase in phases:
        for peer, outcome in phase().items():
            table.put(peer, server.name, scenario, outcome)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    finally:
        kill_children()
