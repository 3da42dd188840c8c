"""Make the parts of a training from settings. Read `build`, then the functions that make each part, in the same order.

cse.lab.run.compatible refuses settings and parts that do not fit together, if possible before any download.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from omegaconf import DictConfig, open_dict, read_write

from cse.errors import MissingResource, UserError, collecting, combine, within
from cse.lab.run.compatible import (
    check_aux,
    check_combination,
    check_encoder,
    check_memory,
    check_objective,
    check_prompts,
    check_source_objective,
    check_text,
    check_views,
    check_widths,
)
from cse.lab.run.evaluators import build_evaluators
from cse.lab.run.instantiate import call, make
from cse.lab.run.run_log import log_fields
from cse.lab.run.texts import TextWithObjective, texts_with_objectives
from cse.sources.hub import cache_only

if TYPE_CHECKING:  # importing torch is slow, and --help does not need it
    import torch
    from accelerate import Accelerator
    from torch import nn

    from cse.data.loader import Batches, Steps
    from cse.data.rows import TextRows
    from cse.data.views import Views
    from cse.model.encoder import Encoder
    from cse.training.settings import Parts, Trainer
    from cse.training.teacher import Teachers
    from cse.types import Augmentation, AuxModality, Objective

log = logging.getLogger(__name__)

UNRECORDED: Final = "cls"  # the pooling in training for an encoder that records no pooling, as in the papers


def build(cfg: DictConfig, accelerator: Accelerator) -> Parts:
    """Make and prepare every part. Raises UserError, or one MissingResource for all missing resources.

    A part that needs a missing part is not made. Text may have many gigabytes, so no text is read until all resources
    are found.
    """
    from cse.data.mixture import MixedBatches
    from cse.training.settings import Parts

    missing: list[MissingResource] = []
    trainer, texts = make_trainer_and_texts(cfg)
    with collecting(missing):
        augmentation = make_augmentation(cfg, texts)
        encoder, objective = make_encoder_and_objective(cfg, texts, augmentation.model_dropout)
        check_encoder(cfg, encoder, objective, augmentation, texts)
        aux = make_aux(cfg, encoder, objective)
    with collecting(missing):
        evaluators = build_evaluators(None if cfg.data.preview else cfg.get("eval"))
    found = []
    for learned in texts:
        with collecting(missing):
            found.append(learned.find())
    if missing:
        raise combine(missing)
    check_prompts(evaluators, encoder)
    rows_of_texts = [learned.read(source) for learned, source in zip(texts, found, strict=True)]
    augmentation.bind(encoder.tokenizer.hf)
    batches: dict[str, Batches] = {}
    for learned, rows in zip(texts, rows_of_texts, strict=True):
        learner = objective.of(learned.name)
        with within(learned.objective_key):
            teachers = make_teachers(cfg, learner, rows, accelerator.device)
        views = make_views(cfg, rows, encoder, learner, augmentation)
        batches[rows.name] = make_batches(cfg, views, learner, teachers, accelerator)
    steps: Steps = batches[texts[0].text.name]
    if "sources" in cfg.data:
        steps = MixedBatches(batches, cfg.data.weights)
    return Parts(trainer, encoder, objective, augmentation, steps, aux, evaluators)


def rehearse(cfg: DictConfig) -> None:
    """Make a run's parts as far as possible without data and weights, to find mistakes before the run.

    The encoder's config gives the objective's width. The objective's parameters are on the meta device. Raises the
    UserError that would end the run, unless only weights or data show the mistake.
    """
    from accelerate import init_empty_weights

    from cse.model.load import width_of_checkpoint

    _, texts = make_trainer_and_texts(cfg)
    with suppress(MissingResource):
        make_augmentation(cfg, texts)
    with suppress(MissingResource), cache_only():
        width = width_of_checkpoint(cfg.model.name, cfg.model.pooling)
        with init_empty_weights():
            make_objectives(texts, width)
        check_widths(cfg.get("eval"), width)


def make_trainer_and_texts(cfg: DictConfig) -> tuple[Trainer, list[TextWithObjective]]:
    """Return the parts that need no resource, and check them. No file of a text is opened yet."""
    check_combination(cfg)
    trainer: Trainer = make(cfg.trainer)
    texts = texts_with_objectives(cfg)
    for learned in texts:
        check_text(learned, trainer.batch_size)
    return trainer, texts


def make_augmentation(cfg: DictConfig, texts: list[TextWithObjective]) -> Augmentation:
    """Return the augmentation, after a check that it fits each text and the text's objective."""
    augmentation: Augmentation = make(cfg.augmentation)
    for learned in texts:
        check_views(learned, augmentation)
    return augmentation


