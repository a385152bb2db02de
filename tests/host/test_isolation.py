# SPDX-License-Identifier: Apache-2.0
"""What a sandbox can and cannot do: limits that limit, a freezer that freezes, and attempts to get
out, each as the program of an attacker would make it."""
import os
import tempfile
import time
import unittest

from host_under_test import Host, processes, read, wait_until


class Isolation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host("--max-processes", "64")
        cls.sandbox = cls.host.create(timeout=3600, memoryMB=128, cpuCount=1, diskSizeMB=64)
        cls.other = cls.host.create(timeout=3600)
        cls.info = cls.host.call("GET", "/host/info").json

    @classmethod
    def tearDownClass(cls):
        cls.host.done()

    def run_command(self, command, **rest):
        return self.host.run(self.sandbox, command, **rest)

    def python(self, program):
        return self.run_command("exec /usr/bin/python3 - <<'PROGRAM'\n%s\nPROGRAM" % program)

    def need(self, limit):
        if not self.info["limits"][limit].startswith("cgroup"):
            self.skipTest("this machine has no %s group" % limit)

    # ---- Limits ----

    def test_a_memory_hog_is_killed_and_the_sandbox_lives(self):
        self.need("memory")
        output = self.run_command("head -c 400000000 /dev/zero | tail")
        self.assertNotEqual(0, output.end["exitCode"])
        self.assertEqual(b"alive\n", self.run_command("echo alive").stdout)

    def test_a_fork_bomb_is_bounded_and_ends(self):
        self.need("processes")
        self.run_command("bomb() { bomb | bomb & }; bomb; sleep 0.5", timeout_ms=3000)
        count = len([pid for pid in processes(self.host)
                     if self.sandbox["sandboxID"] in read("/proc/%d/mountinfo" % pid)])
        self.assertLessEqual(count, 64)
        # At the limit a command may not start; the sandbox itself and its neighbour are well.
        self.assertEqual(b"well\n", self.host.run(self.other, "echo well").stdout)
        wait_until(lambda: self.run_command("kill -9 -1; true") and
                   self.run_command("echo well").stdout == b"well\n", "the bomb is over")

    def test_cpu_is_limited(self):
        self.need("cpu")
        output = self.run_command(
            "for i in 1 2 3; do timeout 1 sh -c 'while :; do :; done' & done; wait; "
            "exec cat /proc/stat >/dev/null; true")
        self.assertIsNotNone(output.end)
        quota = [read(os.path.join(folder, "cpu.cfs_quota_us")) or read(os.path.join(folder, "cpu.max"))
                 for folder in self.groups() if "cpu" in folder]
        self.assertIn("100000", "".join(quota))

    def groups(self):
        from host_under_test import groups
        return [one for one in groups(self.host.state_dir) if self.sandbox["sandboxID"] in one]

    def test_a_file_larger_than_the_disk_is_cut(self):
        output = self.run_command("head -c 100000000 /dev/zero > ~/large; stat -c %s ~/large")
        self.assertLessEqual(int(output.stdout), 64 << 20)

    def test_every_process_is_in_the_groups(self):
        self.need("memory")
        stream = self.host.start_command(self.sandbox, "setsid sleep 100 & exec sleep 100")
        stream.until(lambda output: output.pid)
        members = set()
        for group in self.groups():
            if "memory" in group:
                members |= set(map(int, read(os.path.join(group, "cgroup.procs")).split()))
        inside = {pid for pid in processes(self.host)
                  if self.sandbox["sandboxID"] in read("/proc/%d/mountinfo" % pid)}
        self.assertEqual(set(), inside - members)
        self.run_command("kill -9 -1")
        stream.close()

    # ---- Pause ----

    def test_pause_freezes_every_process_and_resume_thaws_them(self):
        sandbox = self.host.create(timeout=3600)
        stream = self.host.start_command(
            sandbox, "for i in 1 2 3; do (while :; do echo x >> ~/beats; sleep 0.01; done) & done; "
            "echo workspace > ~/kept; wait")
        stream.until(lambda output: output.pid)
        beats = os.path.join(self.host.state_dir, "sandboxes", sandbox["sandboxID"], "home", "beats")
        wait_until(lambda: len(read(beats)) > 10, "hearts beat")
        self.host.post(sandbox, "pause")
        stopped_at = len(read(beats))
        self.assertEqual("unavailable", stream.all().error["code"])
        time.sleep(0.4)  # Only a stretch of time can show that nothing happens in it.
        self.assertEqual(stopped_at, len(read(beats)))
        self.assertEqual(502, self.host.data(sandbox, "GET", "/health").status)
        self.assertEqual(502, self.host.rpc(sandbox, "process.Process/List", {}).status)
        self.host.call("POST", "/v2/sandboxes/%s/connect" % sandbox["sandboxID"], {})
        wait_until(lambda: len(read(beats)) > stopped_at, "hearts beat again")
        self.assertEqual(b"workspace\n", self.host.run(sandbox, "cat ~/kept").stdout)
        self.host.delete(sandbox)

    def test_time_spent_paused_does_not_count_for_a_command(self):
        sandbox = self.host.create(timeout=3600)
        stream = self.host.start_command(sandbox, "sleep 0.9; echo done > ~/done", timeout_ms=1500)
        stream.until(lambda output: output.pid)
        self.host.post(sandbox, "pause")
        time.sleep(1.6)  # Longer than the command's timeout.
        self.host.call("POST", "/v2/sandboxes/%s/connect" % sandbox["sandboxID"], {})
        wait_until(lambda: self.host.run(sandbox, "cat ~/done").stdout == b"done\n",
                   "the command ends well")
        self.host.delete(sandbox)

    def test_a_paused_sandbox_can_be_deleted(self):
        sandbox = self.host.create(timeout=3600)
        self.host.start_command(sandbox, "exec sleep 100").until(lambda output: output.pid)
        self.host.post(sandbox, "pause")
        self.assertEqual(204, self.host.delete(sandbox).status)
        self.assertEqual([], [pid for pid in processes(self.host)
                              if sandbox["sandboxID"] in read("/proc/%d/mountinfo" % pid)])

    def test_use_resumes_a_paused_sandbox_that_wants_it(self):
        sandbox = self.host.create(timeout=3600, autoResume={"enabled": True})
        self.host.post(sandbox, "pause")
        self.assertEqual(b"x\n", self.host.run(sandbox, "echo x").stdout)
        self.assertEqual("running", self.host.get(sandbox).json["state"])
        self.host.delete(sandbox)

    # ---- Attempts to get out ----

    def test_there_is_no_network(self):
        self.assertEqual(b"lo\n", self.run_command("ls /sys/class/net 2>/dev/null || "
                                                   "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").stdout)
        output = self.python(
            "import socket\n"
            "for address in (('127.0.0.1', %d), ('1.1.1.1', 53), ('169.254.169.254', 80)):\n"
            "    try:\n"
            "        socket.create_connection(address, 2); print('connected', address)\n"
            "    except OSError as error:\n"
            "        print('refused')\n" % self.host.port)
        self.assertEqual(b"refused\n" * 3, output.stdout)

    def test_abstract_sockets_of_the_machine_are_out_of_reach(self):
        import socket
        server = socket.socket(socket.AF_UNIX)
        server.bind("\0sluice-host-test-%d" % os.getpid())
        server.listen()
        output = self.python("import socket\ns = socket.socket(socket.AF_UNIX)\n"
                             "try:\n    s.connect('\\0sluice-host-test-%d'); print('connected')\n"
                             "except OSError: print('refused')" % os.getpid())
        server.close()
        self.assertEqual(b"refused\n", output.stdout)

    def test_files_of_the_machine_are_not_there(self):
        secret = tempfile.NamedTemporaryFile(dir="/tmp")
        secret.write(b"secret")
        secret.flush()
        os.chmod(secret.name, 0o644)
        for path in (secret.name, "/etc/shadow", "/root", "/var/lib/dpkg/status", "/sys/kernel",
                     self.host.state_dir, os.path.join(self.host.state_dir, "api-key"),
                     "/proc/1/root/etc/shadow", "/boot", "/work"):
            self.assertNotEqual(0, self.run_command("cat %s 2>&1 || ls %s" % (path, path))
                                .end["exitCode"], path)
        secret.close()

    def test_other_sandboxes_are_not_there(self):
        self.host.run(self.other, "echo secret > ~/secret; echo secret > /tmp/secret")
        found = self.run_command("cat ~/secret /tmp/secret; "
                                 "find / -xdev -name secret -not -path '/proc/*' 2>/dev/null; ls ~/..")
        self.assertNotIn(b"secret", found.stdout)
        self.assertEqual(b"user\n", found.stdout)

    def test_other_processes_are_not_there(self):
        stream = self.host.start_command(self.other, "exec sleep 4242")
        stream.until(lambda output: output.pid)
        self.assertNotIn(b"4242", self.run_command("ps axww -o args | grep -v grep").stdout)
        self.assertIn(b"1 /run/sandbox-init", self.run_command("ps ax -o pid,args").stdout)
        stream.close()
        self.host.run(self.other, "kill -9 -1")

    def test_the_init_cannot_be_killed_traced_or_read(self):
        self.run_command("kill -9 1; kill -STOP 1; kill -TERM 1")
        for path in ("environ", "mem", "fd", "root", "cwd", "maps"):
            self.assertNotEqual(0, self.run_command("cat /proc/1/%s >/dev/null 2>&1 || "
                                                    "ls /proc/1/%s/ >/dev/null 2>&1" % (path, path))
                                .end["exitCode"], path)
        output = self.python("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                             "print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())")  # PTRACE_ATTACH
        self.assertEqual(b"-1 1\n", output.stdout)
        self.assertEqual(b"alive\n", self.run_command("echo alive").stdout)

    def test_the_control_socket_is_out_of_reach(self):
        self.assertEqual(b"", self.run_command("find / -type s 2>/dev/null").stdout)
        # /proc/net/unix of this network namespace shows no path to it either way.
        self.assertNotIn(b"control.sock", self.run_command("ls -laR /run /home /tmp 2>/dev/null").stdout)

    def test_there_are_no_rights_to_gain(self):
        status = self.run_command("grep -E '^(Cap|NoNewPrivs|Seccomp):?' /proc/self/status").stdout
        for line in status.decode().splitlines():
            name, value = line.split(":")
            if name.startswith("Cap"):
                self.assertEqual(0, int(value, 16), line)
        self.assertIn(b"NoNewPrivs:\t1", status)
        self.assertIn(b"Seccomp:\t2", status)
        self.assertEqual(b"1000\n", self.run_command("id -u").stdout)
        # A set-user-id program of the machine gives nothing.
        self.assertNotIn(b"uid=0", self.run_command("su -c id; mount; /usr/bin/newgrp root -c id").stdout)

    def test_mounting_and_namespaces_are_refused(self):
        for command in ("mount -t tmpfs x /tmp", "mount --bind / /mnt", "umount /proc",
                        "unshare -U true", "unshare -m true", "unshare -r true", "unshare -n true",
                        "nsenter -t 1 -m true", "chroot / true", "pivot_root / /tmp",
                        "mount -o remount,rw /usr"):
            output = self.run_command(command + " 2>/dev/null")
            self.assertNotIn(output.end["exitCode"], (0,), command)
        output = self.python(
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "stack = ctypes.create_string_buffer(65536)\n"
            "for number, arguments in ((56, (0x10000000 | 17, 0, 0, 0, 0)),\n"   # clone(NEWUSER)
            "                          (435, (0, 0)),\n"                          # clone3
            "                          (272, (0x10000000,)),\n"                   # unshare
            "                          (321, (0, 0, 0)),\n"                       # bpf
            "                          (298, (0, 0, 0, 0, 0)),\n"                 # perf_event_open
            "                          (250, (0, 0, 0, 0, 0)),\n"                 # keyctl
            "                          (425, (1, 0)),\n"                          # io_uring_setup
            "                          (323, (0,)),\n"                            # userfaultfd
            "                          (304, (0, 0, 0))):\n"                      # open_by_handle_at
            "    result = libc.syscall(number, *arguments)\n"
            "    if result == 0 and number == 56: import os; os._exit(0)\n"
            "    print(number, result, ctypes.get_errno())")
        lines = output.stdout.decode().splitlines()
        self.assertEqual(9, len(lines), output.stderr)
        for line in lines:
            number, result, error = map(int, line.split())
            self.assertEqual(-1, result, line)
            self.assertIn(error, (1, 38), line)  # EPERM, ENOSYS

    def test_the_system_is_read_only(self):
        for path in ("/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/run/x", "/run/sandbox-init",
                     "/usr/bin/env", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"):
            self.assertNotEqual(0, self.run_command("echo x >> %s" % path).end["exitCode"], path)

    def test_devices_of_the_machine_are_not_there(self):
        self.assertEqual(b"", self.run_command("find /dev -type b").stdout)
        self.assertNotEqual(0, self.run_command("mknod /tmp/disk b 254 0").end["exitCode"])
        self.assertNotEqual(0, self.run_command("cat /dev/kmsg || cat /dev/mem").end["exitCode"])

    def test_typing_into_a_terminal_of_the_host_is_refused(self):
        output = self.python("import fcntl, os, pty\nm, s = pty.openpty()\n"
                             "try:\n    fcntl.ioctl(s, 0x5412, b'x'); print('typed')\n"
                             "except OSError as error: print(error.errno)")
        self.assertEqual(b"1\n", output.stdout)

    def test_a_process_that_leaves_its_session_dies_with_the_sandbox(self):
        sandbox = self.host.create(timeout=3600)
        self.host.run(sandbox, "setsid nohup sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' "
                               ">/dev/null 2>&1 & true")
        self.host.delete(sandbox)
        self.assertEqual([], [pid for pid in processes(self.host)
                              if sandbox["sandboxID"] in read("/proc/%d/mountinfo" % pid)])

    def test_whatever_the_workspace_holds_can_be_removed(self):
        sandbox = self.host.create(timeout=3600)
        self.host.run(sandbox, "mkdir -p ~/closed/in; touch ~/closed/in/f; chmod 0 ~/closed; "
                               "cd ~; mkdir -p $(printf 'd/%.0s' $(seq 2000)); "
                               "mkdir -p /tmp/x; ln -s / /tmp/x/root; mkfifo /tmp/pipe; "
                               "touch -- '/tmp/-rf' $'/tmp/new\\nline'")
        self.assertEqual(204, self.host.delete(sandbox).status)
        self.assertTrue(os.path.exists("/usr/bin/env"))
        folder = os.path.join(self.host.state_dir, "sandboxes", sandbox["sandboxID"])
        self.assertFalse(os.path.exists(folder))

    @unittest.skipUnless(os.geteuid() == 0, "only root gives each sandbox a user")
    def test_each_sandbox_is_a_user_of_its_own_without_rights_outside(self):
        owners = set()
        for sandbox in (self.sandbox, self.other):
            folder = os.path.join(self.host.state_dir, "sandboxes", sandbox["sandboxID"], "home")
            owners.add(os.stat(folder).st_uid)
        self.assertEqual(2, len(owners))
        self.assertNotIn(0, owners)
        for pid in processes(self.host):
            self.assertNotIn("\t0\t", read("/proc/%d/status" % pid).split("Uid:")[1].split("\n")[0] + "\t")


if __name__ == "__main__":
    unittest.main()
