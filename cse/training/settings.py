"""A run's settings (Trainer), its parts (Parts) and its progress (State)."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from zlib import crc32

import torch
from annotated_types import Ge, Gt, Lt

from cse.data.loader import Steps
from cse.errors import UserError
from cse.model.encoder import Encoder
from cse.ranges import BelowOne, Count, Mark, Name, Natural, NonNegative, Positive
from cse.types import Augmentation, AuxModality, Evaluator, Objective


@dataclass(frozen=True)
class Trainer:
    """The settings of conf/trainer/default.yaml. That file explains each setting and gives its source."""

    epochs: Positive
    max_steps: Annotated[Count | None, Mark.UNFIXED]  # max_steps, patience and stop_early only decide when a run ends
    schedule_steps: Count | None
    batch_size: Count
    accumulate: Count
    chunk: Annotated[Count | None, Mark.HARMLESS]  # the same loss and gradient with other random states
    chunk_tokens: Annotated[Count | None, Mark.HARMLESS]
    drop_last: bool
    no_duplicates: bool
    max_length: Annotated[int, Ge(3)]  # a token between the two special tokens
    lr: Positive
    betas: tuple[BelowOne, BelowOne]
    eps: Positive
    bias_correction: Literal["hf", "torch", "none"]
    weight_decay: NonNegative
    no_decay: list[Name]
    schedule: Literal["linear", "cosine", "constant", "slanted_triangular"]
    warmup: Natural | BelowOne  # steps, or a share of the schedule
    clip: Positive | None
    precision: Literal["auto", "fp32", "bf16", "fp16"]
    gather_scale: Literal["exact", "paper"]
    eval_every: Count | Annotated[float, Gt(0), Lt(1)]  # steps, or a share of the schedule
    eval_precision: Literal["auto", "fp32", "bf16"]
    save_every: Annotated[Count | None, Mark.LOGGING]
    save_minutes: Annotated[Positive | None, Mark.LOGGING]
    save_seconds: Annotated[NonNegative | Literal["auto"], Mark.LOGGING]
    keep_last: Annotated[bool, Mark.LOGGING]
    log_every: Annotated[Count, Mark.LOGGING]
    select: Name | None
    watch: Annotated[list[Name], Mark.HARMLESS]  # these evaluators only give more scores
    patience: Annotated[Count | None, Mark.UNFIXED]
    stop_early: Annotated[bool, Mark.UNFIXED]
    stop_on_collapse: bool
    workers: Annotated[Natural | Literal["auto"], Mark.MACHINE]
    deterministic: Annotated[bool, Mark.HARMLESS]
    compile: bool | Literal["graphs"]
    devices: Annotated[Count, Mark.MACHINE]  # a resumed run may use a different number, and logs the effects


def in_steps(steps: int | float, total: int) -> int:
    """Return a number of steps: an int unchanged, or a float as a share of `total`, rounded up as Hugging Face does."""
    return math.ceil(steps * total) if isinstance(steps, float) else steps


VOCABULARY = "the vocabulary of model.name"
CONFIGURATION = "the configuration of model.name"
WEIGHTS = "the weights of model.name"
FROZEN_WEIGHTS = f"{WEIGHTS} that are not trained"


@dataclass(frozen=True)
class Parts:
    """The parts of a training run; cse.types has their interfaces. aux: None for text alone."""

    trainer: Trainer
    encoder: Encoder
    objective: Objective
    augmentation: Augmentation
    batches: Steps
    aux: AuxModality | None
    evaluators: dict[str, Evaluator]

    def provenance(self) -> dict[str, object]:
        """Return a record of the training data, as JSON types: the text and, in `aux_modality`, images or sound."""
        about = self.batches.provenance()
        return about if self.aux is None else about | {"aux_modality": self.aux.provenance()}

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} of all inputs of the run.

        The key WEIGHTS has the digest of the transformer's weights. If some weights are frozen, the key is instead
        FROZEN_WEIGHTS, with the digest of the frozen weights only, because last/ does not hold them.
        """
        found = self.batches.inputs() | self.augmentation.inputs() | (self.aux.inputs() if self.aux else {})
        words = repr(sorted(self.encoder.tokenizer.hf.get_vocab().items()))
        found[VOCABULARY] = f"{crc32(words.encode()):08x}"
        config = self.encoder.backbone.config
        known = type(config)().to_dict()  # the defaults; a later version of transformers may have more
        own = {key: value for key, value in config.to_dict().items() if value != known.get(key)}
        rules = self.encoder.tokenizer.key() + json.dumps({**own, "_name_or_path": ""}, sort_keys=True, default=str)
        found[CONFIGURATION] = f"{crc32(rules.encode()):08x}"
        value, frozen = 0, [weight for weight in self.encoder.parameters() if not weight.requires_grad]
        for weight in frozen or self.encoder.backbone.parameters():
            value = crc32(weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data, value)
        return found | {FROZEN_WEIGHTS if frozen else WEIGHTS: f"{value:08x}"}


