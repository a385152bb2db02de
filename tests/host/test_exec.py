# SPDX-License-Identifier: Apache-2.0
"""Commands: the stream's frames, exit codes, environment, folders, input, timeouts, and clients that
come and go (providers.md §2.4)."""
import base64
import threading
import time
import unittest

from host_under_test import Host, Stream, wait_until


class Exec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host()
        cls.sandbox = cls.host.create(envVars={"FROM_CREATE": "1", "BOTH": "create"}, timeout=3600)

    @classmethod
    def tearDownClass(cls):
        cls.host.done()

    def tearDown(self):
        for process in self.host.rpc(self.sandbox, "process.Process/List", {}).json["processes"]:
            self.host.rpc(self.sandbox, "process.Process/SendSignal",
                          {"process": {"pid": process["pid"]}, "signal": "SIGNAL_SIGKILL"})

    def run_command(self, command, **rest):
        return self.host.run(self.sandbox, command, **rest)

    def pids(self):
        answer = self.host.rpc(self.sandbox, "process.Process/List", {})
        return [process["pid"] for process in answer.json["processes"]]

    def test_the_stream_is_start_data_end_and_a_last_frame(self):
        stream = self.host.start_command(self.sandbox, "echo out; echo err >&2")
        self.assertEqual(200, stream.response.status)
        self.assertEqual("application/connect+json", stream.response.headers["Content-Type"])
        stream.next()
        self.assertIsNotNone(stream.output.pid)
        output = stream.all()
        self.assertEqual((b"out\n", b"err\n"), (output.stdout, output.stderr))
        self.assertEqual({"exitCode": 0, "exited": True, "status": "exit status 0"}, output.end)
        self.assertTrue(output.complete)
        self.assertIsNone(output.error)

    def test_exit_codes_come_back(self):
        for code in (1, 3, 127, 255):
            end = self.run_command("exit %d" % code).end
            self.assertEqual((code, True), (end["exitCode"], end["exited"]))
            self.assertEqual("exit status %d" % code, end["error"])

    def test_a_signal_is_told_as_one(self):
        end = self.run_command("kill -9 $$").end
        self.assertEqual((-1, False, "signal: killed"),
                         (end["exitCode"], end["exited"], end["status"]))

    def test_environment_comes_from_host_sandbox_and_command(self):
        output = self.run_command("echo $HOME $USER $FROM_CREATE $BOTH $FROM_COMMAND",
                                  envs={"BOTH": "command", "FROM_COMMAND": "2"})
        self.assertEqual(b"/home/user user 1 command 2\n", output.stdout)
        self.assertNotIn(b"SLUICE", self.run_command("env").stdout)

    def test_the_folder_is_home_or_what_was_asked_for(self):
        self.assertEqual(b"/home/user\n", self.run_command("pwd").stdout)
        self.assertEqual(b"/tmp\n", self.run_command("pwd", cwd="/tmp").stdout)
        self.run_command("mkdir -p ~/inner")
        self.assertEqual(b"/home/user/inner\n", self.run_command("pwd", cwd="inner").stdout)
        self.assertEqual(b"/home/user/inner\n", self.run_command("pwd", cwd="~/inner").stdout)

    def test_what_cannot_start_says_so_in_the_last_frame(self):
        output = self.run_command("true", cwd="/nowhere")
        self.assertEqual("invalid_argument", output.error["code"])
        self.assertIn("/nowhere", output.error["message"])
        stream = Stream(self.host, self.sandbox, "/process.Process/Start",
                        {"process": {"cmd": "no-such-program"}})
        self.assertIn("no-such-program", stream.all().error["message"])

    def test_requests_that_are_wrong_end_with_an_error_frame(self):
        for message in ({}, {"process": {}}, {"process": {"cmd": 1}},
                        {"process": {"cmd": "true", "args": "x"}},
                        {"process": {"cmd": "true", "args": [1]}},
                        {"process": {"cmd": "true", "envs": {"A": 1}}}):
            stream = Stream(self.host, self.sandbox, "/process.Process/Start", message)
            self.assertEqual(200, stream.response.status)
            self.assertEqual("invalid_argument", stream.all().error["code"], message)
        for body in (b"", b"\0\0", b"\0\0\0\0\x09{}", b"\1\0\0\0\2{}", b"\0\xff\xff\xff\xff{}"):
            answer = self.host.data(self.sandbox, "POST", "/process.Process/Start", body,
                                    {"Content-Type": "application/connect+json"})
            self.assertIn(b"invalid_argument", answer.body)

    def test_large_output_arrives_whole(self):
        output = self.run_command("head -c 20000000 /dev/zero | tr '\\0' x")
        self.assertEqual(20000000, len(output.stdout))
        self.assertEqual(0, output.end["exitCode"])

    def test_a_slow_reader_makes_the_command_wait_and_loses_nothing(self):
        stream = self.host.start_command(
            self.sandbox, "head -c 30000000 /dev/zero; touch /tmp/written-all")
        stream.next()
        # Far more than all buffers between can hold: the command cannot have ended.
        self.assertEqual(1, self.run_command("sleep 0.5; test -e /tmp/written-all").end["exitCode"])
        self.assertEqual(30000000, len(stream.all().stdout))
        self.assertEqual(0, self.run_command("test -e /tmp/written-all").end["exitCode"])

    def test_connect_timeout_kills_the_command_and_what_it_started(self):
        started = time.monotonic()
        output = self.run_command("sleep 1000 & sleep 1000", timeout_ms=300)
        self.assertEqual("deadline_exceeded", output.error["code"])
        self.assertLess(time.monotonic() - started, 10)
        wait_until(lambda: b"sleep 1000" not in self.run_command("ps ax").stdout, "both sleeps end")

    def test_a_closed_connection_leaves_the_command_running(self):
        stream = self.host.start_command(self.sandbox, "sleep 0.4; echo done > /tmp/outlived")
        stream.next()
        stream.close()
        wait_until(lambda: self.run_command("cat /tmp/outlived").stdout == b"done\n",
                   "the command goes on")

    def test_a_background_child_does_not_hold_the_command(self):
        started = time.monotonic()
        output = self.run_command("sleep 1000 & echo $!")
        self.assertEqual(0, output.end["exitCode"])
        self.assertLess(time.monotonic() - started, 10)
        self.run_command("kill %d" % int(output.stdout))

    def test_list_shows_what_runs_as_it_was_started(self):
        stream = self.host.start_command(self.sandbox, "sleep 1000", tag="mine", cwd="/tmp",
                                         envs={"A": "1"})
        stream.until(lambda output: output.pid)
        listed = self.host.rpc(self.sandbox, "process.Process/List", {}).json["processes"]
        self.assertEqual([{"config": {"cmd": "/bin/bash", "args": ["-l", "-c", "sleep 1000"],
                                      "envs": {"A": "1"}, "cwd": "/tmp"},
                           "pid": stream.output.pid, "tag": "mine"}], listed)
        stream.close()

    def test_signals_end_it_and_unknown_processes_are_not_found(self):
        for name, status in (("SIGNAL_SIGKILL", "signal: killed"),
                             ("SIGNAL_SIGTERM", "signal: Terminated")):
            stream = self.host.start_command(self.sandbox, "exec sleep 1000")
            pid = stream.until(lambda output: output.pid).pid
            answer = self.host.rpc(self.sandbox, "process.Process/SendSignal",
                                   {"process": {"pid": pid}, "signal": name})
            self.assertEqual((200, {}), (answer.status, answer.json))
            self.assertEqual(status.lower(), stream.all().end["status"].lower())
        missing = self.host.rpc(self.sandbox, "process.Process/SendSignal",
                                {"process": {"pid": 99999}, "signal": "SIGNAL_SIGKILL"})
        self.assertEqual((404, "not_found"), (missing.status, missing.json["code"]))
        wrong = self.host.rpc(self.sandbox, "process.Process/SendSignal",
                              {"process": {"pid": 1}, "signal": "SIGNAL_ODD"})
        self.assertEqual((400, "invalid_argument"), (wrong.status, wrong.json["code"]))

    def test_input_reaches_the_command_and_ends_when_closed(self):
        stream = self.host.start_command(self.sandbox, "cat; echo end", stdin=True)
        pid = stream.until(lambda output: output.pid).pid
        for text in (b"one\n", b"two\n"):
            answer = self.host.rpc(self.sandbox, "process.Process/SendInput",
                                   {"process": {"pid": pid},
                                    "input": {"stdin": base64.b64encode(text).decode()}})
            self.assertEqual(200, answer.status)
        stream.until(lambda output: output.stdout == b"one\ntwo\n")
        self.assertEqual(200, self.host.rpc(self.sandbox, "process.Process/CloseStdin",
                                            {"process": {"pid": pid}}).status)
        self.assertEqual(b"one\ntwo\nend\n", stream.all().stdout)

    def test_without_input_a_reader_sees_its_end_at_once(self):
        self.assertEqual(b"end\n", self.run_command("cat; echo end", stdin=False).stdout)

    def test_connect_by_pid_follows_a_running_command(self):
        stream = self.host.start_command(self.sandbox, "read line; echo got $line", stdin=True)
        pid = stream.until(lambda output: output.pid).pid
        other = Stream(self.host, self.sandbox, "/process.Process/Connect",
                       {"process": {"pid": pid}})
        other.until(lambda output: output.pid == pid)
        self.host.rpc(self.sandbox, "process.Process/SendInput",
                      {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"x\n").decode()}})
        for one in (stream, other):
            output = one.all()
            self.assertEqual((b"got x\n", 0), (output.stdout, output.end["exitCode"]))

    def test_connect_after_a_lost_connection_gets_what_was_kept(self):
        stream = self.host.start_command(self.sandbox, "read line; echo late; exit 5", stdin=True,
                                         tag="kept")
        pid = stream.until(lambda output: output.pid).pid
        stream.close()
        self.host.restart()  # Even the host may go in between.
        self.host.rpc(self.sandbox, "process.Process/SendInput",
                      {"process": {"tag": "kept"}, "input": {"stdin": base64.b64encode(b"x\n").decode()}})
        wait_until(lambda: pid not in self.pids(), "the command ends")
        output = Stream(self.host, self.sandbox, "/process.Process/Connect",
                        {"process": {"tag": "kept"}}).all()
        self.assertEqual((b"late\n", 5), (output.stdout, output.end["exitCode"]))

    def test_connect_to_nothing_ends_with_not_found(self):
        output = Stream(self.host, self.sandbox, "/process.Process/Connect",
                        {"process": {"pid": 99999}}).all()
        self.assertEqual("not_found", output.error["code"])

    def test_keepalives_come_while_a_command_is_quiet(self):
        stream = self.host.start_command(self.sandbox, "sleep 1000",
                                         headers={"Keepalive-Ping-Interval": "1"})
        stream.until(lambda output: output.keepalives >= 2)
        stream.close()

    def test_a_terminal_has_a_size_and_can_change_it(self):
        stream = Stream(self.host, self.sandbox, "/process.Process/Start",
                        {"process": {"cmd": "/bin/bash", "args": ["-c", "stty size; read x; stty size"]},
                         "pty": {"size": {"cols": 100, "rows": 30}}})
        pid = stream.until(lambda output: b"30 100" in output.terminal).pid
        self.assertEqual(200, self.host.rpc(self.sandbox, "process.Process/Update", {
            "process": {"pid": pid}, "pty": {"size": {"cols": 90, "rows": 20}}}).status)
        self.host.rpc(self.sandbox, "process.Process/SendInput",
                      {"process": {"pid": pid}, "input": {"pty": base64.b64encode(b"\n").decode()}})
        self.assertIn(b"20 90", stream.all().terminal)

    def test_many_commands_at_once(self):
        results = []
        threads = [threading.Thread(target=lambda n=n: results.append(
            (n, self.run_command("sleep 0.1; echo %d; exit %d" % (n, n % 7))))) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(40, len(results))
        for n, output in results:
            self.assertEqual((b"%d\n" % n, n % 7), (output.stdout, output.end["exitCode"]))

    def test_the_data_plane_says_who_may_not(self):
        wrong = dict(self.host.data_headers(self.sandbox), **{"X-Access-Token": "wrong"})
        answer = self.host.call("POST", "/process.Process/List", {}, wrong, key=False)
        self.assertEqual((401, "unauthenticated"), (answer.status, answer.json["code"]))
        none = self.host.call("POST", "/process.Process/List", {}, key=False)
        self.assertEqual((400, 400), (none.status, none.json["code"]))
        gone = dict(self.host.data_headers(self.sandbox), **{"E2b-Sandbox-Id": "i" + "0" * 20})
        answer = self.host.call("POST", "/process.Process/List", {}, gone, key=False)
        self.assertEqual(502, answer.status)
        self.assertEqual({"sandboxId": "i" + "0" * 20, "message": "The sandbox was not found",
                          "code": 502}, answer.json)
        for user, status in (("user", 200), ("root", 401)):
            basic = base64.b64encode(user.encode() + b":").decode()
            answer = self.host.data(self.sandbox, "POST", "/process.Process/List", {},
                                    {"Authorization": "Basic " + basic})
            self.assertEqual(status, answer.status, user)

    def test_health_of_a_sandbox(self):
        self.assertEqual(204, self.host.data(self.sandbox, "GET", "/health").status)
        other = self.host.create()
        self.host.post(other, "pause")
        self.assertEqual(502, self.host.data(other, "GET", "/health").status)
        self.host.delete(other)
        answer = self.host.data(other, "GET", "/health")
        self.assertIn("was not found", answer.json["message"])


if __name__ == "__main__":
    unittest.main()
