"""Check every setting of a config against the signature of the part that takes it, before any work.

`validate` walks a composed config. Pydantic checks each node with a `_target_`, nested ones too, against the
annotations of that class's constructor (or of that function), and the keys that no part takes against those of the
command (cse.lab.settings.schema). Nothing is built. One error has all violations, each with its key as typed and in
pydantic's words:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...

A value from a file of the user's own has the file and the line behind it (cse.lab.settings.own).
"""

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from inspect import Parameter, getmodule, isabstract, isclass, isfunction, signature
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args, get_type_hints

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, core_schema
from typing_extensions import TypedDict

from cse.errors import UserError, in_short
from cse.lab.settings import own
from cse.lab.settings.compose import SWITCH, references, resolved, without_hydra
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.groups import file_of
from cse.lab.settings.schema import BASES, BESIDE, COMMANDS, PASSED
from cse.lab.settings.suggest import nearest
from cse.lab.settings.typed import referred_key
from cse.lab.settings.words import spell_value
from cse.ranges import STRICT, no_word_for_null

if TYPE_CHECKING:  # needs typing_extensions 4.13
    from typing_extensions import TypeForm

Wrong = dict[str, list[str]]
"""What is wrong with each setting, KEY=VALUE or KEY."""

NESTED = object()  # stands for a nested part, which is checked by itself
NOT_SET = "is not set"
NOT_READ = "there is no such setting, and no value refers to it"
MISSING = "???"  # Hydra's mark for a value that must be given
NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)  # in quotes, or it would not be text
LEVELS = {"text": "views", "tokens": "tokens"}  # of an augmentation, and the method that each calls
HYDRAS_OWN = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")

CONVERSIONS = {
    "bool": lambda value: SWITCH.get(value.lower(), value) if isinstance(value, str) else value,
    "str": lambda value: str(value) if type(value) is int else value,
    "list": lambda value: [value] if isinstance(value, str | int | float) and value not in ("", MISSING) else value,
    "tuple": lambda value: tuple(value) if isinstance(value, list) else value,
}
"""What a command line cannot express exactly: what is typed, converted to the type that pydantic names so."""


def validate(cfg: DictConfig, command: str) -> DictConfig:
    """`validate_keys` with the keys of a command: "train" or "evaluate"."""
    return validate_keys(cfg, COMMANDS[command])


def validate_keys(cfg: DictConfig, keys: type) -> DictConfig:
    """Check the config, convert values in place, and return it.

    keys: a TypedDict of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for
    a reference to a key that does not exist.
    """
    ours = without_hydra(cfg)
    content, written = resolved(ours), flattened(cast("Config", OmegaConf.to_container(ours)))
    helpers = helper_keys(written, keys)
    wrong: Wrong = {key: [NOT_SET] for key in sorted(OmegaConf.missing_keys(ours))}
    wrong |= {key: [NOT_READ] for key in unread_keys(content, written, helpers)}
    top = {key: value for key, value in content.items() if key not in helpers}
    for place, node in [("", top), *parts(content, "")]:
        target, settings = str(node.get("_target_")), without_parts(node)
        try:
            types = types_of(target, BESIDE.get(place)) if place else validator(keys)
        except (ImportError, ValueError, TypeError) as error:
            wrong[f"{place}_target_={target}"] = [not_imported(target, error)]
            continue
        try:
            converted = types.validate_python(settings, strict=True)
        except ValidationError as refused:
            known = signature(get_object(target)).parameters if place else keys.__annotations__
            add_refused(wrong, refused, place, node, known=list(known), written=written)
            continue
        if place and (why := unmade(place, node)):
            wrong[f"{place}_target_={target}"] = [why]
        keep_converted(cfg, place, settings, converted, written)
    if wrong:
        raise UserError("; ".join(sentence_of(key, reasons, cfg) for key, reasons in wrong.items()))
    return cfg


def helper_keys(written: Config, keys: type) -> set[str]:
    """The keys at the top that only serve as what other values refer to."""
    return {key.partition(".")[0] for key in references(written)} - keys.__annotations__.keys()


