"""What a part's class must be for cse to use it.

`why_not_loaded` says why a class cannot be loaded, `why_not_made` why a part cannot be made of it. That asks several
functions, and the first that finds something wrong answers.
"""

import sys
from inspect import getmodule, isabstract, isclass, isfunction, signature
from pkgutil import iter_modules
from typing import Any, get_type_hints

from hydra.utils import get_object
from pydantic import TypeAdapter, ValidationError

from cse.errors import in_short
from cse.lab.settings.pydantic_types import HYDRAS_OWN, refusal_in_words
from cse.lab.settings.schema import SLOTS, Slot
from cse.lab.settings.suggest import nearest
from cse.lab.settings.values import Config

LEVELS = {"text": "views", "tokens": "tokens"}  # of an augmentation, and the method that each calls


def why_not_loaded(target: str, error: Exception) -> str:
    """Why a part's class cannot be used: its module or package has no such name, or what the import, or reading its
    annotations, raised."""
    if isinstance(error, NameError):
        return f"cannot be checked, as an annotation of its constructor names what is not imported ({in_short(error)})"
    absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
    place, _, name = (absent or target).rpartition(".")
    if there := sys.modules.get(place):
        names = [module.name for module in iter_modules(vars(there).get("__path__", ()))]
        names += [key for key, value in vars(there).items() if getmodule(value) is there]
        hint = nearest(name, names) or f"; it has {', '.join(names)}"
        return f"{place} has no {name}{hint}"
    where = "; PYTHONPATH=FOLDER says where it is" if absent and f"{target}.".startswith(f"{absent}.") else ""
    return f"cannot be imported ({in_short(error.__cause__ or error)}){where}"


def why_not_made(slot: Slot, node: Config) -> str:
    """Why a part cannot be made of its settings and of what our code passes to it; "" if it can, or is made later."""
    part = get_object(node["_target_"])
    if node.get("_partial_") or "_args_" in node:
        return ""
    if isabstract(part):
        return f"lacks the method {', '.join(sorted(part.__abstractmethods__))}"
    if slot.base and isclass(part):
        base = get_object(slot.base)
        why = wrong_base(part, base) or wrong_method(part, base) or wrong_attribute(part, base)
        if slot is SLOTS["augmentation"]:
            why = why or no_method(part, base)
        if why:
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
    for name in [name for name in vars(base) if name in hints]:
        value = getattr(part, name)
        try:
            if not isinstance(value, property):
                TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as refused:
            return f"its {name}={value!r} {refusal_in_words(refused.errors()[0])}"
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
