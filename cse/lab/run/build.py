"""From a composed config to live parts: `build`, then how each part is made, in its order.

Every part is tried first, so that one error names all that is missing. What does not fit together is refused by
cse.lab.run.compatible, before anything is downloaded or read where that can be known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from omegaconf import DictConfig, open_dict

from cse.errors import MissingResource, UserError, combine
from cse.lab.run.compatible import (
    check_aux,
    check_memory,
    check_objective,
    check_rows,
    check_score_column,
    check_scored_widths,
    check_settings,
    check_views,
    check_with_encoder,
)
from cse.lab.settings.typed import as_typed
from cse.sources.hub import cache_only

if TYPE_CHECKING:  # importing torch is slow, and --help does not need it
    from accelerate import Accelerator
    from torch import nn

    from cse.data.loader import Batches
    from cse.data.rows import TextRows
    from cse.data.text import Text
    from cse.model.encoder import Encoder
    from cse.training.settings import Parts, Trainer
    from cse.types import Augmentation, AuxModality, Evaluator, Objective

log = logging.getLogger(__name__)

T = TypeVar("T")
UNRECORDED: Final = "cls"  # the pooling of the papers, in training, of an encoder that records none


class Attempts:
    """Tries one part after the other and collects what is missing, for one error that names all of it."""

    def __init__(self) -> None:
        self.missing: list[MissingResource] = []

    def __call__(self, part: Callable[[], T]) -> T | None:
        """Returns `part()`, or None if it is missing; `check` then raises."""
        try:
            return part()
        except MissingResource as error:
            self.missing.append(error)
            return None

    def check(self) -> None:
        """Raise one MissingResource for everything that was missing."""
        if self.missing:
            raise combine(self.missing)


def build(cfg: DictConfig, accelerator: Accelerator) -> Parts:
    """Instantiate and prepare everything. Raises UserError, or one MissingResource for all that is missing."""
    from cse.training.settings import Parts

    attempt = Attempts()
    trainer, augmentation, text = parts_before_encoder(cfg, attempt)
    pair = attempt(lambda: encoder_and_objective(cfg, augmentation))
    scores = None if cfg.data.preview else cfg.get("eval")  # eval=[] leaves no key
    evaluators = attempt(lambda: build_evaluators(scores))
    aux = None
    if pair is not None:
        check_with_encoder(cfg, *pair, augmentation, text=text)
        if not cfg.data.preview:  # a preview neither trains nor scores
            aux = attempt(lambda: build_aux(cfg, *pair))
    found = attempt(lambda: call(cfg.data, text.find))
    attempt.check()
    assert pair is not None  # nor are the others: `check` has raised
    assert augmentation is not None
    assert found is not None
    assert evaluators is not None
    encoder, objective = pair
    rows = call(cfg.data, partial(text.read, found))  # a corpus may be many gigabytes
    batches = make_batches(cfg, encoder, objective, augmentation, text=rows, accelerator=accelerator)
    return Parts(trainer, encoder, objective, augmentation, batches, aux, evaluators)


def parts_before_encoder(cfg: DictConfig, attempt: Attempts) -> tuple[Trainer, Augmentation | None, Text]:
    """The parts that need no encoder, each with the others; None for an augmentation that is missing.

    Raises UserError before anything is downloaded or read.
    """
    from hydra.utils import get_class

    check_settings(cfg)
    trainer: Trainer = make(cfg.trainer)
    augmentation: Augmentation | None = attempt(lambda: make(cfg.augmentation))
    text: Text = make(cfg.data)
    kind: type[Objective] = get_class(cfg.objective._target_)
    check_rows(trainer.batch_size, kind)
    check_score_column(text, kind)
    if augmentation is not None:
        check_views(augmentation, text, kind, cfg.objective)
    return trainer, augmentation, text


def encoder_and_objective(cfg: DictConfig, augmentation: Augmentation | None) -> tuple[Encoder, Objective]:
    """Make the two parts that need each other: the objective's width is the encoder's, and whether the encoder has a
    language-model head depends on the objective. If that masks, both are made again, the encoder now with its head.
    """
    dropout = None if augmentation is None else augmentation.model_dropout
    encoder, objective = make_pair(cfg, dropout, mlm=False)
    if objective.masking != "none":
        encoder, objective = make_pair(cfg, dropout, mlm=True)
    kept = objective.test_head()
    if kept is not None and kept is objective.head:
        take_over_head(encoder, kept)
    return encoder, objective


def make_pair(cfg: DictConfig, dropout: float | None, mlm: bool) -> tuple[Encoder, Objective]:
    """An encoder, and an objective for its width. dropout: of the encoder in training, None for its own. mlm: whether
    it has its language-model head."""
    from accelerate.utils import set_seed

    set_seed(cfg.seed)  # the same new weights (heads, projectors, patch embeddings) in every process
    encoder: Encoder = make(cfg.model, dropout=dropout, mlm=mlm, unrecorded=UNRECORDED)
    objective = make_objective(cfg.objective, encoder.dim)
    check_objective(objective, encoder, lm_head=bool(cfg.model.get("lm_head")))
    return encoder, objective


def make_objective(node: DictConfig, dim: int) -> Objective:
    """The objective for an encoder `dim` wide; at several widths if objective.widths is set."""
    from cse.objective.matryoshka import Matryoshka

    own = node.copy()
    with open_dict(own):
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


def build_evaluators(cfg: Mapping[Any, Any] | None, splits: Sequence[str] | None = None) -> dict[str, Evaluator]:
    """The evaluators by config key, with their data found and checked. One MissingResource names all that is missing.

    splits: those to score (None: all). An evaluator that has none of them is left out; raises UserError if all are.
    """
    nodes: Mapping[Any, Any] = cfg or {}
    evaluators = make_evaluators(nodes)
    if splits is not None:
        evaluators = with_splits(evaluators, splits)
    attempt = Attempts()
    for name, evaluator in evaluators.items():
        attempt(partial(prepare_evaluator, name, evaluator, nodes[name]))
    attempt.check()
    return evaluators


def with_splits(evaluators: dict[str, Evaluator], splits: Sequence[str]) -> dict[str, Evaluator]:
    """The evaluators that have one of the splits, each with those alone. Raises UserError if none has."""
    chosen = {}
    for name, evaluator in evaluators.items():
        own = evaluator.splits
        evaluator.splits = tuple(split for split in own if split in splits)
        if evaluator.splits:
            chosen[name] = evaluator
        else:
            log.warning("%s has only the split %s, which splits= leaves out", name, ", ".join(own))
    if evaluators and not chosen:
        raise UserError(f"splits=[{','.join(splits)}]: none of them is a split of {', '.join(evaluators)}")
    return chosen


def prepare_evaluator(name: str, evaluator: Evaluator, node: DictConfig) -> None:
    """Find its data and check it. node: its settings."""
    from cse.eval.scoring import check_source

    call(node, evaluator.prepare)
    check_source(name, evaluator)


def make_evaluators(cfg: Mapping[Any, Any] | None) -> dict[str, Evaluator]:
    """The evaluators by config key, without their data."""
    return {str(name): make(node) for name, node in (cfg or {}).items()}


def complete_selection(cfg: DictConfig) -> None:
    """Write the evaluator that trainer.select names as the name of its primary score, in place: stsb becomes
    dev/stsb/spearman. Raises UserError for an evaluator that has none."""
    name = cfg.trainer.select
    if name is None or name not in (cfg.get("eval") or {}):  # a score's full name, or a wrong one
        return
    evaluator: Evaluator = make(cfg.eval[name])
    if evaluator.primary is None:
        instead = f"name one in full, dev/{name}/SCORE"
        raise UserError(f"eval.{name} has no primary score", key="trainer.select", value=name, instead=instead)
    cfg.trainer.select = f"dev/{name}/{evaluator.primary}"


def check_selection(cfg: DictConfig) -> None:
    """Raise UserError if no evaluator gives a score that trainer.select, completed, or trainer.watch names."""
    from cse.training.settings import watched

    complete_selection(cfg)
    watched(make(cfg.trainer), make_evaluators(cfg.get("eval")))


def build_aux(cfg: DictConfig, encoder: Encoder, objective: Objective) -> AuxModality | None:
    """The second modality, bound to the objective's head in case it shares it; None for text alone."""
    if not cfg.aux_modality:
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
    text: TextRows,
    accelerator: Accelerator,
) -> Batches:
    """Give the augmentation and the mask the encoder's tokenizer, and make this process's batches."""
    from cse.data.loader import Batches
    from cse.lab.run.teacher import Teachers

    teacher = None
    if objective.teachers and not cfg.data.preview:  # before the encoder takes memory for its gradients
        teacher = Teachers(objective, text, accelerator.device, dry=cfg.dry_run)
    mask = make(cfg.masking)
    if objective.masking != "none":
        mask.bind(encoder.tokenizer.hf)
    tokenizer = encoder.tokenizer
    max_length = cfg.trainer.max_length + tokenizer.template_length
    augmentation.bind(tokenizer.hf)
    if augmentation.level == "tokens":
        text = text.tokenized(tokenizer, max_length)
    batches = Batches(
        text,
        tokenizer,
        augmentation,
        num_views=objective.num_views,
        masking=objective.masking,
        mask=mask.masked,
        batch_size=accelerator.num_processes if cfg.data.preview else cfg.trainer.batch_size,  # which a preview lacks
        max_length=max_length,
        drop_last=cfg.trainer.drop_last,
        no_duplicates=cfg.trainer.no_duplicates,
        seed=cfg.seed,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
        teacher=teacher,
        reads_rows=objective.reads_rows,
        min_rows=objective.min_rows,
    )
    check_memory(objective, batches, cfg.trainer.epochs)
    if augmentation.level == "text":
        batches.check_texts()
    return batches


