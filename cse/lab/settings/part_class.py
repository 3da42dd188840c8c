"""A part's class: the types of what it takes, and what it must be for cse to use it.

`types_of` reads the types from the constructor, and `validator` has pydantic check values against them.
`refusal_in_words` says plainly what it refuses. `unusable` and `unmade` say why a class cannot be used; of the
functions that `unmade` asks, the first that finds something wrong answers.
"""

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, getmodule, isabstract, isclass, isfunction, signature
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

from hydra.utils import get_object
from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, core_schema
from typing_extensions import TypedDict

from cse.errors import in_short
from cse.lab.settings.schema import SLOTS, Slot
from cse.lab.settings.suggest import nearest
from cse.lab.settings.values import SWITCH, Config
from cse.ranges import STRICT, no_word_for_null

if TYPE_CHECKING:  # needs typing_extensions 4.13
    from typing_extensions import TypeForm

NESTED = object()  # stands for a nested part, which is checked by itself
NOT_SET = "is not set"
MISSING = "???"  # Hydra's mark for a value that must be given
LEVELS = {"text": "views", "tokens": "tokens"}  # of an augmentation, and the method that each calls
HYDRAS_OWN = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")

CONVERSIONS = {
    "bool": lambda value: SWITCH.get(value.lower(), value) if isinstance(value, str) else value,
    "str": lambda value: str(value) if type(value) is int else value,
    "list": lambda value: [value] if isinstance(value, str | int | float) and value not in ("", MISSING) else value,
    "tuple": lambda value: tuple(value) if isinstance(value, list) else value,
}
"""What a command line cannot express exactly: what is typed, converted to the type that pydantic names so."""


@cache
def types_of(target: str, beside: type | None = None) -> SchemaValidator:
    """The types of what the class or function of that name takes. None is required: our code passes the rest.

    beside: a TypedDict of further keys.
    """
    part = get_object(target)
    makers = [vars(base)["__init__"] for base in part.__mro__ if "__init__" in vars(base)] if isclass(part) else [part]
    fields: dict[str, object] = get_type_hints(beside, include_extras=True) if beside else {}
    extra: Literal["ignore", "forbid"] = "ignore"
    for maker in makers:
        fields = fields_of(maker) | fields
        if not any(one.kind is Parameter.VAR_KEYWORD for one in signature(maker).parameters.values()):
            extra = "forbid"
            break  # one with **settings passes them to its base
    config = STRICT | ConfigDict(extra=extra)
    return validator(with_config(config)(TypedDict(target, fields, total=False)))  # type: ignore[operator]


def fields_of(maker: Callable[..., object]) -> dict[str, object]:
    """The type of each parameter of a constructor, or of a function."""
    hints = get_type_hints(maker, include_extras=True)
    fields: dict[str, object] = {}
    for name, one in signature(maker).parameters.items():
        if one.kind is not Parameter.VAR_KEYWORD:
            hint = checkable(hints.get(name, object))
            is_nullable = type(None) in get_args(hint)
            fields[name] = Annotated[hint, BeforeValidator(no_word_for_null)] if is_nullable else hint
    return fields


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
            return [converting(one) for one in schema]
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


def refusal_in_words(error: ErrorDetails, known: Sequence[str]) -> str:
    """Pydantic's text for an error, or our own. known: the settings that there are."""
    if error["input"] is NESTED:
        return f"is one part where several may be: its YAML opens with # @package {error['loc'][0]}.NAME"
    match error["type"]:
        case "missing":
            return NOT_SET
        case "extra_forbidden":
            return f"there is no such setting{nearest(str(error['loc'][-1]), known)}"
        case "dict_type":
            return "should be a mapping, in quotes, '{KEY:VALUE,KEY:VALUE}', as a shell takes unquoted braces apart"
        case "string_type" if isinstance(error["input"], float):
            return "should be a valid string, which a number is in quotes, \"'NUMBER'\""
    return re.sub("^(Value error, |Input (?=should))", "", error["msg"]).replace("valid tuple", "list")


def unusable(target: str, error: Exception) -> str:
    """Why a part's class cannot be used: its module or package has no such name, or what the import, or reading its
    annotations, raised."""
    if isinstance(error, NameError):
        return f"cannot be checked, as an annotation of its constructor names what is not imported ({in_short(error)})"
    absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
    place, _, name = (absent or target).rpartition(".")
    if there := sys.modules.get(place):
        known = [one.name for one in iter_modules(vars(there).get("__path__", ()))]
        known += [key for key, one in vars(there).items() if getmodule(one) is there]
        hint = nearest(name, known) or f"; it has {', '.join(known)}"
        return f"{place} has no {name}{hint}"
    where = "; PYTHONPATH=FOLDER says where it is" if absent and f"{target}.".startswith(f"{absent}.") else ""
    return f"cannot be imported ({in_short(error.__cause__ or error)}){where}"


def unmade(slot: Slot, node: Config) -> str:
    """Why a part cannot be made of its settings and of what our code passes to it; "" if it can, or is made later."""
    part = get_object(node["_target_"])
    if node.get("_partial_") or "_args_" in node:
        return ""
    if isabstract(part):
        return f"lacks the method {', '.join(sorted(part.__abstractmethods__))}"
    if slot.base and isclass(part):
        base = get_object(slot.base)
        for wrong in (wrong_base, wrong_method, wrong_attribute):
            if why := wrong(part, base):
                return why
        if slot is SLOTS["augmentation"] and (why := no_method(part, base)):
            return why
    return wrong_call(part, slot, node)


def wrong_base(part: type, base: type) -> str:
    """Which class a part does not inherit, or ""."""
    return "" if issubclass(part, base) else f"must inherit {base.__module__}.{base.__qualname__}"


def wrong_method(part: type, base: type) -> str:
    """Which method of a part does not take what cse passes to that of its base; "" if all do."""
    for name, of_base in vars(base).items():
        method = getattr(part, name)
        if name == "__init__" or not (isfunction(of_base) and isfunction(method)):
            continue
        passed = list(signature(of_base).parameters)
        try:
            signature(method).bind(*passed)
        except TypeError as error:
            return f"its {name} must take ({', '.join(passed)}): {error}"
    return ""


def wrong_attribute(part: type, base: type) -> str:
    """Which attribute of a part's class has a value that its base's annotation does not allow; "" if none."""
    hints = get_type_hints(base)
    for name in vars(base).keys() & hints.keys():
        value = getattr(part, name)
        try:
            if not isinstance(value, property):
                TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as refused:
            return f"its {name}={value!r} {refusal_in_words(refused.errors()[0], [])}"
    return ""


def no_method(part: Any, base: Any) -> str:
    """Which method an augmentation lacks that its level calls, or ""."""
    written = {level: name for level, name in LEVELS.items() if getattr(part, name) is not getattr(base, name)}
    if part.level not in LEVELS or part.level in written:
        return ""
    hint = "".join(f' (it has {name}: is level = "{level}" missing in the class?)' for level, name in written.items())
    return f"lacks the method {LEVELS[part.level]}{hint}"


def wrong_call(part: Any, slot: Slot, node: Config) -> str:
    """Why a part's constructor, or a function, does not take its settings and what cse passes; "" if it does."""
    beside = slot.beside.__annotations__ if slot.beside else ()
    settings = {key: value for key, value in node.items() if key not in (*HYDRAS_OWN, *beside)}
    try:
        signature(part).bind(**dict.fromkeys(slot.passed), **settings)
    except TypeError as error:
        return f"{error} (cse itself passes {', '.join(slot.passed)})" if slot.passed else str(error)
    return ""
