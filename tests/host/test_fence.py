# SPDX-License-Identifier: Apache-2.0
"""Fences (design.md §7): whoever was replaced as leader cannot act here any more."""
import json
import os
import threading
import unittest

from host_under_test import Host, wait_until


def fence(epoch, shard=3, cluster="c-1"):
    return {"slu-cluster": cluster, "slu-shard": str(shard), "slu-epoch": str(epoch)}


class Fence(unittest.TestCase):
    def setUp(self):
        self.host = Host()

    def tearDown(self):
        self.host.done()

    def create(self, headers):
        return self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, headers)

    def assert_stale(self, answer):
        self.assertEqual((409, 409, "stale_epoch"),
                         (answer.status, answer.json["code"], answer.json["error_code"]))

    def test_an_older_epoch_is_refused_everywhere(self):
        sandbox = self.create(fence(5)).json
        path = "/sandboxes/" + sandbox["sandboxID"]
        self.assertEqual(200, self.host.call("GET", path, headers=fence(6)).status)
        for method, target, body in (("GET", path, None), ("DELETE", path, None),
                                     ("POST", path + "/pause", {}),
                                     ("POST", "/v2" + path + "/connect", {}),
                                     ("POST", path + "/timeout", {"timeout": 9}),
                                     ("GET", "/v2/sandboxes", None),
                                     ("POST", "/v2/sandboxes", {"templateID": "base"})):
            self.assert_stale(self.host.call(method, target, body, fence(5)))
        headers = dict(self.host.data_headers(sandbox), **fence(5))
        self.assert_stale(self.host.call("POST", "/process.Process/List", {}, headers, key=False))
        self.assert_stale(self.host.call("POST", self.host.file_path("/tmp/x"), b"x", dict(
            headers, **{"Content-Type": "application/octet-stream"}), key=False))
        self.assertEqual(404, self.host.data(sandbox, "GET", self.host.file_path("/tmp/x")).status)
        self.assertEqual(200, self.host.call("GET", path, headers=fence(6)).status)
        self.assertEqual(1, len(self.host.list()))

    def test_shards_and_clusters_have_fences_of_their_own(self):
        self.host.call("GET", "/v2/sandboxes", headers=fence(9))
        self.assertEqual(200, self.host.call("GET", "/v2/sandboxes", headers=fence(1, shard=4)).status)
        self.assertEqual(200, self.host.call("GET", "/v2/sandboxes",
                                             headers=fence(1, cluster="c-2")).status)
        self.assert_stale(self.host.call("GET", "/v2/sandboxes", headers=fence(8)))

    def test_calls_without_a_fence_are_not_fenced(self):
        self.host.call("GET", "/v2/sandboxes", headers=fence(9))
        self.host.create()

    def test_the_highest_epoch_survives_kill_9(self):
        self.assertEqual(200, self.host.call("GET", "/v2/sandboxes", headers=fence(7)).status)
        self.host.restart()
        self.assert_stale(self.create(fence(6)))
        self.assertEqual(201, self.create(fence(7)).status)
        with open(os.path.join(self.host.state_dir, "fences.json")) as file:
            self.assertEqual([{"cluster": "c-1", "shard": 3, "epoch": 7}], json.load(file))

    def test_fences_that_are_wrong_are_refused(self):
        for headers in ({"slu-epoch": "1"}, dict(fence(1), **{"slu-epoch": "x"}),
                        dict(fence(1), **{"slu-shard": "-1"}), dict(fence(1), **{"slu-cluster": ""}),
                        fence(1, cluster="x" * 65)):
            self.assertEqual(400, self.host.call("GET", "/v2/sandboxes", headers=headers).status,
                             headers)

    def test_a_new_epoch_is_answered_only_after_older_calls_have_ended(self):
        answers = []
        old = [threading.Thread(target=lambda: answers.append(self.create(fence(1))))
               for _ in range(8)]
        for thread in old:
            thread.start()
        wait_until(lambda: "running" in json.dumps(self.host.list()), "the first old create ends")
        seen = self.host.call("GET", "/v2/sandboxes", headers=fence(2))
        for thread in old:
            thread.join()
        self.assertEqual(200, seen.status)
        # What the new leader saw is all that the old one ever made.
        made = [answer.json["sandboxID"] for answer in answers if answer.status == 201]
        self.assertEqual(sorted(made), sorted(one["sandboxID"] for one in seen.json))
        self.assertEqual(sorted(made), sorted(one["sandboxID"] for one in self.host.list()))
        for answer in answers:
            if answer.status != 201:
                self.assert_stale(answer)

    def test_a_damaged_fence_file_stops_the_start(self):
        self.host.call("GET", "/v2/sandboxes", headers=fence(7))
        self.host.kill()
        path = os.path.join(self.host.state_dir, "fences.json")
        with open(path) as file:
            good = file.read()
        with open(path, "w") as file:
            file.write(good[:10])
        with self.assertRaisesRegex(AssertionError, "is damaged"):
            self.host.start()
        with open(path, "w") as file:
            file.write(good)
        self.host.start()


if __name__ == "__main__":
    unittest.main()
