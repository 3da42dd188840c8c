"""From a composed config to live parts. Every part is tried before any work; all that is missing is said at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError, combine
from cse.run.compatible import check_dropout, check_rows, check_views

if TYPE_CHECKING:  # torch is imported when there is work: --help answers at once
    from accelerate import Accelerator

    from cse.data.loader import Batches
    from cse.data.text import Text
    from cse.model.encoder import Encoder
    from cse.training.settings import Parts
    from cse.types import Augmentation, AuxModality, Evaluator, Objective

log = logging.getLogger(__name__)

T = TypeVar("T")


def build(cfg: DictConfig, accelerator: Accelerator) -> Parts:
    """Instantiate and prepare everything. Raises UserError, or one MissingResource for all that cannot be had."""
    from accelerate.utils import set_seed
    from hydra.utils import get_class

    from cse.model.export import check_exportable
    from cse.training.settings import Parts

    mention_accumulation(cfg.trainer.accumulate)
    if cfg.trainer.chunk is not None and cfg.trainer.chunk_tokens is not None:
        raise UserError(
            "trainer.chunk and trainer.chunk_tokens: a batch is cut by one of the two, leave the other null"
        )
    if cfg.model.pooling is not None:
        check_exportable(cfg.model.pooling)
    missing: list[MissingResource] = []
    attempt = partial(attempted, missing)

    set_seed(cfg.seed)  # new weights (heads, projectors, patch embeddings) are the same in every process
    trainer = make(cfg.trainer)
    augmentation: Augmentation = attempt(lambda: make(cfg.augmentation))
    text: Text = make(cfg.data)
    kind: type[Objective] = get_class(cfg.objective._target_)
    check_rows(trainer.batch_size, kind)
    if augmentation is not None:  # before anything is downloaded or read
        check_views(augmentation, text, kind, cfg.objective)
    pair = attempt(lambda: encoder_and_objective(cfg, augmentation))
    if pair is not None:
        pair[0].tokenizer.check_length("trainer.max_length", cfg.trainer.max_length)
    if pair is not None and augmentation is not None:
        check_dropout(cfg.model.name, pair[0], augmentation, text, pair[1])
    nothing_else = bool(cfg.data.preview)  # rows are shown, and neither scored nor trained on
    evaluators = {} if nothing_else else attempt(lambda: build_evaluators(cfg.get("eval")))  # eval=[] leaves no key
    attempt(text.find)
    aux = attempt(lambda: build_aux(cfg, *pair)) if pair is not None and not nothing_else else None
    if not missing:  # a corpus may be many gigabytes
        attempt(text.prepare)
    if missing:
        raise combine(missing, " (what works without a hub: cse-train experiment=demo)")
    encoder, objective = pair
    batches = make_batches(cfg, encoder, objective, augmentation, text=text, accelerator=accelerator)
    return Parts(
        trainer=trainer,
        encoder=encoder,
        objective=objective,
        augmentation=augmentation,
        batches=batches,
        aux=aux,
        evaluators=evaluators,
    )


def make_batches(
    cfg: DictConfig,
    encoder: Encoder,
    objective: Objective,
    augmentation: Augmentation,
    *,
    text: Text,
    accelerator: Accelerator,
) -> Batches:
    """The batches of this process, once the augmentation and the mask know the encoder's tokenizer."""
    from cse.data.loader import Batches

    mask = make(cfg.masking)
    if objective.masking != "none":
        mask.bind(encoder.tokenizer.hf)
    augmentation.bind(encoder.tokenizer.hf)
    if augmentation.level == "tokens":
        text.tokenize(encoder.tokenizer, cfg.trainer.max_length)
    return Batches(
        text,
        encoder.tokenizer,
        augmentation,
        num_views=objective.num_views,
        masking=objective.masking,
        mask=mask.masked,
        batch_size=cfg.trainer.batch_size,
        max_length=cfg.trainer.max_length,
        drop_last=cfg.trainer.drop_last,
        seed=cfg.seed,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
        before_text=encoder.tokenizer.before_text() if augmentation.level == "tokens" else 1,
    )


def encoder_and_objective(cfg: DictConfig, augmentation: Augmentation | None) -> tuple[Encoder, Objective]:
    """The two that need each other: an objective its encoder's width, an encoder its objective's word on masking.

    Where the objective masks, both are made a second time, the encoder now with its language-model head.
    """
    from accelerate.utils import set_seed

    dropout = None if augmentation is None else augmentation.model_dropout
    encoder = trainable(make(cfg.model, dropout=dropout, mlm=False), cfg.model.name)
    objective = make(cfg.objective, dim=encoder.dim)
    if objective.masking == "none":
        if cfg.model.get("lm_head"):
            raise UserError(
                f"model.lm_head={cfg.model.lm_head}: {type(objective).__name__} has no masked-language-model loss here "
                "(objective.mlm_weight=0.1 gives SimCSE one)"
            )
        return encoder, objective
    set_seed(cfg.seed)
    encoder = trainable(make(cfg.model, dropout=dropout, mlm=True), cfg.model.name)
    return encoder, make(cfg.objective, dim=encoder.dim)


