"""From settings to the parts of a training. Read `build`, then how each part is made, in its order.

Every part is tried (cse.lab.run.instantiate), so that one error names all that is missing. cse.lab.run.compatible
refuses what does not fit together, if possible before anything is downloaded or read.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from omegaconf import DictConfig, open_dict, read_write

from cse.errors import MissingResource, UserError, within
from cse.lab.run.compatible import (
    check_aux,
    check_combination,
    check_in_mixture,
    check_memory,
    check_objective,
    check_rows,
    check_score_column,
    check_scored_widths,
    check_views,
    check_with_encoder,
)
from cse.lab.run.evaluators import build_evaluators
from cse.lab.run.instantiate import Attempts, call, make
from cse.lab.run.texts import TextWithObjective, texts_with_objectives
from cse.sources.hub import cache_only

if TYPE_CHECKING:  # importing torch is slow, and --help does not need it
    from accelerate import Accelerator
    from torch import nn

    from cse.data.loader import Batches, Steps
    from cse.data.rows import TextRows
    from cse.data.views import Mask
    from cse.model.encoder import Encoder
    from cse.training.settings import Parts, Trainer
    from cse.training.teacher import Teachers
    from cse.types import Augmentation, AuxModality, Objective

log = logging.getLogger(__name__)

UNRECORDED: Final = "cls"  # the pooling of the papers, in training, of an encoder that records none


def build(cfg: DictConfig, accelerator: Accelerator) -> Parts:
    """Make and prepare every part. Raises UserError, or one MissingResource for all that is missing."""
    from cse.training.settings import Parts

    attempt = Attempts()
    trainer, augmentation, texts = parts_before_encoder(cfg, attempt)
    pair = attempt(lambda: encoder_and_objective(cfg, augmentation, texts))
    evaluators = attempt(lambda: build_evaluators(None if cfg.data.preview else cfg.get("eval")))
    aux = None
    if pair is not None:
        check_with_encoder(cfg, *pair, augmentation, texts=texts)
        aux = attempt(lambda: build_aux(cfg, *pair))
    finds = [attempt(partial(call, learned.data, learned.text.find)) for learned in texts]
    encoder, objective = attempt.found(pair)
    augmentation, evaluators = attempt.found(augmentation), attempt.found(evaluators)
    rows = []
    for learned, find in zip(texts, finds, strict=True):  # a corpus may be many gigabytes
        rows.append(call(learned.data, partial(learned.text.read, attempt.found(find), learned.required)))
    batches = make_batches(cfg, encoder, objective, augmentation, texts=texts, rows=rows, accelerator=accelerator)
    return Parts(trainer, encoder, objective, augmentation, batches, aux, evaluators)


def parts_before_encoder(
    cfg: DictConfig, attempt: Attempts
) -> tuple[Trainer, Augmentation | None, list[TextWithObjective]]:
    """The parts that need no encoder, each with the others; None for an augmentation that is missing.

    Raises UserError before anything is downloaded or read.
    """
    check_combination(cfg)
    trainer: Trainer = make(cfg.trainer)
    augmentation: Augmentation | None = attempt(lambda: make(cfg.augmentation))
    texts = texts_with_objectives(cfg, make(cfg.data))
    for learned in texts:
        check_rows(trainer.batch_size, learned.kind)
        check_score_column(learned.text, learned.kind, learned.data._get_full_key(None))
        if augmentation is not None:
            check_views(augmentation, learned.text, learned.kind, learned.objective)
    return trainer, augmentation, texts


def encoder_and_objective(
    cfg: DictConfig, augmentation: Augmentation | None, texts: list[TextWithObjective]
) -> tuple[Encoder, Objective]:
    """Make the two parts that need each other: the objective's width is the encoder's, and whether the encoder has a
    language-model head depends on the objective. If that masks, both are made again, the encoder now with its head.
    """
    dropout = None if augmentation is None else augmentation.model_dropout
    encoder, objective = make_pair(cfg, dropout, texts, mlm=False)
    if objective.masking != "none":
        encoder, objective = make_pair(cfg, dropout, texts, mlm=True)
    kept = objective.test_head()
    if kept is not None and kept is objective.head:
        take_over_head(encoder, kept)
    return encoder, objective


def make_pair(
    cfg: DictConfig, dropout: float | None, texts: list[TextWithObjective], mlm: bool
) -> tuple[Encoder, Objective]:
    """An encoder, and an objective for its width. dropout: of the encoder in training, None for its own. texts: each
    has an objective. mlm: whether the encoder has its language-model head."""
    from accelerate.utils import set_seed

    set_seed(cfg.seed)  # the same new weights (heads, projectors, patch embeddings) in every process
    encoder: Encoder = make(cfg.model, dropout=dropout, mlm=mlm, unrecorded=UNRECORDED)
    objective = make_objectives(texts, encoder.dim)
    is_idle = bool(cfg.model.get("lm_head")) and objective.masking == "none"  # in a mixture, none masks
    for learned in texts:
        with within(learned.key):
            check_objective(objective.of(learned.name), encoder, lm_head=is_idle)
    return encoder, objective


def make_objectives(texts: list[TextWithObjective], dim: int) -> Objective:
    """The objective of a run's text, or one for each text of a mixture, with parameters of its own."""
    from cse.objective.by_source import BySource

    made: dict[str, Objective] = {}
    for learned in texts:
        objective = make_objective(learned.objective, dim)
        if learned.name is None:
            return objective
        check_in_mixture(objective, learned.key)
        made[learned.name] = objective
    return BySource(made)


