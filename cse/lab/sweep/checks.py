"""The checks of a command's jobs before any starts, in the order that job.py gives.

To read: check_jobs, before every start; refusals_of, of a dry run.
"""

from collections.abc import Hashable, Sequence

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.settings.compose import explaining, is_group
from cse.lab.settings.words import texts_of
from cse.lab.sweep.job import PlannedJob, but_for_seed, one_of_each
from cse.lab.tracking.wandb_offline import has_key


def check_jobs(jobs: Sequence[PlannedJob]) -> None:
    """Check the settings and the selection of the jobs before any starts.

    Raises UserError for a key or a choice that does not exist in some job, or if no job has valid settings. A value
    that is invalid only in some jobs makes those fail and lets the others run.
    """
    unlike = unlike_jobs(jobs)
    for job in unlike:
        try:
            check_composes(job)
        except UserError as error:
            raise UserError(f"{error} (in the job {job.name})" if len(jobs) > 1 else str(error)) from error
    refusals: list[UserError] = []
    for job in unlike:
        try:
            with explaining(texts_of(job.words), job.command):
                job.checked()
        except UserError as error:
            refusals.append(error)
    if len(refusals) == len(unlike):
        raise refusals[0]
    check_wandb_id(jobs)


def check_composes(job: PlannedJob) -> None:
    """Raise UserError for a key or a choice that does not exist."""
    with explaining(texts_of(job.words), job.command):
        _ = job.config  # composing it is the check


def unlike_jobs(jobs: Sequence[PlannedJob]) -> list[PlannedJob]:
    """The jobs with an argument, or a combination of choices, that no job before them has: checking these checks
    all."""
    texts_before: set[str] = set()
    choices_before: set[frozenset[str]] = set()
    found: list[PlannedJob] = []
    for job in jobs:
        texts = {word.text for word in job.words}
        choices = frozenset(word.text for word in job.words if is_group(word.key))
        if texts <= texts_before and choices in choices_before:
            continue
        texts_before |= texts
        choices_before.add(choices)
        found.append(job)
    return found


def check_wandb_id(jobs: Sequence[PlannedJob]) -> None:
    """Raise UserError for one W&B id of several runs, which would log over each other."""
    settings = OmegaConf.select(jobs[0].config, "tracker.wandb")
    if len(jobs) == 1 or not settings or not settings.id:
        return
    if settings.mode == "disabled" or (settings.mode == "auto" and not has_key()):
        return
    raise UserError(
        f"tracker.wandb.id={settings.id} (or WANDB_RUN_ID) is the id of one run, and this command starts {len(jobs)}: "
        "leave it out"
    )


def refusals_of(jobs: Sequence[PlannedJob]) -> dict[str, UserError]:
    """By name, the error with which a job would end before its first step."""
    refused: dict[Hashable, UserError] = {}
    for job in one_of_each(jobs, but_for_seed):
        try:
            job.rehearse()
        except UserError as error:
            refused[but_for_seed(job)] = error
    return {job.name: refused[but_for_seed(job)] for job in jobs if but_for_seed(job) in refused}
