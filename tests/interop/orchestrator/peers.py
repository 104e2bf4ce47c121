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
    #: Whether it has a provider and a consumer that take commands for any service; the user of the HTTP API and a framework have none.
    drives = True
    #: Whether it is a framework, whose applications meet ours in a mall; see spring.py.
    framework = False
    #: Whether its SDK can manage services as well.
    maintains = False
    #: Whether its SDK has an event for an instance whose fields change, and not only for those that come and go.
    hears_updates = True
    #: `grpc`, `http` (and UDP), or `auto` for what the server offers.
    protocol = "grpc"
    #: Whether its SDK learns of changes only when it asks again.
    polls = False
    #: Whether its driver knows the command `status`.
    tells_status = False
    #: Whether its driver logs in with INTEROP_USERNAME and INTEROP_PASSWORD, if they are set.
    logs_in = False
    #: Within how many seconds its SDK must see a change, pushes apart.
    seen_s = 10

    def __init__(self, name):
        self.name = name

    def install(self, cache):
        raise NotImplementedError

    def command(self, cache, address, directory):
        raise NotImplementedError


class JavaPeer(Peer):
    tools = ("java", "javac", "mvn")
    queue = "maven"
    maintains = True
    logs_in = True
    options = ()

    def __init__(self, version):
        super().__init__(f"java-{version}")
        self.version = version
        self.sources = [HERE / "java/Driver.java", HERE / "java/since-2/Generation.java"]

    def install(self, cache):
        install_java(self.name, cache, HERE / "java/pom.xml", self.sources, [f"-Dnacos.client.version={self.version}"])

    def command(self, cache, address, directory):
        home = cache / self.name
        return [
            *java(directory), *self.options,
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", f"{home}/classes:{home}/lib/*", "Driver", address,
        ]


class OldJavaPeer(JavaPeer):
    """The Java client before 2.x; a push that is lost is made up for by its poll after ten seconds."""

    protocol = "http"
    seen_s = 20
    options = ("-Dcom.alibaba.nacos.client.naming.local.ip=127.0.0.1",)

    def __init__(self, version):
        super().__init__(version)
        self.sources = [HERE / "java/Driver.java", HERE / "java/before-2/Generation.java"]


class SpringPeer(Peer):
    """Spring Cloud Alibaba: applications, not drivers. Ours stand beside them on every server."""

    tools = ("java", "javac", "mvn", "cargo")
    queue = "maven"
    drives = False
    framework = True

    def install(self, cache):
        install_java(self.name, cache, HERE / "spring/pom.xml", sorted((HERE / "spring/mall").glob("*.java")))

    def command(self, cache, address, directory):
        home = cache / self.name
        return [*java(directory), "-cp", f"{home}/classes:{home}/lib/*", "mall.Application"]


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
    logs_in = True
    #: The folder of its driver here, and of its virtual environment in the cache.
    folder = "python"
    pip_options = ()

    def install(self, cache):
        home, requirements = cache / self.folder, HERE / self.folder / "requirements.txt"
        stamp, wanted = home / "stamp", hashed(requirements, text=sys.version)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        run(self.name, cache, [sys.executable, "-m", "venv", home])
        run(self.name, cache, [
            home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.pip_options, "--requirement", requirements,
        ])
        stamp.write_text(wanted)

    def command(self, cache, address, directory):
        return [cache / self.folder / "bin/python", HERE / self.folder / "driver.py", address, directory]


class OldPythonPeer(PythonPeer):
    """Of what it requires, its naming over HTTP needs nothing."""

    protocol = "http"
    polls = True
    logs_in = False
    folder = "python-http"
    pip_options = ("--no-deps",)


class NodePeer(Peer):
    """A push that is lost is made up for by its poll after ten seconds."""

    tools = ("node", "npm")
    queue = "npm"
    protocol = "http"
    seen_s = 20

    def install(self, cache):
        home, packages = cache / "node", [HERE / "node/package.json", HERE / "node/package-lock.json"]
        stamp, wanted = home / "stamp", hashed(*packages)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        for package in packages:
            shutil.copy(package, home)
        run(self.name, cache, ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], {"npm_config_cache": str(cache / "npm")}, home)
        stamp.write_text(wanted)

    def command(self, cache, address, directory):
        return ["node", HERE / "node/driver.js", address, directory, cache / "node/package.json"]


class RustPeer(Peer):
    """The Rust crates are built together, since they share most of what they need."""

    tools = ("cargo",)
    queue = "cargo"

    def __init__(self, name, binary):
        super().__init__(name)
        self.binary = binary

    def install(self, cache):
        env = {"CARGO_TARGET_DIR": str(cache / "rust-sdk")}
        run(self.name, cache, ["cargo", "build", "--quiet", "--locked", "--manifest-path", HERE / "rust-sdk/Cargo.toml"], env)

    def command(self, cache, address, directory):
        return [cache / "rust-sdk/debug" / self.binary, address, directory]


class NrcPeer(RustPeer):
    """`nacos_rust_client`. Over HTTP it asks again only after ten seconds, and no server's push reaches it."""

    hears_updates = False

    def __init__(self, name, protocol):
        super().__init__(name, "interop-nrc")
        self.protocol = protocol
        self.polls = protocol == "http"
        self.seen_s = 30 if self.polls else 10

    def command(self, cache, address, directory):
        return [*super().command(cache, address, directory), self.protocol]


class OurPeer(Peer):
    """Our client, left to choose or held to HTTP; a push that is lost is made up for by its poll after ten seconds."""

    tools = ("cargo",)
    queue = "cargo"
    tells_status = True

    def __init__(self, name, protocol):
        super().__init__(name)
        self.protocol = protocol
        self.seen_s = 20

    def install(self, cache):
        build_ours(cache)

    def command(self, cache, address, directory):
        return [our_binary("interop_client"), address, directory, self.protocol]


class HttpUser(Peer):
    """A person who types calls of the HTTP API; see http_user.py."""

    drives = False

    def install(self, cache):
        pass


def java(directory):
    """A small JVM that keeps what it writes inside this directory."""
    return [
        "java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Duser.home={directory}", f"-DJM.LOG.PATH={directory}/log",
        f"-DJM.SNAPSHOT.PATH={directory}", f"-Dcom.alibaba.nacos.naming.cache.dir={directory}/cache", "-Dnacos.logging.default.config.enabled=false",
    ]


def install_java(name, cache, pom, sources, options=()):
    """What the pom names, by Maven, and the sources compiled against it: `lib` and `classes` in the cache."""
    home = cache / name
    stamp, wanted = home / "stamp", hashed(pom, *sources)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(home, ignore_errors=True)
    (home / "classes").mkdir(parents=True)
    run(name, cache, [
        "mvn", "-B", "-ntp", "-q", "-f", pom, f"-Dmaven.repo.local={cache / 'm2'}", *options,
        "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={home / 'lib'}",
    ])
    run(name, cache, ["javac", "-encoding", "UTF-8", "-cp", f"{home}/lib/*", "-d", home / "classes", *sources])
    stamp.write_text(wanted)


def build_ours(cache):
    """Our server, the driver around our client, and the application of ours, as any `cargo build` of the workspace makes them."""
    run("workspace", cache, [
        "cargo", "build", "--quiet", "--manifest-path", ROOT / "Cargo.toml", "-p", "nacos-server-min", "-p", "nacos-tests",
        "--bin", "nacos-server-min", "--bin", "interop_client", "--bin", "interop_app",
    ])


@functools.cache
def our_binary(name):
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--manifest-path", ROOT / "Cargo.toml"],
        check=True, capture_output=True,
    )
    return Path(json.loads(metadata.stdout)["target_directory"]) / "debug" / name


def hashed(*files, text=""):
    """What an installation was made from: it is made again when that changes."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files) + text.encode()).hexdigest()


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
    NrcPeer("nrc-grpc-0.3.3", "grpc"), OldJavaPeer("1.4.8"), NodePeer("node-2.6.3"), OldPythonPeer("python-http-2.0.11"),
    NrcPeer("nrc-http-0.3.3", "http"), OurPeer("nacos-client", "auto"), OurPeer("nacos-client-http", "http"), HttpUser("http-user"),
    SpringPeer("spring-2023.0.1.2"),
]