def attempted(missing: list[MissingResource], part: Callable[[], T]) -> T:
    """What `part()` gives. Where it cannot be had the error is added to `missing`, and None stands in for it until
    the caller, having tried everything, raises."""
    try:
        return part()
    except MissingResource as error:
        missing.append(error)
        return cast(T, None)


def make(node: DictConfig, **more: object) -> Any:
    """Hydra's instantiate, with our own errors as they were raised."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        return instantiate(node, **more)
    except InstantiationException as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from None
        raise


def trainable(encoder: Encoder, name: str) -> Encoder:
    """The encoder, as best/ can carry it. Raises UserError for one with a head that no objective would train."""
    if encoder.head is not None:
        raise UserError(
            f"model.name={name} ends in a trained head that training would leave as it is: "
            f"model.pooling={encoder.pooling} starts without it"
        )
    encoder.unit_length = False
    return encoder


def made_evaluators(cfg: DictConfig | None) -> dict[str, Evaluator]:
    """The evaluators by config key, as they are before their data is looked for."""
    from cse.eval.score import check_class

    if cfg and "_target_" in cfg:
        raise UserError(f"the YAML of {cfg._target_} in conf/eval must open with # @package eval.NAME, its file's name")
    made = {str(name): make(node) for name, node in (cfg or {}).items()}
    for name, part in made.items():
        check_class(name, part)
    return made


def check_selection(cfg: DictConfig) -> None:
    """Raise UserError where no evaluator of a run gives the scores that it is to look at while it trains."""
    from cse.training.settings import watched

    watched(make(cfg.trainer), made_evaluators(cfg.get("eval")))


def build_evaluators(cfg: DictConfig | None, splits: tuple[str, ...] | None = None) -> dict[str, Evaluator]:
    """The evaluators by config key, data found and checked; what is missing of all of them in one message.

    splits: those to score. An evaluator that has none of them is left as it is, without its data.
    """
    from cse.eval.score import check_provenance

    def ready(name: str, part: Evaluator) -> Evaluator:
        chosen = tuple(split for split in part.splits if splits is None or split in splits)
        if chosen:
            part.splits = chosen
            part.prepare()
            check_provenance(name, part)
        return part

    missing: list[MissingResource] = []
    made = made_evaluators(cfg)
    evaluators = {name: attempted(missing, partial(ready, name, part)) for name, part in made.items()}
    if missing:
        raise combine(missing)
    return evaluators


def build_aux(cfg: DictConfig, encoder: Encoder, objective: Objective) -> AuxModality | None:
    """The second modality, with the objective's head where it shares it; None for text alone."""
    if not cfg.aux_modality:
        return None
    if "_target_" not in cfg.aux_modality:  # a variant such as variant=released without what it varies
        keys = ", ".join(f"aux_modality.{key}" for key in cfg.aux_modality)
        raise UserError(f"{keys} is set, but aux_modality=none reads nothing: choose aux_modality=visual or audio")
    if not encoder.takes_embeddings:
        raise UserError(
            f"model.name={cfg.model.name}: images and sound cannot enter its layers, which do not take embeddings as "
            "wide as their own: use another model, or aux_modality=none"
        )
    aux = make(cfg.aux_modality, dim=encoder.dim)
    aux.bind(text_head=objective.head)
    return aux


def mention_accumulation(batches: int) -> None:
    """One line of advice where a larger batch may be what was meant."""
    if batches > 1:
        log.warning(
            "trainer.accumulate=%d averages %d batches: it adds no negatives or batch statistics; trainer.chunk does",
            *(batches, batches),
        )


def precision_of(name: str) -> str:
    """Accelerate's name; auto is bf16 on a GPU that has it, and no mixed precision elsewhere."""
    import torch

    if name == "auto":
        return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "no"
    if name == "fp16" and not torch.cuda.is_available():
        raise UserError("trainer.precision=fp16 needs a GPU: on a CPU use fp32 or bf16")
    return "no" if name == "fp32" else name


def precision_name(mixed_precision: str) -> str:
    """The precision as trainer.precision writes it; Accelerate calls fp32 "no"."""
    return "fp32" if mixed_precision == "no" else mixed_precision
