"""What a run is told, and what it tells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trainer:
    """conf/trainer/default.yaml, where each value has its meaning and its source beside it."""

    epochs: float
    max_steps: int | None
    schedule_steps: int | None
    batch_size: int
    accumulate: int
    chunk: int | None
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
    save_every: int | None
    log_every: int
    select: str | None
    watch: list[str]
    stop_on_collapse: bool
    workers: int
    deterministic: bool
    devices: int


@dataclass(frozen=True)
class Outcome:
    """What a finished run tells. best_score is select's at best_step; curve: (step, scores) of every evaluation."""

    steps: int
    best_step: int
    best_score: float | None
    seconds: float
    tokens_per_second: float
    curve: list[tuple[int, dict[str, float]]]
