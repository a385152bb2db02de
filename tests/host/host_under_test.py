# SPDX-License-Identifier: Apache-2.0
"""A sluice-host of our own for a test: started on a free port with a fresh state folder, driven over
plain HTTP, killed at will, and counted: what it leaves behind must be what was there before."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse

PROGRAM = os.environ["SLUICE_HOST"]
PATIENCE_S = 30


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Polls until the condition holds: no test sleeps instead of waiting for something."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("waited %d s in vain for: %s" % (patience_s, what))
        time.sleep(0.01)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "Answer(%d, %r)" % (self.status, self.body[:300])


class Output:
    """What a Connect stream said."""

    def __init__(self):
        self.stdout = self.stderr = self.terminal = b""
        self.pid = self.end = self.error = None
        self.keepalives = 0
        self.complete = False

    def take(self, flags, message):
        event = message.get("event", {})
        if flags & 2:
            self.complete = True
            self.error = message.get("error")
        elif "start" in event:
            self.pid = event["start"]["pid"]
        elif "end" in event:
            self.end = event["end"]
        elif "keepalive" in event:
            self.keepalives += 1
        else:
            data = event["data"]
            self.stdout += base64.b64decode(data.get("stdout", ""))
            self.stderr += base64.b64decode(data.get("stderr", ""))
            self.terminal += base64.b64decode(data.get("pty", ""))


def frame(message):
    payload = json.dumps(message).encode()
    return struct.pack(">BI", 0, len(payload)) + payload


class Stream:
    """An open Connect stream, read frame by frame."""

    def __init__(self, host, sandbox, path, message, headers=None):
        self.connection = host.connection()
        headers = dict(host.data_headers(sandbox), **(headers or {}))
        headers["Content-Type"] = "application/connect+json"
        self.connection.request("POST", path, body=frame(message), headers=headers)
        self.response = self.connection.getresponse()
        self.output = Output()

    def next(self):
        """Takes one frame; False at the end."""
        header = self.response.read(5)
        if len(header) < 5:
            return False
        flags, size = struct.unpack(">BI", header)
        self.output.take(flags, json.loads(self.response.read(size)))
        return not flags & 2

    def until(self, condition):
        while not condition(self.output):
            if not self.next():
                raise AssertionError("the stream ended first: %r" % vars(self.output))
        return self.output

    def all(self):
        while self.next():
            pass
        self.connection.close()
        return self.output

    def close(self):
        self.connection.close()


class Host:
    def __init__(self, *settings, state_dir=None, user=None, env=None):
        self.owned = state_dir is None
        self.state_dir = state_dir or tempfile.mkdtemp(prefix="sluice-host-test-")
        self.settings, self.user, self.env = settings, user, env
        self.process = None
        self.log_path = os.path.join(self.state_dir, "test.log")
        self.start()

    def start(self):
        address = os.path.join(self.state_dir, "address")
        if os.path.exists(address):
            os.unlink(address)
        arguments = [PROGRAM, "--state-dir", self.state_dir, "--listen", "127.0.0.1:0",
                     "--log-level", "debug", *self.settings]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(arguments, stderr=log, stdout=log, user=self.user,
                                            env=self.env)
        wait_until(lambda: os.path.exists(address) or self.process.poll() is not None,
                   "the host listens")
        if self.process.poll() is not None:
            raise AssertionError("the host did not start:\n" + self.log())
        with open(address) as file:
            self.url = file.read().strip()
        with open(os.path.join(self.state_dir, "api-key")) as file:
            self.key = file.read().strip()
        self.port = urllib.parse.urlparse(self.url).port

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def restart(self, number=signal.SIGKILL):
        self.kill(number)
        self.start()

    def done(self):
        """Deletes every sandbox, stops the host, removes its folder."""
        if self.process.poll() is not None:
            self.start()
        for sandbox in self.list():
            self.call("DELETE", "/sandboxes/" + sandbox["sandboxID"])
        status = self.kill(signal.SIGTERM)
        if self.owned:
            shutil.rmtree(self.state_dir)
        assert status == 0, "the host ended with %r" % status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind:
            print(self.log()[-6000:])
        self.done()

    def connection(self, timeout_s=PATIENCE_S):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def call(self, method, path, body=None, headers=None, key=True, timeout_s=PATIENCE_S):
        headers = dict(headers or {})
        if key is True:
            headers.setdefault("X-API-Key", self.key)
        if body is not None and not isinstance(body, (bytes, str)) and not hasattr(body, "read"):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = self.connection(timeout_s)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    # The control plane in short.
    def create(self, headers=None, **body):
        answer = self.call("POST", "/v2/sandboxes", {"templateID": "base", **body}, headers)
        assert answer.status == 201, answer
        return answer.json

    def get(self, sandbox):
        return self.call("GET", "/sandboxes/" + sandbox["sandboxID"])

    def list(self, query=""):
        """Every page of it."""
        found, token = [], None
        while True:
            more = "nextToken=" + token if token else ""
            answer = self.call("GET", "/v2/sandboxes?" + "&".join(filter(None, [query.lstrip("?"), more])))
            assert answer.status == 200, answer
            found += answer.json
            token = answer.headers.get("X-Next-Token")
            if not token:
                return found

    def post(self, sandbox, what, body=None, **rest):
        return self.call("POST", "/sandboxes/%s/%s" % (sandbox["sandboxID"], what), body or {},
                         **rest)

    def delete(self, sandbox):
        return self.call("DELETE", "/sandboxes/" + sandbox["sandboxID"])

    # The data plane in short.
    def data_headers(self, sandbox):
        return {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": "49983",
                "X-Access-Token": sandbox["envdAccessToken"], "Connect-Protocol-Version": "1"}

    def data(self, sandbox, method, path, body=None, headers=None):
        return self.call(method, path, body, dict(self.data_headers(sandbox), **(headers or {})),
                         key=False)

    def rpc(self, sandbox, method, message):
        return self.data(sandbox, "POST", "/" + method, message)

    def start_command(self, sandbox, command, timeout_ms=None, headers=None, **message):
        process = {"cmd": "/bin/bash", "args": ["-l", "-c", command]}
        for name in ("cwd", "envs"):
            if name in message:
                process[name] = message.pop(name)
        message.setdefault("stdin", False)
        headers = dict(headers or {})
        if timeout_ms is not None:
            headers["Connect-Timeout-Ms"] = str(timeout_ms)
        return Stream(self, sandbox, "/process.Process/Start", {"process": process, **message},
                      headers)

    def run(self, sandbox, command, **rest):
        return self.start_command(sandbox, command, **rest).all()

    def file_path(self, path):
        return "/files?" + urllib.parse.urlencode({"path": path})


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def processes(host):
    """Live processes of the host's sandboxes by pid: whatever sees its state folder mounted. Zombies
    are left out, they belong to whoever should wait for them."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or host.state_dir not in read("/proc/%s/mountinfo" % entry):
            continue
        fields = read("/proc/%s/stat" % entry)
        name = fields[fields.find("(") + 1:fields.rfind(")")]
        if fields[fields.rfind(")") + 2:][:1] not in ("Z", ""):
            found[int(entry)] = name
    return found


def belongs(pid, sandbox):
    return sandbox["sandboxID"] in read("/proc/%d/mountinfo" % pid)


def groups(state_dir):
    """Control groups that belong to this state folder."""
    import hashlib
    name = "sluice-" + hashlib.sha256(os.path.realpath(state_dir).encode()).hexdigest()[:12]
    found = []
    for line in read("/proc/self/mounts").splitlines():
        fields = line.split()
        if fields[2] not in ("cgroup", "cgroup2"):
            continue
        for folder, names, _ in os.walk(fields[1]):
            if os.path.basename(folder) == name:
                found += [os.path.join(folder, one) for one in names if one != "host"]
    return sorted(found)


def leftovers(host):
    """Everything a host may have on the machine, apart from itself."""
    folders = [os.path.join(host.state_dir, one, two)
               for one in ("sandboxes", "trash")
               for two in os.listdir(os.path.join(host.state_dir, one))]
    mounts = [line for line in read("/proc/self/mounts").splitlines() if host.state_dir in line]
    return {"folders": folders, "mounts": mounts, "groups": groups(host.state_dir)}
