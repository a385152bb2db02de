# SPDX-License-Identifier: Apache-2.0
"""What schemas/ allows decodes, and comes back the same; what they forbid is refused.

    test_schemas.py <decoder>

The decoder is asked over a pipe (decode_cli.c). Valid documents come from hypothesis-jsonschema; wrong ones
are made from valid ones by one change, at random and, at every bound, one by one. Always the same documents.
"""

import copy
import functools
import json
import subprocess
import sys
import unittest

from hypothesis import HealthCheck, assume, example, given, settings, strategies
from hypothesis_jsonschema import from_schema

import strict

KINDS = {
    "Sandbox": ("sandbox.schema.json", "sandbox", None),
    "Checkpoint": ("checkpoint.schema.json", "checkpoint", "sandboxId"),
    "Activity": ("activity.schema.json", "activity", "sandboxId"),
    "Snapshot": ("snapshot.schema.json", "snapshot", None),
}
DESIRED = strict.validator("desired.schema.json")

TARGETS = strategies.sampled_from(
    ["10.0.0.0/8", "10.1.0.0/8", "1.2.3.4", "::1", "2001:db8::/32", "example.org", "*.example.org", "Example.org"]
)
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fixed")


class Decoder:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, key, document):
        line = f"{key}\t{json.dumps(document, ensure_ascii=False)}\n"
        self.process.stdin.write(line.encode("utf-8"))
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"the decoder ended at {line[:1000]}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        return self.process.returncode


def can_be_written(document):
    """Python's texts may hold halves of characters, which no UTF-8 can."""
    try:
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (UnicodeEncodeError, ValueError):
        return False
    return True


def key_of(document):
    """The key that the document itself asks for; any other one where it asks for none."""
    kind = document.get("kind")
    _, word, root_field = KINDS.get(kind if isinstance(kind, str) else "", ("", "sandbox", None))
    parts = [word, "x", "x"] if root_field else [word, "x"]
    spec = document.get("spec")
    if root_field and isinstance(spec, dict) and isinstance(spec.get(root_field), str):
        parts[1] = spec[root_field]
    if isinstance(document.get("id"), str):
        parts[-1] = document["id"]
    key = "/".join(parts)
    return key if not set(key) & set("\t\n\0") else "sandbox/x"


CONDITIONS = ("if", "then", "else", "allOf", "oneOf", "not")


