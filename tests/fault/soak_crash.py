#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The crash story: while the demo's documents are published, programs are killed with SIGKILL at random
moments and come back; then everything must be as if nothing had happened. What is right is read from
the topics, from sluice-host and from Redis, never from the reconciler. README.md here lists the properties."""

import argparse
import contextlib
import copy
import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from world import SERVICES, SOURCE, Away, Host, Log, Stack, Timeout, Views, wait_for

CASES = {
    "reconciler": ["reconciler"],
    "host": ["host"],
    "redis": ["redis"],
    "all three": ["reconciler", "host", "redis"],
    "flushall": [],
}
SANDBOXES = 3
SHARDS = 4
CONVERGED_WITHIN_S = 90
GREETING = b"hello\n"
SUMS = f"{hashlib.sha256(GREETING).hexdigest()}  src/greeting.txt\n".encode()


class Violation(Exception):
    pass


def story_of(sandbox_id):
    """The demo's four documents under another id, as (key, document)."""
    story = []
    for path in sorted((SOURCE / "examples").glob("0[1-4]-*.json")):
        document = json.loads(path.read_text())
        if document["kind"] == "Sandbox":
            document["id"] = sandbox_id
            story.append((f"sandbox/{sandbox_id}", document))
        else:
            document["spec"]["sandboxId"] = sandbox_id
            story.append((f"checkpoint/{sandbox_id}/{document['id']}", document))
    return story


def differences(path, left, right):
    """Where two JSON values differ: path -> [left, right]."""
    if isinstance(left, dict) and isinstance(right, dict):
        found = {}
        for name in left.keys() | right.keys():
            found.update(differences(f"{path} {name}", left.get(name), right.get(name)))
        return found
    return {} if left == right else {path: [left, right]}


