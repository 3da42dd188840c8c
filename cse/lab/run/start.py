"""The start of one run or evaluation: from the arguments of a command to a folder.

cse-train, cse-eval and cse.train call start_training or start_evaluation. one_job makes the job and checks it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from cse.errors import UserError
from cse.files import make_folder
from cse.lab.run.from_arguments import cfg_of_new_run, checked_config, unchecked_config, without_added
from cse.lab.run.job import LOG_FILES, Job
from cse.lab.run.launch import run_in_processes
from cse.lab.run.needs import check_needs, check_text, needs_before_torch, needs_in_order
from cse.lab.run.refusals import check_idle_arguments, check_job, check_place
from cse.lab.run.resume import EarlierRun, complete_arguments, earlier_run, log_ignored_variables
from cse.lab.run.run_log import logging_to
from cse.lab.run.this_process import prepare_libraries
from cse.lab.settings.arguments import Argument, texts_of, values_of
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.groups import Kind
from cse.lab.settings.mistakes import explaining


def start_training(arguments: Sequence[Argument], folder: str | Path | None = None) -> Path:
    """Train with these arguments of cse-train, in this process or in several, and return the run's folder.

    folder: the folder of a new run; None: hydra.run.dir. Raises UserError before it writes a file, and RunError later.
    """
    with one_job("train", arguments, folder) as job:
        if job.cfg.trainer.devices > 1:  # starting the processes takes longer than reading a corpus
            check_text(job.cfg)
        return run_in_processes(job)


def start_evaluation(arguments: Sequence[Argument]) -> None:
    """Score an encoder with these arguments of cse-eval. Raises UserError before it writes a file."""
    with one_job("evaluate", arguments) as job:
        from cse.lab.run.evaluation import run_evaluation

        run_evaluation(job)


@contextmanager
def one_job(kind: Kind, arguments: Sequence[Argument], folder: str | Path | None = None) -> Iterator[Job]:
    """Make and check a job, and give it to the block, which logs into the job's log file. Raises UserError."""
    given = without_added(arguments)
    with explaining(texts_of(given), kind):  # not around the work: an error in the user's own code needs its traceback
        run = earlier_run(arguments, kind)
        config = unchecked_config(kind, arguments, run)
        check_needs(needs_before_torch(config))  # importing torch takes seconds
        prepare_libraries()
        config = checked_config(config, kind)
        check_needs(needs_in_order(config))
        place = folder_of_job(config, run, given, folder)
    check_place(place)
    check_idle_arguments(config, given)
    with logging_to(place / LOG_FILES[kind]):
        if run:
            log_ignored_variables(run, config, given)
            job = Job(kind, without_hydra(config), complete_arguments(run, given), place)
        else:
            job = Job(kind, cfg_of_new_run(config, kind, given), given, place)
        check_job(job)
        make_folder(Path(job.cfg.paths.cache), "paths.cache")  # the only test whether the folder can be made
        yield job


def folder_of_job(
    config: DictConfig, run: EarlierRun | None, given: Sequence[Argument], folder: str | Path | None
) -> Path:
    """Return the folder of a job: a resumed run keeps its folder; another job has `folder` or, if None, hydra.run.dir.

    Raises UserError if another folder is given for a resumed run.
    """
    if run is None or run.key == "rerun":
        return Path(folder or config.hydra.run.dir)
    other = folder or values_of(given).get("hydra.run.dir")
    if other and Path(other).resolve() != run.folder.resolve():
        raise UserError(f"{run} continues in its own folder: leave out {other}, or start a new run with rerun=")
    return run.folder