def without_conditions(schema):
    if isinstance(schema, list):
        return [without_conditions(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_conditions(value) for key, value in schema.items() if key not in CONDITIONS}


def keep_first(members, names):
    for name in [name for name in names if members.get(name) is not None][1:]:
        del members[name]


def mend_sandbox(spec):
    keep_first(spec, ["ttlMs", "expiresAtMs"])
    if spec.get("ttlMs") is None and spec.get("expiresAtMs") is None:
        spec["ttlMs"] = 60000
    if spec.get("templateId") is None:
        spec.pop("templateVersion", None)
    else:
        spec.pop("snapshotId", None)
        spec["templateVersion"] = spec.get("templateVersion") or "1.0"
    keep_first(spec["placement"], ["computer", "provider_pool"])
    if all(value is None for value in spec["placement"].values()):
        spec["placement"]["computer"] = "c-1"
    credential = (spec.get("session") or {}).get("credential", {"source": "none"})
    wanted = {"none": [], "organization": ["virtualUserId", "connectionId"]}
    for name in ("virtualUserId", "connectionId"):
        credential.pop(name, None)
    for name in wanted.get(credential["source"], ["virtualUserId"]):
        credential[name] = "00000000-0000-0000-0000-000000000001"


def mend_checkpoint(spec):
    source = spec.get("source")
    if source is not None and all(value is None for value in source.values()):
        source["turnId"] = "t-1"


def mend_snapshot(spec):
    source = spec["source"]
    member = {"build": "spec"}.get(source["kind"], source["kind"] + "_id")
    value = source.get(member)
    spec["source"] = {"kind": source["kind"], member: value or ({} if member == "spec" else "x")}
    if source["kind"] != "build":
        spec.pop("buildKey", None)
    build = spec["source"].get("spec") or {}
    keep_first(build, ["baseImage", "baseSnapshotId"])
    for step in build.get("steps", []):
        keep_first(step, ["run", "copy", "file", "env", "workdir", "user"])
        if all(value is None for value in step.values()):
            step["run"] = "true"


MENDERS = {"Sandbox": mend_sandbox, "Checkpoint": mend_checkpoint, "Snapshot": mend_snapshot}


@strategies.composite
def documents(draw, kind):
    """Mostly valid ones. The generator gets the schema without its conditions, on which it would spend
    minutes; they are met by hand, except in some documents, and the whole schema judges all."""
    document = draw(generated(kind))
    if kind in MENDERS and draw(strategies.integers(0, 9)) > 0:
        MENDERS[kind](document["spec"])
    return document


@functools.cache
def generated(kind):
    file, _, _ = KINDS[kind]
    envelope = strict.inlined(strict.load("desired.schema.json"), "desired.schema.json")
    envelope["properties"]["kind"] = {"const": kind}
    envelope["properties"]["spec"] = strict.inlined(strict.load(file), file)
    formats = {"slu-egress-target": TARGETS, "slu-egress-network": TARGETS}
    return from_schema(without_conditions(envelope), custom_formats=formats)


# One document of each kind with every member that can stand beside the others.
FULL = {
    "Sandbox": {
        "provider": "local",
        "state": "running",
        "placement": {"provider_pool": "default"},
        "ttlMs": 60000,
        "ttlPausedTimeCounts": True,
        "alias": "demo",
        "owners": [{"kind": "user", "id": "u-1"}, {"kind": "agent", "id": "ag-1"}],
        "profile": {"python": "3.12"},
        "resources": {"cpuCount": 2, "memoryMb": 256, "diskMb": 1024},
        "egressRules": [{"action": "allow", "target": "example.org"}, {"action": "deny", "target": "10.0.0.0/8"}],
        "templateId": "py",
        "templateVersion": "1.0",
        "delegationId": "dlg-1",
        "mounts": [
            {"alias": "src", "spaceId": "sp-1", "mode": "read_only", "pathPrefix": "a/b", "accessTicketId": "t-1"}
        ],
        "session": {
            "sessionId": "ses-1",
            "autoStart": True,
            "idlePauseAfterSeconds": 180,
            "idlePauseEnabled": True,
            "credential": {
                "source": "organization",
                "virtualUserId": "00000000-0000-0000-0000-000000000001",
                "connectionId": "00000000-0000-0000-0000-000000000002",
            },
            "providerConfig": {"template": "base"},
            "init": {"commands": ["true"]},
        },
        "checkpoints": {
            "auto": "after_exec",
            "keepLast": 5,
            "maxAgeMs": 60000,
            "keepPinned": True,
            "pendingTimeoutMs": 1000,
        },
        "recovery": "manual",
        "rewind": {"checkpoint": "cp-1", "mode": "pointer", "token": "r-1"},
        "resumeOnUse": True,
        "keepCheckpoints": True,
        "skillEnv": {"A": "1"},
        "providerLeaseSeconds": 60,
    },
    "Checkpoint": {
        "sandboxId": "sbx-1",
        "type": "provider_native",
        "source": {"turnId": "t-1", "toolCallId": "c-1"},
        "settled": "pending",
        "pinned": True,
        "state": "ready",
    },
    "Activity": {"sandboxId": "sbx-1", "active": True, "atMs": 1796003112000, "ttlMs": 1000},
    "Snapshot": {
        "provider": "local",
        "alias": "base",
        "visibility": "tenant",
        "owners": [{"kind": "user", "id": "u-1"}],
        "builtin": True,
        "createdBy": {"kind": "user", "id": "u-1"},
        "source": {
            "kind": "build",
            "spec": {
                "baseImage": "debian",
                "steps": [
                    {"run": "true"},
                    {"copy": {"fromSnapshotId": "s", "from": "a", "to": "b"}},
                    {"file": {"path": "a", "content": "aGk=", "mode": "0755"}},
                    {"env": {"A": "1"}},
                    {"workdir": "/srv"},
                    {"user": "root"},
                ],
                "startCommand": "serve",
                "readyCommand": "true",
                "resources": {"cpuCount": 1, "memoryMb": 128, "diskMb": 512},
                "force": True,
            },
        },
        "buildKey": "k",
        "state": "ready",
    },
}


def full_document(kind):
    return {
        "kind": kind,
        "id": "x-1",
        "scope": {"tenantId": "t", "projectId": "p"},
        "generation": 2,
        "ifGeneration": 1,
        "actor": {"kind": "user", "id": "u-1"},
        "spec": copy.deepcopy(FULL[kind]),
    }


# --- changes -----------------------------------------------------------------------------------------


def places(value, path=()):
    """Every place below `value`."""
    yield path
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from places(member, (*path, index))


def at(document, path):
    for part in path:
        document = document[part]
    return document


def replaced(document, path, value):
    document = copy.deepcopy(document)
    at(document, path[:-1])[path[-1]] = value
    return document


def removed(document, path):
    document = copy.deepcopy(document)
    del at(document, path[:-1])[path[-1]]
    return document


def text_like(text, size):
    """`size` characters, of the kind that `text` has at its end."""
    return text[:size] + (text[-1:] or "a") * (size - len(text))


def alternatives(value, rule):
    """Values that are nearly right by `rule`, at both sides of each bound."""
    yield from (None, True, 0, -1, 1.0, 1.5, "", "x", [], {}, 2**53, 2**63, [value], {"x": value})
    if isinstance(value, str):
        yield from (value + "\n", " " + value, value + "/", value.upper(), value.lower(), value + "\u00e9", value + "\0")
        for bound in (rule.get("minLength", 0), rule.get("maxLength", 16)):
            for size in (bound - 1, bound, bound + 1):
                if size >= 0:
                    yield text_like(value, size)
                    yield "\u00e9" * size
        yield from rule.get("enum", [])
    if isinstance(value, (int, float)):
        for bound in (rule.get("minimum"), rule.get("maximum"), value):
            if bound is not None:
                yield from (bound - 1, bound, bound + 1, float(bound), str(bound))
    if isinstance(value, list):
        for size in {rule.get("minItems", 0), rule.get("maxItems", 3)}:
            yield from ([value[0]] * count for count in (size - 1, size, size + 1) if value and count >= 0)
            yield from (distinct(value[0], count) for count in (size - 1, size, size + 1) if value and count >= 0)
        yield value + value
    if isinstance(value, dict):
        yield {**value, "unknown": 1}
        for size in {rule.get("minProperties", 0), rule.get("maxProperties", 3)}:
            yield from ({f"K{n}": "v" for n in range(count)} for count in (size - 1, size, size + 1) if count >= 0)


def distinct(member, count):
    """`count` members like this one, each with another text where it has one that is free."""
    members = []
    for number in range(count):
        other = copy.deepcopy(member)
        if isinstance(other, str):
            other = f"{other}{number}"
        for name in ("id", "alias", "run"):
            if isinstance(other, dict) and name in other:
                other[name] = f"{other[name]}{number}"
        if isinstance(other, dict) and "target" in other:
            other["target"] = f"h{number}.example.org"
        members.append(other)
    return members


def rule_at(schema, path):
    """The schema of a place, as far as properties, items and maps lead."""
    for part in path:
        any_of = schema.get("anyOf", [{}])
        schema = schema if "type" in schema or "properties" in schema else any_of[0]
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            rest = schema.get("additionalProperties", {})
            schema = schema.get("properties", {}).get(part, rest if isinstance(rest, dict) else {})
    return schema if "anyOf" not in schema else schema["anyOf"][0]


@strategies.composite
def one_change(draw, kind):
    """A valid document with one member changed, removed or added."""
    document = draw(documents(kind))
    path = draw(strategies.sampled_from([path for path in places(document) if path]))
    value = at(document, path)
    what = draw(strategies.sampled_from(["remove", "replace", "nearly"]))
    if what == "remove":
        return removed(document, path)
    if what == "replace":
        scalars = strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=8)
        return replaced(document, path, draw(scalars | strategies.lists(scalars, max_size=2)))
    return replaced(document, path, draw(strategies.sampled_from(list(alternatives(value, {})))))


