"""The peers: what each needs, how its ordinary package client installs it into the cache, and how its driver starts."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from process import Failure

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


class Peer:
    """One SDK version. `tools` are the programs that must be there; `install` returns nothing and is quick the second time."""

    tools = ()
    #: The package client that installs it; each works on one thing at a time.
    queue = None
    #: Whether it has drivers; the user of the HTTP API has none.
    drives = True
    #: Whether its SDK can manage services as well.
    maintains = False
    #: Whether its SDK has an event for an instance whose fields change, and not only for those that come and go.
    hears_updates = True

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
    queue = "maven"
    maintains = True

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
    queue = "go"

    def install(self, cache):
        home = cache / "go"
        env = {
            "GOMODCACHE": str(home / "mod"), "GOCACHE": str(home / "build"), "GOFLAGS": "-modcacherw -mod=readonly",
            "GOTOOLCHAIN": "local", "CGO_ENABLED": "0",
        }
        run(self.name, cache, ["go", "build", "-o", home / "driver", "."], env, HERE / "go")

    def command(self, cache, address, directory):
        return [cache / "go/driver", address, directory]


class PythonPeer(Peer):
    tools = ("python3",)
    queue = "pip"

    def install(self, cache):
        home, requirements = cache / "python", HERE / "python/requirements.txt"
        stamp, wanted = home / "stamp", hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        run(self.name, cache, [sys.executable, "-m", "venv", home])
        run(self.name, cache, [home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements])
        stamp.write_text(wanted)

    def command(self, cache, address, directory):
        return [cache / "python/bin/python", HERE / "python/driver.py", address, directory]


class RustPeer(Peer):
    """The Rust crates are built together, since they share most of what they need."""

    tools = ("cargo",)
    queue = "cargo"

    def __init__(self, name, binary, hears_updates=True):
        super().__init__(name)
        self.binary = binary
        self.hears_updates = hears_updates

    def install(self, cache):
        env = {"CARGO_TARGET_DIR": str(cache / "rust-sdk")}
        run(self.name, cache, ["cargo", "build", "--quiet", "--locked", "--manifest-path", HERE / "rust-sdk/Cargo.toml"], env)

    def command(self, cache, address, directory):
        return [cache / "rust-sdk/debug" / self.binary, address, directory]


class OurPeer(Peer):
    tools = ("cargo",)
    queue = "cargo"

    def install(self, cache):
        build_ours(cache)

    def command(self, cache, address, directory):
        return [our_binary("interop_client"), address, directory]


class HttpUser(Peer):
    """A person who types calls of the HTTP API; see http_user.py."""

    drives = False

    def install(self, cache):
        pass


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


PEERS = [
    JavaPeer("2.5.1"), JavaPeer("3.1.0"), GoPeer("go-2.3.5"), PythonPeer("python-3.2.0"), RustPeer("rust-sdk-0.8.3", "interop-rust-sdk"),
    RustPeer("nrc-grpc-0.3.3", "interop-nrc", hears_updates=False), OurPeer("nacos-client"), HttpUser("http-user"),
]
