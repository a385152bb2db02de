# SPDX-License-Identifier: Apache-2.0
"""The unmodified e2b SDK from PyPI against a sluice-host; test_sdk.py installs it and runs this."""
import os
import threading
import time
import unittest

from e2b import (CommandExitException, FileType, NotFoundException, Sandbox, SandboxQuery, SandboxState,
                 TimeoutException)


class Sdk(unittest.TestCase):
    def setUp(self):
        self.sandbox = Sandbox.create(timeout=120, metadata={"test": "a b&c=d", "n": self.id()},
                                      envs={"FROM_CREATE": "1"})

    def tearDown(self):
        self.sandbox.kill()

    def test_create_info_kill_twice(self):
        info = self.sandbox.get_info()
        self.assertEqual(self.sandbox.sandbox_id, info.sandbox_id)
        self.assertEqual("a b&c=d", info.metadata["test"])
        self.assertEqual(SandboxState.RUNNING, info.state)
        self.assertTrue(self.sandbox.is_running())
        self.assertTrue(self.sandbox.kill())
        self.assertFalse(self.sandbox.kill())
        self.assertFalse(self.sandbox.is_running())
        with self.assertRaises(NotFoundException):
            Sandbox.connect(self.sandbox.sandbox_id)

    def test_list_with_filter_state_and_pages(self):
        others = [Sandbox.create(timeout=120, metadata={"page": self.id()}) for _ in range(3)]
        try:
            others[0].pause()

            def ids(query, limit=None):
                pages, found = Sandbox.list(query=query, limit=limit), []
                while pages.has_next:
                    found += [one.sandbox_id for one in pages.next_items()]
                return found

            mine = {one.sandbox_id for one in others}
            self.assertEqual(mine, set(ids(SandboxQuery(metadata={"page": self.id()}))))
            self.assertEqual(3, len(ids(SandboxQuery(metadata={"page": self.id()}), limit=1)))
            self.assertEqual([others[0].sandbox_id],
                             ids(SandboxQuery(metadata={"page": self.id()},
                                              state=[SandboxState.PAUSED])))
            self.assertEqual([self.sandbox.sandbox_id],
                             ids(SandboxQuery(metadata={"test": "a b&c=d", "n": self.id()})))
            self.assertEqual([], ids(SandboxQuery(metadata={"test": "none"})))
        finally:
            for one in others:
                one.kill()

    def test_pause_and_connect_keep_processes_and_files(self):
        self.sandbox.files.write("kept.txt", "kept")
        command = self.sandbox.commands.run("sleep 1000", background=True, timeout=0)
        self.sandbox.pause()
        self.assertEqual(SandboxState.PAUSED, self.sandbox.get_info().state)
        again = Sandbox.connect(self.sandbox.sandbox_id, timeout=120)
        self.assertEqual("kept", again.files.read("kept.txt"))
        self.assertIn(command.pid, [one.pid for one in again.commands.list()])
        self.assertTrue(again.commands.kill(command.pid))

    def test_timeouts_move_the_end(self):
        self.sandbox.set_timeout(600)
        end = self.sandbox.get_info().end_at.timestamp()
        self.assertAlmostEqual(time.time() + 600, end, delta=20)
        Sandbox.connect(self.sandbox.sandbox_id, timeout=30)
        self.assertEqual(end, self.sandbox.get_info().end_at.timestamp())

    def test_commands(self):
        result = self.sandbox.commands.run("echo out; echo err >&2; echo $FROM_CREATE $A; pwd",
                                           envs={"A": "2"}, cwd="/tmp")
        self.assertEqual(("out\n1 2\n/tmp\n", "err\n", 0),
                         (result.stdout, result.stderr, result.exit_code))
        with self.assertRaises(CommandExitException) as raised:
            self.sandbox.commands.run("exit 3")
        self.assertEqual(3, raised.exception.exit_code)
        with self.assertRaises(TimeoutException):
            self.sandbox.commands.run("sleep 1000", timeout=1)
        seen = []
        self.sandbox.commands.run("for i in 1 2 3; do echo $i; sleep 0.05; done", on_stdout=seen.append)
        self.assertEqual("1\n2\n3\n", "".join(seen))

    def test_background_stdin_list_connect_kill(self):
        command = self.sandbox.commands.run("cat", background=True, stdin=True, timeout=0)
        self.sandbox.commands.send_stdin(command.pid, "hello\n")
        listed = self.sandbox.commands.list()
        self.assertEqual([command.pid], [one.pid for one in listed])
        other = self.sandbox.commands.connect(command.pid)
        results = []
        waiter = threading.Thread(target=lambda: results.append(other.wait()))
        waiter.start()
        self.sandbox.commands.close_stdin(command.pid)
        self.assertEqual("hello\n", command.wait().stdout)
        waiter.join()
        self.assertEqual(0, results[0].exit_code)
        self.assertFalse(self.sandbox.commands.kill(99999))

    def test_files(self):
        files = self.sandbox.files
        info = files.write("/home/user/a b/ü.txt", "text")
        self.assertEqual("/home/user/a b/ü.txt", info.path)
        self.assertEqual("text", files.read("/home/user/a b/ü.txt"))
        content = os.urandom(8 << 20)
        files.write("large", content)
        self.assertEqual(content, bytes(files.read("large", format="bytes")))
        files.write("empty", "")
        self.assertEqual("", files.read("empty"))
        files.write_files([{"path": "m/%d" % n, "data": str(n)} for n in range(20)])
        self.assertEqual(20, len(files.list("m")))
        self.assertEqual("7", files.read("m/7"))
        self.assertTrue(files.exists("m/7"))
        self.assertFalse(files.exists("m/77"))
        self.assertEqual(FileType.FILE, files.get_info("m/7").type)
        self.assertEqual("/home/user/m/renamed", files.rename("m/7", "m/renamed").path)
        self.assertTrue(files.make_dir("folder/in"))
        self.assertFalse(files.make_dir("folder/in"))
        files.remove("m")
        self.assertFalse(files.exists("m"))
        with self.assertRaises(NotFoundException):
            files.read("gone")

    def test_terminals(self):
        from e2b import PtySize
        output = []
        terminal = self.sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
        self.sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
        self.sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
        try:
            terminal.wait(on_pty=lambda data: output.append(data))
        except CommandExitException:
            pass
        self.assertIn(b"30 100", b"".join(output))

    def test_signed_addresses(self):
        import urllib.request
        self.sandbox.files.write("signed.txt", "signed")
        address = self.sandbox.download_url("/home/user/signed.txt", user="user",
                                            use_signature_expiration=60)
        request = urllib.request.Request(address, headers={"E2b-Sandbox-Id": self.sandbox.sandbox_id})
        self.assertEqual(b"signed", urllib.request.urlopen(request).read())


if __name__ == "__main__":
    unittest.main()
