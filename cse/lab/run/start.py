"""The way into one run or evaluation: the arguments of a command in, a folder out.

cse-train, cse-eval and cse.train end here. Read start_training and start_evaluation, then one_job, the job before its
work. Its settings come from cse.lab.run.from_arguments. With resume= or rerun= it is a job_from_run.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.run import resume, startup
from cse.lab.run.from_arguments import checked_config, config_of, fitted, origin_of, without_added
from cse.lab.run.job import LOG_FILES, Job, check_given, check_place
from cse.lab.run.launch import run_in_processes
from cse.lab.run.logs import logging_to
from cse.lab.run.needs import check_needs, needs_before_torch, needs_in_order
from cse.lab.settings.arguments import Argument, spell_argument, texts_of, values_of
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.groups import Kind, file_of
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.references import VARIABLE
from cse.lab.settings.values import flattened

log = logging.getLogger("cse")


def start_training(arguments: Sequence[Argument], folder: str | Path | None = None) -> Path:
    """Train as these arguments of cse-train say, in this process or in several. Returns the run's folder.

    folder: of a new run; None is hydra.run.dir. Raises UserError before a file is written, or RunError.
    """
    with one_job("train", arguments, folder) as job:
        return run_in_processes(job)


def start_evaluation(arguments: Sequence[Argument]) -> None:
    """Score as these arguments of cse-eval say. Raises UserError before a file is written."""
    with one_job("evaluate", arguments, folder=None) as job:
        from cse.lab.run.evaluation import run_evaluation

        run_evaluation(job)


@contextmanager
def one_job(kind: Kind, arguments: Sequence[Argument], folder: str | Path | None) -> Iterator[Job]:
    """A checked job, whose folder is not made yet. The block logs into its log file. Raises UserError."""
    given = without_added(arguments)
    with explaining(texts_of(given), kind):  # not the work: an error of the user's own code needs its traceback
        origin, config = origin_of(kind, arguments), config_of(kind, arguments)
        check_needs(needs_before_torch(config))  # before torch is imported, which takes seconds
        startup.before_libraries()
        settings = checked_config(config, kind)
        check_needs(needs_in_order(settings))
        place = place_of_run(settings, origin, given, folder)
    check_place(place)
    check_given(settings, given)
    with logging_to(place / LOG_FILES[kind]):
        if origin:
            job = job_from_run(origin, settings, given, place)
        else:
            job = Job(fitted(settings, kind, given), given, place)
        job.check()
        yield job


def job_from_run(origin: resume.Origin, settings: DictConfig, given: Sequence[Argument], place: Path) -> Job:
    """A job that resumes or repeats a run, whose settings were fitted when it was new."""
    tell_ignored_variables(settings, origin, given)
    return Job(without_hydra(settings), resume.without_origin(origin, given), place)


def place_of_run(
    settings: DictConfig, origin: resume.Origin | None, given: Sequence[Argument], folder: str | Path | None
) -> Path:
    """The folder of a run. A resumed run has its own; for another one it is `folder`, else hydra.run.dir.

    Raises UserError for a resumed run that is to be in another folder.
    """
    if origin is None or origin.key == "rerun":
        return Path(folder or settings.hydra.run.dir)
    other = folder or values_of(given).get("hydra.run.dir")
    if other and Path(other).resolve() != origin.folder.resolve():
        raise UserError(f"{origin} continues in that folder: leave out {other}, or start a new run with rerun=")
    return origin.folder


def tell_ignored_variables(settings: DictConfig, origin: resume.Origin, given: Sequence[Argument]) -> None:
    """Log each environment variable that a new run would read. A run with resume= or rerun= ignores it."""
    plain, changed = flattened(resolved(without_hydra(settings))), values_of(given)
    for key, name in variables_of_settings().items():
        here = os.environ.get(name)
        if not here or key in changed or key not in plain:
            continue
        kept = plain[key]
        if here != (",".join(kept) if isinstance(kept, list) else str(kept)):
            log.info(
                "%-10s %s=%s in the environment is ignored: the run keeps %s; give %s to change it",
                *(origin.key, name, here, spell_argument(key, kept), spell_argument(key, here)),
            )


def variables_of_settings() -> dict[str, str]:
    """The environment variable of each setting of conf/ that is read from one."""
    variables = {}
    for group, choice in (("paths", "default"), ("tracker", "wandb")):
        written = OmegaConf.to_container(OmegaConf.load(file_of(group, choice)))
        for key, value in flattened(written).items():  # type: ignore[arg-type]
            if variable := VARIABLE.fullmatch(str(value)):
                variables[f"{group}.{key}"] = variable[1]
    return variables
