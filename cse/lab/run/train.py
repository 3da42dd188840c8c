"""One training job, in this process or in one of several: build, train, score the best step, leave a complete folder.

Imports torch, so import it only when there is work: --help answers without.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from omegaconf import DictConfig

from cse.data.overlap import overlap
from cse.device import device_name
from cse.errors import Interrupted, MissingResource, combine
from cse.lab.folder.card import vectors_of
from cse.lab.folder.heartbeat import Heartbeat
from cse.lab.folder.origin import read_license_and_language
from cse.lab.folder.runs import read_run
from cse.lab.run import slurm
from cse.lab.run.best import recover_best, save_best, score_best
from cse.lab.run.build import build, make, precision_of
from cse.lab.run.job import Job
from cse.lab.run.needs import needs_of
from cse.lab.run.record import Record
from cse.lab.run.resume import check_continues, check_repeats, warn_of_other_code
from cse.lab.run.summary import announce, conclude, print_forecast, print_plan, print_rows
from cse.lab.settings.compose import resolved
from cse.lab.settings.dotted import Config
from cse.lab.settings.keys import identity
from cse.training.checkpoint import drop_tensors
from cse.training.distributed import join_processes, leave_processes, main_process_first
from cse.training.failures import explain_failures
from cse.training.loop import Training
from cse.training.signals import Signals

log = logging.getLogger("cse")


def run(job: Job) -> None:
    """Train, then score the best step on every split of every evaluator.

    Raises Interrupted after a signal; SLURM then starts the job again if it can be resumed (resume=auto).
    """
    explained = partial(explain_failures, resolved(job.cfg), job.resume_hint)
    with receiving_signals(job) as signals, explained():
        accelerator = start_processes(job.cfg)
        is_first = accelerator.is_main_process
        with Heartbeat(job.folder, is_first and job.writes) as heartbeat:
            begun = begin(job, accelerator, heartbeat)
            if begun is None:
                return
            training, record = begun
            with record, explained():  # explained inside the record, so that results.json has the explanation
                keep_best = partial(save_best, record, training.parts)
                state = training.run(on_best=keep_best, log=record.log, signals=signals)
                if is_first:
                    if state.best_step == 0:  # no selection: keep the last step
                        state.best_step, state.best_sum = state.step, keep_best(state.step, {})
                    known = training.known(state.best_step)
                    score_best(record, training.parts.evaluators, accelerator.device, known)
                    if not training.trainer.keep_last:
                        drop_tensors(job.folder, state)
                    conclude(record, training.parts, state)
    leave_processes()  # skipped after a failure, when the others may be inside a collective


@contextmanager
def receiving_signals(job: Job) -> Iterator[Signals]:
    """Receive signals in the block. A run with resume= that SLURM stopped goes back into its queue."""
    with Signals(job.resume_hint) as signals:
        try:
            slurm.release()
            yield signals
        except Interrupted as error:
            if not slurm.is_follower() and job.cfg.resume and slurm.requeue(error.code - 128):
                log.info("SLURM starts this job again")
            raise


def begin(job: Job, accelerator: Accelerator, heartbeat: Heartbeat) -> tuple[Training, Record] | None:
    """Do everything before the first step. Returns None for a dry run or a preview, which end here.

    The folder is made last, so that a refused run changes no folder. heartbeat: holds the folder from then on.
    """
    cfg, is_first = job.cfg, accelerator.is_main_process
    asked = cfg.trainer.precision
    cfg.trainer.precision = precision_of(asked)  # recorded, so that a resumed run keeps it
    with main_process_first():  # the first tokenises, the others read its cache
        try:
            parts = build(cfg, accelerator)
        except MissingResource as error:
            if cfg.dry_run and is_first:
                print_plan(cfg, job.folder)
            lacking = [need.name for need in needs_of(cfg) if need.look()[0] is None]
            if len(lacking) < 2:
                raise
            lacks = f"not here, in all: {', '.join(lacking)}; cse-data fetch LINE gets what it reads"
            raise combine([error, MissingResource(f"{lacks}; cse-train experiment=demo needs no hub")]) from error
    config = resolved(cfg)
    if cfg.data.preview:
        print_rows(parts.batches, cfg.data.preview, config["choices"]["augmentation"])
        return None
    training = Training(parts, accelerator, job.folder, identity(config))
    found = None
    if is_first:
        if cfg.rerun is not None:
            check_repeats(Path(cfg.rerun), config, training)
        found = overlap(parts.batches.text, parts.evaluators)
        announce(config, training, found, asked)
    if not cfg.dry_run:
        heartbeat.take()  # before the folder is read
        if is_first:
            job.check_unused()  # again: another run may have used it since
    if cfg.resume is not None:
        check_continues(training)
    training.start(cfg.seed, resume=cfg.resume is not None)  # a dry run refuses what the run would
    if cfg.dry_run:
        print_forecast(training)
        return None
    if is_first:
        recover_best(job.folder, training)
        job.make_folder()
    record = make_record(cfg, config, training)
    record.results["overlap"] = found
    return training, record


def make_record(cfg: DictConfig, config: Config, training: Training) -> Record:
    """The run's record, with the description of the encoder. config: `cfg` as plain values."""
    accelerator, encoder = training.accelerator, training.parts.encoder
    record = Record(
        training.folder,
        config,
        kind="train",
        device=device_name(accelerator.device),
        precision=config["trainer"]["precision"],
        trackers=[make(node) for node in cfg.tracker.values()],
        resumed_at=training.state.step or None,
        writes=accelerator.is_main_process,
    )
    layers = encoder.backbone.config.num_hidden_layers
    shape = f"{type(encoder.backbone).__name__}, {layers} layers of {encoder.width}, {encoder.size}"
    record.results |= {
        "total_steps": training.steps,
        "architecture": f"{shape}, {encoder.pooling} pooling",
        "vectors": vectors_of(encoder, training.parts.objective.test_head()),
        "training_data": training.parts.provenance(),
        "inputs": training.inputs,
        "processes": accelerator.num_processes,  # torchrun's, which trainer.devices does not say
    }
    if record.writes:
        before = read_run(training.folder).results if training.state.step else {}
        earlier = before.get("earlier_code", [])
        if before and warn_of_other_code("resume", before, config):
            made = {key: before.get(key) for key in ("git_commit", "code", "own_code")}
            earlier = [*earlier, {"until_step": training.state.step, **made}]
        then, now = before.get("processes"), accelerator.num_processes
        changed = [then] if then not in (None, now) else []
        record.results |= {
            "earlier_code": earlier,
            "earlier_processes": [*before.get("earlier_processes", []), *changed],
        }
        known = "weights" in before  # a resumed run does not ask the hub again
        record.results["weights"] = before["weights"] if known else read_license_and_language(config["model"]["name"])
    return record


def start_processes(cfg: DictConfig) -> Accelerator:
    """Join the run's other processes. Returns this one's rank, device and precision as an Accelerator."""
    torch.use_deterministic_algorithms(False)  # an earlier run in this process may have set it
    if cfg.trainer.deterministic:
        from transformers.trainer_utils import enable_full_determinism

        enable_full_determinism(cfg.seed)
    AcceleratorState._reset_state(reset_partial_state=True)  # several cse.train calls in one process share no state
    join_processes()
    torch.backends.cudnn.allow_tf32 = False  # cuDNN's default rounds float32 convolutions
    torch.set_float32_matmul_precision("highest")  # the default, unless TORCH_ALLOW_TF32_CUBLAS_OVERRIDE is set
    return Accelerator(mixed_precision=precision_of(cfg.trainer.precision).replace("fp32", "no"))
