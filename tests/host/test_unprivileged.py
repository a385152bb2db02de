# SPDX-License-Identifier: Apache-2.0
"""Without root and without control groups: the same sandboxes, weaker limits, and it says so."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import host_under_test
from host_under_test import Host, leftovers, processes, read, wait_until

USER = 12345


class Popen(subprocess.Popen):
    """Starts the host as a user with no groups at all."""

    def __init__(self, *arguments, **rest):
        super().__init__(*arguments, group=USER, extra_groups=[], **rest)


@unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
class Unprivileged(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-host-test-")
        open(os.path.join(self.folder, "test.log"), "w").close()
        shutil.chown(self.folder, USER, USER)
        subprocess_ = host_under_test.subprocess
        original = subprocess_.Popen
        subprocess_.Popen = Popen
        self.addCleanup(setattr, subprocess_, "Popen", original)
        try:
            self.host = Host(state_dir=self.folder, user=USER)
        except PermissionError:
            shutil.rmtree(self.folder)
            self.skipTest("user %d cannot reach the program" % USER)

    def tearDown(self):
        self.host.done()
        shutil.rmtree(self.folder)

    def test_it_works_and_says_what_it_cannot_limit(self):
        info = self.host.call("GET", "/host/info").json
        self.assertEqual("the host's own", info["user"])
        self.assertNotIn("cgroup1", info["limits"].values())
        self.assertIn("no_control_group", self.host.log())
        sandbox = self.host.create(timeout=3600)
        output = self.host.run(sandbox, "echo hi > ~/f; id -u; cat ~/f; grep CapEff /proc/self/status; "
                                        "unshare -U true && echo out")
        self.assertEqual(b"1000\nhi\nCapEff:\t0000000000000000\n", output.stdout)

    def test_pause_by_signals_stops_everything_also_across_a_restart(self):
        sandbox = self.host.create(timeout=3600)
        stream = self.host.start_command(sandbox, "while :; do echo x >> ~/beats; sleep 0.01; done")
        stream.until(lambda output: output.pid)
        beats = os.path.join(self.folder, "sandboxes", sandbox["sandboxID"], "home", "beats")
        wait_until(lambda: len(read(beats)) > 5, "the heart beats")
        self.assertEqual(204, self.host.post(sandbox, "pause").status)
        before = read(beats)
        self.host.restart()
        time.sleep(0.3)  # Only a stretch of time can show that nothing happens in it.
        self.assertEqual(before, read(beats))
        self.assertEqual(201, self.host.post(sandbox, "resume").status)
        wait_until(lambda: len(read(beats)) > len(before), "it beats again")

    def test_delete_leaves_nothing_behind(self):
        sandbox = self.host.create(timeout=3600)
        self.host.run(sandbox, "mkdir -p ~/closed/in; chmod 0 ~/closed; setsid sleep 1000 & true")
        self.assertEqual(204, self.host.delete(sandbox).status)
        self.assertFalse(any(leftovers(self.host).values()))
        self.assertFalse(processes(self.host))


if __name__ == "__main__":
    unittest.main()