def make_objective(node: DictConfig, dim: int) -> Objective:
    """The objective for an encoder `dim` wide; at several widths if objective.widths is set."""
    from cse.objective.matryoshka import Matryoshka

    own = node.copy()
    with read_write(own), open_dict(own):
        widths, weights = own.pop("widths", None), own.pop("width_weights", None)
    if widths is None and weights is not None:
        raise UserError(f"objective.width_weights={weights} needs objective.widths")
    if widths is None:
        return make(own, dim=dim)
    return call(node, partial(Matryoshka, dim, partial(make, own), widths, weights))


def take_over_head(encoder: Encoder, kept: nn.Module) -> None:
    """Give a head that the objective keeps the weights of the one that the checkpoint ends in, if both are SimCSE's: a
    run that continues another starts where that ended, and does not put a second head on the first."""
    from torch import nn

    from cse.model.export import linear_of
    from cse.model.heads import MLPHead, is_mlp_head

    if encoder.head is not None and isinstance(kept, MLPHead) and is_mlp_head(encoder.head[-1], encoder.dim):
        kept.linear.load_state_dict(linear_of(encoder.head[-1]).state_dict())
        kept.is_trained = True
        rest = [*encoder.head][:-1]
        encoder.head = nn.Sequential(*rest) if rest else None
        log.info("head       of the checkpoint: it is trained on as the objective's own, and kept")


def build_aux(cfg: DictConfig, encoder: Encoder, objective: Objective) -> AuxModality | None:
    """The second modality, bound to the objective's head in case it shares it; None for text alone, and for a preview,
    which neither trains nor scores."""
    if not cfg.aux_modality or cfg.data.preview:
        return None
    check_aux(cfg.model.name, encoder)
    aux: AuxModality = make(cfg.aux_modality, dim=encoder.dim)
    if aux.needs_dropout and encoder.dropout == 0:
        log.warning(
            "aux        both views of a clip are equal: only dropout makes them differ, and the encoder trains without "
            "(augmentation.model_dropout=0.1)"
        )
    call(cfg.aux_modality, partial(aux.bind, text_head=objective.head))
    return aux


def make_batches(
    cfg: DictConfig,
    encoder: Encoder,
    objective: Objective,
    augmentation: Augmentation,
    *,
    texts: list[TextWithObjective],
    rows: list[TextRows],
    accelerator: Accelerator,
) -> Steps:
    """This process's batches: of the text, or of the texts of a mixture in turn. rows: of each text.

    The augmentation and the mask first get the encoder's tokenizer.
    """
    from cse.data.mixture import MixedBatches
    from cse.training.teacher import Teachers

    mask = make(cfg.masking)
    if objective.masking != "none":
        mask.bind(encoder.tokenizer.hf)
    augmentation.bind(encoder.tokenizer.hf)
    batches = {}
    for learned, own in zip(texts, rows, strict=True):
        learner, teacher = objective.of(learned.name), None
        if learner.teachers and not cfg.data.preview:  # before the encoder takes memory for its gradients
            with within(learned.key):
                teacher = Teachers(learner, own, accelerator.device, dry=cfg.dry_run)
        batches[own.name] = batches_of(
            cfg, encoder, learner, augmentation, mask=mask.masked, text=own, teacher=teacher, accelerator=accelerator
        )
    return MixedBatches(batches, cfg.data.weights) if "sources" in cfg.data else batches[rows[0].name]


def batches_of(
    cfg: DictConfig,
    encoder: Encoder,
    objective: Objective,
    augmentation: Augmentation,
    *,
    mask: Mask,
    text: TextRows,
    teacher: Teachers | None,
    accelerator: Accelerator,
) -> Batches:
    """This process's batches of one text. objective: the one that learns from it. teacher: the objective's, if any."""
    from cse.data.loader import Batches
    from cse.data.views import Views

    tokenizer = encoder.tokenizer
    max_length = cfg.trainer.max_length + tokenizer.template_length
    if augmentation.level == "tokens":
        text = text.tokenized(tokenizer, max_length)
    views = Views(
        text,
        tokenizer,
        augmentation,
        num_views=objective.num_views,
        masking=objective.masking,
        mask=mask,
        max_length=max_length,
        seed=cfg.seed,
    )
    batches = Batches(
        views,
        batch_size=accelerator.num_processes if cfg.data.preview else cfg.trainer.batch_size,  # which a preview lacks
        drop_last=cfg.trainer.drop_last,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
        no_duplicates=cfg.trainer.no_duplicates,
        min_rows=objective.min_rows,
        reads_rows=objective.reads_rows,
        teacher=teacher,
    )
    check_memory(objective, batches, cfg.trainer.epochs)
    if augmentation.level == "text":
        views.check_texts(batches.row_numbers)
    return batches


def rehearse(cfg: DictConfig) -> None:
    """Make a run's parts, its augmentation and its objective with no numbers in it, for the width that the encoder's
    files say.

    Raises the UserError that the run would end with, but for what only its weights or data can tell.
    """
    from accelerate import init_empty_weights

    from cse.model.load import width_of_checkpoint

    _, _, texts = parts_before_encoder(cfg, Attempts())
    with suppress(MissingResource), cache_only():
        width = width_of_checkpoint(cfg.model.name, cfg.model.pooling)
        with init_empty_weights():
            make_objectives(texts, width)
        check_scored_widths(cfg.get("eval"), width)