class Sampler(threading.Thread):
    """Looks at the host all the time: two running instances of one incarnation must never be seen."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host = host
        self.stopping = threading.Event()
        self.violations = []
        self.looks = 0

    def run(self):
        while not self.stopping.wait(0.05):
            try:
                sandboxes = {one["sandboxID"]: one for one in self.host.sandboxes()}
            except Away:
                continue
            self.looks += 1
            running = Counter(
                tuple(one["metadata"].get(f"sluice.{label}") for label in ("key", "uid", "incarnation"))
                for one in sandboxes.values()
                if one["state"] == "running"
            )
            self.violations += [f"{count} running of {who}" for who, count in running.items() if count > 1]

    def finish(self):
        self.stopping.set()
        self.join(15)
        if self.violations:
            raise Violation(f"two live instances at one moment: {self.violations[:3]}")


class Round:
    def __init__(self, soak, number):
        self.soak = soak
        self.random = random.Random(f"{soak.seed}/{number}")
        self.case = soak.case or list(CASES)[number % len(CASES)]
        self.sandboxes = [f"soak-{number}-{n}" for n in range(SANDBOXES)]
        self.published = []  # (partition, offset) of every record, as acknowledged.
        self.kills = []

    # ---- what is done to it ----

    def publish(self, key, document):
        self.published.append(self.soak.log.publish(key, document))

    def publish_stories(self):
        stories = [story_of(sandbox) for sandbox in self.sandboxes]
        for step in zip(*stories):
            for key, document in step:
                self.publish(key, document)
            time.sleep(self.random.uniform(0, 1.5))

    def strike(self):
        """Kills the case's programs at one moment; each comes back after its own short while."""
        time.sleep(self.random.uniform(0, 2))
        victims = CASES[self.case]
        self.kills.append(round(time.monotonic() - self.begin, 2))
        if not victims:
            self.soak.views.flushall()
            return
        for victim in victims:
            self.soak.stack.kill(victim)
        absences = [(victim, self.random.uniform(0, 1.5)) for victim in victims]
        returning = [threading.Thread(target=self.bring_back, args=absence) for absence in absences]
        for thread in returning:
            thread.start()
        for thread in returning:
            thread.join()
        if self.failed_returns:
            raise Violation(f"did not come back: {self.failed_returns}")

    def bring_back(self, victim, absence_s):
        time.sleep(absence_s)
        try:
            self.soak.stack.start(victim)
        except RuntimeError as error:
            self.failed_returns.append(str(error))

    def run(self):
        self.begin = time.monotonic()
        self.failed_returns = []
        sampler = Sampler(self.soak.host)
        sampler.start()
        try:
            publisher = threading.Thread(target=self.publish_stories)
            publisher.start()
            for _ in range(self.random.randint(1, 3)):
                self.strike()
            publisher.join()
            converged_at = self.converge(self.is_as_wished)
            self.check_running()
            deleter = threading.Thread(target=self.delete_all)
            deleter.start()
            if self.random.random() < 0.5:
                self.strike()
            deleter.join()
            self.converge(self.is_deleted)
            self.check_gone()
        finally:
            sampler.stopping.set()
        sampler.finish()
        return converged_at, sampler.looks

    def delete_all(self):
        for n, sandbox in enumerate(self.sandboxes):
            document = copy.deepcopy(story_of(sandbox)[-1][1])
            document["generation"] = 4
            document["spec"]["state"] = "deleted"
            self.publish(f"sandbox/{sandbox}", document if n % 2 else None)

    # ---- what must be true ----

    def converge(self, condition):
        last = {}

        def all_are():
            statuses = self.soak.log.newest("sluice.status")
            last.update(statuses)
            return all(condition(sandbox, statuses) for sandbox in self.sandboxes)

        try:
            wait_for("convergence", all_are, CONVERGED_WITHIN_S, 0.3)
        except Timeout as error:
            ours = {s: last[f"sandbox/{s}"].value for s in self.sandboxes if f"sandbox/{s}" in last}
            raise Violation(f"{error}; last status: {json.dumps(ours)}") from error
        return time.monotonic() - self.begin

    @staticmethod
    def is_as_wished(sandbox, statuses):
        record = statuses.get(f"sandbox/{sandbox}")
        checkpoint = statuses.get(f"checkpoint/{sandbox}/cp-1")
        if record is None or checkpoint is None:
            return False
        status = record.value
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])
        return (
            status["observedGeneration"] == 3
            and status["phase"] == "running"
            and ready
            and not status.get("pending")
            and "initCompletedAt" in status.get("session", {})
        )

    @staticmethod
    def is_deleted(sandbox, statuses):
        record = statuses.get(f"sandbox/{sandbox}")
        return record is not None and record.value["phase"] == "deleted"

    def instances(self):
        """The host's sandboxes by the key in their label."""
        found = {}
        for one in wait_for("the host's list", self.list_or_nothing, 20):
            found.setdefault(one["metadata"].get("sluice.key"), []).append(one)
        return found

    def list_or_nothing(self):
        try:
            return self.soak.host.sandboxes() or [{"metadata": {}}]
        except Away:
            return None

    def check_running(self):
        statuses = self.soak.log.newest("sluice.status")
        instances = self.instances()
        for sandbox in self.sandboxes:
            self.check_instance(statuses[f"sandbox/{sandbox}"].value, instances)
        self.check_history()
        self.check_views()

    def check_instance(self, status, instances):
        sandbox = status["id"]
        live = instances.get(f"sandbox/{sandbox}", [])
        external = status["detail"]["instance"]["externalId"]
        if [one["sandboxID"] for one in live] != [external]:
            raise Violation(f"{sandbox}: status names {external}, the host has {live}")
        if live[0]["state"] != "running" or live[0]["metadata"]["sluice.uid"] != status["uid"]:
            raise Violation(f"{sandbox}: the host has {live[0]} for {status['uid']}")
        if not CASES[self.case] and status["incarnation"] != 1:
            raise Violation(f"{sandbox}: made anew although nothing but Redis was emptied")
        for path, content in (("src/greeting.txt", GREETING), ("src/SUMS", SUMS)):
            found = self.soak.host.read_file(external, f"/home/user/{path}")
            if found != content:
                raise Violation(f"{sandbox}: {path} holds {found!r}, not {content!r}")

    def check_gone(self):
        for sandbox in self.sandboxes:
            live = self.instances().get(f"sandbox/{sandbox}")
            if live:
                raise Violation(f"{sandbox} is deleted, the host still has {live}")
        self.check_history()
        self.check_views()

    def check_history(self):
        events = self.soak.log.read("sluice.events")
        statuses = self.soak.log.newest("sluice.status")
        ids = Counter(event.headers["ce_id"] for event in events)
        repeated = [i for i, count in ids.items() if count > 1]
        if repeated:
            raise Violation(f"events told more than once: {repeated[:5]}")
        for partition, offset in self.published:
            if f"{partition}/{offset}" not in ids:
                raise Violation(f"the record {partition}/{offset} was never judged")
        for sandbox in self.sandboxes:
            status = statuses[f"sandbox/{sandbox}"].value
            pattern = re.compile(re.escape(status["uid"]) + r"/(\d+)$")
            told = sorted(int(m.group(1)) for m in map(pattern.match, ids) if m)
            if told != list(range(1, status["transition"] + 1)):
                raise Violation(f"{sandbox}: {status['transition']} transitions, events tell {told}")

    def check_views(self):
        difference = {}

        def equal():
            kafka = {key: record.value for key, record in self.soak.log.newest("sluice.status").items()}
            difference.clear()
            try:
                views = self.soak.views.statuses(SHARDS)
            except Away as away:
                difference["redis"] = str(away)
                return False
            if views is None:
                difference["redis"] = "a shard has no view"
                return False
            for key in kafka.keys() | views.keys():
                difference.update(differences(key, kafka.get(key), views.get(key)))
            return not difference

        try:
            wait_for("views equal to Kafka", equal, 20, 0.5)
        except Timeout as error:
            raise Violation(f"{error}; {json.dumps(difference)[:4000]}") from error


