"""Refuse settings and parts that do not fit each other, before any work: in the order in which `build` asks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import UserError, within
from cse.lab.settings.references import naming_user_keys
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from cse.data.loader import Batches
    from cse.data.text import Text
    from cse.lab.run.texts import TextWithObjective
    from cse.model.encoder import Encoder
    from cse.types import Augmentation, Objective, Settings

log = logging.getLogger(__name__)


def check_combination(cfg: DictConfig) -> None:
    """Refuse settings that contradict each other, and warn of one that does less than its name says."""
    from cse.model.export import check_exportable

    if cfg.trainer.chunk is not None and cfg.trainer.chunk_tokens is not None:
        raise UserError("trainer.chunk and trainer.chunk_tokens both cut a batch: leave one of them null")
    if cfg.model.pooling is not None:
        with naming_user_keys(cfg.model):
            check_exportable(cfg.model.pooling)
    if cfg.aux_modality and "_target_" not in cfg.aux_modality:  # of variant=released without the modality it varies
        raise UserError(f"aux_modality=none has no {', '.join(cfg.aux_modality)}: choose aux_modality=visual or audio")
    if cfg.trainer.accumulate > 1:
        log.warning("trainer.accumulate averages batches: it adds no negatives or statistics; trainer.chunk does")


def check_rows(batch_size: int, objective: type[Objective]) -> None:
    """Refuse a batch of fewer rows than the loss compares, or takes statistics over."""
    if batch_size < objective.min_rows:
        raise UserError(f"trainer.batch_size={batch_size}: {objective.__name__} compares {objective.min_rows} or more")


def check_score_column(text: Text, objective: type[Objective], key: str = "data") -> None:
    """Refuse text without scores for an objective that learns from them, and scores for one that would ignore them.
    key: of the text's settings."""
    if not objective.reads_scores and text.scores is not None:
        raise UserError(
            f"{key}.scores={text.scores.name}: {objective.__name__} reads no scores: every row would train alike; "
            f"objective=cosent, angle or cosine learn from them, {key}.scores=null leaves them unread"
        )
    if objective.reads_scores and text.scores is None:
        raise UserError(
            f"{objective.__name__} learns from a number beside each row: {key}.scores=COLUMN names the column of "
            f"data={text.name} that has it, {key}.score_range=[0,1] the ends of its scale"
        )


def check_views(augmentation: Augmentation, text: Text, objective: type[Objective], settings: Settings) -> None:
    """Refuse views that the objective cannot take, or that the augmentation cannot make of the text's columns.

    The text need not have been read. settings: the objective's.
    """
    wanted = objective.views_of(settings)
    check_positives(augmentation, text, objective, wanted)
    check_text_columns(augmentation, text, objective, wanted=wanted, is_chosen="num_views" in settings)
    check_made_views(augmentation, objective, wanted)


def check_positives(augmentation: Augmentation, text: Text, objective: type[Objective], wanted: int) -> None:
    """Refuse several positives for an objective that pairs one with one, and beside columns."""
    if augmentation.positives <= 1:
        return
    if wanted > 1 and not objective.averages_positives:
        raise UserError(f"{objective.__name__} pairs one text with one: set augmentation.positives=1")
    if text.num_columns > 1:
        raise UserError(
            f"augmentation.positives={augmentation.positives} are of one text, and data={text.name} has "
            f"{text.num_columns} columns: set augmentation.positives=1, or one column in data.columns"
        )


def check_text_columns(
    augmentation: Augmentation, text: Text, objective: type[Objective], *, wanted: int, is_chosen: bool
) -> None:
    """Refuse fewer columns than views, and a column that is no view. is_chosen: whether objective.num_views sets it."""
    views = wanted_views(objective, wanted)
    why, instead = needs_columns(augmentation, objective, wanted)
    if why and text.num_columns == 1:
        if text.path and text.columns is None and Path(text.path).expanduser().exists():
            with within("data"):
                text.find()  # raises an error that names the columns, if the file has any
        raise UserError(f"{views}, {why}, but data={text.name} has one column: use {instead}data with {wanted} columns")
    if 1 < text.num_columns < wanted:
        fewer = f", or objective.num_views={text.num_columns}" if is_chosen else ""
        raise UserError(
            f"{views}, but data={text.name} has {text.num_columns} columns: use data with one or {wanted}{fewer}"
        )
    if wanted > 2 and text.num_columns > 2 and text.name in DATASETS and not objective.further_are_negatives:
        raise UserError(
            f"{views}, all of them alike, but the third column of data={text.name} is a hard negative: use two views "
            f"of its first two columns, data.columns=[{','.join(text.column_names[:2])}]"
        )


def check_made_views(augmentation: Augmentation, objective: type[Objective], wanted: int) -> None:
    """Refuse an augmentation that leaves the only view as it is, or makes fewer views."""
    views, kind = wanted_views(objective, wanted), type(augmentation).__name__.lower()
    if augmentation.keeps_first and wanted == 1:
        raise UserError(f"{views}, which augmentation={kind} leaves as it is: use another augmentation")
    if augmentation.max_views is not None and wanted > augmentation.max_views:
        raise UserError(f"{views}, and augmentation={kind} makes {augmentation.max_views}: use another augmentation")


