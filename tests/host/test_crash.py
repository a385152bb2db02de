# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the host at any moment: sandboxes that were promised are found again under their ids
with their processes alive, whatever else there was is gone, and nothing is left behind."""
import contextlib
import json
import os
import random
import signal
import threading
import time
import unittest

from host_under_test import Host, belongs, leftovers, processes, read, wait_until

SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
ROUNDS = int(os.environ.get("ROUNDS", "8"))


class Crash(unittest.TestCase):
    def setUp(self):
        self.host = Host()

    def tearDown(self):
        self.host.done()
        wait_until(lambda: not processes(self.host), "no process is left")

    def inits(self):
        return {pid for pid, name in processes(self.host).items() if name.startswith("sandbox-init")}

    def test_running_and_paused_sandboxes_are_found_again(self):
        running = self.host.create(metadata={"a": "1"}, timeout=3600)
        paused = self.host.create(timeout=3600)
        self.host.run(running, "echo kept > ~/file")
        for sandbox in (running, paused):
            stream = self.host.start_command(sandbox, "while :; do date +%s%N > ~/beat; sleep 0.02; done")
            stream.until(lambda output: output.pid)
            stream.close()
        self.host.post(paused, "pause")
        shown = [self.host.get(sandbox).json for sandbox in (running, paused)]
        inits = self.inits()
        self.host.restart()

        self.assertEqual(shown, [self.host.get(sandbox).json for sandbox in (running, paused)])
        self.assertEqual(set(inits), self.inits(), "the same processes")
        self.assertEqual(b"kept\n", self.host.run(running, "cat ~/file").stdout)
        beat = os.path.join(self.host.state_dir, "sandboxes", running["sandboxID"], "home", "beat")
        first = read(beat)
        wait_until(lambda: read(beat) not in ("", first), "the running one's heart beats")
        frozen = os.path.join(self.host.state_dir, "sandboxes", paused["sandboxID"], "home", "beat")
        first = read(frozen)
        time.sleep(0.3)  # Only a stretch of time can show that nothing happens in it.
        self.assertEqual(first, read(frozen), "the paused one's does not")
        self.assertEqual(201, self.host.call(
            "POST", "/v2/sandboxes/%s/connect" % paused["sandboxID"], {}).status)
        wait_until(lambda: read(frozen) not in ("", first), "it beats again after connect")

    def test_what_died_meanwhile_is_gone_and_not_started_again(self):
        lost, kept = self.host.create(), self.host.create()
        self.host.start_command(lost, "exec sleep 1000").until(lambda output: output.pid)
        record = os.path.join(self.host.state_dir, "sandboxes", lost["sandboxID"], "sandbox.json")
        self.host.kill()
        with open(os.path.join(os.path.dirname(record), "sandbox.json")) as file:
            self.assertEqual("running", json.load(file)["life"])
        before = processes(self.host)
        for pid, name in before.items():
            if name != "bwrap" and belongs(pid, lost):
                with contextlib.suppress(ProcessLookupError):  # Its init died first, and took it along.
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(processes(self.host)) == len(before) - 3, "it is dead")
        self.host.start()
        self.assertEqual(404, self.host.get(lost).status)
        self.assertEqual(200, self.host.get(kept).status)
        wait_until(lambda: not any(lost["sandboxID"] in one for names in leftovers(self.host).values()
                                   for one in names), "what was left of it is removed")

    def test_a_sandbox_whose_init_dies_is_reported_gone_at_once(self):
        sandbox = self.host.create()
        stream = self.host.start_command(sandbox, "sleep 1000")
        stream.until(lambda output: output.pid)
        for pid in self.inits():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual("unavailable", stream.all().error["code"])
        wait_until(lambda: self.host.get(sandbox).status == 404, "it is gone")
        wait_until(lambda: not any(leftovers(self.host).values()), "nothing is left behind")

    def test_a_clean_stop_leaves_sandboxes_running(self):
        sandbox = self.host.create(timeout=3600)
        self.assertEqual(0, self.host.kill(signal.SIGTERM))
        self.host.start()
        self.assertEqual(b"x\n", self.host.run(sandbox, "echo x").stdout)

    def test_timeouts_that_pass_while_the_host_is_away_act_at_its_return(self):
        killed = self.host.create(timeout=1)
        paused = self.host.create(timeout=1, autoPause=True)
        self.host.kill()
        time.sleep(1.2)  # The timeouts themselves.
        self.host.start()
        wait_until(lambda: self.host.get(killed).status == 404, "one is killed")
        wait_until(lambda: self.host.get(paused).json["state"] == "paused", "one is paused")

    def test_two_hosts_never_share_a_state_folder(self):
        with self.assertRaisesRegex(AssertionError, "another sluice-host"):
            Host(state_dir=self.host.state_dir)
        with open(os.path.join(self.host.state_dir, "address"), "w") as file:
            file.write(self.host.url)

    @unittest.skipUnless(os.access("/sys/fs/cgroup/memory/tasks", os.W_OK), "needs version 1 as root")
    def test_a_host_started_from_another_control_group_finds_the_groups_of_the_first(self):
        sandbox = self.host.create(timeout=3600)
        before = leftovers(self.host)["groups"]
        self.assertNotEqual([], before)
        elsewhere = "/sys/fs/cgroup/memory/sluice-test-%d" % os.getpid()
        os.mkdir(elsewhere)
        self.addCleanup(lambda: wait_until(lambda: not self.remove(elsewhere), "it is empty"))
        self.host.kill()
        own = read("/proc/self/cgroup").split(":memory:")[1].split("\n")[0]
        with open(elsewhere + "/cgroup.procs", "w") as procs:
            procs.write("0")
        try:
            self.host.start()
        finally:
            with open("/sys/fs/cgroup/memory%s/cgroup.procs" % own, "w") as procs:
                procs.write("0")
        self.assertEqual(before, leftovers(self.host)["groups"])
        self.assertEqual(204, self.host.post(sandbox, "pause").status)
        self.assertEqual(204, self.host.delete(sandbox).status)
        self.assertEqual([], leftovers(self.host)["groups"])

    def remove(self, folder):
        try:
            os.rmdir(folder)
        except OSError:
            return os.path.exists(folder)

    def worker(self, number, stop, promised, deleted):
        """Creates, pauses, resumes, runs and deletes until the host is gone under it."""
        random_ = random.Random(SEED * 1000 + number)
        own = []
        while not stop.is_set():
            try:
                action = random_.choice(["create", "create", "delete", "pause", "resume", "run"])
                if action == "create" or not own:
                    own.append(self.host.create(timeout=3600, autoResume={"enabled": True}))
                    promised[own[-1]["sandboxID"]] = own[-1]
                    continue
                sandbox = random_.choice(own)
                if action == "delete":
                    own.remove(sandbox)
                    deleted[sandbox["sandboxID"]] = "asked"
                    if self.host.delete(sandbox).status == 204:
                        deleted[sandbox["sandboxID"]] = "answered"
                elif action == "pause":
                    self.host.post(sandbox, "pause")
                elif action == "resume":
                    self.host.call("POST", "/v2/sandboxes/%s/connect" % sandbox["sandboxID"], {})
                else:
                    self.host.run(sandbox, "true")
            except (OSError, AssertionError, ValueError, KeyError, TypeError):
                return
            except Exception as error:  # http.client's own, for a connection that broke.
                if type(error).__module__ != "http.client":
                    raise
                return

    def test_kill_9_at_random_moments_loses_and_leaks_nothing(self):
        print("seed %d" % SEED)
        random_ = random.Random(SEED)
        promised, deleted = {}, {}
        for _ in range(ROUNDS):
            stop = threading.Event()
            workers = [threading.Thread(target=self.worker, args=(n, stop, promised, deleted))
                       for n in range(4)]
            for worker in workers:
                worker.start()
            time.sleep(random_.uniform(0.02, 0.5))  # The random moment.
            self.host.kill()
            stop.set()
            for worker in workers:
                worker.join()
            self.host.start()

            listed = {one["sandboxID"] for one in self.host.list()}
            for identity, sandbox in promised.items():
                fate = deleted.get(identity)
                if fate is None:
                    self.assertIn(identity, listed, "promised, seed %d" % SEED)
                    self.host.call("POST", "/v2/sandboxes/%s/connect" % identity, {})
                    self.assertEqual(b"alive\n", self.host.run(sandbox, "echo alive").stdout)
                if fate == "answered":
                    self.assertNotIn(identity, listed, "deleted, seed %d" % SEED)
            for identity in listed - set(promised):
                self.host.delete({"sandboxID": identity})  # Made, its answer lost.
            wait_until(lambda: self.settled(), "only what is listed is there, seed %d: %r" %
                       (SEED, leftovers(self.host)))

    def settled(self):
        listed = {one["sandboxID"] for one in self.host.list()}
        left = leftovers(self.host)
        folders = {os.path.basename(one) for one in left["folders"]}
        named = {os.path.basename(one) for one in left["groups"]}
        return folders == listed and named <= listed and len(self.inits()) == len(listed)


if __name__ == "__main__":
    unittest.main()
