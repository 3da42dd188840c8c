"""Values that stand elsewhere, ${other.key} and ${oc.env:NAME}, and what the user types for a key that has one."""

import os
import re
from contextlib import AbstractContextManager
from typing import cast

from omegaconf import Container, DictConfig, OmegaConf

from cse.errors import renaming
from cse.lab.settings.values import Config, flattened

REFERENCE = re.compile(r"\$\{(\.*)(\w+(?:\.\w+)*)")
"""The start of a reference: the dots of one within its own mapping, and the key."""
VARIABLE = re.compile(r"\$\{oc\.env:(\w+)\b.*\}")
"""A value that is read from a variable of the environment."""


def naming_user_keys(node: DictConfig) -> AbstractContextManager[None]:
    """A block that calls a part with the settings of this node: its UserErrors name what the user types for them."""
    place, config = node._get_full_key(None), node._get_root()
    return renaming(lambda parameter: user_key(config, f"{place}.{parameter}".lstrip(".")))


def user_key(config: Container, key: str) -> str:
    """What one types to set a key of this config: the key that its value refers to or, if that comes from the
    environment, the variable."""
    written = flattened(cast("Config", OmegaConf.to_container(config)))
    key = referred_key(key, written)
    return set_variable(written.get(key)) or key


def set_variable(value: object) -> str:
    """The variable of the environment that gives this value, unresolved; "" if none does or it is not set."""
    variable = VARIABLE.fullmatch(str(value))
    return variable[1] if variable and os.environ.get(variable[1]) else ""


def referred_key(key: str, written: Config) -> str:
    """The key whose value this one has: of a value that is `${other}`, the other. written: the config, unresolved."""
    reference = re.fullmatch(r"\$\{([\w.]+)\}", str(written.get(key)))
    return referred_key(reference[1], written) if reference else key


def references(written: Config) -> set[str]:
    """The keys that values refer to, in a text or alone: ${model.name}, or of their own mapping ${.name}."""
    found: set[str] = set()
    for key, value in written.items():
        for dots, name in REFERENCE.findall(str(value)):
            mapping = key.split(".")[: -len(dots)] if dots else []
            found.add(".".join([*mapping, name]))
    return found
