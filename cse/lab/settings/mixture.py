"""The sources of data=mixture, which Hydra cannot compose: from what is given of each to whole settings."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.groups import CONF_DIR, choices
from cse.lab.settings.mistakes import no_choice

OF_MIXTURE = ("name", "cache_dir", "preview")
"""The keys of data=text that a mixture has for all its sources."""


def complete_sources(config: DictConfig) -> None:
    """Give each source all settings of a text, and those of its objective in place of the objective's name.

    What is complete stays as it is. Raises UserError for a source that is no mapping, a key that is the mixture's, and
    an objective that does not exist.
    """
    sources = OmegaConf.select(config, "data.sources")
    if not OmegaConf.is_dict(sources):  # not set, or refused by its type
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
                raise UserError(f"{key}.{setting} is no setting of a source: it is the mixture's (data.{setting})")
        objective = whole_objective(config, f"{key}.objective", source.get("objective"))
        sources[name] = OmegaConf.merge(defaults, source, {"objective": None})
        sources[name].objective = objective


def whole_objective(config: DictConfig, key: str, objective: Any) -> DictConfig | None:
    """The settings of an objective that a source names, NAME or {choice: NAME, KEY: VALUE}; None for the run's.

    config: its encoder has a say in an objective's values (conf/recipe). key: of the source's objective.
    """
    if objective is None or (OmegaConf.is_dict(objective) and "_target_" in objective):
        return objective
    changes = {"choice": objective} if isinstance(objective, str) else objective
    if not (isinstance(changes, dict) or OmegaConf.is_dict(changes)) or "choice" not in changes:
        raise UserError(f"{key}={objective}: should be the name of an objective, or {{choice: NAME, KEY: VALUE}}")
    from cse.lab.settings.compose import composed  # which itself completes sources

    choice = changes["choice"]
    if choice not in choices("objective"):
        raise UserError(f"{key}: {no_choice('objective', str(choice), 'train')}")
    whole = composed("train", [f"objective={choice}", f"model={config.hydra.runtime.choices.model}"]).objective
    made = {name: value for name, value in whole.items_ex(resolve=False) if name not in ("widths", "width_weights")}
    own = {name: value for name, value in changes.items() if name != "choice"}
    merged: Any = OmegaConf.merge({**made, "_partial_": True}, own)
    return merged