class Soak:
    def __init__(self, folder, build, seed, case):
        self.seed = seed
        self.case = case
        self.stack = Stack(folder, build)
        self.stack.up()
        self.log = Log(self.stack.address("kafka"))
        self.host = Host(self.stack.address("host"), self.stack.folder / "host.key")
        self.views = Views(self.stack.address("redis"))

    def run_round(self, number):
        one = Round(self, number)
        try:
            converged_s, looks = one.run()
        except (Violation, Timeout, RuntimeError, KeyError) as error:
            print(f"round {number} ({one.case}, struck at {one.kills} s): {error!r}", flush=True)
            for service in SERVICES[1:]:
                print(f"---- {service}.log\n{self.stack.log_tail(service)}", flush=True)
            return False
        print(
            f"round {number:3}  {one.case:10}  struck at {', '.join(map(str, one.kills)):18} s  "
            f"as wished after {converged_s:5.1f} s  {looks} looks",
            flush=True,
        )
        return True


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, help="how many rounds (default 5)")
    parser.add_argument("--minutes", type=float, help="rounds until so much time has passed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--case", choices=CASES, help="only this one (default: all in turn)")
    parser.add_argument("--build", type=Path, default=SOURCE / "build/release")
    parser.add_argument("--state", type=Path, default=SOURCE / ".state")
    arguments = parser.parse_args()
    if arguments.rounds is None and arguments.minutes is None:
        arguments.rounds = 5
    return arguments


def run_rounds(soak, arguments):
    until = time.monotonic() + (arguments.minutes or 0) * 60
    number = 0
    while number < (arguments.rounds or 0) or time.monotonic() < until:
        if not soak.run_round(number):
            return False
        number += 1
    print(f"{number} rounds, all as wished")
    return True


def main():
    arguments = parse_arguments()
    arguments.state.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="soak.", dir=arguments.state))
    print(f"seed {arguments.seed}, state in {folder}", flush=True)
    good = False
    try:
        soak = Soak(folder, arguments.build, arguments.seed, arguments.case)
        good = run_rounds(soak, arguments)
    finally:
        with contextlib.suppress(RuntimeError):
            Stack(folder, arguments.build).down()
        if good:
            shutil.rmtree(folder)
        else:
            print(f"seed {arguments.seed}; logs and data are in {folder}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
