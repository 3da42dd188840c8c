"""From words to a composed config: compose conf/, and refuse what Hydra would ignore.

`explaining` is for a block that reads words or fills in references: in it, an error of Hydra's is a sentence.
`guarded_environment` is for any block that fills in references: in it, no secret gets into a run's files.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import cast

import yaml
from omegaconf import DictConfig, Node, OmegaConf
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.lab.settings.grammar import parse_word
from cse.lab.settings.groups import CONF_DIR, SWEEPS_DIR, choices, user_folders
from cse.lab.settings.mistakes import explain, no_choice
from cse.lab.settings.references import set_variable
from cse.lab.settings.user_values import RECORDED_AT, find_user_files
from cse.lab.settings.values import Config, flattened
from cse.lab.settings.words import Word

SINGLE = ("model", "objective", "augmentation", "aux_modality")
"""The groups whose choices name the files of conf/recipe. Of a list of choices Hydra would find none, silently."""


def composed(command: str, texts: Sequence[str]) -> DictConfig:
    """The config that the words of these texts give, with Hydra's own node in it. command: "train" or "evaluate".

    Raises UserError for words that Hydra would ignore, or fail on.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    from cse.lab.settings import mixture

    refuse_words(texts, command)
    outer = GlobalHydra.instance().hydra  # of a notebook or a test
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(CONF_DIR, version_base="1.3"):
            config = compose(command, list(texts), return_hydra_config=True)
            if user_folders():
                loader = GlobalHydra.instance().config_loader()
                read = loader.compute_defaults_list(command, list(texts), RunMode.RUN).defaults
                files = {str(one.path): one.package for one in find_user_files(read)}
                OmegaConf.update(config, RECORDED_AT, files, force_add=True)
    finally:
        GlobalHydra.instance().hydra = outer
    mixture.complete_sources(config)
    fill_in_environment(config)
    return config


@contextmanager
def explaining(texts: Sequence[str], command: str) -> Iterator[None]:
    """Turn an error of Hydra, OmegaConf or YAML in the block into a UserError.

    In the block, only paths and conf/ itself may read the environment. It runs nothing of the user's own, whose error
    needs its traceback.
    """
    from hydra.errors import HydraException

    try:
        with guarded_environment():
            yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain(error, texts, command)) from error
    except yaml.YAMLError as error:  # in a choice of the user's own
        raise UserError(" ".join(str(error).split())) from error


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


def settings_in_words(words: Sequence[Word]) -> tuple[Config, dict[str, str]]:
    """(settings, choices by group) that the words themselves give, without conf/ and without Hydra's own."""
    settings: Config = {}
    chosen: dict[str, str] = {}
    for word in words:
        if word.text.startswith("~") or word.key.startswith("hydra"):
            continue
        value = word.parsed
        if is_group(word.key) and isinstance(value, str):
            chosen[word.key] = value
            continue
        *parents, last = word.key.split(".")
        node = settings
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}
            node = node[parent]
        node[last] = value
    return settings, chosen


def refuse_words(texts: Sequence[str], command: str) -> None:
    """Raise Hydra's error for a word that it cannot read, and UserError for a setting without a key, a number in place
    of a choice, on which Hydra fails, and a recipe that does not exist, which Hydra ignores."""
    for text in texts:
        parse_word(text)
    for word in map(Word, texts):
        group = word.key.partition("@")[0]
        if not group:
            raise UserError(f"{word}: there is no key in it; a setting is KEY=VALUE, without blanks")
        unknown = group.partition("/")[0] == "recipe" and word.value not in choices(group)
        chooses = "=" in word.text and (is_group(group) or "/" in group)
        if unknown or (chooses and not names_choices(word)):
            raise UserError(no_choice(group, word.spelled, command))


def names_choices(word: Word) -> bool:
    """Whether the value of a group's word can be a choice, or several; what Hydra refuses by itself can."""
    if word.is_axis:
        return True
    value = word.parsed
    if isinstance(value, list):
        return word.key not in SINGLE and all(isinstance(one, str) for one in value)
    return isinstance(value, dict) or (isinstance(value, str) and value != "")


# What a config reads from the environment


def fill_in_environment(config: DictConfig) -> None:
    """Fill in what the config reads from the environment, and `~` in paths.cache: parts refer to them when they are
    built, in several processes.

    A variable that is set stays a reference, by which an error names it. One that cannot be read is refused with the
    other settings, unless a run that is resumed has another value.
    """
    written = flattened(cast("Config", OmegaConf.to_container(without_hydra(config))))
    with guarded_environment():
        for key, text in written.items():
            if "${oc.env:" in str(text) and not set_variable(text):
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
            f"{key} is written into a run's files, so it cannot read {name} from the environment: only paths.* can"
        )
    if name not in os.environ and not default:
        raise KeyError(f"Environment variable '{name}' not found")
    return os.environ.get(name) or (default[0] if default else None)


@cache
def known_variables() -> frozenset[str]:
    """The environment variables that conf/ and sweeps/ read."""
    files = [file for folder in (CONF_DIR, SWEEPS_DIR) for file in Path(folder).rglob("*.yaml")]
    return frozenset(name for file in files for name in re.findall(r"oc\.env:(\w+)", file.read_text(encoding="utf-8")))
