"""The refusals before a run or an evaluation has a folder. Each refusal is a UserError. The order of the refusals:

1. resume.py refuses a folder without a run. code_in_settings.py refuses code that only an earlier run's folder names.
2. needs.py refuses an encoder or a file that does not exist. from_arguments.checked_config refuses a wrong key or
   value.
3. start.folder_of_job refuses another folder for a resumed run. check_place refuses a folder that cannot be used.
   check_idle_arguments refuses an argument without effect. After this step, a smoke test writes its synthetic data.
4. check_job refuses a folder that another run uses, and settings that contradict each other.
5. compatible.py refuses parts that do not fit together. unchanged.py refuses data that differs from an earlier run's
   data. best.py refuses a damaged best/. check_unused is called again: another run may have used the folder meanwhile.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.folder.contents import RUN
from cse.lab.folder.heartbeat import check_free
from cse.lab.folder.runs import read_run
from cse.lab.folder.status import line_to_resume
from cse.lab.run import this_process
from cse.lab.run.evaluators import check_selection
from cse.lab.run.job import Job
from cse.lab.settings.arguments import Argument

OF_SEPARATE = tuple(f"aux_modality.{key}" for key in ("lr", "schedule", "weight_decay", "no_decay", "clip", "order"))
"""Settings that only aux_modality.optimizer=separate reads."""


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, or that is inside a run's best/ or last/. Make no folder."""
    above = (folder.absolute(), *folder.absolute().parents)
    try:
        for place in above:
            if place.name in ("best", "last") and (place.parent / RUN).exists():
                why = f"is inside {place}, which a run writes and replaces"
                raise UserError(f"hydra.run.dir={folder} {why}: name another folder")
        there = next(place for place in above if place.exists())
        reason = (
            None
            if there.is_dir() and os.access(there, os.W_OK | os.X_OK)
            else f"{there} is not a folder that can be written"
        )
    except OSError as error:  # for a name that is too long, or for links in a circle
        reason = error.strerror
    if folder == Path():
        raise UserError("hydra.run.dir is empty or is the current folder; name another folder")
    if reason:
        raise UserError(f"hydra.run.dir={folder}: {reason}; name another folder")


def check_idle_arguments(config: DictConfig, given: Sequence[Argument]) -> None:
    """Refuse an argument that has no effect with the other settings."""
    idle = [argument for argument in given if argument.key in OF_SEPARATE]
    if idle and OmegaConf.select(config, "aux_modality.optimizer") == "joint":
        raise UserError(f"{idle[0]} has no effect with aux_modality.optimizer=joint, which uses the text's optimizer")


def check_job(job: Job) -> None:
    """Refuse a job whose folder another run uses, or whose settings contradict each other."""
    check_unused(job)
    if job.writes and not this_process.is_follower():
        check_free(job.folder)  # checked again when the run takes the folder's lock
    if job.trains:
        check_training(job.cfg)
    else:
        check_evaluation(job.cfg)


def check_unused(job: Job) -> None:
    """Refuse a folder that holds a run or scores that the job would replace."""
    held = [name for name in ("best", "last", "scores.csv") if os.path.lexists(job.folder / name)]
    if held and not (job.trains and job.cfg.resume):
        if not job.cfg.smoke and read_run(job.folder).is_smoke:
            raise UserError(f"{job.folder} holds a smoke test: remove this folder, or choose another hydra.run.dir")
        resume = f", or continue the run: {line_to_resume(job.folder)}" if job.trains else ""
        raise UserError(
            f"{job.folder} already holds a run or its scores ({held[0]}): choose another hydra.run.dir{resume}"
        )
    if held == ["best"] and not (job.folder / RUN).exists():
        raise UserError(
            f"{job.folder / 'best'} was not made by a run of cse and would be replaced: choose another hydra.run.dir"
        )


def check_training(cfg: DictConfig) -> None:
    """Refuse a selection by a score that no evaluator has, and processes that cannot share a batch or the GPUs."""
    from cse.data.loader import check_even_split
    from cse.device import check_gpu_per_process

    if not cfg.data.preview:  # a preview scores nothing
        check_selection(cfg)
    if "RANK" not in os.environ:  # a launcher has its own number of processes
        check_even_split(cfg.trainer.batch_size, cfg.trainer.devices)
        check_gpu_per_process("trainer.devices", cfg.trainer.devices)


def check_evaluation(cfg: DictConfig) -> None:
    """Refuse settings of cse-eval that contradict each other."""
    if ("_target_" in cfg.model) == (cfg.checkpoint is not None):
        raise UserError("name the encoder to score: either checkpoint=FOLDER_OR_NAME or model=NAME")
    if not cfg.eval:
        raise UserError("there is nothing to score: set eval=[stsb,sts], for example")
    whitening = cfg.whitening
    if (whitening.kind is None) != (whitening.fit is None) or (whitening.kind is None and whitening.components):
        raise UserError("whitening needs both: whitening.kind=pca (or zca) and whitening.fit=FILE, a file of sentences")