def wanted_views(objective: type[Objective], wanted: int) -> str:
    """How every refusal about views begins."""
    return f"{objective.__name__} wants {wanted} views of a row"


def needs_columns(augmentation: Augmentation, objective: type[Objective], wanted: int) -> tuple[str, str]:
    """(why each view must be a column of its own, what to use instead), both "" if one column will do."""
    if objective.pairs_texts:
        return "each another text", ""
    if wanted > 2 and objective.further_are_negatives:
        return "the third a hard negative", "objective.num_views=2, or "
    if wanted > 1 and augmentation.needs_columns:
        return "and augmentation=none takes each from a column", "augmentation=dropout (as SimCSE does), or "
    return "", ""


def check_in_mixture(objective: Objective, key: str) -> None:
    """Refuse what a mixture cannot have: a head that stays, as there is one embedding, and a second encoder.

    key: of the objective's settings.
    """
    if objective.test_head() is not None:
        raise UserError(
            f"{key}: its head would stay at test time, and all sources train one embedding: set {key}.keep_head=false, "
            f"or {key}.head=null for none in training either"
        )
    if objective.momentum is not None:
        raise UserError(f"{key}: a second encoder that follows the first is not for a mixture of sources")


def check_objective(objective: Objective, encoder: Encoder, lm_head: bool) -> None:
    """Refuse an objective whose head, teachers or masks the encoder cannot have. lm_head: whether model.lm_head names a
    language-model head."""
    from cse.model.export import check_head
    from cse.training.teacher import check_teachers

    kept = objective.test_head()
    if kept is not None:
        check_head(kept, encoder.dim)
    check_teachers(objective)
    if objective.masking == "first" and encoder.pooling == "mask":
        raise UserError("model.pooling=mask: the loss masks tokens in the very rows whose mask token is the embedding")
    if encoder.denoising is not None and kept is not None:
        raise UserError(
            "model.denoise applies in training only, and its head was trained with it: objective.keep_head=false"
        )
    if objective.masking == "none" and lm_head:
        raise UserError("model.lm_head: the objective masks nothing here (objective.mlm_weight=0.1 makes SimCSE mask)")


def check_with_encoder(
    cfg: DictConfig,
    encoder: Encoder,
    objective: Objective,
    augmentation: Augmentation | None,
    *,
    texts: list[TextWithObjective],
) -> None:
    """Refuse what this encoder does not allow: a length, equal views, widths. augmentation: None if it is missing."""
    encoder.tokenizer.check_length("trainer.max_length", cfg.trainer.max_length)
    if augmentation is not None:
        for learned in texts:
            check_dropout(cfg.model.name, encoder, augmentation, learned.text, objective.of(learned.name))
    check_scored_widths(cfg.get("eval"), encoder.vector_length)


def check_dropout(name: str, encoder: Encoder, augmentation: Augmentation, text: Text, objective: Objective) -> None:
    """Refuse equal views: the same unchanged text, through an encoder without dropout."""
    unchanged = augmentation.keeps_text and text.num_columns == 1
    if unchanged and objective.num_views > 1 and encoder.dropout == 0:
        raise UserError(
            f"model.name={name} trains without dropout, so the views of a sentence would be equal: set "
            "augmentation=dropout augmentation.p=0.1, or an augmentation that changes the text (augmentation=shuffle)"
        )


def check_scored_widths(evaluators: DictConfig | None, dim: int) -> None:
    """Refuse eval.NAME.widths above the embeddings' own, which would otherwise fail at the very end of a run."""
    for name, node in (evaluators or {}).items():
        widths = node.get("widths") or []
        if max(widths, default=0) > dim:
            raise UserError(f"eval.{name!s}.widths={[*widths]}: the embeddings are only {dim} wide")


def check_aux(name: str, encoder: Encoder) -> None:
    """Refuse an encoder into which no images or sound can enter. name: model.name."""
    if not encoder.takes_embeddings:
        raise UserError(f"model.name={name}: its layers take no embeddings of images or sound: use another model")
    if encoder.dim != encoder.width:
        raise UserError(
            f"model.name={name}: its dense head makes {encoder.dim} numbers of {encoder.width}, and a second modality "
            "enters as wide as it leaves: set model.pooling, which drops the head"
        )


def check_memory(objective: Objective, batches: Batches, epochs: float) -> None:
    """Warn of a memory that still holds vectors of a batch's own rows, as in an epoch before."""
    if not objective.memory_size or epochs <= 1:
        return
    rows, batch = len(batches.row_numbers), batches.batch_size
    what, kept = "a row's own copies in it are no negatives of the row", 1
    if not objective.reads_rows:  # DeCLUTR's, of anchors and their positives
        spans = batches.views.unmasked(batches.row_numbers[:1], 0)[0]
        what, kept = "spans of a row's own document in it are negatives", 2 * len(spans)
    if objective.memory_size > (most := (rows - batch) * kept):
        log.warning("objective.memory_size=%d is more than an epoch of %d rows: from the second on, %s; %d holds none",
                    objective.memory_size, rows, what, most)  # fmt: skip
