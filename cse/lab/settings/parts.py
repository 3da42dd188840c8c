"""Check a part, a mapping with a `_target_`: the settings, and the class or function that `_target_` names.

    check_part      checks one part
    types_of        returns the settings that the class takes, with the types in its constructor's annotations
    check_contract  checks that the class meets the requirements of the part's key (SLOTS)

The class is imported, but no object is built.
"""

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, getmodule, isabstract, isclass, isfunction, signature
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from hydra.utils import get_object
from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from cse.errors import in_short
from cse.lab.settings.lookup import nearest
from cse.lab.settings.nodes import HYDRA_KEYS, CheckedNode, Violation, check_node, reason_of, validator
from cse.lab.settings.schema import ObjectiveExtras
from cse.lab.settings.values import PlainConfig
from cse.ranges import STRICT, no_word_for_null

if TYPE_CHECKING:  # needs typing_extensions 4.13
    from typing_extensions import TypeForm


class UnusablePart(Exception):
    """The error for a `_target_` whose class or function cse cannot use. The message says why."""


class Slot(NamedTuple):
    """The requirements for the class of a part at one key of a config.

    base: the class that the part must inherit; "" for any class. passed: the arguments that cse.lab.run.build adds to
    the part's settings. extras: a TypedDict of the keys in the part's node that the class does not take.
    """

    base: str = ""
    passed: Sequence[str] = ()
    extras: type | None = None


SLOTS = {
    "model": Slot(passed=("dropout", "mlm", "unrecorded")),
    "objective": Slot("cse.types.Objective", passed=("dim",), extras=ObjectiveExtras),
    "augmentation": Slot("cse.types.Augmentation"),
    "aux_modality": Slot("cse.types.AuxModality", passed=("dim",)),
    "eval.NAME": Slot("cse.types.Evaluator"),
}
"""The slots by key. At any other key, any part is allowed."""


def check_part(key: str, node: PlainConfig) -> CheckedNode:
    """Check the part at a dotted key: its settings and, if these are right, whether its class takes these settings."""
    target = str(node["_target_"])
    slot = SLOTS.get(re.sub(r"^eval\.[^.]+$", "eval.NAME", key), Slot())
    try:
        checked = check_node(f"{key}.", node, types_of(target, slot.extras))
        if not checked.violations:
            check_contract(slot, node)
    except UnusablePart as unusable:
        return CheckedNode({}, [Violation(f"{key}._target_", str(unusable), target)])
    return checked


# The settings that a class takes


@cache
def types_of(target: str, extras: type | None = None) -> type:
    """Return a TypedDict of the settings that a class or function takes.

    No key is required, because cse itself passes some of the arguments. extras: a TypedDict of further keys. Raises
    UnusablePart for a class that cannot be imported, or whose annotations cannot be read.
    """
    try:
        takers = takers_of(get_object(target))
        fields: dict[str, object] = get_type_hints(extras, include_extras=True) if extras else {}
        for taker in takers:
            fields = fields_of(taker) | fields
        config = STRICT | ConfigDict(extra="ignore" if passes_on(takers[-1]) else "forbid")
        types: type = with_config(config)(TypedDict(target, fields, total=False))  # type: ignore[operator]
        validator(types)  # raises if an annotation is wrong
    except (ImportError, NameError, ValueError, TypeError) as error:
        raise UnusablePart(why_not_imported(target, error)) from error
    return types


def why_not_imported(target: str, error: Exception) -> str:
    """Return why a class cannot be imported, or why its annotations cannot be read."""
    if isinstance(error, NameError):
        return f"cannot be checked: an annotation of its constructor is not imported ({in_short(error)})"
    absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
    module, _, name = (absent or target).rpartition(".")
    if there := sys.modules.get(module):
        names = [found.name for found in iter_modules(vars(there).get("__path__", ()))]
        names += [key for key, value in vars(there).items() if getmodule(value) is there]
        hint = nearest(name, names) or f"; it has {', '.join(names)}"
        return f"{module} has no {name}{hint}"
    where = "; PYTHONPATH=FOLDER says where it is" if absent and f"{target}.".startswith(f"{absent}.") else ""
    return f"cannot be imported ({in_short(error.__cause__ or error)}){where}"


