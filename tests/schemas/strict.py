# SPDX-License-Identifier: Apache-2.0
"""schemas/ read by a validator that is not ours, taught the keywords that the standard lacks.

Written from schemas/README.md alone: nothing here knows the decoder.
"""

import ipaddress
import json
import pathlib
import re

import jsonschema
from jsonschema import validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "schemas"


def load(name):
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def depth(value):
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from texts(member)


def whole_numbers(value):
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from whole_numbers(member)
    elif isinstance(value, list):
        for member in value:
            yield from whole_numbers(member)


def utf8_size(text):
    return len(text.encode("utf-8", "surrogatepass"))


def keyword(applies_to, broken):
    """A keyword that says `broken(limit, instance)` of instances of a type."""

    def check(validator, limit, instance, schema):
        if isinstance(instance, applies_to) and broken(limit, instance):
            yield jsonschema.ValidationError(f"more than {limit!r} allows")

    return check


def sum_of_texts(value):
    members = value if isinstance(value, list) else [*value.keys(), *value.values()]
    return sum(utf8_size(member) for member in members if isinstance(member, str))


def has_twins(name, members):
    seen = [member.get(name) for member in members if isinstance(member, dict)]
    return len(seen) != len(set(map(str, seen)))


def decoded_size(text):
    return len(text) // 4 * 3 - (len(text) - len(text.rstrip("=")))


def check_unique_with_defaults(validator, wanted, instance, schema):
    """uniqueItems, after the defaults of the members were put in."""
    if not wanted or not isinstance(instance, list):
        return
    item = validator._resolver.lookup(schema["items"]["$ref"]).contents
    defaults = {name: rule["default"] for name, rule in item["properties"].items() if "default" in rule}
    seen = [compact(dict(sorted({**defaults, **member}.items()))) for member in instance if isinstance(member, dict)]
    if len(seen) != len(set(seen)):
        yield jsonschema.ValidationError("two members are equal")


def check_pattern(validator, pattern, instance, schema):
    """As ECMA has it: $ is the end, not also before a last newline; \\d is ASCII."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance, re.ASCII):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


formats = jsonschema.FormatChecker(formats=())


@formats.checks("slu-egress-network")
def is_network(text):
    if not isinstance(text, str):
        return True
    address, slash, prefix = text.partition("/")
    if "%" in text or (slash and not re.fullmatch("0|[1-9][0-9]{0,2}", prefix, re.ASCII)):
        return False
    try:
        if slash:
            ipaddress.ip_network(text)
        else:
            ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


@formats.checks("slu-egress-target")
def is_target(text):
    if not isinstance(text, str) or is_network(text):
        return True
    labels = text.removeprefix("*.").split(".")
    good = all(re.fullmatch("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", label, re.ASCII) for label in labels)
    return good and not labels[-1].isdigit()


StrictValidator = validators.extend(
    jsonschema.Draft202012Validator,
    {
        "pattern": check_pattern,
        "x-slu-max-bytes": keyword(str, lambda limit, text: utf8_size(text) > limit),
        "x-slu-max-bytes-sum": keyword((list, dict), lambda limit, value: sum_of_texts(value) > limit),
        "x-slu-max-json-bytes": keyword(dict, lambda limit, value: len(compact(value)) > limit),
        "x-slu-max-depth": keyword(dict, lambda limit, value: depth(value) > limit),
        "x-slu-max-decoded-bytes": keyword(str, lambda limit, text: decoded_size(text) > limit),
        "x-slu-no-nul": keyword(dict, lambda _, value: any("\0" in text for text in texts(value))),
        "x-slu-int64": keyword(
            dict, lambda _, value: any(not -(2**63) <= number < 2**63 for number in whole_numbers(value))
        ),
        "x-slu-unique-by": keyword(list, has_twins),
        "x-slu-unique-with-defaults": check_unique_with_defaults,
    },
    # 1.0 is no whole number here.
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def registry():
    """All schemas by file name. Without $schema, which would bring the standard's validator back."""
    schemas = {path.name: load(path.name) for path in SCHEMAS.glob("*.schema.json")}
    for schema in schemas.values():
        assert schema.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
    return Registry().with_resources((name, DRAFT202012.create_resource(schema)) for name, schema in schemas.items())


def validator(name):
    return StrictValidator({"$ref": name}, registry=registry(), format_checker=formats)


def inlined(schema, file):
    """The schema without references: ours do not recurse."""
    if isinstance(schema, list):
        return [inlined(member, file) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name, _, pointer = schema["$ref"].partition("#")
        target = load(name or file)
        for part in pointer.strip("/").split("/") if pointer else []:
            target = target[part]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**inlined(target, name or file), **inlined(rest, file)}
    return {key: inlined(value, file) for key, value in schema.items() if key not in ("$defs", "$schema")}
