"""One training job, in this process or in one of several. Read `run`, then its phases, in this order:

    build_parts   makes all parts that the settings name
    log_rows      with data.preview: logs some rows as the model will get them; the run then ends
    prepare       makes the training, with rerun= compares its inputs with the earlier run's, and logs the run's plan
    check_memory  refuses a step that needs more memory than the machine has (cse.training.forecast)
    log_forecast  with dry_run: measures time and memory; the run then ends
    take_folder   takes the run's folder, and starts or resumes the training; the first write
    begin_record  makes the Record (results.json, trackers) with the facts that are known before the first step
    training.run  does the steps (cse.training.loop), and saves best/ and last/ meanwhile
    finish_run    scores best/, and writes the files of a finished run

This module imports torch. Import it only for a training: --help must answer without torch.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from omegaconf import DictConfig

from cse.data.overlap import Overlap, overlap_of_all
from cse.device import device_name
from cse.errors import Interrupted, MissingResource, UserError
from cse.lab.folder.changes import changed_code
from cse.lab.folder.contents import EarlierCode, Results, TrainingData
from cse.lab.folder.heartbeat import Heartbeat
from cse.lab.folder.runs import read_run
from cse.lab.run import slurm
from cse.lab.run.announce import announce
from cse.lab.run.best import finish_run, recover_best, save_best
from cse.lab.run.build import build
from cse.lab.run.dry_run import log_forecast, log_plan, log_rows
from cse.lab.run.job import Job
from cse.lab.run.needs import error_on_all
from cse.lab.run.record import Record, begin_folder
from cse.lab.run.refusals import check_unused
from cse.lab.run.resume import resume_hint
from cse.lab.run.run_log import log_fields
from cse.lab.run.this_process import is_follower
from cse.lab.run.unchanged import check_repeated, check_resumed, warn_of_changed_code
from cse.lab.settings.references import resolved
from cse.lab.settings.roles import fixed_settings
from cse.lab.settings.values import PlainConfig
from cse.lab.sharing.card import vectors_of_export
from cse.lab.sharing.hub_metadata import read_license_and_language
from cse.training.distributed import join_processes, leave_processes, main_process_first
from cse.training.failures import explain_failures
from cse.training.forecast import check_memory
from cse.training.loop import Training
from cse.training.settings import Parts
from cse.training.signals import Signals

log = logging.getLogger("cse")


def run(job: Job) -> None:
    """Train, then score the best checkpoint on every split of every evaluator.

    Raises Interrupted after a signal. If the job can be resumed (resume=auto), SLURM then starts it again.
    """
    explained = partial(explain_failures, resolved(job.cfg), partial(resume_hint, job))
    with leaving_processes(), receiving_signals(job) as signals, explained():
        set_up_torch(job.cfg)
        precision = precision_of(job.cfg.trainer.precision, is_trial=job.cfg.smoke or not job.writes)
        job = job.with_precision(precision)  # a resumed run keeps this precision
        accelerator = Accelerator(mixed_precision=job.cfg.trainer.precision.replace("fp32", "no"))
        is_first = accelerator.is_main_process
        with Heartbeat(job.folder, is_first and job.writes) as heartbeat:
            parts = build_parts(job, accelerator)
            if job.cfg.data.preview:
                return log_rows(parts.batches, job.cfg.data.preview, job.cfg.choices.augmentation)
            training, overlap = prepare(job, parts, accelerator)
            check_memory(training)
            if job.cfg.dry_run:
                start_or_resume(job, training)  # refuses what the run itself would refuse
                return log_forecast(training)
            take_folder(job, training, heartbeat)
            record = begin_record(job, training, overlap)
            with record, explained():  # explained inside the record, so that results.json has the explanation
                keep_best = partial(save_best, record, parts)
                state = training.run(on_best=keep_best, log=record.log, signals=signals)
                if is_first:
                    finish_run(record, training, state)


@contextmanager
def leaving_processes() -> Iterator[None]:
    """Leave the process groups after the block, except after a failure: other processes may be inside a collective."""
    yield
    leave_processes()


@contextmanager
def receiving_signals(job: Job) -> Iterator[Signals]:
    """Receive signals in the block. If SLURM stops a run with resume=, the run's job goes back into SLURM's queue."""
    with Signals(partial(resume_hint, job)) as signals:
        try:
            slurm.release()
            yield signals
        except Interrupted as error:
            if not is_follower() and job.cfg.resume and slurm.requeue(error.code - 128):
                log.info("SLURM starts this job again")
            raise


def set_up_torch(cfg: DictConfig) -> None:
    """Join the run's other processes, and set torch's global settings, which an earlier run may have changed."""
    torch.use_deterministic_algorithms(False)  # an earlier run in this process may have set True
    if cfg.trainer.deterministic:
        from transformers.trainer_utils import enable_full_determinism

        enable_full_determinism(cfg.seed)
    AcceleratorState._reset_state(reset_partial_state=True)  # several cse.train calls in one process share no state
    join_processes()
    torch.backends.cudnn.allow_tf32 = False  # cuDNN's default rounds float32 convolutions
    torch.set_float32_matmul_precision("highest")  # the default, unless TORCH_ALLOW_TF32_CUBLAS_OVERRIDE is set


def precision_of(asked: str, is_trial: bool = False) -> str:
    """Return the precision on this machine for a value of trainer.precision.

    For auto: bf16 if the device computes bf16 in hardware, else fp32. Without a GPU, fp16 raises UserError, except in a
    trial (a smoke test, dry run or preview), which computes in fp32.
    """
    from cse.device import computes_bf16, count_gpus

    if asked == "auto":
        return "bf16" if computes_bf16() else "fp32"
    if asked == "fp16" and not count_gpus():
        if not is_trial:
            raise UserError("trainer.precision=fp16 needs a GPU: on a CPU use fp32 or bf16")
        log_fields(precision="fp32 here, because fp16 needs a GPU; without a GPU the run itself is refused")
        return "fp32"
    return asked


def build_parts(job: Job, accelerator: Accelerator) -> Parts:
    """Make all parts that the settings name. Raises UserError, or one MissingResource that names all missing data."""
    with main_process_first():  # the first process reads the text, the other processes read the text's cache
        try:
            return build(job.cfg, accelerator)
        except MissingResource as error:
            if job.cfg.dry_run and accelerator.is_main_process:
                log_plan(job.cfg, job.folder)
            raise error_on_all(error, job.cfg, job.kind) from error


def prepare(job: Job, parts: Parts, accelerator: Accelerator) -> tuple[Training, Overlap | None]:
    """Return the training before its start, and the counts of training texts that are also evaluation texts.

    Only the first process counts these texts; on the other processes, the counts are None. Logs the run's plan, and
    writes nothing. Raises UserError if a run with rerun= would read other data than the earlier run.
    """
    plain = resolved(job.cfg)
    training = Training(parts, accelerator, job.folder, fixed_settings(plain))
    if not accelerator.is_main_process:
        return training, None
    if job.cfg.rerun is not None:
        check_repeated(Path(job.cfg.rerun), plain, training)
    overlap = overlap_of_all([batches.text for batches in parts.batches.sources.values()], parts.evaluators)
    announce(plain, training, overlap, job.arguments)
    return training, overlap


def start_or_resume(job: Job, training: Training) -> None:
    """Start a new training or, with resume=, continue from last/. Raises UserError if settings or data have changed."""
    resumes = job.cfg.resume is not None
    if resumes:
        check_resumed(training)
    training.start(job.cfg.seed, resume=resumes)


def take_folder(job: Job, training: Training, heartbeat: Heartbeat) -> None:
    """Take the run's folder, start or resume the training, and then write the folder's first files.

    Raises UserError before these files are written. heartbeat: the lock that then keeps other runs out of the folder.
    """
    is_first = training.accelerator.is_main_process
    heartbeat.take()  # before the folder is read
    if is_first:
        check_unused(job)  # a second check: another run may have used the folder meanwhile
    start_or_resume(job, training)
    if is_first:
        recover_best(training)
        begin_folder(job)


def begin_record(job: Job, training: Training, overlap: Overlap | None) -> Record:
    """Return the record of a training that has started. overlap: the counts of its texts that are evaluation texts."""
    is_first = training.accelerator.is_main_process
    record = Record(
        job,
        device=device_name(training.accelerator.device),
        precision=job.cfg.trainer.precision,
        resumed_at=training.state.step or None,
        writes=is_first,
    )
    record.note(**encoder_and_inputs(training))
    record.note(overlap=overlap)
    if is_first:
        record.note(**kept_of_before(resolved(job.cfg), training))
    return record


def encoder_and_inputs(training: Training) -> Results:
    """Return the entries of results.json about the encoder and about its training data."""
    encoder, objective = training.parts.encoder, training.parts.objective
    layers = encoder.backbone.config.num_hidden_layers
    shape = f"{type(encoder.backbone).__name__}, {layers} layers of {encoder.width}, {encoder.size}"
    return {
        "total_steps": training.steps,
        "architecture": f"{shape}, {encoder.pooling} pooling",
        "vectors": vectors_of_export(encoder, objective.test_head()),
        "prompts": encoder.prompts,
        "training_data": cast("TrainingData", training.parts.provenance()),
        "inputs": training.inputs,
        "processes": training.accelerator.num_processes,  # trainer.devices does not give torchrun's number
    }


def kept_of_before(plain: PlainConfig, training: Training) -> Results:
    """Return the entries of results.json that a resumed run keeps from its earlier starts. Warns of changed code.

    The entries are each earlier code, each earlier number of processes, and the initial encoder's licence and language.
    """
    step, processes = training.state.step, training.accelerator.num_processes
    before: Results = read_run(training.folder).results if step else {}
    kept: Results = {
        "earlier_code": list(before.get("earlier_code", [])),
        "earlier_processes": list(before.get("earlier_processes", [])),
        "weights": before.get("weights"),
    }
    if before and (changed := changed_code(before, plain)):
        warn_of_changed_code("resume", changed)
        made = EarlierCode(
            until_step=step,
            git_commit=before.get("git_commit"),
            code=before.get("code"),
            own_code=before.get("own_code"),
        )
        kept["earlier_code"].append(made)
    if before.get("processes", processes) != processes:
        kept["earlier_processes"].append(before["processes"])
    if kept["weights"] is None:  # a resumed run does not ask the hub again
        kept["weights"] = read_license_and_language(plain["model"]["name"])
    return kept
