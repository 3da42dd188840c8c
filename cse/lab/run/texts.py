"""The texts that a run learns from: one text, or the texts of data=mixture, each with its objective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from cse.lab.run.instantiate import call, make

if TYPE_CHECKING:  # importing torch is slow
    from cse.data.mixture import Mixture
    from cse.data.rows import TextRows
    from cse.data.text import Found, Text
    from cse.types import Objective


@dataclass(frozen=True)
class TextWithObjective:
    """A text, and the settings of its objective.

    name: the name of the text in data.sources; None for a run's only text. objective_key: the key of the objective's
    settings, "objective" or data.sources.NAME.objective. choice: the choice of the group `objective`.
    """

    name: str | None
    text: Text
    text_settings: DictConfig
    objective_settings: DictConfig
    objective_key: str
    choice: str | None = None

    @property
    def text_key(self) -> str:
        """The key of the text's settings."""
        return "data" if self.name is None else f"data.sources.{self.name}"

    @property
    def described(self) -> str:
        """The text's name for an error."""
        return f"data={self.text.name}" if self.name is None else self.text_key

    @property
    def objective(self) -> type[Objective]:
        """The objective's class."""
        from hydra.utils import get_class

        return get_class(self.objective_settings._target_)

    @property
    def described_objective(self) -> str:
        """The objective's name for an error."""
        is_of_run = self.choice and self.objective_key == "objective"
        return f"objective={self.choice}" if is_of_run else self.objective.__name__

    @property
    def num_views(self) -> int:
        """The number of views of a row that the objective needs."""
        return self.objective.views_of(self.objective_settings)

    def find(self) -> Found:
        """Return the opened source of the text, see Text.find."""
        return call(self.text_settings, self.text.find)

    @property
    def required(self) -> int | None:
        """The number of first columns that no row may leave empty; None: all. A row may lack a hard negative."""
        return 2 if self.objective.further_are_negatives else None

    def read(self, found: Found) -> TextRows:
        """Return the rows of the text, see Text.read."""
        return call(self.text_settings, partial(self.text.read, found, self.required))


def texts_with_objectives(cfg: DictConfig) -> list[TextWithObjective]:
    """Return the text of a run, or each text of a mixture. A text without its own objective has the run's objective."""
    from cse.data.mixture import Mixture

    data: Text | Mixture = make(cfg.data)
    chosen = OmegaConf.select(cfg, "choices") or OmegaConf.select(cfg, "hydra.runtime.choices") or {}  # a planned job
    choice = chosen.get("objective")
    if not isinstance(data, Mixture):
        settings = for_columns(cfg.objective, data.num_columns)
        return [TextWithObjective(None, data, cfg.data, settings, "objective", choice)]
    texts = []
    for name, text in data.sources.items():
        node = cfg.data.sources[name]
        chosen, key = node.objective, f"data.sources.{name}.objective"
        if chosen is None:
            chosen, key = cfg.objective, "objective"
        settings = for_columns(chosen, text.num_columns)
        with read_write(settings), open_dict(settings):
            settings.pop("_partial_", None)
            for setting in ("widths", "width_weights"):  # all texts share one embedding, so also its widths
                settings[setting] = cfg.objective.get(setting)
        texts.append(TextWithObjective(name, text, node, settings, key, choice))
    return texts


def for_columns(objective: DictConfig, columns: int) -> DictConfig:
    """Return an objective's settings for text of this number of columns. A null num_views becomes max(2, columns)."""
    own = objective.copy()
    if "num_views" in own and own.num_views is None:
        with read_write(own):
            own.num_views = max(2, columns)
    return own
