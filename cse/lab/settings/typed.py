"""What the user types for a parameter of a part: its key, the key that its value refers to, or a variable of the
environment."""

import os
import re
from contextlib import AbstractContextManager
from typing import cast

from omegaconf import Container, DictConfig, OmegaConf

from cse.errors import renaming
from cse.lab.settings.dotted import Config, flattened

REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # a value that is nothing but a reference to another key
VARIABLE = re.compile(r"\$\{oc\.env:(\w+)\b.*\}")


def as_typed(node: DictConfig) -> AbstractContextManager[None]:
    """A block that calls a part with the settings of this node: its UserErrors name what the user typed for them."""
    place, config = node._get_full_key(None), node._get_root()
    return renaming(lambda parameter: typed_in(config, f"{place}.{parameter}".lstrip(".")))


def typed_in(config: Container, key: str) -> str:
    """What the user types for a key of this config."""
    return typed_key(key, flattened(cast("Config", OmegaConf.to_container(config))))


def typed_key(key: str, written: Config) -> str:
    """What one types to set this key: that which its value refers to or, if it comes from the environment, the
    variable. written: the config, unresolved."""
    key = referred_key(key, written)
    variable = VARIABLE.fullmatch(str(written.get(key)))
    return variable[1] if variable and os.environ.get(variable[1]) else key


def referred_key(key: str, written: Config) -> str:
    """The key whose value this one has: of a value that is `${other}`, the other."""
    reference = REFERENCE.fullmatch(str(written.get(key)))
    return referred_key(reference[1], written) if reference else key