def make_encoder_and_objective(
    cfg: DictConfig, texts: list[TextWithObjective], dropout: float | None
) -> tuple[Encoder, Objective]:
    """Return the encoder and the objective, which depend on each other: the objective has the encoder's width.

    If the objective masks tokens, the encoder needs a language-model head. Only the finished objective shows whether it
    masks tokens. Therefore, if it masks tokens, both parts are made again, with that head.

    dropout: the dropout of the encoder in training; None: the dropout of the checkpoint.
    """
    from accelerate.utils import set_seed

    for mlm in (False, True):
        set_seed(cfg.seed)  # the same new weights (heads, projectors, patch embeddings) in every process
        encoder: Encoder = make(cfg.model, dropout=dropout, mlm=mlm, unrecorded=UNRECORDED)
        objective = make_objectives(texts, encoder.dim)
        masks = objective.masking != "none"
        for learned in texts:
            with within(learned.objective_key):
                is_idle = bool(cfg.model.get("lm_head")) and not masks
                check_objective(objective.of(learned.name), encoder, has_idle_lm_head=is_idle)
        if not masks:
            break
    kept = objective.test_head()
    if kept is not None and kept is objective.head:
        take_over_head(encoder, kept)
    return encoder, objective


def make_objectives(texts: list[TextWithObjective], dim: int) -> Objective:
    """Return the objective of a run. For a mixture, this objective contains a separate objective for each text."""
    from cse.objective.by_source import BySource

    made: dict[str, Objective] = {}
    for learned in texts:
        objective = make_objective(learned.objective_settings, dim)
        if learned.name is None:
            return objective
        check_source_objective(objective, learned.objective_key)
        made[learned.name] = objective
    return BySource(made)


def make_objective(node: DictConfig, dim: int) -> Objective:
    """Return the objective for an encoder of width `dim`; with objective.widths, an objective at several widths."""
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
    """If the checkpoint and the objective both have SimCSE's head, move the checkpoint's head into the objective.

    A run that trains an earlier run's encoder then starts with the trained head, and does not add a second head.
    """
    from torch import nn

    from cse.model.export import linear_of
    from cse.model.heads import MLPHead, is_mlp_head

    if encoder.head is not None and isinstance(kept, MLPHead) and is_mlp_head(encoder.head[-1], encoder.dim):
        kept.linear.load_state_dict(linear_of(encoder.head[-1]).state_dict())
        kept.is_trained = True
        rest = [*encoder.head][:-1]
        encoder.head = nn.Sequential(*rest) if rest else None
        log_fields(head="the checkpoint's head becomes the objective's head, and is exported")


def make_aux(cfg: DictConfig, encoder: Encoder, objective: Objective) -> AuxModality | None:
    """Return the second modality, bound to the objective's head, which the modality may share.

    Return None for text alone, and for a preview, which neither trains nor scores.
    """
    if not cfg.aux_modality or cfg.data.preview:
        return None
    check_aux(cfg.model.name, encoder)
    aux: AuxModality = make(cfg.aux_modality, dim=encoder.dim)
    if aux.needs_dropout and encoder.dropout == 0:
        log.warning(
            "aux        both views of a clip are equal, because the encoder trains without dropout "
            "(set augmentation.model_dropout=0.1)"
        )
    call(cfg.aux_modality, partial(aux.bind, text_head=objective.head))
    return aux


def make_teachers(cfg: DictConfig, objective: Objective, rows: TextRows, device: torch.device) -> Teachers | None:
    """Return the teachers of an objective, with their vectors of a text; None without teachers, and for a preview."""
    from cse.training.teacher import Teachers

    if not objective.teachers or cfg.data.preview:
        return None
    return Teachers(objective, rows, device, dry=cfg.dry_run)  # before the encoder's gradients take memory


def make_views(
    cfg: DictConfig, rows: TextRows, encoder: Encoder, objective: Objective, augmentation: Augmentation
) -> Views:
    """Return a text's views for its objective. augmentation: an augmentation bound to the encoder's tokenizer."""
    from cse.data.views import Views

    tokenizer, mask = encoder.tokenizer, make(cfg.masking)
    if objective.masking != "none":
        mask.bind(tokenizer.hf)
    return Views(
        rows,
        tokenizer,
        augmentation,
        num_views=objective.num_views,
        masking=objective.masking,
        mask=mask.masked,
        max_length=cfg.trainer.max_length + tokenizer.template_length,
        seed=cfg.seed,
    )


def make_batches(
    cfg: DictConfig, views: Views, objective: Objective, teachers: Teachers | None, accelerator: Accelerator
) -> Batches:
    """Return this process's batches of a text's views, for the text's objective."""
    from cse.data.loader import Batches

    batches = Batches(
        views,
        batch_size=accelerator.num_processes if cfg.data.preview else cfg.trainer.batch_size,  # a preview has no batch
        drop_last=cfg.trainer.drop_last,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
        no_duplicates=cfg.trainer.no_duplicates,
        min_rows=objective.min_rows,
        reads_rows=objective.reads_rows,
        teacher=teachers,
    )
    check_memory(objective, batches, cfg.trainer.epochs)
    if views.augmentation.level == "text":
        views.check_texts(batches.row_numbers)
    elif accelerator.is_main_process:
        views.sample_ids(batches.row_numbers)
    return batches
