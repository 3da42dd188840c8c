"""The checks of a command's jobs before the first job starts. job.py has the order of the checks.

    check_jobs         for every command
    steps_or_refusals  for a dry run: the number of steps of each job, or why the job would end before its first step
    needs_of_jobs      for a dry run and cse-data: the data that the jobs read
    missing_in_all     before a start without a hub: the missing data, if every job lacks some

Then come functions that find a few jobs to check in place of all jobs:

    unlike_jobs             if Hydra can compose the configs of these jobs, it can compose the configs of all jobs
    alike_in                groups of jobs with the same values at some keys
    but_for_seed            jobs with the same result of this function end in the same way, after equally many steps
    what_inputs_depend_on   jobs with the same result of this function read the same data
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache

from omegaconf import DictConfig, OmegaConf
from pydantic import TypeAdapter, ValidationError

from cse.errors import UserError
from cse.lab.run.needs import lacking, needs_of
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.groups import is_group
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.roles import role_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.tracking.wandb import has_key
from cse.needs import Need
from cse.ranges import Seed
from cse.sources.encoder import EncoderNeed

SEED = TypeAdapter(Seed)
"""The seeds that a run accepts."""
COMPUTING = ("seed", "case", "trainer", "objective", "augmentation", "masking")
"""The first parts of keys that name no input of a job, unless their value is used unchanged (Role.is_verbatim)."""


def check_jobs(jobs: Sequence[PlannedJob], trials: int = 1) -> None:
    """Check the settings of the jobs before the first job starts.

    trials: the number of runs that each job stands for: a search's number of trials, else 1. Raises UserError if a key
    or a choice in some job does not exist, if no job has valid settings, or if several runs would have the same W&B id.
    If a value is invalid only in some jobs, these jobs fail and the other jobs run.
    """
    for job in unlike_jobs(jobs, what_composing_depends_on):
        try:
            _ = job.config  # composing the config is the check
        except UserError as error:
            raise UserError(f"{error} (in the job {job.name})" if len(jobs) > 1 else str(error)) from error
    check_some_valid(jobs)
    check_wandb_ids(jobs, trials)


def check_some_valid(jobs: Sequence[PlannedJob]) -> None:
    """Raise the mistake of the first job if no job has valid settings.

    The jobs with an argument that no earlier job has are checked first. If all these jobs have the same message, the
    mistake is in an argument of every job. If messages differ, a job that combines other arguments may be valid. So all
    jobs are then checked.
    """
    mistakes: list[UserError] = []
    for job in one_of_each(unlike_jobs(jobs, str), but_for_seed):
        mistake = job.find_mistake()
        if mistake is None:
            return
        mistakes.append(mistake)
    messages = {str(mistake) for mistake in mistakes}
    if len(messages) == 1 or all(job.find_mistake() for job in one_of_each(jobs, but_for_seed)):
        raise mistakes[0]


def check_wandb_ids(jobs: Sequence[PlannedJob], trials: int) -> None:
    """Raise UserError if several runs have the same W&B id, because they would overwrite each other's log.

    trials: see check_jobs.
    """
    counts: Counter[str] = Counter()
    for alike in alike_in(("tracker.wandb.id", "tracker.wandb.mode"), jobs):
        counts[wandb_id(alike[0])] += len(alike)
    for name, count in counts.items():
        if name and count * trials > 1:
            raise UserError(
                f"tracker.wandb.id={name} (or WANDB_RUN_ID) is the id of one run, but this command starts "
                f"{count * trials} runs: leave this id out"
            )


def wandb_id(job: PlannedJob) -> str:
    """Return the W&B id in a job's settings; "" without an id, without W&B, or if the id refers to a missing key."""
    try:
        with explaining(texts_of(job.arguments), job.kind):
            settings = OmegaConf.select(job.config, "tracker.wandb")
            if not settings or not settings.id:
                return ""
            is_off = settings.mode == "disabled" or (settings.mode == "auto" and not has_key())
            return "" if is_off else str(settings.id)
    except UserError:
        return ""


def steps_or_refusals(jobs: Sequence[PlannedJob]) -> list[str | UserError]:
    """Return for each job a text with its number of steps, or the error that would end it before its first step."""
    outcomes: dict[Hashable, str | UserError] = {}
    for key, job in first_of_each(jobs, but_for_seed).items():
        try:
            outcomes[key] = job.rehearse()
        except UserError as error:
            outcomes[key] = error
    return [outcomes[but_for_seed(job)] for job in jobs]


def needs_of_jobs(jobs: Sequence[PlannedJob]) -> list[Need]:
    """Return each input of the jobs once. An encoder that a job of the same sweep trains is not an input."""
    needs: list[Need] = []
    for job in one_of_each(jobs, what_inputs_depend_on):
        of_others = EncoderNeed if job.scores else ()
        needs += [need for need in needs_of(job.config) if not isinstance(need, of_others)]
    return list(dict.fromkeys(needs))


