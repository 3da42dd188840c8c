"""What a run learns from: one text, or the sources of data=mixture, each with the objective that learns from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omegaconf import DictConfig, open_dict, read_write

from cse.errors import UserError

if TYPE_CHECKING:  # importing torch is slow
    from cse.data.mixture import Mixture
    from cse.data.text import Text
    from cse.types import Objective


@dataclass(frozen=True)
class TextWithObjective:
    """A text, and the objective that learns from it, by its settings.

    name: of a source of a mixture; None for a run's only text. data, objective: the settings of the two. key: of the
    objective's settings, as a user types it.
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


def sources_of(cfg: DictConfig, data: Text | Mixture) -> list[TextWithObjective]:
    """The text of a run whose data is made, or each text of a mixture. A source without an objective has the run's."""
    from cse.data.mixture import Mixture

    if not isinstance(data, Mixture):
        return [TextWithObjective(None, data, cfg.data, for_columns(cfg.objective, data.num_columns), "objective")]
    sources = []
    for name, text in data.sources.items():
        node = cfg.data.sources[name]
        chosen, key = node.objective, f"data.sources.{name}.objective"
        if chosen is None:
            chosen, key = cfg.objective, "objective"
        settings = for_columns(chosen, text.num_columns)
        with read_write(settings), open_dict(settings):
            settings.pop("_partial_", None)
            for setting in ("widths", "width_weights"):  # of the embedding, which all sources share
                settings[setting] = cfg.objective.get(setting)
        sources.append(TextWithObjective(name, text, node, settings, key))
    return sources


def for_columns(objective: DictConfig, columns: int) -> DictConfig:
    """An objective's settings for text of so many columns: with num_views=null each column is a view."""
    own = objective.copy()
    if "num_views" in own and own.num_views is None:
        with read_write(own):
            own.num_views = max(2, columns)
    return own


def check_in_mixture(objective: Objective, source: TextWithObjective) -> None:
    """Refuse what a mixture cannot have: a head that stays, as there is one embedding, and a second encoder."""
    if objective.test_head() is not None:
        raise UserError(
            f"{source.key}: its head would stay at test time, and all sources train one embedding: set "
            f"{source.key}.keep_head=false, or {source.key}.head=null for none in training either"
        )
    if objective.momentum is not None:
        raise UserError(f"{source.key}: a second encoder that follows the first is not for a mixture of sources")
