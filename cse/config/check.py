"""Check every setting of a config against the signature of the part that takes it, before any work.

`validate` walks a composed config. Pydantic checks each node with a `_target_`, nested ones too, against the
annotations of that class's constructor (or of that function), and the keys that no part takes against those of the
command (cse.config.commands). Nothing is built. One error has all violations, each with its key as typed and in
pydantic's words:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...

What a command line cannot express exactly is converted: `no` to false for a switch, a single name to a list of one for
a list, 20231101 to text for text.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from inspect import Parameter, isclass, signature
from typing import TYPE_CHECKING, Any, get_type_hints

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails, SchemaError
from typing_extensions import TypedDict

from cse.config.commands import BESIDE, COMMANDS
from cse.config.compose import SWITCH, resolved, without_hydra
from cse.dotted import Config
from cse.errors import UserError, in_short
from cse.ranges import STRICT

if TYPE_CHECKING:  # needs typing_extensions 4.13
    from typing_extensions import TypeForm

Path = tuple[str | int, ...]
"""Keys, and indices of lists, from the top of a config down."""

NESTED = "\0"  # stands for a nested part, which is checked by itself
NOT_SET = "is not set"
MISSING = "???"  # Hydra's mark for a value that must be given
REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # a value that is nothing but a reference to another key
HYDRAS_OWN = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")
A_PART = ("callable_type", "needs_python_object")  # pydantic's errors for a value that should be a node with a _target_


def validate(cfg: DictConfig, command: str) -> DictConfig:
    """`validate_keys` with the keys of a command: "train" or "evaluate"."""
    return validate_keys(cfg, TypeAdapter(COMMANDS[command]))


def validate_keys(cfg: DictConfig, keys: TypeAdapter) -> DictConfig:
    """Check the config, convert words for truth, single names and numerals in place, and return it.

    keys: the types of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for a
    reference to a key that does not exist.
    """
    ours = without_hydra(cfg)
    content, written = resolved(ours), OmegaConf.to_container(ours)
    wrong: dict[str, dict[str, None]] = {key: {NOT_SET: None} for key in sorted(OmegaConf.missing_keys(ours))}
    for place, node in [((), content), *parts(content, ())]:
        try:
            types = types_of(str(node["_target_"]), BESIDE.get(place)) if place else keys
        except (ImportError, ValueError, TypeError) as error:
            hint = "; PYTHONPATH=FOLDER says where it is" if isinstance(error.__cause__, ModuleNotFoundError) else ""
            wrong[f"{dotted((*place, '_target_'))}={node['_target_']}"] = {
                f"cannot be imported ({in_short(error.__cause__ or error)}){hint}": None
            }
            continue
        values = {key: mask_parts(value) for key, value in node.items() if key not in HYDRAS_OWN}
        changed, refused = convert(values, types)
        for path in changed:
            OmegaConf.update(cfg, dotted(source_key(written, (*place, *path))), get_at(values, path))
        for path, details in refused:
            key, value = dotted(source_key(written, (*place, *path))), get_at(node, path)
            wrong.setdefault(key if value == MISSING else f"{key}={shown(value)}", {})[in_words(details)] = None
    if wrong:
        raise UserError("; ".join(f"{key}: {' or '.join(reasons)}" for key, reasons in wrong.items()))
    return cfg


def in_words(error: ErrorDetails) -> str:
    """Pydantic's text for an error, or our own."""
    if error["type"] == "missing":
        return NOT_SET
    if error["type"] in A_PART:
        return "should be a mapping with a _target_"
    if error["type"] == "extra_forbidden":
        return "there is no such setting"
    return re.sub("^(Value error, |Input (?=should))", "", error["msg"])


def shown(value: object) -> str:
    """A value as it would be typed: null, true, 0.5, name, [a,b]."""
    if isinstance(value, list):
        return f"[{','.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{shown(child)}' for key, child in value.items())}}}"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def parts(node: object, place: Path) -> Iterator[tuple[Path, Config]]:
    """Every node with a `_target_` at or below this one, with its path."""
    if isinstance(node, dict) and "_target_" in node:
        yield place, node
    for key, child in children(node):
        yield from parts(child, (*place, key))


def children(node: object) -> Iterator[tuple[str | int, object]]:
    """The values of a mapping or a list, with their keys or indices."""
    yield from node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()


