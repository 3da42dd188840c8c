"""Check every setting of a config against the signature of the part that takes it, before any work.

`validate` walks a composed config. Pydantic checks each node with a `_target_`, nested ones too, against the
annotations of that class's constructor, or of that function (cse.lab.settings.pydantic_types). The class must be one
that cse can use (cse.lab.settings.part_contract). The keys that no part takes are checked against the types of the
command (cse.lab.settings.schema). Nothing is built. One error has all violations, each with its key as typed and in
pydantic's words:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...

A value from a file of the user's own has the file and the line behind it (cse.lab.settings.user_files).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import NamedTuple

from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from cse.errors import UserError
from cse.lab.settings.arguments import spell_value
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.groups import Kind, file_of
from cse.lab.settings.part_contract import why_not_loaded, why_not_made
from cse.lab.settings.pydantic_types import NOT_SET, names_taken, refusal_in_words, types_of, validator, without_parts
from cse.lab.settings.references import given_key, referred_keys, written_values
from cse.lab.settings.schema import KEYS_BY_KIND, slot_of
from cse.lab.settings.user_files import written_at
from cse.lab.settings.values import Config, flattened, nodes_in

NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)  # in quotes, or it would not be text


def validate(cfg: DictConfig, kind: Kind) -> DictConfig:
    """The config, checked, with the keys of a kind of command; see validate_keys."""
    return validate_keys(cfg, KEYS_BY_KIND[kind])


class Violation(NamedTuple):
    """What is wrong with a setting. value: as typed, behind its =; "" if it is missing or its key alone is wrong."""

    key: str
    reason: str
    value: str = ""


class Checked(NamedTuple):
    """What pydantic makes of the settings of a node, by dotted key of the config.

    converted: the value of each setting that it converts, if it refuses none. violations: what it refuses.
    """

    converted: Config
    violations: Sequence[Violation] = ()


def validate_keys(cfg: DictConfig, keys: type) -> DictConfig:
    """A copy of the config, checked, each value of the type that takes it.

    keys: a TypedDict of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for
    a reference to a key that does not exist.
    """
    own = without_hydra(cfg)
    settings, written = resolved(own), written_values(own)
    referred = referred_keys(written)
    helpers = {key.partition(".")[0] for key in referred} - keys.__annotations__.keys()
    top = {key: value for key, value in settings.items() if key not in helpers}
    nodes = [check_node("", top, validator(keys), [*keys.__annotations__])]
    nodes += [check_part(key, node) for key, node in nodes_of_parts(settings)]

    missing = OmegaConf.missing_keys(own)
    violations = [Violation(key, NOT_SET) for key in sorted(missing)]
    violations += unread_keys(settings, helpers, referred)
    for violation in chain.from_iterable(node.violations for node in nodes):
        key = given_key(violation.key, written)
        if key not in missing:
            violations.append(violation._replace(key=key))
    if violations:
        raise UserError("; ".join(sentences_of(violations, cfg)))

    checked = deepcopy(cfg)
    for node in nodes:
        for key, value in node.converted.items():
            is_equal = OmegaConf.select(checked, key) == value  # 2 for 2.0: another key may refer to 2 itself
            OmegaConf.update(checked, key if is_equal else given_key(key, written), value)
    return checked


def nodes_of_parts(settings: Config) -> Iterator[tuple[str, Config]]:
    """(dotted key, settings) of each part, also of one inside another."""
    for key, node in nodes_in(settings):
        if key and isinstance(node, dict) and "_target_" in node:
            yield key, node


def check_part(key: str, node: Config) -> Checked:
    """Check the settings of the part at a key, and that it can be made of them."""
    target, slot = str(node["_target_"]), slot_of(key)
    try:
        types = types_of(target, slot.beside)
    except (ImportError, NameError, ValueError, TypeError) as error:  # NameError: of an annotation
        return Checked({}, [Violation(f"{key}._target_", why_not_loaded(target, error), f"={target}")])
    checked = check_node(f"{key}.", node, types, names_taken(target))
    why = "" if checked.violations else why_not_made(slot, node)
    return Checked({}, [Violation(f"{key}._target_", why, f"={target}")]) if why else checked


def check_node(place: str, node: Config, types: SchemaValidator, names: Sequence[str]) -> Checked:
    """Check the settings of a node against these types.

    place: the start of the node's keys, "trainer.", or "" at the top. names: the settings that there are.
    """
    settings = without_parts(node)
    try:
        converted = flattened(types.validate_python(settings, strict=True))
    except ValidationError as refused:
        violations: list[Violation] = []
        for error in refused.errors():
            key, value = setting_at(error, node)
            violations.append(Violation(place + key, refusal_in_words(error, names), value))
        return Checked({}, violations)
    before = flattened(settings)
    changed: Config = {}
    for key, value in converted.items():
        plain = list(value) if isinstance(value, tuple) else value
        if repr(plain) != repr(before[key]):  # 1 for 1.0 is equal, and of another type
            changed[place + key] = plain
    return Checked(changed)


def unread_keys(settings: Config, helpers: Collection[str], referred: Collection[str]) -> Iterator[Violation]:
    """The keys that no part takes and no value refers to: in `paths`, and below helpers.

    helpers: the keys at the top that only serve as what other values refer to. referred: what values refer to.
    """
    why = "there is no such setting, and no value refers to it"
    above = tuple(f"{key}." for key in referred)
    for key, value in flattened({key: settings[key] for key in helpers & settings.keys()}).items():
        if not f"{key}.".startswith(above):
            yield Violation(key, why, f"={spell_value(value)}")
    ours = OmegaConf.load(file_of("paths", "default"))
    for key in settings.get("paths", ()):
        if key not in ours and f"paths.{key}" not in referred:
            yield Violation(f"paths.{key}", why)


def sentences_of(violations: Iterable[Violation], cfg: DictConfig) -> Iterator[str]:
    """What is wrong with each setting, KEY=VALUE or KEY, and the place of the user's own file that sets it."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, reason, value in violations:
        if reason not in reasons[key, value]:
            reasons[key, value].append(reason)
    for (key, value), several in reasons.items():
        yield f"{key}{value}: {' or '.join(several)}{written_at(cfg, key, OmegaConf.select(cfg, key))}"


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