def missing_in_all(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return the names of the missing data if every job lacks some data; else an empty list."""
    names: list[str] = []
    for job in one_of_each(jobs, what_inputs_depend_on):
        missing, _ = lacking(needs_of_jobs([job]))
        if not missing:
            return []
        names += missing
    return list(dict.fromkeys(names))


# Composing a config takes time, so one job is checked in place of several


def unlike_jobs(jobs: Sequence[PlannedJob], told: Callable[[Argument], str]) -> list[PlannedJob]:
    """Return the jobs with an argument or a combination of choices that no earlier job has.

    told: a function that returns the compared part of an argument. With `what_composing_depends_on`, if Hydra can
    compose the configs of the returned jobs, it can compose all configs.
    """
    told, chooses = cache(told), cache(is_group)  # jobs share most arguments
    texts_before: set[str] = set()
    choices_before: set[frozenset[str]] = set()
    unlike: list[PlannedJob] = []
    for job in jobs:
        texts = set(map(told, job.arguments))
        choices = frozenset(argument.text for argument in job.arguments if chooses(argument.key))
        if texts <= texts_before and choices in choices_before:
            continue
        texts_before |= texts
        choices_before.add(choices)
        unlike.append(job)
    return unlike


def what_composing_depends_on(argument: Argument) -> str:
    """Return what decides whether a config composes: an argument's key if its value is plain, else the argument.

    Composing accepts any plain value. But a choice adds its own keys, the name of an objective in a mixture's source
    adds the objective's settings, and Hydra's own keys have types.
    """
    value = argument.parsed
    is_plain = value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and "${" not in value)
    is_special = argument.deletes or is_group(argument.key) or argument.key.startswith(("hydra", "data.sources"))
    return argument.key if is_plain and not is_special and re.fullmatch(r"[\w.]+", argument.key) else argument.text


def alike_in(keys: Sequence[str], jobs: Sequence[PlannedJob]) -> list[list[PlannedJob]]:
    """Return groups of jobs. The jobs of a group have the same values at these keys, because equal arguments set them.

    If the value of one of these keys is a reference, each job is a separate group. Every job's config must compose.
    """

    @cache
    def sets_them(argument: Argument) -> bool:
        return sets_any(argument, keys)

    def what_sets_them(job: PlannedJob) -> Hashable:
        return (job.program, *(argument.text for argument in job.arguments if sets_them(argument)))

    unlike = unlike_jobs(jobs, what_composing_depends_on)
    if any(is_reference(job.config, key) for job in unlike for key in keys):
        return [[job] for job in jobs]
    parts: dict[Hashable, list[PlannedJob]] = {}
    for job in jobs:
        parts.setdefault(what_sets_them(job), []).append(job)
    return list(parts.values())


def sets_any(argument: Argument, keys: Sequence[str]) -> bool:
    """Return whether an argument may set one of the keys: a choice, a deletion, or a value of the key or its parent."""
    is_above = any(f"{key}.".startswith(f"{argument.key}.") for key in keys)
    return is_group(argument.key) or argument.deletes or is_above


def is_reference(config: DictConfig, key: str) -> bool:
    """Return whether the value of a key, or of one of its parent keys, is a reference (`${...}`)."""
    parent, _, last = key.rpartition(".")
    if parent and is_reference(config, parent):
        return True
    node = OmegaConf.select(config, parent) if parent else config
    return OmegaConf.is_dict(node) and last in node and OmegaConf.is_interpolation(node, last)


def most_devices(jobs: Sequence[PlannedJob]) -> int:
    """Return the largest number of devices that a job uses. Every job's config must compose."""
    return max(alike[0].count_devices() for alike in alike_in(("smoke", "trainer.devices"), jobs))


def one_of_each(jobs: Iterable[PlannedJob], key: Callable[[PlannedJob], Hashable]) -> list[PlannedJob]:
    """Return the first job for each result of `key`."""
    return list(first_of_each(jobs, key).values())


def first_of_each(jobs: Iterable[PlannedJob], key: Callable[[PlannedJob], Hashable]) -> dict[Hashable, PlannedJob]:
    """Return {result of `key`: the first job with this result}."""
    first: dict[Hashable, PlannedJob] = {}
    for job in jobs:
        first.setdefault(key(job), job)
    return first


def but_for_seed(job: PlannedJob) -> Hashable:
    """Return a job's program and its arguments, except `case` and a valid seed.

    Jobs with the same result end in the same way, after the same number of steps.
    """
    arguments = [argument for argument in job.arguments if argument.key != "case" and not is_valid_seed(argument)]
    return (job.program, *texts_of(arguments))


def is_valid_seed(argument: Argument) -> bool:
    """Return whether an argument is a valid seed."""
    if argument.key != "seed":
        return False
    try:
        SEED.validate_python(argument.parsed, strict=True)
    except ValidationError:
        return False
    return True


def what_inputs_depend_on(job: PlannedJob) -> Hashable:
    """Return a job's program and the arguments that decide its inputs. Jobs with equal results read the same inputs."""
    return (job.program, *(argument.text for argument in job.arguments if may_change_inputs(argument)))


def may_change_inputs(argument: Argument) -> bool:
    """Return whether an argument may decide the inputs of a job."""
    if is_group(argument.key) or argument.deletes:  # another choice, or none
        return True
    return argument.root not in COMPUTING or role_of(argument.key).is_verbatim
