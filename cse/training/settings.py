"""What a run is told (Trainer), what it is made of (Parts) and what comes of it (Outcome)."""

from dataclasses import dataclass
from typing import Literal

from cse.data.loader import Batches
from cse.errors import UserError
from cse.model.encoder import Encoder
from cse.types import Augmentation, AuxModality, Evaluator, Objective


@dataclass(frozen=True)
class Trainer:
    """conf/trainer/default.yaml, where each value has its meaning and its source beside it."""

    epochs: float
    max_steps: int | None
    schedule_steps: int | None
    batch_size: int
    accumulate: int
    chunk: int | None
    chunk_tokens: int | None
    drop_last: bool
    max_length: int
    lr: float
    betas: tuple[float, float]
    eps: float
    bias_correction: str
    weight_decay: float
    no_decay: list[str]
    schedule: str
    warmup: int
    clip: float | None
    precision: str
    gather_scale: str
    eval_every: int
    eval_precision: str
    save_every: int | None
    log_every: int
    select: str | None
    watch: list[str] | str
    stop_on_collapse: bool
    workers: int
    deterministic: bool
    compile: bool | Literal["auto"]
    devices: int


@dataclass(frozen=True)
class Parts:
    """What a training run is made of; cse.types says what is asked of each. aux is None for text alone."""

    trainer: Trainer
    encoder: Encoder
    objective: Objective
    augmentation: Augmentation
    batches: Batches
    aux: AuxModality | None
    evaluators: dict[str, Evaluator]


@dataclass(frozen=True)
class Outcome:
    """What a finished run tells. best_score is select's at best_step; curve: (step, scores) of every evaluation."""

    steps: int
    best_step: int
    best_score: float | None
    seconds: float
    tokens_per_second: float
    curve: list[tuple[int, dict[str, float]]]


def watched(trainer: Trainer, evaluators: dict[str, Evaluator]) -> list[str]:
    """The evaluators that score dev in training: the one that `trainer.select` names, and those of `watch`."""
    select, watch = trainer.select, trainer.watch
    watch = [watch] if isinstance(watch, str) else list(watch)
    able = [name for name, evaluator in evaluators.items() if "dev" in evaluator.splits]
    split, _, rest = (select or "").partition("/")
    name = rest.partition("/")[0]
    if select is not None and (split != "dev" or name not in able):
        choices = ", ".join(f"dev/{key}/..." for key in able) or "none"
        raise UserError(
            f"trainer.select={select}: no evaluator of this run gives it (dev scores: {choices}); "
            "add one to eval=[...], or trainer.select=null to keep the last step"
        )
    if unable := [one for one in watch if one not in able]:
        raise UserError(f"trainer.watch={watch}: {unable[0]} gives no dev score (those that do: {', '.join(able)})")
    return list(dict.fromkeys([name, *watch] if select is not None else watch))
