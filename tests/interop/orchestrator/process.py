"""Child processes: servers and drivers, their logs, and waiting for what they say. Every wait has a deadline and says what it saw."""

import json
import os
import subprocess
import threading
import time
from pathlib import Path


class Failure(Exception):
    """A step did not do what it should; the text says what was expected and what was seen."""


class CommandError(Exception):
    """A driver's SDK refused a command; the text is the SDK's own."""


class NoEvent(Exception):
    """An SDK's list shows a change that it had no event for."""


def wait_until(what, deadline_s, probe, log_tail=lambda: ""):
    """Calls probe() until it returns (True, seen) and returns seen; fails after deadline_s seconds with what was seen last."""
    end = time.monotonic() + deadline_s
    while True:
        done, seen = probe()
        if done:
            return seen
        if time.monotonic() >= end:
            raise Failure(f"expected within {deadline_s:g} s: {what}\n  seen last: {seen}{log_tail()}")
        time.sleep(0.03)


def clean_env(home):
    """What a child gets: the tools' paths and a HOME of its own, so that no SDK finds files or settings of another run."""
    keep = ("PATH", "LANG", "LC_ALL", "JAVA_HOME", "TMPDIR", "NACOS_INTEROP_CACHE")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env["HOME"] = str(home)
    return env


_children = []


def kill_children():
    """Ends whatever still runs, however the program ends."""
    for child in _children:
        if child.process.poll() is None:
            child.process.kill()


class Child:
    """A process with its own directory; what it writes to stderr (and what is no protocol line) goes to a log file there."""

    def __init__(self, name, command, directory, env=None, pipes=False):
        self.name = name
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.log_path = self.directory / f"{name}.log"
        self.log = open(self.log_path, "ab", buffering=0)
        stdin = subprocess.PIPE if pipes else subprocess.DEVNULL
        stdout = subprocess.PIPE if pipes else self.log
        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=self.directory, env=env or clean_env(self.directory),
            stdin=stdin, stdout=stdout, stderr=self.log,
        )
        _children.append(self)

    def tail(self, lines=12):
        text = self.log_path.read_text(errors="replace").splitlines()[-lines:]
        state = self.process.poll()
        running = "running" if state is None else f"ended with {state}"
        return f"\n  {self.name} is {running}; its log ends:" + "".join(f"\n    | {line[:300]}" for line in text)

    def kill(self):
        """kill -9, and waits until the process is gone."""
        self.process.kill()
        self.process.wait(10)

    def stop(self, patience_s=5):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()


def parse(raw):
    """A line of the protocol; None for anything else that an SDK prints."""
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


class Driver(Child):
    """A driver program around one SDK: see README.md for the line protocol."""

    def __init__(self, name, command, directory, seen_s, env=None):
        #: Within how many seconds its SDK must see a change.
        self.seen_s = seen_s
        self.news = threading.Condition()
        self.answers = {}
        self.events = {}
        #: The last line of each other event.
        self.told = {}
        self.gone = False
        self.last_id = 0
        super().__init__(name, command, directory, {**clean_env(directory), **(env or {})}, pipes=True)
        self.reader = threading.Thread(target=self._read, name=f"read {name}", daemon=True)
        self.reader.start()

    def _read(self):
        for raw in self.process.stdout:
            line = parse(raw)
            if line is None:
                self.log.write(raw)
                continue
            self.log.write(b"> " + raw)
            with self.news:
                if "id" in line:
                    self.answers[line["id"]] = line
                elif line.get("event") == "change":
                    self.events.setdefault(line["service"], []).append(line)
                elif "event" in line:
                    self.told[line["event"]] = line
                self.news.notify_all()
        with self.news:
            self.gone = True
            self.news.notify_all()

    def _wait(self, what, deadline_s, probe):
        """Waits for news until probe() returns something other than None."""
        end = time.monotonic() + deadline_s
        with self.news:
            while True:
                found = probe()
                if found is not None:
                    return found
                left = end - time.monotonic()
                if self.gone:
                    raise Failure(f"expected {what}, but {self.name} ended{self.tail()}")
                if left <= 0:
                    raise Failure(f"expected from {self.name} within {deadline_s:g} s: {what}{self.tail()}")
                self.news.wait(left)

    def wait_ready(self, deadline_s):
        self._wait("the ready line", deadline_s, lambda: self.event("ready"))

    def event(self, name):
        """The last line of this event, not `change`."""
        return self.told.get(name)

    def call(self, cmd, deadline_s=30, **arguments):
        """One command; its result, or CommandError with the SDK's own text."""
        with self.news:
            self.last_id += 1
            number = self.last_id
        line = json.dumps({"id": number, "cmd": cmd, **arguments})
        self.log.write(b"< " + line.encode() + b"\n")
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failure(f"{self.name} does not take the command {cmd}{self.tail()}") from None
        answer = self._wait(f"an answer to {cmd}", deadline_s, lambda: self.answers.get(number))
        if not answer["ok"]:
            raise CommandError(str(answer.get("error")))
        return answer.get("result")

    def mark(self, service):
        """The number of events seen so far: later waits can start after them."""
        with self.news:
            return len(self.events.get(service, ()))

    def wait_event(self, service, matches, what, deadline_s=None, after=0):
        """The first event after the mark whose instances match."""
        def probe():
            for event in self.events.get(service, ())[after:]:
                if matches(event["instances"]):
                    return event
            return None

        try:
            return self._wait(f"a change of {service}: {what}", deadline_s or self.seen_s, probe)
        except Failure as failure:
            with self.news:
                seen = self.events.get(service, ())[after:][-3:]
            shown = "".join(f"\n    {json.dumps(event['instances'])}" for event in seen) or " no event"
            raise Failure(f"{failure}\n  seen last:{shown}") from None

    def heard(self, service, after=0):
        """The lists of all events after the mark."""
        with self.news:
            return [event["instances"] for event in self.events.get(service, ())[after:]]

    def latest(self, service, after=0):
        with self.news:
            seen = self.events.get(service, ())[after:]
            return seen[-1]["instances"] if seen else None