def takers_of(part: Callable[..., object]) -> list[Callable[..., object]]:
    """Return the callables that take the settings of a part: the function itself, or the constructor of the class.

    If a constructor passes **settings on, the constructor of the next base also takes settings.
    """
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
    """Return whether a constructor or a function takes **settings."""
    return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in signature(taker).parameters.values())


def fields_of(taker: Callable[..., object]) -> dict[str, object]:
    """Return {parameter: type} of a constructor or of a function, without self and **settings."""
    hints = get_type_hints(taker, include_extras=True)
    fields: dict[str, object] = {}
    for name, parameter in signature(taker).parameters.items():
        if name != "self" and parameter.kind is not Parameter.VAR_KEYWORD:
            fields[name] = checkable(hints.get(name, object))
            kinds = get_args(fields[name])
            if type(None) in kinds:
                is_part = any(get_origin(kind) is Callable for kind in kinds)
                fields[name] = Annotated[fields[name], BeforeValidator(null_for_none if is_part else no_word_for_null)]
    return fields


def null_for_none(value: object) -> object:
    """Return the value of an optional part: None for "none", the choice of a group for no part."""
    return None if value == "none" else value


def checkable(hint: "TypeForm[object]") -> "TypeForm[object]":
    """Return the type; if pydantic cannot check it, as with a Protocol, return `object`, which accepts any value."""
    try:
        TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, SchemaError):
        return object
    return hint


# The requirements for a class


def check_contract(slot: Slot, node: PlainConfig) -> None:
    """Raise UnusablePart if a part cannot be built from its settings and cse's arguments, or does not fit its slot.

    A part with `_partial_` or `_args_` is not checked.
    """
    part = get_object(node["_target_"])
    if node.get("_partial_") or "_args_" in node:
        return
    if isabstract(part):
        raise UnusablePart(f"lacks the method {', '.join(sorted(part.__abstractmethods__))}")
    if slot.base and isclass(part):
        base = get_object(slot.base)
        if not issubclass(part, base):
            raise UnusablePart(f"must inherit {slot.base}")
        check_methods(part, base)
        check_attributes(part, base)
        if slot is SLOTS["augmentation"]:
            check_level(part, base)
    check_call(part, slot, node)


def check_methods(part: type, base: type) -> None:
    """Raise UnusablePart if a method of a part does not take the arguments that cse passes to the base's method."""
    for name, of_base in vars(base).items():
        method = getattr(part, name)
        if name == "__init__" or not (isfunction(of_base) and isfunction(method)):
            continue
        passed = list(signature(of_base).parameters)
        try:
            signature(method).bind(*passed)
        except TypeError as error:
            raise UnusablePart(f"its {name} must take ({', '.join(passed)}): {error}") from error


def check_attributes(part: type, base: type) -> None:
    """Raise UnusablePart if an attribute of a part's class has a value that the base's annotation does not allow."""
    hints = get_type_hints(base)
    for name in [name for name in vars(base) if name in hints]:
        value = getattr(part, name)
        try:
            if not isinstance(value, property):
                TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as refused:
            raise UnusablePart(f"its {name}={value!r} {reason_of(refused.errors()[0])}") from refused


def check_level(part: Any, base: Any) -> None:
    """Raise UnusablePart if an augmentation lacks the method of its level: `views` for text, `tokens` for tokens."""
    method_of_level = {"text": "views", "tokens": "tokens"}
    written = {level: name for level, name in method_of_level.items() if getattr(part, name) is not getattr(base, name)}
    if part.level not in method_of_level or part.level in written:
        return
    hint = "".join(f' (it has {name}: is level = "{level}" missing in the class?)' for level, name in written.items())
    raise UnusablePart(f"lacks the method {method_of_level[part.level]}{hint}")


def check_call(part: Any, slot: Slot, node: PlainConfig) -> None:
    """Raise UnusablePart if a part's constructor or function does not take its settings and cse's arguments."""
    extras = slot.extras.__annotations__ if slot.extras else ()
    settings = {key: value for key, value in node.items() if key not in (*HYDRA_KEYS, *extras)}
    try:
        signature(part).bind(**dict.fromkeys(slot.passed), **settings)
    except TypeError as error:
        passed = f" (cse itself passes {', '.join(slot.passed)})" if slot.passed else ""
        raise UnusablePart(f"{error}{passed}") from error
