"""Check every setting of a config against the signature of the part that takes it, before any work.

`validate` walks a composed config. Pydantic checks each node with a `_target_`, nested ones too, against the
annotations of that class's constructor, or of that function (cse.lab.settings.pydantic_types). The class must be one
that cse can use (cse.lab.settings.part_contract). The keys that no part takes are checked against the types of the
command (cse.lab.settings.schema). Nothing is built. One error has all violations, each with its key as typed and in
pydantic's words:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...

A value from a file of the user's own has the file and the line behind it (cse.lab.settings.user_values).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from inspect import signature
from itertools import chain
from typing import NamedTuple, cast

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from cse.errors import UserError
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.grammar import spell_value
from cse.lab.settings.groups import file_of
from cse.lab.settings.part_contract import unmade, unusable
from cse.lab.settings.pydantic_types import MISSING, NOT_SET, refusal_in_words, types_of, validator, without_parts
from cse.lab.settings.references import references, referred_key
from cse.lab.settings.schema import COMMANDS, slot_of
from cse.lab.settings.signatures import declared_by
from cse.lab.settings.user_values import written_at
from cse.lab.settings.values import Config, flattened, nodes_in

NOT_READ = "there is no such setting, and no value refers to it"
NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)  # in quotes, or it would not be text


def validate(cfg: DictConfig, command: str) -> DictConfig:
    """The config, checked, with the keys of a command: "train" or "evaluate"; see validate_keys."""
    return validate_keys(cfg, COMMANDS[command])


class Violation(NamedTuple):
    """What is wrong with a setting. value: as typed, behind its =; "" if it is missing or its key alone is wrong."""

    key: str
    reason: str
    value: str = ""


class Checked(NamedTuple):
    """What pydantic makes of the settings of a node.

    converted: {dotted key: value} of each that it converts; None if it refuses one. wrong: what it refuses.
    """

    converted: Config | None
    wrong: list[Violation]


def validate_keys(cfg: DictConfig, keys: type) -> DictConfig:
    """A copy of the config, checked, each value of the type that takes it.

    keys: a TypedDict of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for
    a reference to a key that does not exist.
    """
    ours = without_hydra(cfg)
    content = resolved(ours)
    written = flattened(cast("Config", OmegaConf.to_container(ours)))
    helpers = helper_keys(written, keys)
    top = {key: value for key, value in content.items() if key not in helpers}
    nodes = [check_node("", top, validator(keys), list(keys.__annotations__), written)]
    for key, node in nodes_in(content):
        if key and isinstance(node, dict) and "_target_" in node:
            nodes.append(check_part(key, node, written))
    wrong = [Violation(key, NOT_SET) for key in sorted(OmegaConf.missing_keys(ours))]
    wrong += unread_keys(content, written, helpers)
    wrong += chain.from_iterable(node.wrong for node in nodes)
    if wrong:
        raise UserError("; ".join(sentences_of(wrong, cfg)))
    checked = deepcopy(cfg)
    for node in nodes:
        for key, value in (node.converted or {}).items():
            OmegaConf.update(checked, key, value)
    return checked


def check_part(key: str, node: Config, written: Config) -> Checked:
    """Check the settings of the part at a key, and that it can be made of them.

    written: the config's values by dotted key, with their references.
    """
    target, slot = str(node["_target_"]), slot_of(key)
    try:
        types = types_of(target, slot.beside)
    except (ImportError, NameError, ValueError, TypeError) as error:  # NameError: of an annotation
        return Checked(None, [Violation(f"{key}._target_", unusable(target, error), f"={target}")])
    names = [*signature(get_object(target)).parameters, *declared_by(target)]
    checked = check_node(f"{key}.", node, types, names, written)
    if checked.converted is None:
        return checked
    why = unmade(slot, node)
    return Checked(None, [Violation(f"{key}._target_", why, f"={target}")]) if why else checked


def check_node(place: str, node: Config, types: SchemaValidator, names: Sequence[str], written: Config) -> Checked:
    """Check the settings of a node against these types. Each key in the result is where its value was typed.

    place: the start of the node's keys, "trainer.", or "" at the top. names: the settings that there are. written: as
    check_part takes it.
    """
    settings = without_parts(node)
    try:
        converted = flattened(types.validate_python(settings, strict=True))
    except ValidationError as refused:
        wrong = []
        for error in refused.errors():
            if error["input"] != MISSING:
                key, value = setting_at(error, node)
                wrong.append(Violation(referred_key(place + key, written), refusal_in_words(error, names), value))
        return Checked(None, wrong)
    before = flattened(settings)
    changed: Config = {}
    for key, value in converted.items():
        plain = list(value) if isinstance(value, tuple) else value
        if repr(plain) != repr(before[key]):  # 1 for 1.0 is equal, and of another type
            changed[referred_key(place + key, written)] = plain
    return Checked(changed, [])


def helper_keys(written: Config, keys: type) -> set[str]:
    """The keys at the top that only serve as what other values refer to."""
    return {key.partition(".")[0] for key in references(written)} - keys.__annotations__.keys()


def unread_keys(content: Config, written: Config, helpers: set[str]) -> Iterator[Violation]:
    """The keys that no part takes and no value refers to: below helpers, and in `paths`."""
    followed = references(written)
    above = tuple(f"{key}." for key in followed)
    for key, value in flattened({key: content[key] for key in helpers & content.keys()}).items():
        if not f"{key}.".startswith(above):
            yield Violation(key, NOT_READ, f"={spell_value(value)}")
    ours = OmegaConf.load(file_of("paths", "default"))
    for key in content.get("paths", ()):
        if key not in ours and f"paths.{key}" not in followed:
            yield Violation(f"paths.{key}", NOT_READ)


def sentences_of(wrong: Sequence[Violation], cfg: DictConfig) -> Iterator[str]:
    """What is wrong with each setting, KEY=VALUE or KEY, and the place of the user's own file that sets it."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in wrong:
        if one.reason not in reasons[one.key, one.value]:
            reasons[one.key, one.value].append(one.reason)
    for (key, value), said in reasons.items():
        yield f"{key}{value}: {' or '.join(said)}{written_at(cfg, key, OmegaConf.select(cfg, key))}"


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
