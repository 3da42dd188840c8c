"""Refuse settings and parts that do not fit together, before any work. The functions are in the order of build.py:

check_combination       checks settings alone
check_text              checks a text with its objective and the batch size
check_views             checks a text with its objective and the augmentation
check_one_column        checks a text of one column with its objective and the augmentation
check_source_objective  checks the objective of a mixture's source
check_objective         checks an objective with the encoder
check_encoder           checks the encoder with the maximum length, the augmentation and the evaluators
check_widths            checks the encoder's width with the evaluators
check_prompts           checks the encoder's prompts with the evaluators
check_aux               checks the encoder with a second modality
check_memory            checks objective.memory_size, a number of stored vectors, with the batches of a text
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import UserError
from cse.lab.settings.references import naming_user_keys
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # importing torch is slow
    from collections.abc import Mapping

    from omegaconf import DictConfig

    from cse.data.loader import Batches
    from cse.lab.run.texts import TextWithObjective
    from cse.model.encoder import Encoder
    from cse.types import Augmentation, Evaluator, Objective

log = logging.getLogger(__name__)


def check_combination(cfg: DictConfig) -> None:
    """Refuse settings that contradict each other, and warn that trainer.accumulate adds no negatives."""
    from cse.model.export import check_exportable

    if cfg.trainer.chunk is not None and cfg.trainer.chunk_tokens is not None:
        raise UserError("trainer.chunk and trainer.chunk_tokens both split a batch: leave one of them null")
    if cfg.model.pooling is not None:
        with naming_user_keys(cfg.model):
            check_exportable(cfg.model.pooling)
    if cfg.aux_modality and "_target_" not in cfg.aux_modality:  # variant=released sets keys of a missing modality
        raise UserError(f"aux_modality=none has no {', '.join(cfg.aux_modality)}: choose aux_modality=visual or audio")
    if cfg.trainer.accumulate > 1:
        log.warning(
            "trainer.accumulate adds no negatives, and no rows to batch statistics; a larger trainer.batch_size adds "
            "both, with trainer.chunk if the memory is short"
        )


def check_text(learned: TextWithObjective, batch_size: int) -> None:
    """Refuse a batch with too few rows for the loss.

    Also refuse text without scores for an objective that learns from scores, and text with scores for other objectives.
    """
    text, objective, key = learned.text, learned.objective, learned.text_key
    name = learned.described_objective
    if batch_size < objective.min_rows:
        raise UserError(f"trainer.batch_size={batch_size}: {name} needs {objective.min_rows} rows or more in a batch")
    if text.scores is not None and not objective.reads_scores:
        raise UserError(
            f"{key}.scores={text.scores.name}: {name} ignores scores: use "
            f"objective=cosent, angle or cosine, which learn from scores, or set {key}.scores=null"
        )
    if text.scores is None and objective.reads_scores:
        raise UserError(
            f"{name} learns from a score for each row: set {key}.scores=COLUMN (a column of "
            f"{learned.described}) and {key}.score_range=[LOWEST,HIGHEST] (the ends of the scale, such as [0,5])"
        )


def check_views(learned: TextWithObjective, augmentation: Augmentation) -> None:
    """Refuse views that the objective cannot read, or that the augmentation cannot make from the text's columns.

    This check does not read the text.
    """
    text, objective = learned.text, learned.objective
    name, columns, views = learned.described_objective, text.num_columns, learned.num_views
    wants = f"{name} needs {views} view{'s' * (views > 1)} of a row"
    if augmentation.positives > 1 and views > 1 and not objective.averages_positives:
        raise UserError(
            f"{name} takes one positive per anchor: set augmentation.positives=1, not {augmentation.positives}"
        )
    if augmentation.positives > 1 and columns > 1:
        raise UserError(
            f"augmentation.positives={augmentation.positives} needs text of one column, but {learned.described} has "
            f"{columns} columns: set augmentation.positives=1, or one column in {learned.text_key}.columns"
        )
    if columns == 1:
        check_one_column(learned, augmentation)
    elif columns < views:
        fewer = f"{wants}, but {learned.described} has {columns} columns: use data with one or {views} columns"
        if "num_views" in learned.objective_settings:
            fewer += f", or {learned.objective_key}.num_views={columns}"
        raise UserError(fewer)
    elif views > 2 and text.name in DATASETS and not objective.further_are_negatives:
        raise UserError(
            f"{wants} with the same meaning, but the third column of {learned.described} is a hard negative: use two "
            f"views of its first two columns, {learned.text_key}.columns=[{','.join(text.column_names[:2])}]"
        )
    kind = type(augmentation).__name__.lower()
    if augmentation.keeps_first and views == 1:
        one = f"augmentation={kind} never changes the first view"
        raise UserError(f"{wants}, but {one}: use another augmentation")
    if augmentation.max_views is not None and views > augmentation.max_views:
        most = f"augmentation={kind} makes at most {augmentation.max_views}"
        raise UserError(f"{wants}, but {most}: use another augmentation")


def check_one_column(learned: TextWithObjective, augmentation: Augmentation) -> None:
    """Refuse text of one column if each view needs a column of its own."""
    text, objective, views = learned.text, learned.objective, learned.num_views
    wants = f"{learned.described_objective} needs {views} views of a row"
    has_one = f"but {learned.described} has one column"
    if objective.pairs_texts:
        why = f"{wants}, each from its own column, {has_one}: use data with {views} columns"
    elif views > 2 and objective.further_are_negatives:
        why = (
            f"{wants} (the third is a hard negative), {has_one}: use {learned.objective_key}.num_views=2, or data with "
            f"{views} columns"
        )
    elif views > 1 and augmentation.needs_columns:
        why = (
            f"{wants}, and with augmentation=none each view is a column, {has_one}: use "
            f"augmentation=dropout (as SimCSE does), or data with {views} columns"
        )
    else:
        return
    if text.path and text.columns is None and Path(text.path).expanduser().exists():
        learned.find()  # raises an error that names the columns, if the file has any
    raise UserError(why)


def check_source_objective(objective: Objective, key: str) -> None:
    """Refuse an objective with a head that stays at test time, or with a momentum encoder: a mixture has one embedding.

    key: the key of the objective's settings.
    """
    if objective.test_head() is not None:
        raise UserError(
            f"{key}: its head would stay at test time, but all sources share one embedding: set {key}.keep_head=false, "
            f"or {key}.head=null for no head at all"
        )
    if objective.momentum is not None:
        raise UserError(f"{key}: a mixture of sources cannot have an objective with a momentum encoder")


def check_objective(objective: Objective, encoder: Encoder, has_idle_lm_head: bool) -> None:
    """Refuse an objective whose head, teachers or masks do not fit the encoder.

    has_idle_lm_head: whether model.lm_head names a language-model head although no objective of the run masks tokens.
    """
    from cse.model.export import check_head
    from cse.training.teacher import check_teachers

    kept = objective.test_head()
    if kept is not None:
        check_head(kept, encoder.dim)
    check_teachers(objective)
    if objective.masking == "first" and encoder.pooling == "mask":
        why = "this loss masks tokens, so a row would have several mask tokens: use another pooling"
        raise UserError(f"model.pooling=mask: {why}")
    if encoder.denoising is not None and kept is not None:
        raise UserError(
            "model.denoise applies only in training, so a head trained with denoising cannot stay at test time: "
            "set objective.keep_head=false"
        )
    if has_idle_lm_head:
        raise UserError(
            "model.lm_head has no effect, because no objective of this run masks tokens (objective.mlm_weight=0.1 "
            "makes SimCSE mask)"
        )


def check_encoder(
    cfg: DictConfig,
    encoder: Encoder,
    objective: Objective,
    augmentation: Augmentation,
    texts: list[TextWithObjective],
) -> None:
    """Refuse a maximum length or an evaluated width that is too large for the encoder, and equal views of a text."""
    encoder.tokenizer.check_length("trainer.max_length", cfg.trainer.max_length)
    for learned in texts:
        repeats_text = learned.text.num_columns == 1 and objective.of(learned.name).num_views > 1
        if repeats_text and augmentation.keeps_text and encoder.dropout == 0:
            raise UserError(
                f"model.name={cfg.model.name} trains without dropout, so the views of a sentence would be equal: set "
                "augmentation=dropout augmentation.p=0.1, or an augmentation that changes the text "
                "(augmentation=shuffle)"
            )
    check_widths(cfg.get("eval"), encoder.vector_length)


def check_widths(evaluators: DictConfig | None, width: int) -> None:
    """Refuse eval.NAME.widths above the width of the embeddings, which would otherwise fail at the end of the run."""
    for name, node in (evaluators or {}).items():
        widths = node.get("widths") or []
        if max(widths, default=0) > width:
            raise UserError(f"eval.{name!s}.widths={[*widths]}: the embeddings have only width {width}")


def check_prompts(evaluators: Mapping[str, Evaluator], encoder: Encoder) -> None:
    """Refuse a retrieval task if the encoder has prompts for queries or documents, but its pooling leaves them out."""
    from cse.types import Document, Query

    for name, evaluator in evaluators.items():
        if evaluator.searches:
            try:
                encoder.check_prompts((Query, Document))
            except UserError as error:
                error.why = f"eval.{name} puts prompts before queries and documents: {error.why}"
                raise


def check_aux(name: str, encoder: Encoder) -> None:
    """Refuse an encoder that cannot read images or sound. name: model.name."""
    if not encoder.takes_embeddings:
        raise UserError(f"model.name={name}: its layers accept no embeddings of images or sound: use another model")
    if encoder.dim != encoder.width:
        raise UserError(
            f"model.name={name}: its dense head changes the width from {encoder.width} to {encoder.dim}, but a second "
            "modality needs one width: set model.pooling, which drops the head"
        )


def check_memory(objective: Objective, batches: Batches, epochs: float) -> None:
    """Warn if objective.memory_size is so large that a batch meets vectors of its own rows from the previous epoch."""
    if not objective.memory_size or epochs <= 1:
        return
    rows, batch = len(batches.row_numbers), batches.batch_size
    if objective.reads_rows:
        most, why = rows - batch, "the memory has older vectors of a batch's own rows, which the loss ignores"
    else:  # DeCLUTR's memory has an anchor and a positive for each span
        spans = batches.views.unmasked(batches.row_numbers[:1], 0)[0]
        why = "the memory has spans of a batch's own documents, which count as negatives"
        most = (rows - batch) * 2 * len(spans)
    if objective.memory_size > most:
        log.warning("objective.memory_size=%d is too large for %d rows. From the second epoch on, %s. Use %d at most",
                    objective.memory_size, rows, why, most)  # fmt: skip
