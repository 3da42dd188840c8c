"""From a composed config to live parts. Every part is tried before any work; all that is missing is said at once."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from cse.dotted import flattened
from cse.errors import MissingResource, UserError, one_of

log = logging.getLogger(__name__)


@dataclass
class Parts:
    """What a training run is made of; see cse.types for the contracts."""

    trainer: Any
    encoder: Any
    objective: Any
    text: Any
    augmentation: Any
    mask: Any
    aux: Any
    evaluators: dict[str, Any]


def build(cfg: DictConfig) -> Parts:
    """Instantiate and prepare everything. Raises UserError, or one MissingResource for all that cannot be had."""
    from accelerate.utils import set_seed

    from cse.model.export import check_exportable

    check_trainer(cfg.trainer)
    if cfg.model.pooling is not None:
        check_exportable(cfg.model.pooling)
    missing: list[str] = []
    attempt = partial(attempted, missing)

    set_seed(cfg.seed)  # new weights (heads, projectors, patch embeddings) are the same in every process
    trainer = make(cfg.trainer)
    augmentation = attempt(lambda: make(cfg.augmentation))
    dropout = getattr(augmentation, "model_dropout", None)
    mlm = wants_mlm(cfg.objective)
    encoder = attempt(lambda: trainable(make(cfg.model, dropout=dropout, mlm=mlm), cfg.model.name))
    text = attempt(lambda: prepared(make(cfg.data)))
    evaluators = attempt(lambda: build_evaluators(cfg.eval)) or {}
    objective = aux = None
    if encoder is not None:
        objective = make(cfg.objective, dim=encoder.dim)
        aux = attempt(lambda: build_aux(cfg, encoder, objective))
    if missing:
        works = " (what works without a hub: cse-train experiment=demo)" if len(missing) > 1 else ""
        raise MissingResource("; and ".join(missing) + works)
    check_views(augmentation, objective)
    check_dropout(cfg.model.name, encoder, augmentation, text, objective)
    mask = make(cfg.masking)
    for part in (augmentation, mask):
        if hasattr(part, "bind"):
            part.bind(encoder.tokenizer.hf)
    if not hasattr(augmentation, "views"):
        text.tokenize(encoder.tokenizer, cfg.trainer.max_length)
    return Parts(trainer, encoder, objective, text, augmentation, mask, aux, evaluators)


def attempted(missing: list[str], part: Callable[[], Any]) -> Any:
    """What `part()` gives; None where it cannot be had, with the reason added to `missing`."""
    try:
        return part()
    except MissingResource as error:
        missing.append(str(error))
        return None


def make(node: DictConfig, **more: Any) -> Any:
    """Hydra's instantiate, with our own errors as they were raised."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        return instantiate(node, **more)
    except InstantiationException as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from None
        raise


def trainable(encoder: Any, name: str) -> Any:
    """The encoder, as best/ can carry it. Raises UserError for one with a head that no objective would train."""
    if encoder.head is not None:
        raise UserError(
            f"model.name={name} ends in a trained head that training would leave as it is: "
            f"model.pooling={encoder.pooling} starts without it"
        )
    encoder.unit_length = False
    return encoder


def prepared(part: Any) -> Any:
    part.prepare()
    return part


