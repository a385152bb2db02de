# SPDX-License-Identifier: Apache-2.0
"""The control plane, route by route, as providers.md §1 and §2.7 have it."""
import datetime
import json
import time
import unittest
import urllib.parse

from host_under_test import Host, leftovers, wait_until


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Control(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host()

    @classmethod
    def tearDownClass(cls):
        cls.host.done()

    def tearDown(self):
        for sandbox in self.host.list():
            self.host.delete(sandbox)
        wait_until(lambda: not any(leftovers(self.host).values()), "nothing is left behind")

    def test_health_is_text_and_needs_no_key(self):
        answer = self.host.call("GET", "/health", key=False)
        self.assertEqual(200, answer.status)
        self.assertIn("text/plain", answer.headers["Content-Type"])

    def test_a_missing_or_wrong_key_is_refused(self):
        for headers in ({}, {"X-API-Key": "e2b_wrong"}, {"Authorization": "Bearer nope"}):
            answer = self.host.call("GET", "/v2/sandboxes", headers=headers, key=False)
            self.assertEqual((401, 401), (answer.status, answer.json["code"]))

    def test_create_answers_what_clients_need(self):
        created = self.host.create()
        self.assertRegex(created["sandboxID"], "^i[a-z0-9]{20}$")
        self.assertEqual("base", created["templateID"])
        self.assertIn("clientID", created)
        self.assertEqual("0.6.4", created["envdVersion"])
        self.assertTrue(created["envdAccessToken"])
        self.assertIsNone(created["trafficAccessToken"])
        self.assertIsNone(created["domain"])

    def test_get_shows_what_create_asked_for(self):
        created = self.host.create(metadata={"a": "b c"}, timeout=60, autoPause=True,
                                   autoResume={"enabled": True}, allow_internet_access=False,
                                   cpuCount=3, memoryMB=300, diskSizeMB=700)
        shown = self.host.get(created).json
        self.assertEqual("running", shown["state"])
        self.assertEqual({"a": "b c"}, shown["metadata"])
        self.assertEqual([3, 300, 700], [shown[n] for n in ("cpuCount", "memoryMB", "diskSizeMB")])
        self.assertEqual({"autoResume": True, "onTimeout": "pause"}, shown["lifecycle"])
        self.assertIs(False, shown["allowInternetAccess"])
        self.assertEqual(created["envdAccessToken"], shown["envdAccessToken"])
        self.assertAlmostEqual(60, moment(shown["endAt"]) - moment(shown["startedAt"]), delta=1)
        self.assertAlmostEqual(time.time(), moment(shown["startedAt"]), delta=10)

    def test_the_two_generations_differ_in_their_default_timeout(self):
        for path, seconds in (("/v2/sandboxes", 300), ("/sandboxes", 15)):
            created = self.host.call("POST", path, {"templateID": "base"}).json
            shown = self.host.get(created).json
            self.assertAlmostEqual(seconds, moment(shown["endAt"]) - moment(shown["startedAt"]),
                                   delta=1)

    def test_create_refuses_by_name_what_is_wrong(self):
        for body, status, word in (
                ({}, 400, "templateID"), ({"templateID": "other"}, 404, "other"),
                ({"templateID": "base", "timeout": 0}, 400, "timeout"),
                ({"templateID": "base", "timeout": 10 ** 9}, 400, "timeout"),
                ({"templateID": "base", "timeout": "60"}, 400, "timeout"),
                ({"templateID": "base", "metadata": {"a": 1}}, 400, "metadata.a"),
                ({"templateID": "base", "envVars": {"A=B": "1"}}, 400, "A=B"),
                ({"templateID": "base", "envVars": {"A": "x\0y"}}, 400, r"\u0000"),
                ({"templateID": "base", "cpuCount": 65}, 400, "cpuCount is 65"),
                ({"templateID": "base", "memoryMB": 1}, 400, "memoryMB is 1"),
                ({"templateID": "base", "autoPauseMemory": False}, 400, "autoPauseMemory")):
            answer = self.host.call("POST", "/v2/sandboxes", body)
            self.assertEqual((status, status), (answer.status, answer.json["code"]), body)
            self.assertIn(word, answer.json["message"])
        for body in ("", "[]", "{", "null", '"x"'):
            self.assertEqual(400, self.host.call("POST", "/v2/sandboxes", body).status, body)
        self.assertEqual([], self.host.list())

    def test_create_ignores_members_it_does_not_know(self):
        self.host.create(somethingNew={"x": 1}, secure=True, network={"denyOut": ["0.0.0.0/0"]})

    def test_kill_twice_is_204_then_404_with_the_code_in_the_body(self):
        created = self.host.create()
        self.assertEqual(204, self.host.delete(created).status)
        again = self.host.delete(created)
        self.assertEqual((404, 404), (again.status, again.json["code"]))
        self.assertEqual(404, self.host.get(created).status)

    def test_ids_of_the_wrong_shape(self):
        for text, status in (("inone", 404), ("a-b-c", 400), ("UPPER", 400), ("..", 400),
                             ("%2e%2e%2fx", 400)):
            self.assertEqual(status, self.host.call("GET", "/sandboxes/" + text).status, text)

    def test_the_older_form_of_an_id_finds_the_sandbox(self):
        created = self.host.create()
        answer = self.host.call("GET", "/sandboxes/%s-local" % created["sandboxID"])
        self.assertEqual(created["sandboxID"], answer.json["sandboxID"])

    def test_pause_twice_is_204_then_409_with_the_code_in_the_body(self):
        created = self.host.create()
        self.assertEqual(204, self.host.post(created, "pause").status)
        shown = self.host.get(created).json
        self.assertEqual("paused", shown["state"])
        self.assertAlmostEqual(time.time(), moment(shown["endAt"]), delta=10)
        again = self.host.post(created, "pause")
        self.assertEqual((409, 409), (again.status, again.json["code"]))
        self.assertIn("already paused", again.json["message"])

    def test_pause_of_a_killed_sandbox_is_404(self):
        created = self.host.create()
        self.host.delete(created)
        answer = self.host.post(created, "pause")
        self.assertEqual((404, 404), (answer.status, answer.json["code"]))

    def test_connect_is_200_when_running_and_201_when_resumed(self):
        for prefix in ("/v2/sandboxes/", "/sandboxes/"):
            created = self.host.create(timeout=60)
            path = prefix + created["sandboxID"] + "/connect"
            running = self.host.call("POST", path, {"timeout": 30})
            self.assertEqual(200, running.status)
            self.assertEqual(created["envdAccessToken"], running.json["envdAccessToken"])
            self.host.post(created, "pause")
            resumed = self.host.call("POST", path, {"timeout": 100})
            self.assertEqual(201, resumed.status)
            self.assertEqual(created["sandboxID"], resumed.json["sandboxID"])
            shown = self.host.get(created).json
            self.assertEqual("running", shown["state"])
            self.assertAlmostEqual(time.time() + 100, moment(shown["endAt"]), delta=10)

    def test_connect_without_a_body_is_for_the_newer_route(self):
        created = self.host.create()
        path = created["sandboxID"] + "/connect"
        self.assertEqual(200, self.host.call("POST", "/v2/sandboxes/" + path).status)
        self.assertEqual(400, self.host.call("POST", "/sandboxes/" + path).status)

    def test_connect_to_nothing_is_404(self):
        answer = self.host.call("POST", "/v2/sandboxes/inone/connect", {})
        self.assertEqual((404, 404), (answer.status, answer.json["code"]))

    def test_connect_never_shortens_and_timeout_may(self):
        created = self.host.create(timeout=600)
        end = moment(self.host.get(created).json["endAt"])
        self.host.call("POST", "/v2/sandboxes/%s/connect" % created["sandboxID"], {"timeout": 10})
        self.assertEqual(end, moment(self.host.get(created).json["endAt"]))
        self.assertEqual(204, self.host.post(created, "refreshes", {"duration": 5}).status)
        self.assertEqual(end, moment(self.host.get(created).json["endAt"]))
        self.assertEqual(204, self.host.post(created, "timeout", {"timeout": 100}).status)
        self.assertAlmostEqual(time.time() + 100, moment(self.host.get(created).json["endAt"]),
                               delta=10)

    def test_timeout_and_refreshes_of_a_paused_sandbox_are_404(self):
        created = self.host.create()
        self.host.post(created, "pause")
        self.assertEqual(404, self.host.post(created, "timeout", {"timeout": 100}).status)
        self.assertEqual(404, self.host.post(created, "refreshes", {"duration": 100}).status)

    def test_resume_is_409_when_running_and_201_when_paused(self):
        created = self.host.create()
        self.assertEqual(409, self.host.post(created, "resume").status)
        self.host.post(created, "pause")
        self.assertEqual(201, self.host.post(created, "resume").status)
        self.assertEqual("running", self.host.get(created).json["state"])

    def test_the_timeout_kills(self):
        created = self.host.create(timeout=1)
        wait_until(lambda: self.host.get(created).status == 404, "the timeout kills")

    def test_the_timeout_pauses_with_auto_pause_and_the_policy_stays(self):
        created = self.host.create(timeout=1, autoPause=True)
        for _ in range(2):
            wait_until(lambda: self.host.get(created).json["state"] == "paused", "the pause")
            self.host.call("POST", "/v2/sandboxes/%s/connect" % created["sandboxID"],
                           {"timeout": 1})
        self.assertEqual("pause", self.host.get(created).json["lifecycle"]["onTimeout"])

    def test_paused_time_consumes_no_timeout(self):
        created = self.host.create(timeout=1)
        self.host.post(created, "pause")
        other = self.host.create(timeout=1)
        wait_until(lambda: self.host.get(other).status == 404, "the other one's timeout")
        self.assertEqual("paused", self.host.get(created).json["state"])

    def test_list_filters_by_metadata_encoded_three_times(self):
        first = self.host.create(metadata={"a": "b c", "k": "x&y=z%"})
        self.host.create(metadata={"a": "b c", "k": "other"})

        def encode(pairs):
            inner = "&".join("%s=%s" % (urllib.parse.quote(k, safe=""),
                                        urllib.parse.quote(v, safe="")) for k, v in pairs.items())
            outer = urllib.parse.quote(inner, safe="=&")
            return "?metadata=" + urllib.parse.quote(outer, safe="")

        found = self.host.list(encode({"a": "b c", "k": "x&y=z%"}))
        self.assertEqual([first["sandboxID"]], [one["sandboxID"] for one in found])
        self.assertEqual(2, len(self.host.list(encode({"a": "b c"}))))
        self.assertEqual([], self.host.list(encode({"a": "nothing"})))
        # As a client sent it, byte by byte.
        self.assertEqual([], self.host.list("?metadata=a%3Db%252520c%26k%3Dx%252526y"))
        for broken in ("?metadata=a", "?metadata=a%3Db%3Dc", "?metadata=%zz", "?metadata=a%3D%25zz"):
            self.assertEqual(400, self.host.call("GET", "/v2/sandboxes" + broken).status, broken)

    def test_list_filters_by_state(self):
        running, paused = self.host.create(), self.host.create()
        self.host.post(paused, "pause")
        for query, expected in (("", {running["sandboxID"], paused["sandboxID"]}),
                                ("?state=running", {running["sandboxID"]}),
                                ("?state=paused", {paused["sandboxID"]}),
                                ("?state=running,paused",
                                 {running["sandboxID"], paused["sandboxID"]})):
            self.assertEqual(expected, {one["sandboxID"] for one in self.host.list(query)}, query)
        self.assertEqual(400, self.host.call("GET", "/v2/sandboxes?state=odd").status)
        old = self.host.call("GET", "/sandboxes").json
        self.assertEqual([running["sandboxID"]], [one["sandboxID"] for one in old])

    def test_list_pages_through_all_in_either_order(self):
        made = [self.host.create()["sandboxID"] for _ in range(7)]
        for order, expected in (("asc", made), ("desc", made[::-1]), (None, made[::-1])):
            seen, token = [], None
            for _ in range(4):
                query = {"limit": "2"}
                query.update({"order": order} if order else {})
                query.update({"nextToken": token} if token else {})
                answer = self.host.call("GET", "/v2/sandboxes?" + urllib.parse.urlencode(query))
                seen += [one["sandboxID"] for one in answer.json]
                token = answer.headers.get("x-next-token")
            self.assertIsNone(token)
            # Made within one millisecond, two may stand either way round; never twice or not at all.
            self.assertEqual(sorted(made), sorted(seen))
            starts = {one["sandboxID"]: one["startedAt"] for one in self.host.list()}
            self.assertEqual([starts[one] for one in expected], [starts[one] for one in seen])
        for broken in ("?limit=0", "?limit=101", "?limit=x", "?nextToken=%21", "?order=up"):
            self.assertEqual(400, self.host.call("GET", "/v2/sandboxes" + broken).status, broken)

    def test_list_answers_everything_clients_need(self):
        self.host.create(metadata={"a": "1"})
        answer = self.host.call("GET", "/v2/sandboxes")
        self.assertEqual("1", answer.headers["X-Total-Running"])
        for name in ("templateID", "sandboxID", "clientID", "startedAt", "endAt", "envdVersion",
                     "cpuCount", "memoryMB", "diskSizeMB", "state", "metadata"):
            self.assertIn(name, answer.json[0])
        self.assertNotIn("envdAccessToken", answer.json[0])

    def test_an_idempotency_key_makes_one_sandbox(self):
        key = {"Idempotency-Key": "run-1-key"}
        first = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, key)
        again = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, key)
        self.assertEqual((201, 201), (first.status, again.status))
        self.assertEqual(first.body, again.body)
        self.assertEqual(1, len(self.host.list()))
        other = self.host.call("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 9}, key)
        self.assertEqual(422, other.status)
        self.assertEqual("idempotency_request_mismatch", other.json["error_code"])
        self.host.restart()
        later = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, key)
        self.assertEqual((201, first.body), (later.status, later.body))

    def test_an_idempotency_key_outlives_its_sandbox(self):
        key = {"Idempotency-Key": "run-2-key"}
        first = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, key)
        self.host.delete(first.json)
        for _ in range(2):
            again = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"}, key)
            self.assertEqual((201, first.body), (again.status, again.body))
            self.assertEqual([], self.host.list())
            self.host.restart()

    def test_keys_of_the_wrong_shape_are_refused(self):
        for key in ("UPPER", "a b", "x" * 256, "a_b"):
            answer = self.host.call("POST", "/v2/sandboxes", {"templateID": "base"},
                                    {"Idempotency-Key": key})
            self.assertEqual(400, answer.status, key)

    def test_unknown_paths_and_methods(self):
        self.assertEqual(404, self.host.call("GET", "/nothing").status)
        self.assertEqual(405, self.host.call("PUT", "/v2/sandboxes", {}).status)
        self.assertEqual(413, self.host.call("POST", "/v2/sandboxes", b"x" * 1100000).status)

    def test_metrics_and_info_say_what_there_is(self):
        self.host.create()
        text = self.host.call("GET", "/metrics").body.decode()
        self.assertIn('sluice_host_sandboxes{state="running"} 1', text)
        info = self.host.call("GET", "/host/info").json
        self.assertEqual({"memory", "cpu", "processes", "disk", "freeze"}, set(info["limits"]))

    def test_more_sandboxes_than_allowed_are_429(self):
        with Host("--max-sandboxes", "2") as small:
            small.create()
            small.create()
            answer = small.call("POST", "/v2/sandboxes", {"templateID": "base"})
            self.assertEqual((429, 429), (answer.status, answer.json["code"]))
            small.delete(small.list()[0])
            small.create()


if __name__ == "__main__":
    unittest.main()
