"""From a row to a job. A row has one value for each axis of a command, and the command's other arguments for jobs.

    job_of_row             returns the job of a sweep's row. The row's case says whether the job trains or scores
    job_without_sweep      returns the job of a row of a command without a sweep
    folder_without_sweep   returns the folder of all jobs of such a command
    folder_name            returns the name of a job's folder, or of the folder of all jobs without a sweep

A name has abbreviated arguments for people, and then a hash: seed_1-0a1b2c3d. Only the hash identifies the job. Two
commands for the same job give the same hash. So a finished job is not run again. The hash is over arguments, in any
order:

    a job of a sweep      the arguments of its case and of its command that decide the job's numbers
    any other job         the arguments of its command that decide the job's numbers, and its program

Role.names_a_job (cse.lab.settings.roles) finds the keys that decide a job's numbers. The axes of a command are also in
the hash, so that two jobs of a command never share a folder.

The jobs of a sweep are in runs/PAPER/TABLE. The jobs of a command without a sweep are in multirun/AXES-SETTINGS-HASH.
This HASH is over the program, the keys of the axes, and every other argument that decides numbers. So a longer axis
(seed=1,2,3 instead of seed=1,2) does not change the folder.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.arguments import RUN_ALONE, Argument, merged, quoted, spell_argument, texts_of, values_of
from cse.lab.settings.groups import SWEEP_KEYS
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Evaluate
from cse.lab.sweep.job import PlannedJob, ScoredRun
from cse.lab.sweep.sweeps import Case, Sweep, load_sweep

KEYS_OF_EVAL = {"model", "hydra", *Evaluate.__annotations__}
"""The keys of cse-eval."""
KEYS_OF_EVAL_ALONE = KEYS_OF_EVAL - {"model", "paths", "smoke", "tracker", "allow_partial"}
"""The keys of cse-eval that a command gives only to its scoring jobs, not to the scored runs."""
SLUG = 80
"""The largest number of characters before the hash in a folder's name."""


# Jobs of a sweep


class CaseJob(NamedTuple):
    """The job of a case, before it has a name.

    arguments: all arguments of the job's program. shown, hashed: the arguments in the name of the job's folder, and in
    the hash of this name. scores: the run that the job scores.
    """

    arguments: list[Argument]
    shown: list[Argument]
    hashed: list[Argument]
    scores: ScoredRun | None = None


class ReadOnce:
    """The cached readers of one command. The command's jobs read each folder of jobs, and each sweep, only once."""

    def __init__(self) -> None:
        self.names_in, self.load_sweep = cache(names_by_hash), cache(load_sweep)


def job_of_row(
    sweep: Sweep,
    row: Sequence[Argument],
    folder: Path,
    axis_keys: Sequence[str] = (),
    once: ReadOnce | None = None,
) -> PlannedJob:
    """Return the job of a row of a sweep. If `folder` already has the job under another name, the job keeps that name.

    folder: the folder of the command's jobs. axis_keys: the keys of the command's axes. These keys are always in the
    name of a job's folder. once: the cached readers of the command. Raises UserError for an unknown case.
    """
    once = once or ReadOnce()
    given = [argument for argument in row if argument.key != "sweep"]
    case, case_name = sweep.case_of(given), values_of(given).get("case", "")
    job = job_of_case(sweep, case, given, folder, once)
    name = name_of_job(sweep, job, case_name, axis_keys)
    return PlannedJob(
        name=existing_name(once.names_in(folder), name, case_name, sweep.cases),
        program=case.program,
        arguments=[*job.arguments, RUN_ALONE],
        scores=job.scores,
    )


def job_of_case(sweep: Sweep, case: Case, given: Sequence[Argument], folder: Path, once: ReadOnce) -> CaseJob:
    """Return the job of a case: the job trains, scores an untrained encoder, or scores a run."""
    if case.program == "cse-train":
        own_keys = [key for key in SWEEP_KEYS if key in sweep.model_fields_set]
        return training(case, given, sweep.argument, own_keys)
    if case.of is None:
        return encoder_scoring(case, given)
    return run_scoring(case, given, scored_run(sweep, case.of, given, folder, once))


