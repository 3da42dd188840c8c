"""From words to a composed config: compose conf/, refuse what Hydra would ignore, and explain Hydra's errors."""

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import cast

from omegaconf import DictConfig, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer

from cse.config.groups import CONF_DIR, SWEEPS_DIR, choices, groups
from cse.config.keys import key_of
from cse.config.search import settings
from cse.config.spelling import value_of
from cse.config.synonyms import meant
from cse.dotted import Config, flattened
from cse.errors import UserError

OWN = {
    "model": "any encoder of the hub, or a folder, is model.name={}",
    "data": "a file of yours, or a hub dataset, is data=text data.path={}",
}
"""What a group offers beside its choices."""

SWITCH = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
"""Words for true and false, in lower case."""


def composed(command: str, words: Sequence[str]) -> DictConfig:
    """The config that these words give, with Hydra's own node in it. command: "train" or "evaluate"."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    outer = GlobalHydra.instance().hydra  # of a notebook or a test
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(CONF_DIR, version_base="1.3"):
            return compose(command, list(words), return_hydra_config=True)
    except (TypeError, AttributeError) as error:  # Hydra's, for a list or a number in place of a choice
        raise UserError(f"{' '.join(words)}: cannot be composed: {error}") from error
    finally:
        GlobalHydra.instance().hydra = outer


def without_hydra(config: DictConfig) -> DictConfig:
    """A copy of a composed config without its `hydra` node."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def resolved(cfg: DictConfig) -> Config:
    """The config as plain Python values, every interpolation filled in."""
    return cast("Config", OmegaConf.to_container(cfg, resolve=True))


def is_group(key: str) -> bool:
    """Whether a key chooses from a folder of conf/, or a sweep."""
    root = key.partition("@")[0].partition("/")[0]
    return root == "sweep" or Path(CONF_DIR, root).is_dir()


def valid_keys(command: str, words: Sequence[str]) -> list[str]:
    """Every dotted key of the config that the words' choices give, and the groups."""
    known = {"sweep", *(path.name for path in Path(CONF_DIR).iterdir() if path.is_dir())}
    chosen = [word for word in words if key_of(word) in known and "," not in word.partition("[")[0]]
    try:
        config = without_hydra(composed(command, chosen))
    except Exception:  # a choice that is itself mistyped
        config = without_hydra(composed(command, []))
    leaves = [key.split(".") for key in flattened(OmegaConf.to_container(config, resolve=False))]  # type: ignore[arg-type]
    nodes = {".".join(parts[:depth]) for parts in leaves for depth in range(1, len(parts) + 1)}
    return sorted({*nodes, *map(str, config), *known})


def refuse_words(words: Sequence[str], command: str) -> None:
    """Raise UserError for what Hydra would ignore: no key, a key that nothing reads, a choice that does not exist.

    `+key=value` adds a key, but nothing reads a key that the config lacks. For an optional group (recipe=) Hydra
    ignores any unknown choice.
    """
    for word in words:
        key, value = key_of(word), value_of(word)
        group = key.partition("@")[0]
        if word.startswith("-"):
            continue
        if not group:
            raise UserError(f"{word}: there is no key in it; a setting is KEY=VALUE, without blanks")
        if word.startswith("+") and not key.startswith("hydra"):
            keys = valid_keys(command, words)
            if group not in keys:
                raise UserError(f"{word}: {no_key(group, keys, command)}")
        if Path(CONF_DIR, group).is_dir() and re.fullmatch(r"\[?[\w.,]+\]?", value):
            for choice in value.strip("[]").split(","):
                if choice not in choices(group):
                    raise UserError(no_choice(group, choice))


@contextmanager
def explaining(words: Sequence[str], command: str) -> Iterator[None]:
    """Turn an error of Hydra or OmegaConf in the block into a UserError.

    In the block, only paths and conf/ itself may read the environment.
    """
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    before = BaseContainer._resolvers["oc.env"]
    OmegaConf.register_new_resolver("oc.env", from_environment, replace=True)
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain(error, words, command)) from error
    finally:
        BaseContainer._resolvers["oc.env"] = before


