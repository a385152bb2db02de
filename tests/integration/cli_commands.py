#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice` against a real broker and a real Redis, without a reconciler: what a leader would write is
written here, by kcat and redis-cli, from schemas/ and design.md alone.

Needs SLUICE (the program) and SLUICE_SOURCE (the checkout) in the environment."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import http.server

SLUICE = os.environ["SLUICE"]
SOURCE = os.environ["SLUICE_SOURCE"]
PARTITIONS = 4
PATIENCE_S = 30

# Of these keys' roots, for four partitions; the first test of TestApply asks kcat whether it is so.
SHARD_OF = {"sandbox/demo-1": 0, "sandbox/demo-3": 1}


def run(*command, stdin=None, check=True):
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class World:
    """One broker and one Redis for all tests; each class of tests has topics of its own."""

    folder = None
    brokers = None
    redis_url = None

    @classmethod
    def start(cls):
        cls.folder = tempfile.mkdtemp(prefix="sluice-cli-")
        cls.brokers = run(f"{SOURCE}/compose/kafka.sh", "start", cls.folder).stdout.split()[-1]
        address = run(f"{SOURCE}/compose/redis.sh", "start", cls.folder).stdout.split()[-1]
        cls.redis_port = address.split(":")[1]
        cls.redis_url = f"redis://{address}"

    @classmethod
    def stop(cls):
        run(f"{SOURCE}/compose/kafka.sh", "kill", cls.folder)
        run(f"{SOURCE}/compose/redis.sh", "kill", cls.folder)
        shutil.rmtree(cls.folder, ignore_errors=True)


def setUpModule():
    World.start()


def tearDownModule():
    World.stop()


