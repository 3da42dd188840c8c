"""One training job in one process (or one of several): build, train, score the best step, leave a complete folder."""

import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.config.compose import resolved
from cse.dotted import Config
from cse.errors import Interrupted, MissingResource
from cse.run import slurm
from cse.run.build import build, make, precision_name, precision_of
from cse.run.folder import RUN, RunFolder

if TYPE_CHECKING:  # torch is imported when there is work: --help answers at once
    from accelerate import Accelerator

    from cse.run.record import Record
    from cse.training.loop import Training
    from cse.training.signals import Signals

log = logging.getLogger("cse")

GROUP_TIMEOUT = timedelta(days=1)  # for one process that tokenises or scores while the others wait


def run(cfg: DictConfig, folder: RunFolder) -> None:
    """Train, then score the best step on every split of every evaluator.

    Raises Interrupted after a signal, whatever was going on; with resume=auto SLURM then starts the job again.
    """
    from cse.record.heartbeat import Heartbeat
    from cse.run.best import Best
    from cse.run.summary import conclude
    from cse.training.distributed import explain_lost_process
    from cse.training.memory import explain_out_of_memory

    explain_lost = partial(explain_lost_process, partial(resume_hint, cfg, folder.path))
    with receiving_signals(cfg, folder.path) as signals, explain_out_of_memory(cfg), explain_lost():
        accelerator = start_processes(cfg)
        begun = begin(cfg, folder, accelerator)
        if begun is None:
            return
        training, record = begun
        is_first = accelerator.is_main_process
        # inside the record, which keeps the sentence
        with Heartbeat(folder.path, is_first) as heartbeat, record, explain_out_of_memory(cfg), explain_lost():
            heartbeat.steps = training.steps
            best = Best(record, training.parts)
            if is_first and training.step == 0:
                best.keep_cosines("before", training.encode())
            outcome = training.run(on_best=best.keep, log=record.log, signals=signals)
            if is_first:
                if outcome.best_step == 0:  # nothing was selected: what was trained is the last step
                    best.keep(outcome.steps, outcome.curve[-1][1] if outcome.curve else {})
                best.score(accelerator.device, training.known(outcome.best_step or outcome.steps))
                conclude(record, training.parts, outcome)


@contextmanager
def receiving_signals(cfg: DictConfig, folder: Path) -> "Iterator[Signals]":
    """Receive signals in the block; one that SLURM sent to end a job with resume=auto lets SLURM start it again."""
    from cse.training.signals import Signals

    with Signals(partial(resume_hint, cfg, folder)) as signals:
        try:
            slurm.release()
            yield signals
        except Interrupted as error:
            if not slurm.is_follower() and cfg.resume is not None and slurm.requeue(error.code - 128):
                log.info("SLURM starts this job again")
            raise


def resume_hint(cfg: DictConfig, folder: Path) -> str:
    """The words to a person whose run in `folder` ended before it was done."""
    if cfg.dry_run or cfg.data.preview:
        return "nothing was trained"
    again = shlex.join(["cse-train", f"resume={folder}"])
    if (folder / "last").is_dir():
        return f"this goes on: {again}"
    return f"nothing is saved yet, this starts again: {again}" if (folder / RUN).is_file() else "nothing is saved yet"


def begin(cfg: DictConfig, folder: RunFolder, accelerator: "Accelerator") -> "tuple[Training, Record] | None":
    """Everything before the first step; None for a run that was only to be looked at, which then has been.

    The folder is made last: what is refused before has changed none.
    """
    from cse.config.keys import identity
    from cse.data.overlap import overlap
    from cse.run.best import recover_best
    from cse.run.dry_run import print_estimate, print_forecast
    from cse.run.preview import preview
    from cse.run.summary import announce
    from cse.training.loop import Training

    is_first = accelerator.is_main_process
    with accelerator.main_process_first():  # what is to be tokenised is so once, by the first
        try:
            parts = build(cfg, accelerator)
        except MissingResource:
            if cfg.dry_run and is_first:
                print_estimate(cfg, accelerator, folder.path)
            raise
    config = resolved(cfg)
    if cfg.data.preview:
        preview(parts.batches, config["data"]["preview"])
        return None
    training = Training(parts, accelerator, folder.path, identity(config))
    found = overlap(parts.batches.text, parts.evaluators) if is_first else None
    if found:
        announce(config, parts, training, found)
    if cfg.dry_run:
        print_forecast(training)
        return None
    training.start(cfg.seed, resume=cfg.resume is not None)
    if is_first:
        recover_best(folder.path, training.best_step)
        folder.make()
    record = recorded(cfg, config, training)
    record.results["overlap"] = found
    return training, record


def recorded(cfg: DictConfig, config: Config, training: "Training") -> "Record":
    """The record of the run. config: `cfg` as plain values."""
    from cse.run.record import Record

    accelerator = training.accelerator
    return Record(
        training.folder,
        config,
        kind="train",
        device=str(accelerator.device),
        precision=precision_name(accelerator.mixed_precision),
        trackers=[make(node) for node in cfg.tracker.values()],
        resumed_at=training.step or None,
        writes=accelerator.is_main_process,
    )


def start_processes(cfg: DictConfig) -> "Accelerator":
    """This process's place among those of the run, its device and its precision."""
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, PartialState

    torch.use_deterministic_algorithms(False)  # an earlier run of this process may have asked for it
    if cfg.trainer.deterministic:
        from transformers.trainer_utils import enable_full_determinism

        enable_full_determinism(cfg.seed)
    AcceleratorState._reset_state(reset_partial_state=True)  # runs of one process (cse.train) share no state
    PartialState(cpu=not torch.cuda.is_available(), timeout=GROUP_TIMEOUT)
    return Accelerator(mixed_precision=precision_of(cfg.trainer.precision))