def unread_keys(content: Config, written: Config, helpers: set[str]) -> Iterator[str]:
    """The keys, with values, that no part takes and no value refers to: below helpers, and in `paths`."""
    followed = references(written)
    above = tuple(f"{key}." for key in followed)
    for key, value in flattened({key: content[key] for key in helpers & content.keys()}).items():
        if not f"{key}.".startswith(above):
            yield f"{key}={spell_value(value)}"
    ours = OmegaConf.load(file_of("paths", "default"))
    for key in content.get("paths", ()):
        if key not in ours and f"paths.{key}" not in followed:
            yield f"paths.{key}"


def without_parts(node: Config) -> Config:
    """The settings of a node, with NESTED in place of every part in them."""
    return {key: mask_parts(value) for key, value in node.items() if key not in HYDRAS_OWN}


def add_refused(
    wrong: Wrong, refused: ValidationError, place: str, node: Config, *, known: Sequence[str], written: Config
) -> None:
    """Add what pydantic refuses of a node, by the key that one types. known: the settings that there are."""
    for error in refused.errors():
        if error["input"] != MISSING:
            key, value = setting_at(error, node)
            wrong.setdefault(referred_key(place + key, written) + value, []).append(refusal_in_words(error, known))


def keep_converted(cfg: DictConfig, place: str, settings: Config, converted: Config, written: Config) -> None:
    """Write the values that pydantic converted into the config, where they were typed."""
    before = flattened(settings)
    for key, value in flattened(converted).items():
        plain = list(value) if isinstance(value, tuple) else value
        if plain != before[key]:
            OmegaConf.update(cfg, referred_key(place + key, written), plain)


def sentence_of(setting: str, reasons: Sequence[str], cfg: DictConfig) -> str:
    """What is wrong with a setting, KEY=VALUE or KEY, and the place of the user's own file that sets it."""
    key = setting.partition("=")[0]
    return f"{setting}: {' or '.join(dict.fromkeys(reasons))}{own.written_at(cfg, key, OmegaConf.select(cfg, key))}"


def not_imported(target: str, error: Exception) -> str:
    """Why a part's class cannot be imported: its module or package has no such name, or what the import raised."""
    absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
    place, _, name = (absent or target).rpartition(".")
    if there := sys.modules.get(place):
        known = [one.name for one in iter_modules(vars(there).get("__path__", ()))]
        known += [key for key, one in vars(there).items() if getmodule(one) is there]
        return f"{place} has no {name}{nearest(name, known) or '; it has ' + ', '.join(known)}"
    hint = "; PYTHONPATH=FOLDER says where it is" if absent and f"{target}.".startswith(f"{absent}.") else ""
    return f"cannot be imported ({in_short(error.__cause__ or error)}){hint}"


def unmade(place: str, node: Config) -> str:
    """Why a part cannot be made of its settings and of what our code passes to it; "" if it can, or is made later."""
    part = get_object(node["_target_"])
    if node.get("_partial_") or "_args_" in node:
        return ""
    if isabstract(part):
        return f"lacks the method {', '.join(sorted(part.__abstractmethods__))}"
    base = BASES.get(re.sub(r"^eval\.\w+\.$", "eval.", place))
    if base and isclass(part):
        kind = get_object(base)
        if not issubclass(part, kind):
            return f"must inherit {base}"
        if wrong := wrong_method(part, kind) or wrong_attribute(part, kind):
            return wrong
        if place == "augmentation." and (wrong := no_method(part, kind)):
            return wrong
    beside = BESIDE[place].__annotations__ if place in BESIDE else ()
    own = {key: value for key, value in node.items() if key not in (*HYDRAS_OWN, *beside)}
    passed = PASSED.get(place, ())
    try:
        signature(part).bind(**dict.fromkeys(passed), **own)
    except TypeError as error:
        return f"{error} (cse itself passes {', '.join(passed)})" if passed else str(error)
    return ""


