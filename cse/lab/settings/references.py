"""Values that stand elsewhere: ${other.key} in the config, ${oc.env:NAME} in the environment.

Read the references to keys, then what a user types for a key, then what a config reads from the environment.
`guarded_environment` is for any block that fills in references: in it, no secret gets into a run's files.
"""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import cast

from omegaconf import Container, DictConfig, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError, renaming
from cse.lab.settings.groups import CONF_DIR, SWEEPS_DIR
from cse.lab.settings.values import Config, flattened

REFERENCE = re.compile(r"\$\{(\.*)(\w+(?:\.\w+)*)")
"""The start of a reference: the dots of one within its own mapping, and the key."""
VARIABLE = re.compile(r"\$\{oc\.env:(\w+)\b.*\}")
"""A value that is read from a variable of the environment."""


def written_values(config: Container) -> Config:
    """The values of a config by dotted key, each reference as it is written."""
    return flattened(cast("Config", OmegaConf.to_container(config)))


def given_key(key: str, written: Config) -> str:
    """The key that one types to set a key: of a value that is `${other}`, the other. written: the config's values."""
    reference = re.fullmatch(r"\$\{([\w.]+)\}", str(written.get(key)))
    return given_key(reference[1], written) if reference else key


def referred_keys(written: Config) -> set[str]:
    """The keys that values refer to, in a text or alone: ${model.name}, or of their own mapping ${.name}."""
    keys: set[str] = set()
    for key, value in written.items():
        for dots, name in REFERENCE.findall(str(value)):
            mapping = key.split(".")[: -len(dots)] if dots else []
            keys.add(".".join([*mapping, name]))
    return keys


# What a user types


def user_key(config: Container, key: str) -> str:
    """What one types to set a key of this config: the key that its value refers to or, if that comes from the
    environment, the variable."""
    written = written_values(config)
    key = given_key(key, written)
    return set_variable(written.get(key)) or key


def naming_user_keys(node: DictConfig) -> AbstractContextManager[None]:
    """A block that calls a part with the settings of this node: its UserErrors name what the user types for them."""
    place, config = node._get_full_key(None), node._get_root()
    return renaming(lambda parameter: user_key(config, f"{place}.{parameter}".lstrip(".")))


def set_variable(value: object) -> str:
    """The variable of the environment that gives this value, unresolved; "" if none does or it is not set."""
    variable = VARIABLE.fullmatch(str(value))
    return variable[1] if variable and os.environ.get(variable[1]) else ""


# What a config reads from the environment


def fill_in_environment(config: DictConfig) -> None:
    """Fill in what the config reads from the environment, and `~` in paths.cache: parts refer to them when they are
    built, in several processes.

    A variable that is set stays a reference, by which an error names it. One that cannot be read is refused with the
    other settings, unless a run that is resumed has another value.
    """
    with guarded_environment():
        for key, text in written_values(config).items():
            if not key.startswith("hydra.") and "${oc.env:" in str(text) and not set_variable(text):
                with suppress(OmegaConfBaseException):
                    OmegaConf.update(config, key, OmegaConf.select(config, key), merge=False)
        cache = OmegaConf.select(config, "paths.cache")
        if str(cache).startswith("~"):
            config.paths.cache = str(Path(cache).expanduser())


@contextmanager
def guarded_environment() -> Iterator[None]:
    """In the block, ${oc.env:NAME} is `from_environment`. After it, it is OmegaConf's own, for the configs of others in
    this process: a notebook's, or a program's that imports cse."""
    before = BaseContainer._resolvers["oc.env"]
    OmegaConf.register_new_resolver("oc.env", from_environment, replace=True)
    try:
        yield
    finally:
        BaseContainer._resolvers["oc.env"] = before


def from_environment(name: str, *default: str | None, _node_: Node, _root_: BaseContainer) -> str | None:
    """${oc.env:NAME,DEFAULT}: OmegaConf's own, but refused if it could write a secret into a run's files, and an empty
    variable is none, as in shells and container files that name each.

    Values end up in results.json, train.log and every tracker. Configs that are not ours are left alone.
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
    """The environment variables that conf/ and sweeps/ read."""
    files = [file for folder in (CONF_DIR, SWEEPS_DIR) for file in Path(folder).rglob("*.yaml")]
    return frozenset(name for file in files for name in re.findall(r"oc\.env:(\w+)", file.read_text(encoding="utf-8")))
