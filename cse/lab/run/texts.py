"""What a run learns from: one text, or the texts of data=mixture, each with the objective that learns from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omegaconf import DictConfig, open_dict, read_write

if TYPE_CHECKING:  # importing torch is slow
    from cse.data.mixture import Mixture
    from cse.data.text import Text
    from cse.types import Objective


@dataclass(frozen=True)
class TextWithObjective:
    """A text, and the objective that learns from it, by its settings.

    name: in data.sources; None for a run's only text. data, objective: the settings of the two. key: of the objective's
    settings, as a user gives it.
    """

    name: str | None
    text: Text
    data: DictConfig
    objective: DictConfig
    key: str

    @property
    def kind(self) -> type[Objective]:
        """The objective's class."""
        from hydra.utils import get_class

        return get_class(self.objective._target_)

    @property
    def required(self) -> int | None:
        """How many columns must have a text in each row: a hard negative may be missing. None: all."""
        return 2 if self.kind.further_are_negatives else None


def texts_with_objectives(cfg: DictConfig, data: Text | Mixture) -> list[TextWithObjective]:
    """The text of a run, or each text of a mixture. One without an objective of its own has the run's."""
    from cse.data.mixture import Mixture

    if not isinstance(data, Mixture):
        return [TextWithObjective(None, data, cfg.data, for_columns(cfg.objective, data.num_columns), "objective")]
    texts = []
    for name, text in data.sources.items():
        node = cfg.data.sources[name]
        chosen, key = node.objective, f"data.sources.{name}.objective"
        if chosen is None:
            chosen, key = cfg.objective, "objective"
        settings = for_columns(chosen, text.num_columns)
        with read_write(settings), open_dict(settings):
            settings.pop("_partial_", None)
            for setting in ("widths", "width_weights"):  # of the embedding, which all texts share
                settings[setting] = cfg.objective.get(setting)
        texts.append(TextWithObjective(name, text, node, settings, key))
    return texts


def for_columns(objective: DictConfig, columns: int) -> DictConfig:
    """An objective's settings for text of so many columns: with num_views=null each column is a view."""
    own = objective.copy()
    if "num_views" in own and own.num_views is None:
        with read_write(own):
            own.num_views = max(2, columns)
    return own
