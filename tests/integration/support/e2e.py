# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: Kafka, Redis, sluice-host or the stub provider, and any number of
reconcilers of this build, each in a folder that is removed afterwards; and kcat, which is all that
speaks to Kafka here."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["SLUICE_BUILD"]).resolve()
sys.path.insert(0, str(SOURCE / "tests/fault"))

from world import Host, Timeout, Views, wait_for  # noqa: E402  (found by the line above)

__all__ = ["BUILD", "Cluster", "ClusterTest", "Host", "Http", "Kcat", "SOURCE", "Timeout", "sandbox",
           "wait_for"]


def program(name):
    for folder in ("", "host", "tests/bench/stub_provider"):
        path = BUILD / folder / name
        if path.is_file():
            return str(path)
    raise RuntimeError(f"{name} is not built in {BUILD}")


def sandbox(name, **spec):
    """A desired document of a sandbox at the provider `local`."""
    full = {"provider": "local", "placement": {"provider_pool": "default"}, "ttlMs": 3600000}
    return {
        "kind": "Sandbox",
        "id": name,
        "scope": {"tenantId": "acme", "projectId": "web"},
        "spec": full | spec,
    }


class Kcat:
    """Publishes and reads with kcat alone."""

    def __init__(self, brokers):
        self.brokers = brokers

    def publish(self, key, document, topic="sluice.desired"):
        """A document, text as it is, or None for a tombstone."""
        arguments = ["-P", "-t", topic, "-X", "partitioner=murmur2_random"]
        if document is None:
            self._run(arguments + ["-Z", "-K:"], f"{key}:\n")
            return
        text = document if isinstance(document, str) else json.dumps(document)
        self._run(arguments + ["-k", key], text.replace("\n", ""))

    def publish_many(self, documents, topic="sluice.desired"):
        lines = "".join(f"{key}|{json.dumps(document)}\n" for key, document in documents)
        self._run(["-P", "-t", topic, "-X", "partitioner=murmur2_random", "-K|"], lines)

    def read(self, topic):
        """All records of a topic: [(partition, offset, key, headers, value)]."""
        template = "%p\x1f%o\x1f%k\x1f%h\x1f%S\x1f%s\x1e"
        text = self._run(["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", template], "")
        records = []
        for line in text.split("\x1e")[:-1]:
            partition, offset, key, headers, size, value = line.lstrip("\n").split("\x1f", 5)
            headers = dict(h.split("=", 1) for h in headers.split(",") if "=" in h)
            value = None if size == "-1" else json.loads(value)
            records.append((int(partition), int(offset), key, headers, value))
        return records

    def read_raw(self, topic):
        """[(key, value)] as text: for what need not be JSON."""
        text = self._run(["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%k\x1f%s\x1e"], "")
        return [tuple(line.lstrip("\n").split("\x1f", 1)) for line in text.split("\x1e")[:-1]]

    def statuses(self):
        """Newest status by key; None for a tombstone."""
        return {key: value for _, _, key, _, value in self.read("sluice.status")}

    def events(self, key):
        """[(type without prefix, headers, data)] of one resource, in order."""
        return [
            (headers["ce_type"].rsplit(".", 1)[1], headers, value)
            for _, _, subject, headers, value in self.read("sluice.events")
            if subject == key
        ]

    def wait_for_phase(self, key, phase, limit_s=20):
        def arrived():
            status = self.statuses().get(key)
            return status if status and status["phase"] == phase else None

        return wait_for(f"{key} is {phase}", arrived, limit_s)

    def _run(self, arguments, text):
        done = subprocess.run(
            ["kcat", "-b", self.brokers, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"kcat {arguments}: {done.stderr}")
        return done.stdout


class Http:
    """GET of JSON or text; (0, None) where nobody answers."""

    @staticmethod
    def get(url):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, None

    @staticmethod
    def get_json(url):
        status, text = Http.get(url)
        return status, json.loads(text) if text else None


class Program:
    """A program of the build, its output in a file of the cluster's folder."""

    def __init__(self, folder, name, *arguments):
        self.log_path = folder / f"{name}-{len(list(folder.glob(name + '-*')))}.log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program(name), *arguments], stdout=log, stderr=subprocess.STDOUT
            )

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_for_line(self, words, limit_s=15):
        def there():
            if self.process.poll() is not None and words not in self.log():
                raise RuntimeError(f"it ended with {self.process.returncode}:\n{self.log()}")
            return [line for line in self.log().splitlines() if words in line]

        return wait_for(f"a line with {words}", there, limit_s)[0]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, limit_s=15):
        """SIGTERM, and the exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(limit_s)


class Cluster:
    """Kafka and Redis in a folder, and programs that are started and ended by the tests."""

    def __init__(self, shards=4):
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-e2e-")
        self.folder = Path(self._folder.name)
        self.programs = []
        self.kafka = self.service("kafka", "start")
        self.redis = self.service("redis", "start")
        self.kcat = Kcat(self.kafka)
        self.views = Views(self.redis)
        self.cli("topics", "create", "--kafka-brokers", self.kafka, "--partitions", str(shards))

    def service(self, name, command):
        script = str(SOURCE / f"compose/{name}.sh")
        done = subprocess.run(
            [script, command, str(self.folder)], capture_output=True, text=True, check=True
        )
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    @staticmethod
    def cli(*arguments):
        return subprocess.run(
            [program("sluice"), *arguments], capture_output=True, text=True, check=True
        ).stdout

    def start(self, name, *arguments):
        started = Program(self.folder, name, *arguments)
        self.programs.append(started)
        return started

    def start_stub(self, *arguments):
        stub = self.start("stub_provider", *arguments)
        stub.url = stub.wait_for_line("listening").split()[1]
        return stub

    def start_host(self):
        key = self.folder / "host.key"
        if not key.exists():
            key.touch(0o600)
            key.write_text("e2e-test-key\n")
        host = self.start(
            "sluice-host",
            "--listen", "127.0.0.1:0", "--state-dir", str(self.folder / "host"),
            "--api-key-file", str(key),
        )  # fmt: skip
        port = host.wait_for_line("event=listening").split("port=")[1].split()[0]
        host.url = f"http://127.0.0.1:{port}"
        return host

    def write_config(self, url, name="reconciler.json", key=False, **settings):
        local = {"type": "local", "url": url, "concurrent": 50, "perSecond": 1000}
        if key:
            local["apiKeyFile"] = str(self.folder / "host.key")
        path = self.folder / name
        path.write_text(
            json.dumps(
                {
                    "kafkaBrokers": self.kafka,
                    "redisUrl": f"redis://{self.redis}",
                    "defaultProvider": "local",
                    "providers": {"local": local},
                }
                | settings
            )
        )
        return str(path)

    def start_reconciler(self, config):
        replica = self.start("sluice-reconciler", "--config", config)
        replica.url = replica.wait_for_line("event=listening").split("url=")[1].split()[0]
        return replica

    def wait_ready(self, replica, limit_s=30):
        return wait_for(
            "ready", lambda: Http.get_json(replica.url + "/readyz")[0] == 200, limit_s
        )

    def end(self):
        for started in reversed(self.programs):
            if started.process.poll() is None:
                started.signal(signal.SIGCONT)
                started.stop()
        self._end_sandboxes()
        for name in ("kafka", "redis"):
            self.service(name, "stop")
        self._folder.cleanup()

    def _end_sandboxes(self):
        """Sandboxes outlive their host; those of this folder are killed here."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue
            if str(self.folder).encode() in words and b"sluice-sandbox-init" in words:
                try:
                    os.kill(int(path.parent.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass


class ClusterTest(unittest.TestCase):
    """A class of tests on one cluster. When one fails, the programs' logs are shown."""

    shards = 4

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.shards)
        cls.addClassCleanup(cls.cluster.end)
        cls.kcat = cls.cluster.kcat

    def tearDown(self):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            for started in self.cluster.programs:
                print(f"--- {started.log_path.name}\n{started.log()[-6000:]}", file=sys.stderr)


def deadline(limit_s):
    return time.monotonic() + limit_s
