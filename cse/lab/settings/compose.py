"""From arguments to a composed config: compose conf/, and refuse what Hydra would ignore.

`explaining` is for a block that reads arguments or fills in references: in it, an error of Hydra's is a sentence.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, parse_argument
from cse.lab.settings.groups import CONF_DIR, ONE_CHOICE_ONLY, Kind, choices, is_group, user_folders
from cse.lab.settings.mistakes import explain, no_choice
from cse.lab.settings.mixture import complete_sources
from cse.lab.settings.references import fill_in_environment, guarded_environment
from cse.lab.settings.user_values import RECORDED_AT, find_user_files
from cse.lab.settings.values import Config

COMPOSING = threading.RLock()
"""Hydra composes by one global state, and a sweep's jobs are composed in threads. A mixture's sources compose again."""


def composed(kind: Kind, texts: Sequence[str]) -> DictConfig:
    """The config that these arguments give, with Hydra's own node in it.

    Raises UserError for arguments that Hydra would ignore, or fail on.
    """
    refuse_arguments(texts, kind)
    with COMPOSING:
        return composed_alone(kind, texts)


def composed_alone(kind: Kind, texts: Sequence[str]) -> DictConfig:
    """`composed`, in one thread at a time."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    outer = GlobalHydra.instance().hydra  # of a notebook or a test
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(CONF_DIR, version_base="1.3"):
            config = compose(kind, list(texts), return_hydra_config=True)
            if user_folders():
                loader = GlobalHydra.instance().config_loader()
                defaults = loader.compute_defaults_list(kind, list(texts), RunMode.RUN).defaults
                files = {str(file.path): file.package for file in find_user_files(defaults)}
                OmegaConf.update(config, RECORDED_AT, files, force_add=True)
    finally:
        GlobalHydra.instance().hydra = outer
    complete_sources(config)
    fill_in_environment(config)
    return config


@contextmanager
def explaining(texts: Sequence[str], kind: Kind) -> Iterator[None]:
    """Turn an error of Hydra, OmegaConf or YAML in the block into a UserError.

    In the block, only paths and conf/ itself may read the environment. It runs nothing of the user's own, whose error
    needs its traceback.
    """
    from hydra.errors import HydraException

    try:
        with guarded_environment():
            yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain(error, texts, kind)) from error
    except yaml.YAMLError as error:  # in a choice of the user's own
        raise UserError(" ".join(str(error).split())) from error


def without_hydra(config: DictConfig) -> DictConfig:
    """A copy of a composed config without its `hydra` node."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def resolved(cfg: DictConfig) -> Config:
    """The config as plain Python values, every interpolation filled in."""
    return cast("Config", OmegaConf.to_container(cfg, resolve=True))


# What Hydra would ignore


def refuse_arguments(texts: Sequence[str], kind: Kind) -> None:
    """Raise Hydra's error for an argument that it cannot read, and UserError for a setting without a key, a number in
    place of a choice, on which Hydra fails, and a recipe that does not exist, which Hydra ignores."""
    for text in texts:
        parse_argument(text)
    for argument in map(Argument, texts):
        group = argument.key.partition("@")[0]
        if not group:
            raise UserError(f"{argument}: there is no key in it; a setting is KEY=VALUE, without blanks")
        unknown = group.partition("/")[0] == "recipe" and argument.value not in choices(group)
        chooses = "=" in argument.text and (is_group(group) or "/" in group)
        if unknown or (chooses and not names_choices(argument)):
            raise UserError(no_choice(group, argument.spelled, kind))


def names_choices(argument: Argument) -> bool:
    """Whether the value of a group's argument can be a choice, or several; what Hydra refuses by itself can."""
    if argument.is_axis:
        return True
    value = argument.parsed
    if isinstance(value, list):
        return argument.key not in ONE_CHOICE_ONLY and all(isinstance(name, str) for name in value)
    return isinstance(value, dict) or (isinstance(value, str) and value != "")
