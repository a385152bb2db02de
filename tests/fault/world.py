# SPDX-License-Identifier: Apache-2.0
"""The world as an outsider sees it, for the fault tests: the topics by a Kafka client, the sandboxes by
sluice-host's HTTP API, the views by redis-cli, and the services as processes that can be killed. Knows
the published formats alone; shares no code with the product."""

import base64
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

SOURCE = Path(__file__).resolve().parents[2]
SERVICES = ("kafka", "redis", "host", "reconciler")


class Timeout(Exception):
    pass


def wait_for(what, condition, limit_s, pause_s=0.1):
    """Asks until `condition()` gives something true, and returns that."""
    deadline = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Timeout(f"{what}: not within {limit_s} s")
        time.sleep(pause_s)


class Stack:
    """The four services in one state folder, by compose/stack.sh."""

    def __init__(self, folder, build):
        self.folder = Path(folder).resolve()
        self.build = Path(build).resolve()

    def run(self, command, service=""):
        environment = dict(os.environ, SLUICE_BUILD=str(self.build))
        arguments = [str(SOURCE / "compose/stack.sh"), command, str(self.folder)]
        done = subprocess.run(
            arguments + ([service] if service else []),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"stack.sh {command} {service} failed:\n{done.stdout}")
        return done.stdout

    def up(self):
        return self.run("up")

    def down(self):
        return self.run("down")

    def start(self, service):
        self.run("start", service)

    def kill(self, service):
        """SIGKILL, at once: the pid file's start time guards against a pid that was given away."""
        pid, started = (self.folder / f"{service}.pid").read_text().split()
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(") ", 1)[1].split()[19] == started:
            os.kill(int(pid), signal.SIGKILL)

    def address(self, service):
        return (self.folder / f"{service}.address").read_text().strip()

    def log_tail(self, service, lines=30):
        log = self.folder / f"{service}.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


class Record:
    """A Kafka record, its JSON value decoded; `value` is None for a tombstone."""

    def __init__(self, message):
        self.partition = message.partition()
        self.offset = message.offset()
        self.key = message.key().decode() if message.key() else ""
        self.headers = {name: (value or b"").decode() for name, value in message.headers() or []}
        self.raw = message.value()
        self.value = None if self.raw is None else json.loads(self.raw)


class Topic:
    """All records of a topic since its beginning, committed ones only, read on as they come."""

    def __init__(self, brokers, name):
        self.name = name
        self.records = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "fault-tests",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
                "log_level": 2,
            }
        )
        partitions = self.consumer.list_topics(name, 10).topics[name].partitions
        self.reached = {partition: 0 for partition in partitions}
        self.consumer.assign([TopicPartition(name, p, OFFSET_BEGINNING) for p in partitions])

    def read(self):
        """Up to each partition's end as it is now: what was committed before the call is in it."""
        ends = {p: self._committed_end(p) for p in self.reached}
        deadline = time.monotonic() + 30
        while any(self.reached[p] < end for p, end in ends.items()):
            if time.monotonic() > deadline:
                raise Timeout(f"{self.name} is at {self.reached} after 30 s, not at {ends}")
            message = self.consumer.poll(0.1)
            if message is not None:
                self._take(message)
        return self.records

    def _committed_end(self, partition):
        # A read_committed consumer is told the last stable offset.
        return self.consumer.get_watermark_offsets(TopicPartition(self.name, partition), 10)[1]

    def _take(self, message):
        if message.error() is None:
            self.records.append(Record(message))
            self.reached[message.partition()] = message.offset() + 1
        elif message.error().code() == KafkaError._PARTITION_EOF:
            # Offsets that hold no record (the marks of transactions) count as reached too.
            self.reached[message.partition()] = message.offset()
        else:
            raise RuntimeError(f"reading {self.name}: {message.error()}")


