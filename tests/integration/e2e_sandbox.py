# SPDX-License-Identifier: Apache-2.0
"""A sandbox's whole life, from records that kcat alone publishes to real processes, and back."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

from e2e import SOURCE, ClusterTest, Host, sandbox, wait_for  # noqa: E402

EXAMPLES = SOURCE / "examples"


def verbs(events):
    return [verb for verb, _, _ in events]


class Life(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = cls.cluster.start_host()
        cls.reconciler = cls.cluster.start_reconciler(
            cls.cluster.write_config(cls.host.url, key=True)
        )
        cls.cluster.wait_ready(cls.reconciler)
        cls.seen = Host(cls.host.url.removeprefix("http://"), cls.cluster.folder / "host.key")

    def publish(self, name, **spec):
        self.kcat.publish(f"sandbox/{name}", sandbox(name, **spec))
        return f"sandbox/{name}"

    def wait_for_event(self, key, verb):
        return wait_for(
            f"{verb} of {key}",
            lambda: [event for event in self.kcat.events(key) if event[0] == verb],
            20,
        )[-1]

    def instances(self, key):
        return [one for one in self.seen.sandboxes() if one["metadata"].get("sluice.key") == key]

    def test_the_examples_are_carried_out_one_after_the_other(self):
        key = "sandbox/demo-1"
        for name in ("01-sandbox", "03-paused", "04-running"):
            text = (EXAMPLES / f"{name}.json").read_text()
            self.kcat.publish(key, text)
            phase = "paused" if name == "03-paused" else "running"
            status = self.kcat.wait_for_phase(key, phase)
            if name == "01-sandbox":
                self.wait_for_event(key, "initialized")
                external_id = status["detail"]["instance"]["externalId"]
                greeting = self.seen.read_file(external_id, "src/greeting.txt")
                self.assertEqual(b"hello\n", greeting)
            self.assertEqual(external_id, status["detail"]["instance"]["externalId"])
        self.assertEqual(
            ["accepted", "starting", "created", "initialized"]
            + ["accepted", "pausing", "paused", "accepted", "resuming", "resumed"],
            verbs(self.kcat.events(key)),
        )
        self.assertEqual(1, len(self.instances(key)))
        self.kcat.publish(key, None)
        self.kcat.wait_for_phase(key, "deleted")
        self.assertEqual([], self.instances(key))

    def test_an_idle_sandbox_is_paused_and_woken_by_use(self):
        session = {"sessionId": "s-1", "idlePauseAfterSeconds": 1}
        key = self.publish("idle-1", session=session)
        self.kcat.wait_for_phase(key, "paused")
        self.assertEqual("running", self.kcat.statuses()[key]["spec"]["state"])
        activity = {
            "kind": "Activity", "id": "s-1", "scope": {"tenantId": "acme", "projectId": "web"},
            "spec": {"sandboxId": "idle-1", "active": True},
        }  # fmt: skip
        # Its shard is the sandbox's; hashed by its own key it may land wrong, and is forwarded.
        self.kcat.publish("activity/idle-1/s-1", activity)
        self.kcat.wait_for_phase(key, "running")
        self.kcat.publish(key, None)

    def test_a_deadline_ends_a_sandbox_for_good(self):
        key = self.publish("short-1", ttlMs=1500)
        status = self.kcat.wait_for_phase(key, "expired")
        self.assertEqual("expired", status["record"]["lifecycle"])
        self.assertEqual([], self.instances(key))
        self.publish("short-1", ttlMs=90000)
        _, _, data = self.wait_for_event(key, "refused")
        self.assertEqual("INVALID_STATE", data["code"])

    def test_a_stopped_sandbox_keeps_its_record_and_no_instance(self):
        key = self.publish("stop-1")
        self.kcat.wait_for_phase(key, "running")
        self.publish("stop-1", state="stopped")
        status = self.kcat.wait_for_phase(key, "stopped")
        self.assertEqual("stopped", status["record"]["lifecycle"])
        self.assertEqual([], self.instances(key))

    def test_a_failing_init_command_is_reported_and_tried_again(self):
        commands = ["echo one > one", "test -f fixed || exit 7", "echo three > three"]
        key = self.publish("init-1", session={"sessionId": "s", "init": {"commands": commands}})
        _, _, data = self.wait_for_event(key, "init_failed")
        self.assertEqual("init command 2 of 3: exit code 7", data["message"])
        status = self.kcat.wait_for_phase(key, "running")
        conditions = {one["type"]: one for one in status["conditions"]}
        self.assertEqual("False", conditions["Initialized"]["status"])
        fixed = ["touch fixed"] + commands
        self.publish("init-1", session={"sessionId": "s", "init": {"commands": fixed}})
        self.wait_for_event(key, "initialized")
        external_id = status["detail"]["instance"]["externalId"]
        self.assertEqual(b"three\n", self.seen.read_file(external_id, "three"))
        self.kcat.publish(key, None)

    def test_what_is_wiped_from_redis_comes_back_equal_to_kafka(self):
        key = self.publish("view-1")
        self.kcat.wait_for_phase(key, "running")
        before = self.instances(key)
        self.cluster.views.flushall()

        def views_equal_kafka():
            kafka = {k: v for k, v in self.kcat.statuses().items() if v}
            views = self.cluster.views.statuses(self.shards)
            return views == kafka and len(views) > 0

        wait_for("views equal to Kafka", views_equal_kafka, 20)
        self.assertEqual(before, self.instances(key))
        self.kcat.publish(key, None)


class BadInput(ClusterTest):
    """Whatever is wrong is refused or set aside with its reason, and the shard goes on."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = cls.cluster.start_host()
        cls.reconciler = cls.cluster.start_reconciler(
            cls.cluster.write_config(cls.host.url, key=True)
        )
        cls.cluster.wait_ready(cls.reconciler)

    def judged(self, key, value):
        """Publishes, and gives the refusal's message."""
        count = len([e for e in self.kcat.events(key) if e[0] == "refused"])
        self.kcat.publish(key, value)
        refused = wait_for(
            f"a refusal of {key}",
            lambda: [e for e in self.kcat.events(key) if e[0] == "refused"][count:],
            20,
        )
        return refused[0][2]["message"]

    def test_bad_documents_are_refused_by_name(self):
        good = sandbox("bad-1")
        cases = [
            (good | {"extra": 1}, "extra"),
            (good | {"spec": good["spec"] | {"ttlMs": "60000"}}, "spec.ttlMs"),
            (good | {"spec": good["spec"] | {"ttlMs": 999}}, "spec.ttlMs"),
            (good | {"spec": good["spec"] | {"provider": "mars"}}, "spec.provider"),
            (good | {"spec": good["spec"] | {"alias": "a\u0000b"}}, "NUL"),
            (good | {"kind": "Comet"}, "kind"),
            (good | {"id": "other"}, "key"),
            ('{"kind":"Sandbox","kind":"Sandbox"}', '"kind" is there twice'),
            ("[" * 2000 + "]" * 2000, "levels"),
            ('{"a":', "JSON"),
        ]
        for value, words in cases:
            with self.subTest(words=words):
                self.assertIn(words, self.judged("sandbox/bad-1", value))
        self.assertNotIn("sandbox/bad-1", self.kcat.statuses())

    def test_the_shipped_bad_examples_name_field_value_and_what_is_right(self):
        expected = {
            "bad-unknown-field": ("demo-2", "spec.resources.cpus", "cpuCount, memoryMb, diskMb"),
            "bad-limit": ("demo-3", "spec.resources.cpuCount: 65", "between 1 and 64"),
            "bad-duplicate-key": ("demo-4", '"id"', "twice"),
        }
        for name, (id_, what, right) in expected.items():
            text = (EXAMPLES / f"{name}.json").read_text()
            message = self.judged(f"sandbox/{id_}", text)
            self.assertIn(what, message)
            self.assertIn(right, message)
            self.assertIn(json.dumps(message)[1:-1].split("(")[0][:40], self.reconciler.log())

    def test_what_is_no_document_becomes_a_dead_letter_and_the_shard_goes_on(self):
        for key, value in (("nonsense", "{}"), ("sandbox/", "{}"), ("sandbox/a b", "{}")):
            self.kcat.publish(key, value)
        dead = wait_for(
            "three dead letters",
            lambda: [r for r in self.kcat.read_raw("sluice.deadletter") if r[0] in
                     ("nonsense", "sandbox/", "sandbox/a b")][2:],
            20,
        )
        self.assertTrue(dead)
        for shard in range(16):
            self.kcat.publish(f"sandbox/after-{shard}", sandbox(f"after-{shard}", ttlMs=1000))
        for shard in range(16):
            self.kcat.wait_for_phase(f"sandbox/after-{shard}", "expired", 40)


if __name__ == "__main__":
    unittest.main(verbosity=2)