def from_environment(name: str, *default: str | None, _node_: Node, _root_: BaseContainer) -> str | None:
    """${oc.env:NAME,DEFAULT}: OmegaConf's own, but refused if it could write a secret into a run's files.

    Values end up in results.json, train.log and every tracker. Configs that are not ours are left alone.
    """
    key = str(_node_._get_full_key(None))
    ours = isinstance(_root_, DictConfig) and {"paths", "eval", "hydra"} & set(_root_)
    if ours and not key.startswith("paths.") and name not in known_variables():
        raise UserError(
            f"{key} is written into a run's files, so it cannot read {name} from the environment: only paths.* can"
        )
    if name not in os.environ and not default:
        raise KeyError(f"Environment variable '{name}' not found")
    return os.environ.get(name, default[0] if default else None)


@cache
def known_variables() -> frozenset[str]:
    """The environment variables that conf/ and sweeps/ read."""
    files = [file for folder in (CONF_DIR, SWEEPS_DIR) for file in Path(folder).rglob("*.yaml")]
    return frozenset(name for file in files for name in re.findall(r"oc\.env:(\w+)", file.read_text(encoding="utf-8")))


def explain(error: Exception, words: Sequence[str], command: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices."""
    from hydra.errors import OverrideParseException

    text = str(error).partition("Config search path")[0]
    if refused := re.match("UserError raised while resolving interpolation: (.*)", text):
        return refused[1]
    if match := re.search(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)", text):
        return no_key(match[1], valid_keys(command, words), command)
    if match := re.search(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'", text):
        return no_choice(match[1], match[2])
    if match := re.search(r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", text, re.DOTALL):
        return f"{match[1]}={match[2]} is not a choice; it has {', '.join(match[3].split())}"
    if "does not support sweep type" in text:
        ranges = [word for word in words if "interval(" in word]
        return f"{' '.join(ranges)}: a range needs a search: hydra/sweeper=smac"
    if isinstance(error, OverrideParseException):
        choosing = [f"{group}={one}" for group in groups(command) if group != "sweep" for one in choices(group)]
        bare = "" if "=" in error.override else nearest(error.override, [*valid_keys(command, []), *choosing])
        return f"{error.override} cannot be read; a setting is KEY=VALUE, a list KEY=[A,B], text KEY='\"A, B\"'{bare}"
    own = text.partition("See https")[0]
    return "; ".join(line.strip() for line in own.splitlines() if line.strip() and "object_type=" not in line)


def no_key(key: str, keys: list[str], command: str) -> str:
    """The message for a key that the line's choices lack: which choice has it, or the nearest key."""
    every = list(settings(command))
    ours = meant(key, [one.key for one in every]) or key
    having = {} if ours in keys else dict.fromkeys(one.choice for one in every if one.key == ours and one.choice)
    return f"there is no key {key}" + (f"; {ours} belongs to {', '.join(having)}" if having else nearest(key, keys))


def no_choice(group: str, choice: str) -> str:
    """The message for a choice that the group lacks: the nearest one, and all that it has."""
    is_own = group in OWN and re.search(r"[-/.]", choice)  # looks like a file, a folder or a name on the hub
    hint = f"; {OWN[group].format(choice)}" if is_own else nearest(choice, choices(group))
    return f"{group}={choice} is not a choice{hint}; it has {', '.join(choices(group))}"


def nearest(key: str, keys: list[str]) -> str:
    """`; did you mean KEY?` with the closest valid key, or ""."""
    if ours := meant(key, keys):
        return f"; did you mean {ours}?"
    keys = [known for known in keys if "._" not in f".{known}"]  # _target_ and _partial_ are not settings
    if inside := [known for known in keys if known.endswith((f"/{key}", f"={key}"))]:  # TABLE of PAPER/TABLE
        return f"; did you mean {' or '.join(inside)}?"
    last = {known.rpartition(".")[2]: known for known in keys}
    close = difflib.get_close_matches(key, keys, 1, 0.6)
    close = close or [last[name] for name in difflib.get_close_matches(key.rpartition(".")[2], list(last), 1, 0.7)]
    return f"; did you mean {close[0]}?" if close else ""
