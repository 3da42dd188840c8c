"""Parts that do not go together, said before any work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from cse.data.text import Text
    from cse.model.encoder import Encoder
    from cse.types import Augmentation, Objective, Settings


def check_rows(batch_size: int, objective: type[Objective]) -> None:
    """Refuse a batch of one row for a loss that compares rows, or takes statistics over them."""
    if batch_size < objective.min_rows:
        raise UserError(
            f"trainer.batch_size={batch_size}: {objective.__name__} compares the rows of a batch, of which there "
            f"must be at least {objective.min_rows}"
        )


def check_scores(text: Text, objective: type[Objective]) -> None:
    """Refuse text without scores for an objective that learns from them."""
    if "targets_B" in objective.reads and text.scores is None:
        raise UserError(
            f"{objective.__name__} learns from a number beside each row: data.scores=COLUMN names the column of "
            f"data={text.name} that has it, data.score_range=[0,1] the ends of its scale"
        )


def check_views(augmentation: Augmentation, text: Text, objective: type[Objective], settings: Settings) -> None:
    """Refuse spans where an objective pairs rows one with one, more views than there can be of a row, and fewer columns
    than views where each view has its own. The text need not have been read. settings: the objective's."""
    name, num_views = objective.__name__, objective.views_of(settings)
    if augmentation.positives > 1 and num_views > 1 and not objective.averages_positives:
        raise UserError(
            f"{name} pairs one text with one, but augmentation.positives={augmentation.positives} spans go with each "
            "anchor: set augmentation.positives=1"
        )
    if augmentation.needs_columns and text.num_columns == 1 and num_views > 1:
        if text.path and text.columns is None and Path(text.path).expanduser().exists():
            text.find()  # which names the columns of a file that has some
        raise UserError(
            f"augmentation=none makes each view from a column of its own, and data={text.name} has one column: use "
            f"augmentation=dropout (SimCSE) for it, or data with {num_views} columns"
        )
    if 1 < text.num_columns < num_views:
        fewer = f", or set objective.num_views={text.num_columns}" if "num_views" in settings else ""
        raise UserError(
            f"{name} wants {num_views} views of a row, but data={text.name} has {text.num_columns} columns: "
            f"use data with one column or with {num_views}{fewer}"
        )
    max_views = augmentation.max_views
    if max_views is not None and num_views > max_views:
        raise UserError(
            f"{name} wants {num_views} views of a row, and {type(augmentation).__name__.lower()} makes {max_views}: "
            f"use another augmentation, or an objective of {max_views} views"
        )


def check_dropout(name: str, encoder: Encoder, augmentation: Augmentation, text: Text, objective: Objective) -> None:
    """Refuse views that would be equal: the same text, unchanged, through an encoder without dropout."""
    unchanged = augmentation.keeps_text and text.num_columns == 1
    if unchanged and objective.num_views > 1 and encoder.dropout == 0:
        raise UserError(
            f"model.name={name} trains without dropout, so {objective.num_views} views of a sentence would be equal: "
            "set augmentation=dropout augmentation.p=0.1, or choose an augmentation that changes the text "
            "(augmentation=shuffle)"
        )


def check_scored_widths(evaluators: DictConfig | None, dim: int) -> None:
    """Refuse eval.NAME.widths that the vectors do not have, before they are made: test scores come at the very end."""
    for name, node in (evaluators or {}).items():
        widths = node.get("widths") or []
        if max(widths, default=0) > dim:
            raise UserError(f"eval.{name!s}.widths={[*widths]}: the embeddings are {dim} wide: give none above that")