class Log:
    """The topics, read whole, and the producer of desired documents."""

    def __init__(self, brokers):
        self.brokers = brokers
        self.topics = {}
        self.producer = Producer(
            {
                "bootstrap.servers": brokers,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "log_level": 2,
            }
        )

    def read(self, topic):
        if topic not in self.topics:
            self.topics[topic] = Topic(self.brokers, topic)
        return self.topics[topic].read()

    def newest(self, topic):
        """The last record of each key; keys whose last record is a tombstone are left out."""
        last = {record.key: record for record in self.read(topic)}
        return {key: record for key, record in last.items() if record.value is not None}

    def publish(self, key, document, topic="sluice.desired"):
        """Returns (partition, offset) once the broker has acknowledged the record."""
        reports = []
        value = None if document is None else json.dumps(document, separators=(",", ":"))
        self.producer.produce(topic, key=key, value=value, on_delivery=lambda *r: reports.append(r))
        self.producer.flush(30)
        if not reports:
            raise Timeout(f"the record {key} was not acknowledged within 30 s")
        error, message = reports[0]
        if error is not None:
            raise RuntimeError(f"publishing {key}: {error}")
        return message.partition(), message.offset()


class Away(Exception):
    """Nobody answered: the service is down at this moment."""


class Host:
    """sluice-host, by its HTTP API."""

    def __init__(self, address, key_file):
        self.base = f"http://{address}"
        self.key_file = Path(key_file)

    def _get(self, path, headers):
        request = urllib.request.Request(self.base + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None, error.headers
            raise RuntimeError(f"GET {path}: {error.code} {error.read()[:200]!r}") from error
        except (urllib.error.URLError, ConnectionError, TimeoutError, OSError) as error:
            raise Away(str(error)) from error

    def _control(self, path):
        return self._get(path, {"X-API-Key": self.key_file.read_text().strip()})

    def sandboxes(self):
        """All sandboxes, running and paused, over all pages."""
        found, token = [], ""
        while True:
            query = {"state": "running,paused", "limit": "100"}
            if token:
                query["nextToken"] = token
            body, headers = self._control("/v2/sandboxes?" + urllib.parse.urlencode(query))
            found += json.loads(body)
            token = headers.get("X-Next-Token") or ""
            if not token:
                return found

    def sandbox(self, sandbox_id):
        body, _ = self._control(f"/sandboxes/{sandbox_id}")
        return None if body is None else json.loads(body)

    def read_file(self, sandbox_id, path):
        """The bytes of a file inside a running sandbox; None when it is not there."""
        token = self.sandbox(sandbox_id).get("envdAccessToken")
        headers = {"E2b-Sandbox-Id": sandbox_id, "E2b-Sandbox-Port": "49983"}
        if token:
            headers["X-Access-Token"] = token
        headers["Authorization"] = "Basic " + base64.b64encode(b"user:").decode()
        query = urllib.parse.urlencode({"path": path, "username": "user"})
        return self._get("/files?" + query, headers)[0]


class Views:
    """What readers get from Redis: each shard's pointer, and the view it names."""

    def __init__(self, address):
        self.host, self.port = address.rsplit(":", 1)

    def _redis(self, *arguments):
        done = subprocess.run(
            ["redis-cli", "-h", self.host, "-p", self.port, "--json", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or done.stderr or done.stdout.startswith(("ERR", "Could not")):
            raise Away(done.stderr or done.stdout)
        return json.loads(done.stdout)

    def flushall(self):
        subprocess.run(
            ["redis-cli", "-h", self.host, "-p", self.port, "flushall"],
            check=False,
            capture_output=True,
        )

    def statuses(self, shards):
        """Status by key over all shards; None while a shard has no view."""
        found = {}
        for shard in range(shards):
            view = self._redis("hget", f"slu:{{{shard}}}:owner", "view")
            if not view:
                return None
            statuses = self._redis("hgetall", f"slu:{{{shard}}}:{view}:status")
            found.update({key: json.loads(text) for key, text in statuses.items()})
        return found