def wrong_method(part: type, base: type) -> str:
    """Which method of a part does not take what cse passes to that of its base; "" if all do."""
    for name, theirs in vars(base).items():
        own = getattr(part, name)
        if name == "__init__" or not (isfunction(theirs) and isfunction(own)):
            continue
        passed = list(signature(theirs).parameters)
        try:
            signature(own).bind(*passed)
        except TypeError as error:
            return f"its {name} must take ({', '.join(passed)}): {error}"
    return ""


def wrong_attribute(part: type, base: type) -> str:
    """Which attribute of a part's class has a value that its base's annotation does not allow; "" if none."""
    hints = get_type_hints(base)
    for name in vars(base).keys() & hints.keys():
        own = getattr(part, name)
        try:
            if not isinstance(own, property):
                TypeAdapter(hints[name]).validate_python(own, strict=True)
        except ValidationError as refused:
            return f"its {name}={own!r} {refusal_in_words(refused.errors()[0], [])}"
    return ""


def no_method(part: Any, base: Any) -> str:
    """Which method an augmentation lacks that its level calls, or ""."""
    written = {level: name for level, name in LEVELS.items() if getattr(part, name) is not getattr(base, name)}
    if part.level not in LEVELS or part.level in written:
        return ""
    hint = "".join(f' (it has {name}: is level = "{level}" missing in the class?)' for level, name in written.items())
    return f"lacks the method {LEVELS[part.level]}{hint}"


def setting_at(error: ErrorDetails, node: Config) -> tuple[str, str]:
    """The dotted key that an error is about, and "=" with its value, or "" if it is missing.

    Pydantic's location also names members of unions and places in lists; a list is one setting.
    """
    path: list[str] = []
    value: object = node
    for step in error["loc"]:
        if isinstance(value, dict) and step in value:
            path, value = [*path, str(step)], value[step]
    if error["type"] == "missing" and isinstance(value, dict):  # and not a number of a pair
        return ".".join([*path, str(error["loc"][-1])]), ""
    text = repr(value) if isinstance(value, str) and NUMBER.fullmatch(value) else spell_value(value, quotes=False)
    return ".".join(path), f"={text}"


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


def parts(node: object, place: str) -> Iterator[tuple[str, Config]]:
    """Every node with a `_target_` at or below this one, after its dotted key and a period."""
    if isinstance(node, dict) and "_target_" in node:
        yield place, node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from parts(child, f"{place}{key}.")


def mask_parts(value: object) -> object:
    """The value with NESTED in place of every part in it."""
    if isinstance(value, dict):
        return NESTED if "_target_" in value else {key: mask_parts(child) for key, child in value.items()}
    return [mask_parts(child) for child in value] if isinstance(value, list) else value


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
        hints, kinds = get_type_hints(maker, include_extras=True), signature(maker).parameters
        named = [name for name, one in kinds.items() if one.kind is not Parameter.VAR_KEYWORD]
        own = {name: checkable(hints.get(name, object)) for name in named}
        nullable = [name for name, hint in own.items() if type(None) in get_args(hint)]
        fields = own | {name: Annotated[own[name], BeforeValidator(no_word_for_null)] for name in nullable} | fields
        if len(named) == len(kinds):  # one with **settings passes them to its base
            extra = "forbid"
            break
    config = STRICT | ConfigDict(extra=extra)
    return validator(with_config(config)(TypedDict(target, fields, total=False)))  # type: ignore[operator]


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
            return core_schema.no_info_plain_validator_function(check_part)
        case {"type": "json-or-python"}:  # a Sequence; a config has what JSON has
            return converting(schema["json_schema"])
        case dict():
            inside = {key: converting(value) for key, value in schema.items()}
            convert = CONVERSIONS.get(str(schema.get("type")))
            return core_schema.no_info_before_validator_function(convert, inside) if convert else inside
    return schema


def check_part(value: object) -> object:
    """The value. Raises ValueError for one that is no part."""
    if value is not NESTED:
        raise ValueError(
            "should be a mapping with a _target_ (MODULE.CLASS), its own or that of a file in its defaults"
        )
    return value