@dataclass
class State:
    """The progress of a run, and the best step so far. last/ holds the state as JSON.

    best_score: the score of trainer.select, at best_step. best_sum: the checksum of the exported weights, if known.
    curve: (step, {name: dev score}) of every evaluation. seconds, tokens: the seconds and tokens of training so far.
    loss_sums: the sum of each loss over loss_counts steps, since the last logged mean. summed_steps: the one count of
    all sums, in a checkpoint of an older version of cse.
    """

    step: Natural = 0
    best_step: Natural = 0
    best_score: float | None = None
    best_sum: str | None = None
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    seconds: NonNegative = 0.0
    tokens: Natural = 0
    loss_sums: dict[str, float] = field(default_factory=dict)
    loss_counts: dict[str, Natural] = field(default_factory=dict)
    summed_steps: Natural = 0

    @property
    def tokens_per_second(self) -> float:
        """The tokens per second of the whole run."""
        return self.tokens / self.seconds if self.seconds else 0.0


def watched(trainer: Trainer, evaluators: Mapping[str, Evaluator]) -> list[str]:
    """Return the names of the evaluators that score dev in training, from trainer.select and trainer.watch.

    Raises UserError for an evaluator without a dev split, and for a score that the evaluator does not have. The
    evaluators need not be prepared.
    """
    able = [name for name, one in evaluators.items() if "dev" in one.splits]
    if unable := [name for name in trainer.watch if name not in able]:
        scored = ", ".join(able) or "none"
        raise UserError(f"trainer.watch=[{','.join(unable)}]: choose from the evaluators that score dev: {scored}")
    if trainer.select is None:
        return list(dict.fromkeys(trainer.watch))
    split, name, score = (*trainer.select.split("/", 2), "", "")[:3]
    if split != "dev" or name not in able or not score:
        raise no_such_score(trainer.select, [f"dev/{name}/{evaluators[name].primary or '...'}" for name in able])
    names = evaluators[name].score_names("dev")
    if names and score not in names:
        raise no_such_score(trainer.select, [f"dev/{name}/{one}" for one in names])
    return list(dict.fromkeys([name, *trainer.watch]))


def on_other_processes(trainer: Trainer, parts: Parts) -> str:
    """Return, as text, the effects of another number of processes on a run."""
    changed = {
        "each process draws its own masks": True,
        "trainer.gather_scale=paper scales gradients by the number of processes": trainer.gather_scale == "paper",
        "images or sound are compared within each process": parts.aux is not None,
        "the size of an epoch's last batch becomes a multiple of the number of processes": not trainer.drop_last,
    }
    return ", ".join(text for text, applies in changed.items() if applies)


def no_such_score(select: str, scores: Collection[str]) -> UserError:
    """Return the error for a `trainer.select` that is not among these scores."""
    if scores:
        instead = f"gives this score. Set trainer.select={' or '.join(scores)}, or add such an evaluator to eval=[...]"
    else:
        instead = "scores dev. Add an evaluator that does, such as eval=[stsb], or eval.dev=FILE to eval=pairs"
    return UserError(
        f"trainer.select={select}: no evaluator of this run {instead}; trainer.select=null keeps the last checkpoint"
    )