def mask_parts(value: object) -> object:
    """The value with NESTED in place of every part in it."""
    if isinstance(value, dict):
        return NESTED if "_target_" in value else {key: mask_parts(child) for key, child in value.items()}
    return [mask_parts(child) for child in value] if isinstance(value, list) else value


@cache
def types_of(target: str, beside: type | None = None) -> TypeAdapter:
    """The types of what the class or function of that name takes. None is required: our code passes the rest.

    beside: a TypedDict of further keys.
    """
    part = get_object(target)
    makers = [vars(base)["__init__"] for base in part.__mro__ if "__init__" in vars(base)] if isclass(part) else [part]
    fields: dict[str, object] = get_type_hints(beside, include_extras=True) if beside else {}
    open_ended = True
    while open_ended and makers:  # a class that takes **settings passes them to its base
        maker = makers.pop(0)
        hints = get_type_hints(maker, include_extras=True)
        parameters = signature(maker).parameters.values()
        open_ended = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        named = (parameter.name for parameter in parameters if parameter.kind is not Parameter.VAR_KEYWORD)
        fields = {name: checkable(hints.get(name, object)) for name in named} | fields
    config = STRICT | ConfigDict(extra="ignore" if open_ended else "forbid")
    return TypeAdapter(with_config(config)(TypedDict(target, fields, total=False)))  # type: ignore[operator]


def checkable(hint: "TypeForm[object]") -> "TypeForm[object]":
    """The type, or `object`, which allows anything, for one that pydantic cannot check, as a Protocol."""
    try:
        TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, SchemaError):
        return object
    return hint


def convert(values: Config, types: TypeAdapter) -> tuple[set[Path], list[tuple[Path, ErrorDetails]]]:
    """Convert, in place, what can be converted. Returns the settings that changed, and those that are refused."""
    changed: set[Path] = set()
    while True:  # a single word may become a list first, and its item be converted next
        refused = []
        before = len(changed)
        for path, error in errors(values, types):
            value = get_at(values, path)
            meant = coerce(error["type"], value)
            if meant is not value:
                get_at(values, path[:-1])[path[-1]] = meant
                changed.add(path)
            refused.append((keys_only(path), error))
        if len(changed) == before:
            return {keys_only(path) for path in changed}, refused


def errors(values: Config, types: TypeAdapter) -> Iterator[tuple[Path, ErrorDetails]]:
    """The path and pydantic's details of each error, but for nested parts and for values that are MISSING.

    Checked as strict JSON: no text for a number and no number for a switch, but a list for a tuple.
    """
    try:
        types.validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        for one in error.errors():
            path = nearest_place(values, one["loc"])
            if one["type"] == "missing" and isinstance(get_at(values, path), dict):
                yield (*path, one["loc"][-1]), one
            elif get_at(values, path) not in (NESTED, MISSING):
                yield path, one


def coerce(kind: str, value: object) -> object:
    """The value converted, after an error of pydantic's of that kind; the value itself if it cannot be."""
    if kind == "bool_type" and isinstance(value, str):
        return SWITCH.get(value.lower(), value)
    if kind == "string_type" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "list_type" and isinstance(value, str | int | float) and value not in ("", MISSING):
        return [value]
    return value


def nearest_place(values: object, loc: Path) -> Path:
    """Pydantic's location of an error, without the steps that it adds, such as members of unions."""
    path: list[str | int] = []
    for step in loc:
        inside = dict(children(values))
        if step in inside:
            path.append(step)
            values = inside[step]
    return tuple(path)


def keys_only(path: Path) -> Path:
    """The path of the setting: up to the first list, which is one setting whichever of its items is wrong."""
    first = next((index for index, step in enumerate(path) if isinstance(step, int)), len(path))
    return path[:first]


def get_at(tree: object, path: Path) -> Any:
    """The value at that path; MISSING if there is none."""
    node: Any = tree
    for step in path:
        if isinstance(node, dict) and step not in node:
            return MISSING
        node = node[step]
    return node


def source_key(written: object, path: Path) -> Path:
    """The path that the value at this path refers to, as in `seed: ${seed}`; this path itself if it is no reference."""
    node = written
    for step in path:
        if not isinstance(node, dict | list):
            return path  # inside a reference to a whole mapping
        node = get_at(node, (step,))
    reference = REFERENCE.fullmatch(node) if isinstance(node, str) else None
    return source_key(written, tuple(reference.group(1).split("."))) if reference else path


def dotted(path: Path) -> str:
    """A path as a user types it: trainer.lr."""
    return ".".join(map(str, path))