def make(node: DictConfig, **more: object) -> Any:
    """Call Hydra's instantiate, but raise a UserError as it is instead of Hydra's wrapper around it, with the keys of
    this node for the part's parameters. A part in it is made first, for the same reason."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    for key, value in node.items():
        if isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_"):
            more[str(key)] = make(value)
    with as_typed(node):
        try:
            return instantiate(node, **more)
        except InstantiationException as error:
            if isinstance(error.__cause__, UserError):
                raise error.__cause__ from None
            raise


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """Call a method of the part that is made of this node: what it refuses is named by the keys that the user types."""
    with as_typed(node):
        return method()


def precision_of(asked: str) -> str:
    """What trainer.precision means here. auto: bf16 where the device computes in it, else fp32. Raises UserError."""
    from cse.device import computes_bf16, count_gpus

    if asked == "auto":
        return "bf16" if computes_bf16() else "fp32"
    if asked == "fp16" and not count_gpus():
        raise UserError("trainer.precision=fp16 needs a GPU: on a CPU use fp32 or bf16")
    return asked


def rehearse(cfg: DictConfig) -> None:
    """Make a run's parts, its augmentation and its objective with no numbers in it, for the width that the encoder's
    files say.

    Raises the UserError that the run would end with, but for what only its weights or data can tell.
    """
    from accelerate import init_empty_weights

    from cse.model.load import width_of_checkpoint

    parts_before_encoder(cfg, Attempts())
    with suppress(MissingResource), cache_only():
        width = width_of_checkpoint(cfg.model.name, cfg.model.pooling)
        with init_empty_weights():
            make_objective(cfg.objective, width)
        check_scored_widths(cfg.get("eval"), width)
