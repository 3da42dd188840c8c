"""What a setting may be, in words, from the JSON schema of its type; and a value as a user types it."""

import json

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cse.dotted import Json

Schema = Json


class Describe(GenerateJsonSchema):
    """pydantic's schemas, with a word for what JSON cannot hold: a part is built from a node with a `_target_`."""

    def handle_invalid_for_json_schema(self, schema: core_schema.CoreSchema, error_info: str) -> JsonSchemaValue:
        """The schema of a part, whose class JSON has no type for."""
        return {"type": "part"}


def allowed(types: TypeAdapter, path: tuple[str | int, ...]) -> str:
    """What may stand at that place, to go after "must be"."""
    whole = types.json_schema(schema_generator=Describe)
    schema = whole
    for key in path:
        schema = next((inside for option in options(schema, whole) if (inside := below(option, str(key)))), {})
    kinds = list(dict.fromkeys(words(option, whole) for option in options(schema, whole)))
    first = " or ".join(kind for kind in kinds if kind != "null")
    return f"{first}, or null" if first and "null" in kinds else first or "null"


def options(schema: Schema, whole: Schema) -> list[Schema]:
    """The schemas that this one is a choice of, without references."""
    if "$ref" in schema:
        return options(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    return [one for option in schema["anyOf"] for one in options(option, whole)] if "anyOf" in schema else [schema]


def below(schema: Schema, key: str) -> Schema | None:
    """The schema of what a mapping holds under that key, or None."""
    values = schema.get("additionalProperties")
    return schema.get("properties", {}).get(key) or (values if isinstance(values, dict) else None)


def words(schema: Schema, whole: Schema) -> str:
    """The words for one schema that is not a choice of several."""
    if "enum" in schema or "const" in schema:
        names = schema.get("enum", [schema.get("const")])
        return ("one of " if len(names) > 1 else "") + ", ".join(map(shown, names))
    kind = schema.get("type")
    if kind == "integer":
        return whole_number(schema)
    if kind == "number":
        return number(schema)
    if kind == "array":
        return array(schema, whole)
    if kind == "string":
        return "text that is not empty" if schema.get("minLength") else "text"
    plain = {"null": "null", "boolean": "yes or no", "object": "a mapping", "part": "a mapping with a _target_"}
    return plain.get(str(kind), "anything")


def whole_number(schema: Schema) -> str:
    """The words for an integer and its limits."""
    low = schema["exclusiveMinimum"] + 1 if "exclusiveMinimum" in schema else schema.get("minimum")
    high = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else schema.get("maximum")
    if low is not None and high is not None:
        return f"a whole number from {low} to {high}"
    return "a whole number" if low is None else f"a whole number of at least {low}"


def number(schema: Schema) -> str:
    """The words for a number and its limits."""
    ends = {"exclusiveMinimum": "above", "minimum": "of at least", "exclusiveMaximum": "below", "maximum": "at most"}
    if {"minimum", "maximum"} <= set(schema):
        return f"a number from {schema['minimum']:g} to {schema['maximum']:g}"
    limits = [f"{word} {schema[key]:g}" for key, word in ends.items() if key in schema]
    return f"a number {' and '.join(limits)}" if limits else "a finite number"


def array(schema: Schema, whole: Schema) -> str:
    """The words for a list, its length and its items."""
    items = schema.get("prefixItems") or [schema.get("items", {})]
    kinds = list(dict.fromkeys(" or ".join(words(o, whole) for o in options(item, whole)) for item in items))
    low, high = schema.get("minItems"), schema.get("maxItems")
    count = f" of {low}" if low and low == high else f" of at least {low}" if low else ""
    return f"a list{count}, each {' / '.join(kinds)}"


def shown(value: object) -> str:
    """As it would be typed: null, true, 0.5, name, [a,b]."""
    if isinstance(value, list):
        return f"[{','.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{shown(child)}' for key, child in value.items())}}}"
    return str(value) if isinstance(value, str | float) and not isinstance(value, bool) else json.dumps(value)
