"""The types of what a class or a function takes, as pydantic checks values against them.

`types_of` reads them from the constructor. `validator` puts before each what a command line cannot express. In the
values, `without_parts` has NESTED in place of a part, which is checked by itself. `refusal_in_words` says plainly what
pydantic refuses.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, isclass, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from hydra.utils import get_object
from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter, with_config
from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, core_schema
from typing_extensions import TypedDict

from cse.lab.settings.suggest import nearest, value_here
from cse.lab.settings.values import SWITCH, Config
from cse.ranges import STRICT, no_word_for_null

if TYPE_CHECKING:  # needs typing_extensions 4.13
    from typing_extensions import TypeForm

NESTED = object()  # stands for a nested part
NOT_SET = "is not set"
HYDRAS_OWN = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")

CONVERSIONS = {
    "bool": lambda value: SWITCH.get(value.lower(), value) if isinstance(value, str) else value,
    "str": lambda value: str(value) if type(value) is int else value,
    "list": lambda value: [value] if isinstance(value, str | int | float) and value != "" else value,
    "tuple": lambda value: tuple(value) if isinstance(value, list) else value,
}
"""What a command line cannot express exactly: what is typed, converted to the type that pydantic names so."""


@cache
def types_of(target: str, beside: type | None = None) -> SchemaValidator:
    """The types of what the class or function of that name takes. None is required: our code passes the rest.

    beside: a TypedDict of further keys.
    """
    takers = takers_of(get_object(target))
    fields: dict[str, object] = get_type_hints(beside, include_extras=True) if beside else {}
    for taker in takers:
        fields = fields_of(taker) | fields
    config = STRICT | ConfigDict(extra="ignore" if passes_on(takers[-1]) else "forbid")
    return validator(with_config(config)(TypedDict(target, fields, total=False)))  # type: ignore[operator]


def names_taken(target: str) -> list[str]:
    """The names of what the class or function of that name takes, in order; of a class also `self`."""
    names: list[str] = []
    for taker in takers_of(get_object(target)):
        names += signature(taker).parameters
    return list(dict.fromkeys(names))


def takers_of(part: Callable[..., object]) -> list[Callable[..., object]]:
    """A function, or a class's constructor and those of its bases to which it passes **settings on."""
    if not isclass(part):
        return [part]
    takers: list[Callable[..., object]] = []
    for base in part.__mro__:
        if "__init__" in vars(base):
            takers.append(vars(base)["__init__"])
            if not passes_on(takers[-1]):
                break
    return takers


def passes_on(taker: Callable[..., object]) -> bool:
    """Whether a constructor or a function takes **settings."""
    return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in signature(taker).parameters.values())


def fields_of(taker: Callable[..., object]) -> dict[str, object]:
    """The type of each parameter of a constructor, or of a function."""
    hints = get_type_hints(taker, include_extras=True)
    fields: dict[str, object] = {}
    for name, parameter in signature(taker).parameters.items():
        if parameter.kind is not Parameter.VAR_KEYWORD:
            fields[name] = checkable(hints.get(name, object))
            kinds = get_args(fields[name])
            if type(None) in kinds:
                is_part = any(get_origin(kind) is Callable for kind in kinds)
                fields[name] = Annotated[fields[name], BeforeValidator(null_for_none if is_part else no_word_for_null)]
    return fields


def null_for_none(value: object) -> object:
    """The value of a part that may be left out: null for the word none, by which groups name it."""
    return None if value == "none" else value


def checkable(hint: "TypeForm[object]") -> "TypeForm[object]":
    """The type, or `object`, which allows anything, for one that pydantic cannot check, as a Protocol."""
    try:
        TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, SchemaError):
        return object
    return hint


@cache
def validator(keys: type) -> SchemaValidator:
    """Pydantic's validator of a TypedDict, with CONVERSIONS before each of its types."""
    return SchemaValidator(converting(TypeAdapter(keys).core_schema))


def converting(schema: Any) -> Any:
    """A schema of pydantic's, with CONVERSIONS before every type in it, and parts where it has classes."""
    match schema:
        case list():
            return [converting(inner) for inner in schema]
        case {"type": "callable" | "is-instance" | "dataclass"}:
            return core_schema.no_info_plain_validator_function(accept_part)
        case {"type": "json-or-python"}:  # a Sequence; a config has what JSON has
            return converting(schema["json_schema"])
        case dict():
            inside = {key: converting(value) for key, value in schema.items()}
            convert = CONVERSIONS.get(str(schema.get("type")))
            return core_schema.no_info_before_validator_function(convert, inside) if convert else inside
    return schema


def accept_part(value: object) -> object:
    """The value. Raises ValueError for one that is no part."""
    if value is not NESTED:
        raise ValueError(
            "should be a mapping with a _target_ (MODULE.CLASS), its own or that of a file in its defaults"
        )
    return value


def without_parts(node: Config) -> Config:
    """The settings of a node, with NESTED in place of every part in them."""
    return {key: mask_parts(value) for key, value in node.items() if key not in HYDRAS_OWN}


def mask_parts(value: object) -> object:
    """The value with NESTED in place of every part in it."""
    if isinstance(value, dict):
        return NESTED if "_target_" in value else {key: mask_parts(child) for key, child in value.items()}
    return [mask_parts(child) for child in value] if isinstance(value, list) else value


def refusal_in_words(error: ErrorDetails, settings: Sequence[str] = ()) -> str:
    """Pydantic's text for an error, or our own. settings: those that there are; one may be meant."""
    if error["input"] is NESTED:
        return f"is one part where several may be: its YAML opens with # @package {error['loc'][0]}.NAME"
    match error["type"]:
        case "missing":
            return NOT_SET
        case "extra_forbidden":
            return f"there is no such setting{nearest(str(error['loc'][-1]), settings)}"
        case "dict_type":
            return "should be a mapping, in quotes, '{KEY:VALUE,KEY:VALUE}', as a shell takes unquoted braces apart"
        case "string_type" if isinstance(error["input"], float):
            return "should be a valid string, which a number is in quotes, \"'NUMBER'\""
    is_named = bool(error["loc"]) and isinstance(error["input"], str)
    ours = value_here(str(error["loc"][0]), error["input"]) if is_named else ""
    translation = f"; {error['input']} is {ours!r} here" if ours else ""  # pooling=cls_before_pooler
    return re.sub("^(Value error, |Input (?=should))", "", error["msg"]).replace("valid tuple", "list") + translation
