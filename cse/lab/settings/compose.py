"""Compose the config from arguments: Hydra composes the files of conf/, then cse adds what Hydra cannot compose.

Start at `composed`, which has four steps. `refuse_arguments` refuses arguments that Hydra would ignore.
`composed_by_hydra` composes the config. `complete_sources` completes the sources of data=mixture. The last step,
`fill_in_environment`, is in references.py.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, key_of, parse_argument
from cse.lab.settings.groups import CONF_DIR, ONE_CHOICE_ONLY, Kind, choices, is_group, user_folders
from cse.lab.settings.mistakes import no_choice, no_key
from cse.lab.settings.provenance import OVERRIDDEN_AT, RECORDED_AT, find_overridden, find_user_files
from cse.lab.settings.references import fill_in_environment

COMPOSING = threading.RLock()
"""A lock for Hydra's global state, because several threads compose a sweep's jobs. For a mixture, `composed` calls
itself, so one thread may take the lock twice."""

LONGEST_NAME = 255
"""The largest number of letters in a file's name. For a longer key, Hydra would look for a folder, and fail."""

OF_MIXTURE = ("name", "cache_dir", "preview")
"""The keys of data=text that a mixture sets once, for all its sources."""


def composed(kind: Kind, texts: Sequence[str]) -> DictConfig:
    """Return the config from arguments, with the node `hydra`. texts: the texts of the arguments.

    Raises UserError for an argument that Hydra would ignore or fail on, and Hydra's error for an argument that Hydra
    refuses.
    """
    refuse_arguments(texts, kind)
    with COMPOSING:
        config = composed_by_hydra(kind, texts)
        complete_sources(config)
        fill_in_environment(config)
    return config


def composed_by_hydra(kind: Kind, texts: Sequence[str]) -> DictConfig:
    """Return the config that Hydra composes.

    For errors and notes, the config's node `hydra` also has the user's files, and find_overridden's sentences about
    these files.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    outer = GlobalHydra.instance().hydra  # the state of a notebook or a test
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(CONF_DIR, version_base="1.3"):
            config = compose(kind, list(texts), return_hydra_config=True)
            if user_folders():
                loader = GlobalHydra.instance().config_loader()
                defaults = loader.compute_defaults_list(kind, list(texts), RunMode.RUN).defaults
                files = find_user_files(defaults)
                notes = find_overridden(config, files, {key_of(text) for text in texts})
                OmegaConf.update(config, RECORDED_AT, {str(file.path): file.package for file in files}, force_add=True)
                OmegaConf.update(config, OVERRIDDEN_AT, notes, force_add=True)
    finally:
        GlobalHydra.instance().hydra = outer
    return config


def without_hydra(config: DictConfig) -> DictConfig:
    """Return a copy of a composed config without its `hydra` node."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def parsed_value(argument: str) -> object:
    """Return the value of KEY=VALUE as OmegaConf reads it. yaml.safe_load (YAML 1.1) would read 1e-1 as text."""
    key, _, value = argument.partition("=")
    try:
        return OmegaConf.from_dotlist([argument])[key]
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise UserError(
            f"{argument}: {value!r} is neither one value nor a [list]: check its brackets and quotes"
        ) from error


# Arguments that Hydra would ignore


def refuse_arguments(texts: Sequence[str], kind: Kind) -> None:
    """Raise UserError for an argument that Hydra would ignore or fail on, and Hydra's error for an unreadable text.

    Hydra would ignore or fail on an argument without a key or with a very long key, a recipe that does not exist, and a
    group's value that cannot be a choice.
    """
    for text in texts:
        parse_argument(text)
    for argument in map(Argument, texts):
        group = argument.key.partition("@")[0]
        if not group:
            raise UserError(f"{argument}: there is no key in it; a setting is KEY=VALUE, without blanks")
        if any(len(name) > LONGEST_NAME for name in group.split("/")):
            raise UserError(no_key(group, texts, kind))
        is_unknown = group.partition("/")[0] == "recipe" and argument.value not in choices(group)
        chooses = "=" in argument.text and (is_group(group) or "/" in group)
        if is_unknown or (chooses and not names_choices(argument)):
            raise UserError(no_choice(group, argument.spelled, kind))


def names_choices(argument: Argument) -> bool:
    """Return whether a group's value can be one or several choices, or is a mapping, which Hydra itself refuses."""
    if argument.is_axis:
        return True
    value = argument.parsed
    if isinstance(value, list):
        return argument.key not in ONE_CHOICE_ONLY and all(isinstance(name, str) for name in value)
    return isinstance(value, dict) or (isinstance(value, str) and value != "")


# The sources of data=mixture


def complete_sources(config: DictConfig) -> None:
    """Give each source of data=mixture all settings of data=text, and all settings of the source's own objective.

    Hydra cannot do this, because a source is not a choice of a group. A complete source stays as it is. Raises
    UserError for a source that is not a mapping, for a key that belongs to the mixture, and for an unknown objective.
    """
    sources = OmegaConf.select(config, "data.sources")
    if not OmegaConf.is_dict(sources):  # not set, or of a wrong type, which is refused later
        return
    folder = Path(CONF_DIR) / "data"
    defaults: Any = OmegaConf.merge(*(OmegaConf.load(folder / f"{name}.yaml") for name in ("text", "_source")))
    for key in OF_MIXTURE:
        del defaults[key]
    for name in sources:
        key, source = f"data.sources.{name}", sources[name]
        if not OmegaConf.is_dict(source):
            raise UserError(f"{key}={source}: should be a mapping of settings: {{path: FILE, columns: [A,B]}}")
        for setting in OF_MIXTURE:
            if setting in source:
                raise UserError(f"{key}.{setting} is not a setting of a source: set data.{setting} for the mixture")
        objective = whole_objective(config, f"{key}.objective", source.get("objective"))
        sources[name] = OmegaConf.merge(defaults, source, {"objective": None})
        sources[name].objective = objective


def whole_objective(config: DictConfig, key: str, objective: Any) -> DictConfig | None:
    """Return the settings of an objective that a source names as NAME or as {choice: NAME, KEY: VALUE}.

    Return None for a source that names no objective: it uses the run's objective. config: the config of the run, whose
    encoder may have a recipe for the objective. key: the key of the source's objective.
    """
    if objective is None or (OmegaConf.is_dict(objective) and "_target_" in objective):
        return objective
    changes = {"choice": objective} if isinstance(objective, str) else objective
    if not (isinstance(changes, dict) or OmegaConf.is_dict(changes)) or "choice" not in changes:
        raise UserError(f"{key}={objective}: should be the name of an objective, or {{choice: NAME, KEY: VALUE}}")
    choice = changes["choice"]
    if choice not in choices("objective"):
        raise UserError(f"{key}: {no_choice('objective', str(choice), 'train')}")
    whole = composed("train", [f"objective={choice}", f"model={config.hydra.runtime.choices.model}"]).objective
    made = {name: value for name, value in whole.items_ex(resolve=False) if name not in ("widths", "width_weights")}
    own = {name: value for name, value in changes.items() if name != "choice"}
    merged: Any = OmegaConf.merge({**made, "_partial_": True}, own)
    return merged