def status_document(kind, id, tenant="acme", phase="running", generation=3, **members):
    return {
        "kind": kind, "id": id, "scope": {"tenantId": tenant, "projectId": "web"}, "uid": "0-1",
        "created": {"sha256": "00"}, "observedGeneration": generation, "phase": phase,
        "incarnation": 1, "transition": 2, "call": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Running", "message": "",
                        "observedGeneration": generation, "lastTransitionAtMs": 1700000000000}],
        "spec": {"provider": "local", "state": "running", "ttlMs": 60000},
        "fence": {"shard": 0, "epoch": 1, "desiredOffset": 1}, **members,
    }


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = f"{cls.__name__.lower()}."
        cls.key_prefix = f"{cls.__name__.lower()}:"
        cls.env = dict(os.environ, SLU_KAFKA_BROKERS=World.brokers, SLU_REDIS_URL=World.redis_url,
                       SLU_TOPIC_PREFIX=cls.prefix, SLU_REDIS_KEY_PREFIX=cls.key_prefix)
        result = cls.sluice("topics", "create", "--partitions", str(PARTITIONS))
        assert result.returncode == 0, result.stderr

    @classmethod
    def sluice(cls, *arguments, stdin=None, **env):
        return subprocess.run([SLUICE, *arguments], input=stdin, capture_output=True, text=True,
                              timeout=120, env=dict(cls.env, **env))

    def start_sluice(self, *arguments):
        process = subprocess.Popen([SLUICE, *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.env)
        watchdog = threading.Timer(PATIENCE_S, process.kill)  # Ends a read that waits in vain.
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def produce(self, topic, partition, key, value, headers=()):
        command = ["kcat", "-b", World.brokers, "-P", "-t", self.prefix + topic, "-p",
                   str(partition)]
        for name, text in headers:
            command += ["-H", f"{name}={text}"]
        if value is None:
            run(*command, "-Z", "-K|", stdin=f"{key}|\n")
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(value)
            file.flush()
            run(*command, "-k", key, file.name)

    def consume(self, topic):
        """[(partition, offset, key, value, {header: text})]; value None for a tombstone."""
        text = run("kcat", "-b", World.brokers, "-C", "-t", self.prefix + topic, "-e", "-q", "-J",
                   "-o", "beginning").stdout
        records = []
        for line in text.splitlines():
            record = json.loads(line)
            names = record.get("headers", [])
            records.append((record["partition"], record["offset"], record["key"],
                            record["payload"], dict(zip(names[::2], names[1::2]))))
        return records

    def wait_until(self, condition, what):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.fail(f"waited in vain until {what}")

    def judge(self, partition, offset, key, verb, data):
        kind = key.split("/")[0]
        self.produce("events", partition, key, json.dumps(data), [
            ("ce_specversion", "1.0"), ("ce_id", f"{partition}/{offset}"),
            ("ce_source", f"/sluice/c/{partition}"), ("ce_type", f"dev.sluice.{kind}.{verb}"),
            ("ce_time", "2026-11-30T02:45:12.000Z"), ("ce_subject", key),
            ("content-type", "application/json")])

    def desired(self, key):
        return [record for record in self.consume("desired") if record[2] == key]

    def put_status(self, key, document, shard):
        self.produce("status", shard, key,
                     None if document is None else json.dumps(document, separators=(",", ":")))

    def redis(self, *words):
        return run("redis-cli", "-p", World.redis_port, *words).stdout

    def put_view(self, shard, documents, epoch=1, seq=7):
        """A view as lib/adapter/store_redis_lua.h describes it."""
        base = f"{self.key_prefix}{{{shard}}}:"
        view = f"g{epoch}.{seq}"
        for key, document in documents.items():
            kind = key.split("/")[0]
            scope = document["scope"]
            at = f"{scope['tenantId']}/{scope['projectId']}/{kind}"
            text = json.dumps(document, separators=(",", ":"))
            self.redis("HSET", f"{base}{view}:status", key, text)
            self.redis("HSET", f"{base}{view}:ids", f"{kind}:{key.split('/')[-1]}", key)
            self.redis("HSET", f"{base}{view}:at", key, at)
            self.redis("SADD", f"{base}{view}:kinds", at)
            self.redis("SADD", f"{base}{view}:idx:{at}", key)
        self.redis("HSET", f"{base}owner", "cluster", "c", "epoch", str(epoch), "seq", str(seq),
                   "part", "0", "view", view, "url", "http://127.0.0.1:7000")

    def put_empty_views(self, but=()):
        for shard in range(PARTITIONS):
            if shard not in but:
                self.put_view(shard, {})


class TestHelp(unittest.TestCase):
    def call(self, *arguments, **env):
        return subprocess.run([SLUICE, *arguments], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, **env))

    def commands(self):
        text = self.call("help").stdout
        return re.findall(r"^  ([a-z]+) {2,}\S", text.split("Commands")[1].split("To begin")[0], re.M)

    def test_every_command_teaches_with_an_example(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 14)
        for command in commands:
            by_flag, by_word = self.call(command, "--help"), self.call("help", command)
            self.assertEqual(by_flag.returncode, 0)
            self.assertEqual(by_flag.stdout, by_word.stdout)
            self.assertIn(f"Usage: sluice {command}", by_flag.stdout)
            self.assertRegex(by_flag.stdout, f"(?m)^  (source <\\()?.*sluice {command}")

    def test_mistakes_are_named_with_what_would_be_right(self):
        for arguments, says in [
            (["gett"], "no command 'gett'"),
            (["get", "--wach"], "--watch"),
            (["get", "-x"], "unknown flag"),
            (["get", "sandbocks"], "the kinds are sandbox"),
            (["get", "sandbox/a/b"], "sandbox"),
            (["get", "a", "b"], "usage: sluice get"),
            (["pause"], "usage: sluice pause <sandbox id>"),
            (["pause", "checkpoint/a/b"], "names no sandbox"),
            (["apply"], "-f FILE"),
            (["topics", "drop"], "neither create nor check"),
            (["topics", "create", "--partitions", "0"], "between 1 and 1024"),
            (["events", "sandbox"], "no whole key"),
            (["completion", "fish"], "neither bash nor zsh"),
            (["providers"], "--config"),
            (["shards", "reset"], "its number"),
            (["shards", "reset", "x"], "its number"),
            (["shards", "reset", "1", "--to", "middle", "--yes"], "beginning or end"),
            (["get", "--config", "/nonexistent.json"], "/nonexistent.json"),
        ]:
            result = self.call(*arguments)
            self.assertEqual(result.returncode, 2, f"{arguments}: {result.stderr}")
            self.assertIn(says, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_options_are_not_taken_from_variables(self):
        result = self.call("shards", "reset", "1", SLU_YES="1", SLU_KAFKA_BROKERS="127.0.0.1:1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--yes", result.stderr)

    def test_a_broker_that_is_away_is_named(self):
        result = self.call("topics", "check", "--kafka-brokers", "127.0.0.1:1")
        self.assertEqual(result.returncode, 1)
        result = self.call("apply", "-f", f"{SOURCE}/examples/01-sandbox.json", "--kafka-brokers",
                           "127.0.0.1:1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("127.0.0.1:1", result.stderr)
        self.assertIn("--kafka-brokers", result.stderr)

    def test_completions_are_scripts_and_as_in_the_tree(self):
        for shell, file in [("bash", "sluice.bash"), ("zsh", "_sluice")]:
            text = self.call("completion", shell).stdout
            with open(f"{SOURCE}/docs/completion/{file}", encoding="utf-8") as kept:
                self.assertEqual(text, kept.read(), f"docs/completion/{file} is to be made anew")
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w") as script:
                    script.write(text)
                    script.flush()
                    run(shell, "-n", script.name)

    def test_bash_completes_commands_words_and_flags(self):
        script = self.call("completion", "bash").stdout
        for line, expected in [("sluice pa", "pause"), ("sluice topics c", "create"),
                               ("sluice apply --no", "--no-wait"), ("sluice get sa", "sandbox"),
                               ("sluice get --redis-u", "--redis-url")]:
            words = line.split(" ")
            program = script + (f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _sluice; "
                                "printf '%s\\n' \"${COMPREPLY[@]}\"")
            self.assertIn(expected, run("bash", "-c", program).stdout.split())

    def test_the_man_page_names_every_command_and_setting(self):
        with open(f"{SOURCE}/docs/man/sluice.1", encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        for command in self.commands():
            self.assertRegex(page, f"\\.(It|Ss|Cm|Nm).*\\b{command}\\b")
        for setting in re.findall(r"^  --([a-z-]+)", self.call("help").stdout, re.M):
            self.assertIn(f"Fl -{setting}", page)


class TestApply(Case):
    def test_a_producer_that_knows_nothing_lands_where_sluice_does(self):
        for key, shard in SHARD_OF.items():
            run("kcat", "-b", World.brokers, "-P", "-t", self.prefix + "desired", "-X",
                "partitioner=murmur2_random", "-k", key, stdin='{"by":"kcat"}\n')
            found = [record for record in self.desired(key) if "kcat" in record[3]]
            self.assertEqual(found[0][0], shard)

    def test_each_document_lands_where_its_root_belongs(self):
        result = self.sluice("apply", "--no-wait", "--json", f"{SOURCE}/examples/01-sandbox.json",
                             f"{SOURCE}/examples/02-checkpoint.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["verdict"] for line in lines], ["published", "published"])
        with open(f"{SOURCE}/examples/01-sandbox.json", encoding="utf-8") as file:
            text = file.read()
        found = [record for record in self.desired("sandbox/demo-1") if "kcat" not in record[3]]
        self.assertEqual(found[0][0], SHARD_OF["sandbox/demo-1"])
        self.assertEqual(found[0][3], text.rstrip("\n"))  # Byte for byte.
        headers = found[0][4]
        self.assertEqual(headers["ce_subject"], "sandbox/demo-1")
        self.assertEqual(headers["content-type"], "application/json")
        child = [record for record in self.consume("desired") if "checkpoint/" in record[2]]
        self.assertEqual(child[0][0], SHARD_OF["sandbox/demo-1"])

    def test_a_stream_and_an_array_are_many_documents(self):
        one = '{"kind":"Sandbox","id":"s-%d","spec":{}}'
        stream = "\n".join(one % i for i in range(3))
        array = "[" + ", ".join(one % i for i in range(3, 6)) + "]"
        for text in (stream, array):
            result = self.sluice("apply", "-f", "-", "--no-wait", "--json", stdin=text)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(result.stdout.splitlines()), 3)
        self.assertEqual(self.desired("sandbox/s-4")[0][3], one % 4)

    def test_broken_input_publishes_nothing(self):
        before = len(self.consume("desired"))
        good = '{"kind":"Sandbox","id":"good","spec":{}}\n'
        for text, says in [(good + '{"kind":', "line 2"), (good + '"text"', "line 2"),
                           (good + '{"kind":"Sandbocks","id":"a"}', "Sandbocks"),
                           (good + '{"kind":"Sandbox","id":"a/b"}', "id"),
                           (good + '{"kind":"Checkpoint","id":"a","spec":{}}', "spec.sandboxId"),
                           ("", "no document")]:
            result = self.sluice("apply", "-f", "-", "--no-wait", stdin=text)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(says, result.stderr)
            self.assertIn("nothing was published", result.stderr)
        self.assertEqual(len(self.consume("desired")), before)
        self.assertEqual(self.sluice("apply", "/nonexistent").returncode, 1)

    def apply_and_judge(self, key, verb, data, topic="events"):
        """Applies a document for `key` and answers as its leader would."""
        before = len(self.desired(key))
        text = json.dumps({"kind": "Sandbox", "id": key.split("/")[1], "spec": {}})
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            process = self.start_sluice("apply", "-f", file.name, "--json")
            record = self.wait_until(lambda: self.desired(key)[before:], "it is published")[0]
            if topic == "events":
                self.judge(record[0], record[1], key, verb, data)
            else:
                self.produce("deadletter", 0, key, text, [
                    ("slu-reason", data), ("slu-origin", f"{record[0]}/{record[1]}/1")])
            output, errors = process.communicate(timeout=PATIENCE_S)
        return process.returncode, json.loads(output), errors

    def test_the_judgement_of_this_record_is_told(self):
        # An older judgement of the same key is not taken for it.
        self.judge(SHARD_OF["sandbox/demo-3"], 999, "sandbox/demo-3", "refused", {"code": "CONFLICT"})
        status, line, _ = self.apply_and_judge("sandbox/demo-3", "accepted", {"generation": 4})
        self.assertEqual((status, line["verdict"], line["generation"]), (0, "accepted", 4))
        status, line, _ = self.apply_and_judge("sandbox/demo-3", "accepted",
                                               {"generation": 4, "repeated": True})
        self.assertEqual((status, line["verdict"]), (0, "unchanged"))
        status, line, _ = self.apply_and_judge(
            "sandbox/demo-3", "refused",
            {"code": "INVALID", "field": "spec.ttlMs", "message": "spec.ttlMs: 5 is too small"})
        self.assertEqual((status, line["verdict"], line["field"]), (3, "refused", "spec.ttlMs"))
        self.assertIn("too small", line["message"])

    def test_a_dead_letter_is_a_refusal(self):
        status, line, _ = self.apply_and_judge("sandbox/demo-3", None, "the key is no key",
                                               topic="deadletter")
        self.assertEqual((status, line["verdict"]), (3, "refused"))
        self.assertIn("no key", line["message"])

    def test_no_judgement_in_time_says_that_it_stays_in_the_log(self):
        result = self.sluice("apply", "-f", f"{SOURCE}/examples/01-sandbox.json",
                             "--timeout-seconds", "1")
        self.assertEqual(result.returncode, 5)
        self.assertIn("unanswered", result.stdout)
        self.assertIn("sluice shards", result.stderr)


class TestGet(Case):
    def test_1_without_views_the_log_is_read_and_that_is_said(self):
        self.put_status("sandbox/demo-1", status_document("Sandbox", "demo-1", phase="pending"), 0)
        self.put_status("sandbox/demo-1", status_document("Sandbox", "demo-1"), 0)
        self.put_status("sandbox/gone", status_document("Sandbox", "gone"), 2)
        self.put_status("sandbox/gone", None, 2)
        self.put_status("snapshot/s", status_document("Snapshot", "s", tenant="other"), 1)
        result = self.sluice("get")
        self.assertEqual(result.returncode, 0)
        self.assertIn("reading the log instead", result.stderr)
        self.assertRegex(result.stdout, r"(?m)^sandbox/demo-1 +running +True +3 +1 +local ")
        self.assertNotIn("sandbox/gone", result.stdout)
        away = self.sluice("get", "--json", "sandbox/demo-1", "--redis-url", "redis://127.0.0.1:1")
        self.assertEqual(json.loads(away.stdout)["phase"], "running")
        self.assertIn("127.0.0.1:1", away.stderr)

    def test_2_views_are_read_through_their_pointers(self):
        documents = {"sandbox/v-1": status_document("Sandbox", "v-1", phase="paused"),
                     "checkpoint/v-1/cp-7": status_document("Checkpoint", "cp-7", phase="ready"),
                     "sandbox/v-2": status_document("Sandbox", "v-2", tenant="other")}
        self.put_view(0, {})
        self.put_view(1, documents)
        self.put_view(2, {})
        self.put_view(3, {"sandbox/v-3": status_document("Sandbox", "v-3")})
        result = self.sluice("get", "--json")
        self.assertEqual(result.stderr, "")
        self.assertEqual([json.loads(line)["id"] for line in result.stdout.splitlines()],
                         ["cp-7", "v-1", "v-2", "v-3"])
        for arguments, ids in [(["sandbox"], ["v-1", "v-2", "v-3"]), (["sandboxes"], ["v-1", "v-2", "v-3"]),
                               (["--tenant", "other"], ["v-2"]), (["sandbox/v-3"], ["v-3"]),
                               (["--tenant", "acme", "--project", "web", "sandbox"], ["v-1", "v-3"]),
                               (["--project", "none"], []),
                               (["checkpoint/v-1/cp-7"], ["cp-7"]), (["checkpoint/cp-7"], ["cp-7"])]:
            result = self.sluice("get", "--json", *arguments)
            self.assertEqual([json.loads(line)["id"] for line in result.stdout.splitlines()], ids)
        # A newer view behind the pointer, the old one removed: the new one is read.
        self.put_view(1, {"sandbox/v-1": documents["sandbox/v-1"]}, epoch=2, seq=9)
        result = self.sluice("get", "--json", "sandbox")
        self.assertEqual([json.loads(line)["id"] for line in result.stdout.splitlines()],
                         ["v-1", "v-3"])

    def test_3_what_is_not_there_is_not_found(self):
        for name in ("sandbox/none", "checkpoint/none", "checkpoint/a/none"):
            result = self.sluice("get", name)
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("none", result.stderr)
        self.assertEqual(self.sluice("describe", "none").returncode, 4)
        self.assertEqual(self.sluice("pause", "none").returncode, 4)

    def test_4_control_characters_of_a_document_do_not_reach_the_terminal(self):
        document = status_document("Sandbox", "evil")
        document["conditions"][0].update(status="False", reason="Bad",
                                         message="\u001b[2Jcleared\r\nsecond")
        self.put_view(3, {"sandbox/evil": document})
        result = self.sluice("get", "sandbox/evil")
        self.assertIn("cleared", result.stdout)
        self.assertNotIn("\x1b", result.stdout)
        self.assertEqual(len(result.stdout.splitlines()), 2)

    def test_5_watching_shows_what_is_and_each_change_once(self):
        process = self.start_sluice("get", "-w", "--json", "sandbox")
        first = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        self.assertIn("v-1", first)
        self.put_status("snapshot/other", status_document("Snapshot", "other"), 1)
        self.put_status("sandbox/v-9", status_document("Sandbox", "v-9", phase="starting"), 1)
        self.put_status("sandbox/v-9", status_document("Sandbox", "v-9"), 1)
        self.put_status("sandbox/v-9", None, 1)
        found = []
        while not found or found[-1] is not None:
            line = json.loads(process.stdout.readline())
            if line.get("id") == "v-9":
                found.append(line["phase"])
            elif line.get("key") == "sandbox/v-9":
                found.append(line["status"])
            else:
                self.assertNotEqual(line.get("kind"), "Snapshot")
        self.assertEqual(found, ["starting", "running", None])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_6_describe_tells_status_and_events(self):
        document = status_document("Sandbox", "demo-1", detail={"instance": {"externalId": "ext-7"}})
        self.put_view(0, {"sandbox/demo-1": document})
        self.judge(0, 5, "sandbox/demo-1", "accepted", {"generation": 3})
        result = self.sluice("describe", "demo-1")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("sandbox/demo-1", "running", "ext-7", "Ready", "accepted", '"ttlMs": 60000'):
            self.assertIn(text, result.stdout)
        whole = json.loads(self.sluice("describe", "sandbox/demo-1", "--json").stdout)
        self.assertEqual(whole["status"], document)
        self.assertEqual(whole["events"][0]["type"], "dev.sluice.sandbox.accepted")

    def test_7_colours_only_on_a_terminal_and_not_with_no_color(self):
        self.assertNotIn("\x1b", self.sluice("get").stdout)
        self.assertIn("\x1b[32mrunning", self.on_terminal({"TERM": "xterm"}))
        self.assertNotIn("\x1b", self.on_terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.on_terminal({"TERM": "dumb"}))

    def on_terminal(self, env):
        main, terminal = pty.openpty()
        environment = {name: text for name, text in self.env.items() if name != "NO_COLOR"}
        process = subprocess.Popen([SLUICE, "get", "sandbox/demo-1"], stdout=terminal,
                                   stderr=subprocess.DEVNULL, env=dict(environment, **env))
        os.close(terminal)
        text = b""
        while select.select([main], [], [], PATIENCE_S)[0]:
            try:
                chunk = os.read(main, 65536)
            except OSError:  # Its end, on Linux.
                break
            text += chunk
        process.wait()
        os.close(main)
        return text.decode()


class TestEvents(Case):
    def test_1_events_come_in_the_order_of_their_times(self):
        for shard, key, verb, at in [(1, "sandbox/b", "created", "02"), (0, "sandbox/a", "created", "01"),
                                     (0, "sandbox/a", "paused", "03")]:
            self.produce("events", shard, key, json.dumps({"from": "x", "to": "y", "message": verb}), [
                ("ce_id", f"u/{at}"), ("ce_type", f"dev.sluice.sandbox.{verb}"),
                ("ce_time", f"2026-11-30T02:45:{at}.000Z"), ("ce_subject", key)])
        result = self.sluice("events", "--json")
        self.assertEqual([json.loads(line)["id"] for line in result.stdout.splitlines()],
                         ["u/01", "u/02", "u/03"])
        self.assertEqual(json.loads(result.stdout.splitlines()[0])["data"]["message"], "created")
        text = self.sluice("events").stdout
        self.assertRegex(text.splitlines()[2], r"^2026-11-30T02:45:03.000Z  sandbox/a  paused  x → y  paused$")
        one_each = self.sluice("events", "--last", "1", "--json").stdout.splitlines()
        self.assertEqual(len(one_each), 2)

    def test_2_following_one_key_shows_its_events_as_they_come(self):
        process = self.start_sluice("events", "sandbox/demo-1", "-f", "--json")
        self.judge(0, 1, "sandbox/demo-1", "accepted", {"generation": 1})
        self.judge(0, 2, "sandbox/other", "accepted", {"generation": 1})
        self.judge(0, 3, "sandbox/demo-1", "refused", {"code": "INVALID"})
        ids = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        self.assertEqual(ids, ["0/1", "0/3"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)


class TestChange(Case):
    def change(self, command):
        return self.sluice(command, "demo-1", "--no-wait", "--json")

    def test_changes_publish_the_accepted_spec_under_its_generation(self):
        self.put_status("sandbox/demo-1", status_document("Sandbox", "demo-1", generation=6), 0)
        for command, state in [("pause", "paused"), ("resume", "running"), ("stop", "stopped")]:
            result = self.change(command)
            self.assertEqual(result.returncode, 0, result.stderr)
            record = self.desired("sandbox/demo-1")[-1]
            document = json.loads(record[3])
            self.assertEqual(document, {
                "kind": "Sandbox", "id": "demo-1",
                "scope": {"tenantId": "acme", "projectId": "web"}, "ifGeneration": 6,
                "spec": {"provider": "local", "state": state, "ttlMs": 60000}})
            self.assertEqual(record[0], SHARD_OF["sandbox/demo-1"])

        self.assertEqual(self.change("redrive").returncode, 0)
        record = self.desired("sandbox/demo-1")[-1]
        document = json.loads(record[3])
        self.assertNotIn("generation", document)
        self.assertNotIn("ifGeneration", document)
        self.assertEqual(document["spec"]["state"], "running")
        self.assertEqual(record[4]["slu-redrive"], "1")

        self.assertEqual(self.change("delete").returncode, 0)
        record = self.desired("sandbox/demo-1")[-1]
        self.assertIsNone(record[3])
        self.assertNotIn("slu-redrive", record[4])


class TestShards(Case):
    def write_record(self, shard, **members):
        record = dict({"cluster": "c", "n": PARTITIONS, "epoch": 5, "seq": 41, "owner": "http://a:7000",
                       "admitted": {str(shard): 1}, "claims": 0}, **members)
        self.produce("shards", shard, str(shard), json.dumps(record))

    def test_shards_tell_leader_position_and_trouble(self):
        self.produce("desired", 1, "sandbox/demo-3", "{}")
        self.produce("desired", 1, "sandbox/demo-3", "{}")
        self.write_record(1)
        self.put_view(1, {}, epoch=5, seq=41)
        lines = [json.loads(line) for line in self.sluice("shards", "--json").stdout.splitlines()]
        self.assertEqual([line["shard"] for line in lines], list(range(PARTITIONS)))
        self.assertEqual((lines[1]["led"], lines[1]["owner"], lines[1]["epoch"], lines[1]["admitted"],
                          lines[1]["end"], lines[1]["view"]),
                         (True, "http://a:7000", 5, 1, 2, {"epoch": 5, "seq": 41}))
        self.assertFalse(lines[0]["led"])
        text = self.sluice("shards").stdout
        self.assertRegex(text, r"(?m)^1 +http://a:7000 +5 +41 +1 +1 +\S+ s +5\.41 ")
        self.assertIn("is a reconciler running?", text)

    def test_reset_asks_and_does_nothing_without_the_number(self):
        before = len(self.consume("shards"))
        result = self.sluice("shards", "reset", "2", stdin="2\n")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(self.consume("shards")), before)

    def test_reset_goes_on_only_when_the_number_is_typed(self):
        for typed, status in [("y", 2), ("3", 2), ("1", 0)]:
            main, terminal = pty.openpty()
            process = subprocess.Popen([SLUICE, "shards", "reset", "1"], stdin=terminal,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=self.env)
            os.write(main, typed.encode() + b"\n")
            output, errors = process.communicate(timeout=PATIENCE_S)
            os.close(terminal)
            os.close(main)
            self.assertEqual(process.returncode, status, errors)
            self.assertIn("Type the shard's number", output)
            self.assertIn("goes on at offset" if status == 0 else "nothing was changed",
                          output if status == 0 else errors)

    def test_reset_moves_the_position(self):
        for _ in range(3):
            self.produce("desired", 2, "sandbox/x", "{}")
        result = self.sluice("shards", "reset", "2", "--to", "end", "--yes")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(self.sluice("shards", "--json").stdout.splitlines()[2])
        self.assertEqual((line["admitted"], line["epoch"]), (3, 1))


class TestTopics(Case):
    def test_create_may_be_repeated_and_check_is_content(self):
        first = json.loads(self.sluice("topics", "create", "--partitions", "4", "--json").stdout)
        again = json.loads(self.sluice("topics", "create", "--partitions", "4", "--json").stdout)
        self.assertEqual(first, again)
        self.assertEqual(self.sluice("topics", "check").returncode, 0)

    def test_what_does_not_fit_is_named(self):
        other = self.sluice("topics", "create", "--partitions", "8")
        self.assertEqual(other.returncode, 1)
        missing = self.sluice("topics", "check", "--topic-prefix", "none.")
        self.assertEqual(missing.returncode, 6)
        self.assertIn("none.", missing.stdout)


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 503)
        self.end_headers()

    def log_message(self, *arguments):
        pass


class TestProviders(unittest.TestCase):
    def test_each_instance_is_asked_for_its_health(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Health)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        providers = {"local": {"type": "local", "url": url, "concurrent": 7, "perSecond": 9},
                     "sick": {"type": "e2b", "url": url + "/sick"},
                     "away": {"type": "e2b", "url": "http://127.0.0.1:1"}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"defaultProvider": "local", "providers": providers}, file)
            file.flush()
            result = run(SLUICE, "providers", "--config", file.name, "--json", check=False)
            lines = {line["name"]: line for line in map(json.loads, result.stdout.splitlines())}
            self.assertEqual(result.returncode, 6)
            self.assertTrue(lines["local"]["healthy"])
            self.assertEqual((lines["local"]["concurrent"], lines["local"]["perSecond"]), (7, 9))
            self.assertIn("pause", lines["local"]["capabilities"])
            self.assertFalse(lines["sick"]["healthy"])
            self.assertFalse(lines["away"]["healthy"])
            table = run(SLUICE, "providers", "--config", file.name, check=False).stdout
            self.assertRegex(table, r"(?m)^local +local +http://\S+ +ok ")
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
