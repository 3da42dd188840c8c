"""Check every setting of a config against the signature of the part that takes it, before any work.

`validate` walks a composed config. Pydantic checks each node with a `_target_`, nested ones too, against the
annotations of that class's constructor, or of that function (cse.lab.settings.part_class). It checks the keys that no
part takes against the types of the command (cse.lab.settings.schema). Nothing is built. One error has all violations,
each with its key as typed and in pydantic's words:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...

A value from a file of the user's own has the file and the line behind it (cse.lab.settings.user_values).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from inspect import signature
from typing import NamedTuple, cast

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from cse.errors import UserError
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.grammar import spell_value
from cse.lab.settings.groups import file_of
from cse.lab.settings.part_class import (
    HYDRAS_OWN,
    MISSING,
    NESTED,
    NOT_SET,
    refusal_in_words,
    types_of,
    unmade,
    unusable,
    validator,
)
from cse.lab.settings.references import references, referred_key
from cse.lab.settings.schema import COMMANDS, slot_of
from cse.lab.settings.user_values import written_at
from cse.lab.settings.values import Config, flattened, nodes_in

NOT_READ = "there is no such setting, and no value refers to it"
NUMBER = re.compile(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)  # in quotes, or it would not be text


def validate(cfg: DictConfig, command: str) -> DictConfig:
    """The config, checked, with the keys of a command: "train" or "evaluate"; see validate_keys."""
    return validate_keys(cfg, COMMANDS[command])


def validate_keys(cfg: DictConfig, keys: type) -> DictConfig:
    """A copy of the config, checked, each value of the type that takes it.

    keys: a TypedDict of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for
    a reference to a key that does not exist.
    """
    check = Check(deepcopy(cfg))
    helpers = helper_keys(check.written, keys)
    for key in sorted(OmegaConf.missing_keys(without_hydra(cfg))):
        check.wrong.append(Violation(key, NOT_SET))
    check.wrong += unread_keys(check.content, check.written, helpers)
    ours = {key: value for key, value in check.content.items() if key not in helpers}
    check.check_node("", ours, validator(keys), list(keys.__annotations__))
    for key, node in nodes_in(check.content):
        if key and isinstance(node, dict) and "_target_" in node:
            check.check_part(key, node)
    if check.wrong:
        raise UserError("; ".join(sentences_of(check.wrong, cfg)))
    return check.cfg


class Violation(NamedTuple):
    """What is wrong with a setting. value: as typed, behind its =; "" if it is missing or its key alone is wrong."""

    key: str
    reason: str
    value: str = ""


class Check:
    """One config under check. What pydantic converts is written into it.

    content: its values, resolved. written: its values by dotted key, with their references.
    """

    def __init__(self, cfg: DictConfig) -> None:
        ours = without_hydra(cfg)
        self.cfg = cfg
        self.content = resolved(ours)
        self.written = flattened(cast("Config", OmegaConf.to_container(ours)))
        self.wrong: list[Violation] = []

    def check_part(self, key: str, node: Config) -> None:
        """Check the settings of the part at a key, and that it can be made of them."""
        target, slot = str(node["_target_"]), slot_of(key)
        try:
            types = types_of(target, slot.beside)
        except (ImportError, NameError, ValueError, TypeError) as error:  # NameError: of an annotation
            self.wrong.append(Violation(f"{key}._target_", unusable(target, error), f"={target}"))
            return
        known = list(signature(get_object(target)).parameters)
        is_right = self.check_node(f"{key}.", node, types, known)
        if is_right and (why := unmade(slot, node)):
            self.wrong.append(Violation(f"{key}._target_", why, f"={target}"))

    def check_node(self, place: str, node: Config, types: SchemaValidator, known: Sequence[str]) -> bool:
        """Convert the settings of a node to these types, or add what pydantic refuses to `wrong`. Returns whether it
        refuses nothing.

        place: the start of the node's keys, "trainer.", or "" at the top. known: the settings that there are.
        """
        settings = without_parts(node)
        try:
            converted = types.validate_python(settings, strict=True)
        except ValidationError as refused:
            for error in refused.errors():
                if error["input"] != MISSING:
                    key, value = setting_at(error, node)
                    typed = referred_key(place + key, self.written)
                    self.wrong.append(Violation(typed, refusal_in_words(error, known), value))
            return False
        self.write_converted(place, flattened(settings), flattened(converted))
        return True

    def write_converted(self, place: str, before: Config, converted: Config) -> None:
        """Write each value that pydantic converted into the config, where it was typed."""
        for key, value in converted.items():
            plain = list(value) if isinstance(value, tuple) else value
            if plain != before[key]:
                OmegaConf.update(self.cfg, referred_key(place + key, self.written), plain)


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


def without_parts(node: Config) -> Config:
    """The settings of a node, with NESTED in place of every part in them."""
    return {key: mask_parts(value) for key, value in node.items() if key not in HYDRAS_OWN}


def mask_parts(value: object) -> object:
    """The value with NESTED in place of every part in it."""
    if isinstance(value, dict):
        return NESTED if "_target_" in value else {key: mask_parts(child) for key, child in value.items()}
    return [mask_parts(child) for child in value] if isinstance(value, list) else value


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