# --- the tests ---------------------------------------------------------------------------------------


class Schemas(unittest.TestCase):
    decoder = None

    def agree(self, document):
        """Both say the same of it. True when both allow it."""
        answer = self.decoder.ask(key_of(document), document)
        errors = [error.message for error in DESIRED.iter_errors(document)]
        if errors and "document" in answer:
            self.fail(f"the schema forbids ({errors[0][:300]}) what decodes: {json.dumps(document)[:1500]}")
        if not errors and "document" not in answer:
            self.fail(f"the schema allows what is refused ({answer['message']}): {json.dumps(document)[:1500]}")
        return "document" in answer

    def comes_back(self, document):
        """The canonical document is allowed, canonical, and has all defaults."""
        key = key_of(document)
        canonical = self.decoder.ask(key, document)["document"]
        self.assertEqual([], [error.message for error in DESIRED.iter_errors(canonical)])
        again = self.decoder.ask(key, canonical)["document"]
        self.assertEqual(json.dumps(again), json.dumps(canonical))  # Order is part of it.
        file, _, _ = KINDS[document["kind"]]
        for name, rule in strict.load(file)["properties"].items():
            if "default" in rule:
                self.assertIn(name, canonical["spec"])
            given_value = document["spec"].get(name)
            if isinstance(given_value, (str, int)):
                self.assertEqual(given_value, canonical["spec"][name])

    def test_schemas_are_schemas(self):
        for path in strict.SCHEMAS.glob("*.schema.json"):
            strict.StrictValidator.check_schema(json.loads(path.read_text(encoding="utf-8")))

    def test_full_documents_are_allowed_and_come_back(self):
        for kind in KINDS:
            document = full_document(kind)
            self.assertTrue(self.agree(document))
            self.comes_back(document)

    def test_examples_of_the_project_agree(self):
        for path in sorted((strict.SCHEMAS.parent / "examples").glob("0*.json")):
            self.assertTrue(self.agree(json.loads(path.read_text(encoding="utf-8"))), path.name)

    def test_every_place_agrees_at_both_sides_of_its_bounds(self):
        counts = {True: 0, False: 0}
        for kind, (file, _, _) in KINDS.items():
            schema = strict.inlined(strict.load("desired.schema.json"), "desired.schema.json")
            schema["properties"]["spec"] = strict.inlined(strict.load(file), file)
            document = full_document(kind)
            for path in places(document):
                if not path:
                    continue
                counts[self.agree(removed(document, path))] += 1
                for value in alternatives(at(document, path), rule_at(schema, path)):
                    changed = replaced(document, path, value)
                    if can_be_written(changed):
                        counts[self.agree(changed)] += 1
        self.assertGreater(counts[True], 500)
        self.assertGreater(counts[False], 2000)
        print(f"bounds: {counts[True]} allowed, {counts[False]} refused", file=sys.stderr)

    def test_unions_of_members_agree(self):
        """Members that exclude or need each other, in every combination."""
        sandbox = full_document("Sandbox")
        for names in (["ttlMs", "expiresAtMs"], ["templateId", "templateVersion", "snapshotId"]):
            for choice in range(3 ** len(names)):
                document = copy.deepcopy(sandbox)
                for index, name in enumerate(names):
                    document["spec"].pop(name, None)
                    value = (choice // 3**index) % 3
                    if value:
                        document["spec"][name] = None if value == 1 else 60000 if name.endswith("Ms") else "a"
                self.agree(document)
        for source in ("none", "session_user", "agent", "organization"):
            for choice in range(9):
                document = copy.deepcopy(sandbox)
                credential = {"source": source}
                for index, name in enumerate(("virtualUserId", "connectionId")):
                    value = (choice // 3**index) % 3
                    if value:
                        credential[name] = None if value == 1 else "00000000-0000-0000-0000-000000000001"
                document["spec"]["session"]["credential"] = credential
                self.agree(document)
        for kind in ("build", "computer", "sandbox", "space"):
            for choice in range(16):
                document = full_document("Snapshot")
                members = {"spec": {}, "computer_id": "c", "sandbox_id": "s", "space_id": "p"}
                chosen = {name: value for bit, (name, value) in enumerate(members.items()) if choice >> bit & 1}
                document["spec"]["source"] = {"kind": kind, **chosen}
                self.agree(document)
                document["spec"]["buildKey"] = ""
                self.agree(document)


def allowed_test(kind):
    @given(documents(kind))
    @example(full_document(kind))
    def test(self, document):
        assume(can_be_written(document))
        if self.agree(document):
            self.comes_back(document)

    return test


def changed_test(kind):
    @given(one_change(kind))
    def test(self, document):
        assume(can_be_written(document))
        self.agree(document)

    return test


for word in KINDS:
    setattr(Schemas, f"test_generated_{word.lower()}_documents_agree", allowed_test(word))
    setattr(Schemas, f"test_changed_{word.lower()}_documents_agree", changed_test(word))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Schemas.decoder = Decoder(sys.argv.pop(1))
    result = unittest.main(exit=False, verbosity=1).result
    if Schemas.decoder.close() != 0:
        sys.exit("the decoder did not end well")
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
