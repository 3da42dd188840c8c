"""Check one node of a config, a mapping of settings, against the types of its keys. Pydantic checks the values.

check_node      checks one node
without_parts   returns a node's settings without the parts inside, which are checked separately
validator       returns pydantic's validator, which first converts values that a command line cannot express
setting_at      returns the setting in an error of pydantic
reason_of       returns the mistake in plain words
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, core_schema

from cse.lab.settings.arguments import spell_value
from cse.lab.settings.lookup import nearest, value_here
from cse.lab.settings.values import BOOLEANS, PlainConfig, flattened

NESTED = object()
"""The value that replaces a part inside a node."""
NOT_SET = "is not set"
HYDRA_KEYS = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")
"""The keys of a part's node that Hydra reads. All other keys are the part's settings."""
NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)

CONVERSIONS = {
    "bool": lambda value: BOOLEANS.get(value.lower(), value) if isinstance(value, str) else value,
    "str": lambda value: str(value) if type(value) is int else value,
    "list": lambda value: [value] if isinstance(value, str | int | float) and value != "" else value,
    "tuple": lambda value: tuple(value) if isinstance(value, list) else value,
}
"""{pydantic's name of a type: the conversion to it}, for types whose values a command line cannot express exactly."""


class Violation(NamedTuple):
    """A mistake in a setting. value: the given value; None if the value is missing or only the key is wrong."""

    key: str
    reason: str
    value: str | None = None


class CheckedNode(NamedTuple):
    """The result of the check of a node.

    converted: the new value of each setting that pydantic converted, by dotted key; empty if there are violations.
    """

    converted: PlainConfig
    violations: Sequence[Violation] = ()


def check_node(prefix: str, node: PlainConfig, types: type) -> CheckedNode:
    """Check the settings of a node. types: a TypedDict of the settings that the node may have.

    prefix: the start of the node's keys in the config, such as "trainer."; "" at the top.
    """
    settings = without_parts(node)
    try:
        converted = flattened(validator(types).validate_python(settings, strict=True))
    except ValidationError as refused:
        violations: list[Violation] = []
        for error in refused.errors():
            key, value = setting_at(error, node)
            violations.append(Violation(prefix + key, reason_of(error, [*types.__annotations__]), value))
        return CheckedNode({}, violations)
    before = flattened(settings)
    changed: PlainConfig = {}
    for key, value in converted.items():
        plain = list(value) if isinstance(value, tuple) else value
        if repr(plain) != repr(before[key]):  # 1 and 1.0 are equal, but of different types
            changed[prefix + key] = plain
    return CheckedNode(changed)


def without_parts(node: PlainConfig) -> PlainConfig:
    """Return the settings of a node, with NESTED instead of each part in them."""
    return {key: mask_parts(value) for key, value in node.items() if key not in HYDRA_KEYS}


def mask_parts(value: object) -> object:
    """Return the value with NESTED instead of each part in it."""
    if isinstance(value, dict):
        return NESTED if "_target_" in value else {key: mask_parts(child) for key, child in value.items()}
    return [mask_parts(child) for child in value] if isinstance(value, list) else value


@cache
def validator(types: type) -> SchemaValidator:
    """Return pydantic's validator of a TypedDict, which applies CONVERSIONS before it checks a value."""
    return SchemaValidator(converting(TypeAdapter(types).core_schema))


def converting(schema: Any) -> Any:
    """Return a schema of pydantic that applies CONVERSIONS before each check, and checks parts by `accept_part`."""
    match schema:
        case list():
            return [converting(inner) for inner in schema]
        case {"type": "callable" | "is-instance" | "dataclass"}:
            return core_schema.no_info_plain_validator_function(accept_part)
        case {"type": "json-or-python"}:  # a Sequence; the values of a config are those of JSON
            return converting(schema["json_schema"])
        case dict():
            inside = {key: converting(value) for key, value in schema.items()}
            convert = CONVERSIONS.get(str(schema.get("type")))
            return core_schema.no_info_before_validator_function(convert, inside) if convert else inside
    return schema


def accept_part(value: object) -> object:
    """Return NESTED. Raises ValueError for any other value, because it is not a part."""
    if value is not NESTED:
        raise ValueError("should be a mapping with a _target_ (MODULE.CLASS)")
    return value


def setting_at(error: ErrorDetails, node: PlainConfig) -> tuple[str, str | None]:
    """Return (dotted key, given value or None) of the setting in an error of pydantic.

    Pydantic's location also has the members of unions and the indices of lists. The key leaves these out.
    """
    path: list[str] = []
    value: object = node
    for step in error["loc"]:
        if isinstance(value, dict) and step in value:
            path, value = [*path, str(step)], value[step]
    if error["type"] == "missing" and isinstance(value, dict):  # a missing key, not a missing number of a pair
        return ".".join([*path, str(error["loc"][-1])]), None
    is_quoted = isinstance(value, str) and NUMBER.fullmatch(value)  # without quotes it would be no text
    return ".".join(path), repr(value) if is_quoted else spell_value(value, quotes=False)


def reason_of(error: ErrorDetails, settings: Sequence[str] = ()) -> str:
    """Return the mistake in pydantic's or cse's words. settings: the names of existing settings, for a suggestion."""
    if error["input"] is NESTED:
        return f"is one part, but a group of parts is needed: begin its YAML with # @package {error['loc'][0]}.NAME"
    match error["type"]:
        case "missing":
            return NOT_SET
        case "extra_forbidden":
            return f"there is no such setting{nearest(str(error['loc'][-1]), settings)}"
        case "dict_type":
            return "should be a mapping in quotes, '{KEY:VALUE,KEY:VALUE}': a shell splits unquoted braces"
        case "int_type" if ends := re.fullmatch(r"(\d+)(?:-|\.\.|:)(\d+)", str(error["input"])):
            return f"should be a valid integer; with -m, range({ends[1]},{int(ends[2]) + 1}) is {ends[1]} to {ends[2]}"
        case "string_type" if isinstance(error["input"], float):
            return "should be a valid string; a number in quotes is a string, \"'NUMBER'\""
        case "string_type" if isinstance(error["input"], list):
            return "should be one text, such as the name of one file, not a list"
    is_named = bool(error["loc"]) and isinstance(error["input"], str)
    ours = value_here(str(error["loc"][0]), error["input"]) if is_named else ""
    translation = f"; {error['input']} is {ours!r} here" if ours else ""  # pooling=cls_before_pooler
    return re.sub("^(Value error, |Input (?=should))", "", error["msg"]).replace("valid tuple", "list") + translation
