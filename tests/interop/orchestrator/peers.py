"""The peers: what each needs, how its ordinary package client installs it into the cache, and how its driver starts."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from process import Failure

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


class Peer:
    """One SDK version. `tools` are the programs that must be there; `install` returns nothing and is quick the second time."""

    tools = ()

    def __init__(self, name):
        self.name = name

    def missing_tools(self):
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def install(self, cache):
        raise NotImplementedError

    def command(self, cache, address, directory):
        raise NotImplementedError


class JavaPeer(Peer):
    tools = ("java", "javac", "mvn")

    def __init__(self, version):
        super().__init__(f"java-{version}")
        self.version = version

    def install(self, cache):
        home = cache / self.name
        pom, source = HERE / "java/pom.xml", HERE / "java/Driver.java"
        stamp, wanted = home / "stamp", hashlib.sha256(pom.read_bytes() + source.read_bytes()).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        (home / "classes").mkdir(parents=True)
        run(self.name, cache, [
            "mvn", "-B", "-ntp", "-q", "-f", pom, f"-Dmaven.repo.local={cache / 'm2'}", f"-Dnacos.client.version={self.version}",
            "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={home / 'lib'}",
        ])
        run(self.name, cache, ["javac", "-encoding", "UTF-8", "-cp", f"{home}/lib/*", "-d", home / "classes", source])
        stamp.write_text(wanted)

    def command(self, cache, address, directory):
        home = cache / self.name
        return [
            "java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Duser.home={directory}",
            f"-DJM.LOG.PATH={directory}/log", f"-DJM.SNAPSHOT.PATH={directory}",
            f"-Dcom.alibaba.nacos.naming.cache.dir={directory}/cache", "-Dnacos.logging.default.config.enabled=false",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", f"{home}/classes:{home}/lib/*", "Driver", address,
        ]


class GoPeer(Peer):
    tools = ("go",)

    def install(self, cache):
        home = cache / "go"
        env = {
            "GOMODCACHE": str(home / "mod"), "GOCACHE": str(home / "build"), "GOFLAGS": "-modcacherw -mod=readonly",
            "GOTOOLCHAIN": "local", "CGO_ENABLED": "0",
        }
        run(self.name, cache, ["go", "build", "-o", home / "driver", "."], env, HERE / "go")

    def command(self, cache, address, directory):
        return [cache / "go/driver", address, directory]


class RustSdkPeer(Peer):
    tools = ("cargo",)

    def install(self, cache):
        env = {"CARGO_TARGET_DIR": str(cache / "rust-sdk")}
        run(self.name, cache, ["cargo", "build", "--quiet", "--locked", "--manifest-path", HERE / "rust-sdk/Cargo.toml"], env)

    def command(self, cache, address, directory):
        return [cache / "rust-sdk/debug/interop-rust-sdk", address, directory]


class OurPeer(Peer):
    tools = ("cargo",)

    def install(self, cache):
        build_ours(cache)

    def command(self, cache, address, directory):
        return [our_binary("interop_client"), address, directory]


def build_ours(cache):
    """Our server and the driver around our client, as any `cargo build` of the workspace makes them."""
    run("workspace", cache, [
        "cargo", "build", "--quiet", "--manifest-path", ROOT / "Cargo.toml", "-p", "nacos-server-min", "-p", "nacos-tests",
        "--bin", "nacos-server-min", "--bin", "interop_client",
    ])


@functools.cache
def our_binary(name):
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--manifest-path", ROOT / "Cargo.toml"],
        check=True, capture_output=True,
    )
    return Path(json.loads(metadata.stdout)["target_directory"]) / "debug" / name


def run(name, cache, command, env=None, cwd=None):
    """One install step; its output is kept, and shown when it fails."""
    log = cache / "log" / f"install-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        done = subprocess.run(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            cwd=cwd, env={**os.environ, **(env or {})}, check=False,
        )
    if done.returncode != 0:
        tail = "\n    | ".join(log.read_text(errors="replace").splitlines()[-15:])
        raise Failure(f"{command[0]} ended with {done.returncode}:\n    | {tail}")


PEERS = [JavaPeer("2.5.1"), JavaPeer("3.1.0"), GoPeer("go-2.3.5"), RustSdkPeer("rust-sdk-0.8.3"), OurPeer("nacos-client")]