def build_evaluators(cfg: DictConfig | None, splits: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The evaluators by config key, data found and checked; what is missing of all of them in one message.

    splits: those that are asked for. An evaluator that has none of them is left as it is, without its data.
    """

    def built(node: DictConfig) -> Any:
        part = make(node)
        asked = tuple(split for split in part.splits if splits is None or split in splits)
        if not asked:
            return part
        part.splits = asked
        return prepared(part)

    missing: list[str] = []
    evaluators = {str(name): attempted(missing, lambda: built(node)) for name, node in (cfg or {}).items()}  # noqa: B023
    if missing:
        raise MissingResource("; and ".join(dict.fromkeys(missing)))
    return evaluators


def check_views(augmentation: Any, objective: Any) -> None:
    """Refuse spans where an objective pairs rows one with one, or wants more views than spans have."""
    positives = getattr(augmentation, "positives", 1)
    name = type(objective).__name__
    if positives > 1 and objective.num_views > 1 and not getattr(objective, "averages_positives", False):
        raise UserError(
            f"{name} pairs one text with one, but augmentation.positives={positives} spans go with each anchor: "
            "set augmentation.positives=1"
        )
    if hasattr(augmentation, "anchors") and objective.num_views > 2:
        raise UserError(f"{name} wants {objective.num_views} views, but spans are two: anchors and positives")


def check_dropout(name: str, encoder: Any, augmentation: Any, text: Any, objective: Any) -> None:
    """Refuse views that would be equal: the same text, unchanged, through an encoder without dropout."""
    from cse.augmentation.dropout import Dropout
    from cse.augmentation.none import Identity

    unchanged = isinstance(augmentation, Dropout | Identity) and text.num_columns == 1
    if unchanged and objective.num_views > 1 and encoder.dropout == 0:
        key = "p" if isinstance(augmentation, Dropout) else "model_dropout"
        raise UserError(
            f"model.name={name} trains without dropout, so {objective.num_views} views of a sentence would be equal: "
            f"set augmentation.{key}=0.1, or choose an augmentation that changes the text (augmentation=shuffle)"
        )


def build_aux(cfg: DictConfig, encoder: Any, objective: Any) -> Any:
    if not cfg.aux_modality or "_target_" not in cfg.aux_modality:
        return None
    if not encoder.takes_embeddings:
        raise UserError(
            f"model.name={cfg.model.name}: images and sound cannot enter its layers, which do not take embeddings as "
            "wide as their own: use another model, or aux_modality=none"
        )
    aux = make(cfg.aux_modality, dim=encoder.dim)
    if hasattr(aux, "bind"):
        aux.bind(text_head=getattr(objective, "head", None))
    return aux


def wants_mlm(objective: DictConfig) -> bool:
    """Whether the encoder needs its language-model head."""
    return bool(objective.get("mlm_weight", 0)) or objective.get("_target_", "").endswith(".Mlm")


def check_trainer(trainer: DictConfig) -> None:
    """Raise UserError for values that no run can have."""
    precision_of(trainer.precision)
    choices = {
        "precision": ("auto", "fp32", "bf16", "fp16"),
        "schedule": ("linear", "cosine", "constant", "slanted_triangular"),
        "bias_correction": ("hf", "torch", "none"),
        "gather_scale": ("exact", "paper"),
    }
    for key, allowed in choices.items():
        one_of(f"trainer.{key}", trainer[key], allowed)
    for key in (
        "batch_size",
        "accumulate",
        "eval_every",
        "log_every",
        "max_length",
        "max_steps",
        "chunk",
        "save_every",
        "schedule_steps",
    ):
        value = trainer[key]
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UserError(f"trainer.{key}={value} must be a whole number of at least 1")
    for key in ("lr", "epochs"):
        if not isinstance(trainer[key], (int, float)) or trainer[key] <= 0:
            raise UserError(f"trainer.{key}={trainer[key]} must be a number above 0")
    if trainer.accumulate > 1:
        log.warning(
            "trainer.accumulate=%d averages %d batches: it adds no negatives or batch statistics; trainer.chunk does",
            trainer.accumulate, trainer.accumulate,
        )  # fmt: skip


def precision_of(name: str) -> str:
    """Accelerate's name; auto is bf16 on a GPU that has it, and no mixed precision elsewhere."""
    import torch

    if name == "auto":
        return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "no"
    if name == "fp16" and not torch.cuda.is_available():
        raise UserError("trainer.precision=fp16 needs a GPU: on a CPU use fp32 or bf16")
    return "no" if name == "fp32" else name


def identity(cfg: DictConfig) -> dict[str, Any]:
    """The settings that a resumed run shares with the run it continues, flat. Where it logs and stops may change."""
    free = {
        "trainer.max_steps",
        "trainer.workers",
        "trainer.log_every",
        "trainer.save_every",
        "aux_modality.data.workers",
        "aux_modality.data.cache",
        "data.cache_dir",
        "data.preview",
    }

    whole: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    kept = ("model", "objective", "augmentation", "aux_modality", "data", "trainer", "masking", "seed")
    settings = flattened({name: whole[name] for name in kept})
    return {key: value for key, value in settings.items() if key not in free}


def output_folder() -> Path:
    """The folder that Hydra made for this job."""
    from hydra.core.hydra_config import HydraConfig

    return Path(HydraConfig.get().runtime.output_dir)