def training(case: Case, given: Sequence[Argument], sweep: str, own_keys: Sequence[str]) -> CaseJob:
    """Return the training job of a case. given: the values of the sweep's axes, and the command's job arguments.

    sweep: the argument that names the sweep. own_keys: the keys of the sweep's YAML that are not settings of a run.
    Raises UserError for a variant that would replace the variant of the case.
    """
    values = values_of(given)
    for argument in case.arguments:
        if argument.key == "variant" and "variant" in values:
            name = values.get("case", "")
            raise UserError(
                f"variant={values['variant']}: case={name} already has {argument}; name other cases, case=A,B"
            )
    settings = merged([*case.arguments, *given])
    without = [Argument(f"~{key}", by="sweep") for key in own_keys]
    arguments = [Argument(sweep, by="sweep"), *settings, *without, Argument("resume=auto", by="sweep")]
    return CaseJob(arguments, shown=list(given), hashed=settings)


def encoder_scoring(case: Case, given: Sequence[Argument]) -> CaseJob:
    """Return the job of a case that scores an untrained encoder. given: see `training`."""
    taken = [argument for argument in given if argument.root in KEYS_OF_EVAL]
    settings = merged([*case.arguments, *taken])
    return CaseJob(settings, shown=taken, hashed=settings)


def run_scoring(case: Case, given: Sequence[Argument], run: ScoredRun) -> CaseJob:
    """Return the job of a case that scores a run. The job's name also has the run's settings. given: see `training`."""
    taken = [argument for argument in given if argument.root in KEYS_OF_EVAL - {"model", "checkpoint"}]
    settings = merged([*case.arguments, *taken])
    folder = Argument(f"checkpoint={quoted(str(run.folder))}", by="sweep")
    name = Argument(f"checkpoint=run:{run.folder.name}")  # the run's folder may be moved
    return CaseJob([folder, *settings], shown=list(given), hashed=[name, *settings], scores=run)


def scored_run(
    sweep: Sweep, place_of_case: str, arguments: Sequence[Argument], folder: Path, once: ReadOnce
) -> ScoredRun:
    """Return the run that a case of `sweep` scores. place_of_case: the PAPER/TABLE/CASE that trains the run.

    arguments: the arguments of the command that scores the run. The run has the same arguments, except the arguments
    for scoring alone. folder: the folder of the command's jobs, and of the run if both sweeps share a folder.
    """
    name, _, case = place_of_case.rpartition("/")
    given = for_scored_run(arguments)
    its_sweep = once.load_sweep(name)
    default = its_sweep.folder_of_jobs(given)
    place = folder if its_sweep.folder == sweep.folder else default
    elsewhere = [Argument(spell_argument("hydra.sweep.dir", str(place)), by="sweep")] if place != default else []
    job = job_of_row(its_sweep, [Argument(f"case={case}", by="sweep"), *given, *elsewhere], place, once=once)
    return ScoredRun(place.absolute() / job.name, job)


