"""References: a value may refer to another key, ${other.key}, or to an environment variable, ${oc.env:NAME}.

1. `resolved` fills in the references of a config, and `written_values` keeps them. `referred_keys` returns the keys
   that values refer to. `given_key` returns the key that sets a value: the value's key, or the key in its reference.
2. `user_key` returns the key or the variable that a user gives to set a value. Errors name this key or variable.
3. `fill_in_environment` reads variables. Code that reads variables runs in `guarded_environment`, which keeps secrets
   out of a run's files.
"""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import cast

from omegaconf import Container, DictConfig, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError, renaming
from cse.lab.settings.groups import CONF_DIR, SWEEPS_DIR
from cse.lab.settings.values import PlainConfig, flattened

REFERENCE = re.compile(r"\$\{(\.*)(\w+(?:\.\w+)*)")
"""The pattern of a reference's start: dots, if the key is relative to the value's mapping, and the key."""
VARIABLE = re.compile(r"\$\{oc\.env:(\w+)\b.*\}")
"""The pattern of a value that is a reference to an environment variable."""


def resolved(config: DictConfig) -> PlainConfig:
    """Return the config as plain Python values, with every reference filled in."""
    return cast("PlainConfig", OmegaConf.to_container(config, resolve=True))


def written_values(config: Container) -> PlainConfig:
    """Return the values of a config by dotted key, with unresolved references."""
    return flattened(cast("PlainConfig", OmegaConf.to_container(config)))


def given_key(key: str, written: PlainConfig) -> str:
    """Return the key that sets a key's value: `other` for `${other}`, else the key. written: see `written_values`."""
    value = str(written.get(key))
    reference = REFERENCE.match(value)
    if reference is None or reference[0] + "}" != value:
        return key
    return given_key(referred_key(key, *reference.groups()), written)


def referred_key(key: str, dots: str, name: str) -> str:
    """Return the key that a reference in the value of `key` refers to. dots, name: what REFERENCE captures."""
    mapping = key.split(".")[: -len(dots)] if dots else []
    return ".".join([*mapping, name])


def referred_keys(written: PlainConfig) -> set[str]:
    """Return the keys that values refer to by ${model.name} or, in the same mapping, by ${.name}, also inside text."""
    keys: set[str] = set()
    for key, value in written.items():
        for dots, name in REFERENCE.findall(str(value)):
            keys.add(referred_key(key, dots, name))
    return keys


# The key that a user gives


def user_key(config: Container, key: str) -> str:
    """Return the key or the environment variable by which a user sets a key of this config.

    If the value is a reference to a key, or to a variable that is set, return that key or variable; else return `key`.
    """
    written = written_values(config)
    key = given_key(key, written)
    return set_variable(written.get(key)) or key


def naming_user_keys(node: DictConfig) -> AbstractContextManager[None]:
    """Return a context manager: a UserError in its block names the key that a user gives. node: a part's settings."""
    key, config = node._get_full_key(None), node._get_root()
    return renaming(lambda parameter: user_key(config, f"{key}.{parameter}".lstrip(".")))


def set_variable(value: object) -> str:
    """Return the environment variable that a value refers to; "" without a variable, or if the variable is not set."""
    variable = VARIABLE.fullmatch(str(value))
    return variable[1] if variable and os.environ.get(variable[1]) else ""


# Environment variables in a config


def fill_in_environment(config: DictConfig) -> None:
    """Replace references to unset environment variables by their defaults, and `~` in paths.cache by the home folder.

    A reference to a variable that is set remains, so that an error can name the variable. An unreadable value also
    remains. It is refused later, unless a value of a resumed run replaces it.
    """
    with guarded_environment():
        for key, text in written_values(config).items():
            if not key.startswith("hydra.") and "${oc.env:" in str(text) and not set_variable(text):
                with suppress(OmegaConfBaseException):
                    OmegaConf.update(config, key, OmegaConf.select(config, key), merge=False)
        cache = OmegaConf.select(config, "paths.cache")
        if str(cache).startswith("~"):
            config.paths.cache = str(Path(cache).expanduser())


REPLACED: list[Callable[..., object]] = []
"""The resolver of ${oc.env:NAME} before each unfinished block of `guarded_environment`. The blocks of several threads
may overlap. The first resolver is OmegaConf's own. The block that ends last restores this resolver."""
REPLACING = threading.Lock()


@contextmanager
def guarded_environment() -> Iterator[None]:
    """During the block, read ${oc.env:NAME} by `from_environment`, in all threads.

    After the last such block, restore OmegaConf's own resolver for other configs in this process, such as a notebook's.
    """
    with REPLACING:
        REPLACED.append(BaseContainer._resolvers["oc.env"])
        OmegaConf.register_new_resolver("oc.env", from_environment, replace=True)
    try:
        yield
    finally:
        with REPLACING:
            BaseContainer._resolvers["oc.env"] = REPLACED.pop()


def from_environment(name: str, *default: str | None, _node_: Node, _root_: BaseContainer) -> str | None:
    """Return the value of ${oc.env:NAME,DEFAULT}.

    An empty variable counts as not set, because shells and container files often name variables without a value.

    Raises UserError for a value that could be a secret, because values are written to results.json, train.log and every
    tracker. A key of `paths` may use any variable, and another key only a variable that conf/ or sweeps/ uses. A config
    that is not of cse may use any variable.
    """
    key = str(_node_._get_full_key(None))
    ours = isinstance(_root_, DictConfig) and {"paths", "eval", "hydra"} & set(_root_)
    if ours and not key.startswith("paths.") and name not in known_variables():
        raise UserError(
            f"{key} may not use the environment variable {name}, because its value would be saved in the run's files; "
            "only paths.* may use the environment"
        )
    if name not in os.environ and not default:
        raise KeyError(f"Environment variable '{name}' not found")
    return os.environ.get(name) or (default[0] if default else None)


@cache
def known_variables() -> frozenset[str]:
    """Return the environment variables that conf/ and sweeps/ read."""
    files = [file for folder in (CONF_DIR, SWEEPS_DIR) for file in Path(folder).rglob("*.yaml")]
    return frozenset(name for file in files for name in re.findall(r"oc\.env:(\w+)", file.read_text(encoding="utf-8")))