def for_scored_run(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments of a scoring command that also belong to the scored run."""
    return [argument for argument in arguments if argument.root not in KEYS_OF_EVAL_ALONE]


def name_of_job(sweep: Sweep, job: CaseJob, case: str, axis_keys: Sequence[str]) -> str:
    """Return the name of a job's folder: the case, then the other arguments, abbreviated, and a hash.

    The case stands for the arguments that it sets. The sweep's axes come first, then the seed, then the other keys.
    """
    shown = [argument for argument in decisive(job.shown, axis_keys) if argument.key != "case"]
    hashed = [argument for argument in decisive(job.hashed, axis_keys) if argument.key != "case"]
    order = dict.fromkeys([*sweep.params, "seed"])
    first = [argument for key in order for argument in shown if argument.key == key]
    rest = sorted((argument for argument in shown if argument.key not in order), key=lambda argument: argument.key)
    return folder_name([*first, *rest], texts_of(hashed), first=case)


# Jobs without a sweep


def job_without_sweep(
    program: str, row: Sequence[Argument], folder: Path, axis_keys: Sequence[str], once: ReadOnce
) -> PlannedJob:
    """Return the job of a row (see job_of_row). The name has the axes; without axes, all arguments of the hash."""
    arguments = merged(row)
    hashed = decisive(arguments, axis_keys)
    axes = [argument for key in axis_keys for argument in arguments if argument.key == key]
    name = folder_name(axes or hashed, [program, *texts_of(hashed)])
    resume = [Argument("resume=auto", by="sweep")] if program == "cse-train" else []
    return PlannedJob(existing_name(once.names_in(folder), name), program, [*resume, *arguments, RUN_ALONE])


def folder_without_sweep(program: str, arguments: Sequence[Argument]) -> Path:
    """Return the folder of a command's jobs, relative to the working directory. arguments: the jobs' arguments."""
    axis_keys = axis_keys_of(arguments)
    fixed = [argument for argument in decisive(merged(arguments), []) if argument.key not in axis_keys]
    axes = "+".join(key.split(".")[-1].split("/")[-1] for key in axis_keys)
    shown = sorted(fixed, key=lambda argument: argument.key)
    name = folder_name(shown, [program, *axis_keys, *texts_of(fixed)], first=axes)
    return Path("multirun", existing_name(names_by_hash(Path("multirun")), name))


def axis_keys_of(arguments: Sequence[Argument]) -> list[str]:
    """Return the keys that have several values, in the order of the arguments."""
    return list(dict.fromkeys(argument.key for argument in arguments if argument.is_axis))


# Names


def decisive(arguments: Iterable[Argument], axis_keys: Sequence[str]) -> list[Argument]:
    """Return the arguments that decide a job's numbers, and the command's axes."""
    return [argument for argument in arguments if role_of(argument.key).names_a_job or argument.key in axis_keys]


def folder_name(shown: Sequence[Argument], hashed: Iterable[str], first: str = "") -> str:
    """Return a folder's name: `first`, the arguments `shown`, abbreviated, and a hash."""
    lasts = [argument.key.split(".")[-1] for argument in shown]
    parts = [first] if first else []
    for last, argument in zip(lasts, shown, strict=True):
        value = argument.value.rpartition("/")[2].strip("[]{}'\"") or "none"  # the last part of a path is enough
        parts.append(f"{last if lasts.count(last) == 1 else argument.key}_{value}")
    text = as_file_name("-".join(parts)) or "run"
    return f"{text[:SLUG]}-{hash_of(hashed)}"


def names_by_hash(folder: Path) -> dict[str, list[str]]:
    """Return {hash: the names that end with this hash} for a folder of jobs; {} if there is no such folder."""
    names: dict[str, list[str]] = {}
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for name in os.listdir(folder):
            names.setdefault(name.rpartition("-")[2], []).append(name)
    return names


def existing_name(
    names_there: Mapping[str, Sequence[str]], name: str, case: str = "", cases: Iterable[str] = ()
) -> str:
    """Return the name of the job's existing folder, found by its hash; the given name if there is no such folder.

    The two names may differ, because another command may have shown other arguments. names_there: the names in the
    folder of the jobs, by their hash. case: the job's case. cases: the cases of the sweep, which may share a hash.
    """
    of_hash = names_there.get(name.rpartition("-")[2], [])
    names = [there for there in of_hash if case_in_name(there, cases) == as_file_name(case)]
    return min(names) if names and name not in names else name


def case_in_name(name: str, cases: Iterable[str]) -> str:
    """Return the case at the beginning of a folder's name; "" for none.

    If both `more` and `more-data` fit, the result is the longer case.
    """
    longest = ""
    for case in map(as_file_name, cases):
        if name.startswith(f"{case}-") and len(case) > len(longest):
            longest = case
    return longest


def as_file_name(text: str) -> str:
    """Return the text with _ in place of the characters that a folder's name should not have."""
    return re.sub(r"[^\w.+-]+", "_", text)


def hash_of(texts: Iterable[str]) -> str:
    """Return eight hexadecimal digits that identify the texts. The order of the texts does not matter."""
    return hashlib.sha1(" ".join(sorted(texts)).encode()).hexdigest()[:8]
