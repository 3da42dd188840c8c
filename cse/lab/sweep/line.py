"""A command line with -m or sweep=: which words belong to the jobs, and which say how to start them."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, check_loads
from cse.lab.folder.runs import Run
from cse.lab.run.resume import started_from
from cse.lab.settings.check import validate_keys
from cse.lab.settings.compose import composed, explaining
from cse.lab.settings.groups import config_dirs
from cse.lab.settings.keys import is_of_line, key_of, names_a_job
from cse.lab.settings.schema import Starting
from cse.lab.settings.spelling import MULTIRUN, ONE_OF_MANY, values_of
from cse.lab.settings.words import expanded, first_values, is_axis, merged, name_in, short_name
from cse.lab.sweep.jobs import PlannedJob, Sweep, asks_for_smoke
from cse.lab.sweep.jobs import read as read_sweep

LAUNCHERS = ("basic", "submitit_slurm")
PACKAGES = {"submitit_slurm": ("submitit", "-e '.[launchers]'"), "smac": ("smac", "-e '.[smac]'")}
"""By launcher or sweeper: the module that it imports, and what to install for it."""


@dataclass(frozen=True)
class Line:
    """What a line's jobs are, and how to start them.

    words: its settings. folder: of the jobs' folders. rows: the words of each job of a grid, or of each search with
    the ranges that it searches. options: its jobs.* and dry_run. launcher: "basic" is this machine. search: the config
    hydra.sweeper; None in a grid, which runs all combinations.
    """

    program: str
    words: list[str]
    sweep: Sweep | None
    folder: Path
    rows: list[list[str]]
    options: DictConfig
    launcher: str
    search: DictConfig | None

    @property
    def title(self) -> str:
        """The sweep's name, or the program's."""
        return self.sweep.name if self.sweep else self.program

    def jobs(self) -> list[PlannedJob]:
        """The jobs of a grid, equal ones (a cse-eval that no axis changes) once; or an example job of each search."""
        if self.search:
            return [self.job(first_values(row)) for row in self.rows]
        return list({(job := self.job(row)).name: job for row in self.rows}.values())

    def job(self, words: Sequence[str]) -> PlannedJob:
        """The job of one combination of values, in the folder that has it already, if one does.

        What was typed is last in its words.
        """
        own = own_words(self.words)
        job = self.sweep.job(words, axes_of(own)) if self.sweep else self.own_job(merged(words))
        typed = set(map(key_of, own))
        name = name_in(self.folder, job.name, values_of(words).get("case", ""))
        return replace(job, name=name, words=sorted(job.words, key=lambda word: key_of(word) in typed))

    def own_job(self, words: list[str]) -> PlannedJob:
        """The job of a line without a sweep, whose name shows the axes, or all that decides if there are none."""
        axes = axes_of(own_words(self.words))
        decisive = [word for word in words if names_a_job(word) or key_of(word) in axes]
        shown = [word for axis in axes for word in words if key_of(word) == axis] or decisive
        resume = ["resume=auto"] if self.program == "cse-train" else []
        return PlannedJob(short_name(shown, [self.program, *decisive]), self.program, [ONE_OF_MANY, *resume, *words])

    def report(self, done: Sequence[Run]) -> str:
        """The command that shows these runs: beside what the paper printed, if they have a score of its table."""
        words = [f"runs={self.folder}"]
        if self.sweep and any(self.sweep.shows(name) for run in done for name in run.metrics):
            elsewhere = words if self.folder != self.sweep.place([]) else []
            apart = [f"out=reports/smoke/{self.sweep.name}"] if asks_for_smoke(self.words) else []
            words = [f"sweep={self.sweep.name}", *elsewhere, *apart, *config_dirs()]
        return shlex.join(["cse-report", *words])


def is_many(words: Sequence[str]) -> bool:
    """Whether these words start many jobs, rather than one."""
    given = values_of(words)
    if given.get("hydra.mode") == "RUN":
        return False
    starts = [given.get(key) not in (None, "basic") for key in ("hydra/launcher", "hydra/sweeper")]
    return any(word in MULTIRUN for word in words) or bool(sweep_of(given)) or any(starts)


def read(typed: Sequence[str], program: str) -> Line:
    """Parse a line. Raises UserError if it cannot start jobs, MissingResource if it needs a package that is missing."""
    words = [word for word in typed if word not in MULTIRUN]
    of_folders = [word for word in words if key_of(word).startswith(("hydra.run.", "hydra.sweep."))]
    if idle := [word for word in of_folders if key_of(word) != "hydra.sweep.dir"]:
        raise UserError(f"{idle[0]} has no effect on a line of many jobs, whose folder is hydra.sweep.dir=FOLDER")
    if origin := started_from(words):
        raise UserError(f"{origin} starts one run: leave out -m and sweep=, and give each key one value")
    if "RANK" in os.environ:
        raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")
    given, own = values_of(words), own_words(words)
    sweep = read_sweep(named) if (named := sweep_of(given)) else None
    options, search = options_of(words, sweep)
    launcher = given.get("hydra/launcher", "basic")
    check_launcher(launcher, options.jobs.parallel)
    of_cluster = [word for word in words if key_of(word).startswith("hydra.launcher.")]
    if launcher == "basic" and of_cluster:
        raise UserError(f"{of_cluster[0]} is for a cluster: add hydra/launcher=submitit_slurm")
    if search:
        check_loads(*PACKAGES["smac"])
    of_jobs = merged([*(sweep.axes(own) if sweep else []), *own])
    each = [one for one in of_jobs if sweep and key_of(one) in sweep.search_each]
    rows = [merged([*of_jobs, *one]) for one in expanded(each)] if search else expanded(of_jobs)
    if not rows or (search and not any(map(is_axis, rows[0]))):
        raise UserError(f"{' '.join(own)}: there is no job: a range is empty, or there is none to search")
    return Line(
        program=program,
        words=words,
        sweep=sweep,
        folder=Path(given.get("hydra.sweep.dir") or (sweep.place(own) if sweep else place_of(program, own))),
        rows=rows,
        options=options,
        launcher=launcher,
        search=search,
    )


def own_words(words: Sequence[str]) -> list[str]:
    """The words that belong to the jobs, not to their start."""
    return [word for word in words if not is_of_line(key_of(word))]


def axes_of(words: Sequence[str]) -> list[str]:
    """The keys with several values, in order."""
    return list(dict.fromkeys(key_of(word) for word in words if is_axis(word)))


def place_of(program: str, words: Sequence[str]) -> Path:
    """The folder of a line's jobs without a sweep, relative to the working directory: multirun/AXES-SETTINGS-HASH.

    The hash is over the axes' keys and every other setting, so a longer axis (seed=1,2,3 instead of seed=1,2) keeps the
    folder, and jobs that are done there are not run again.
    """
    keys = axes_of(words)
    fixed = [word for word in merged(words) if key_of(word) not in keys and names_a_job(word)]
    first = "+".join(key.split(".")[-1].split("/")[-1] for key in keys)
    place = Path("multirun")
    return place / name_in(place, short_name(sorted(fixed, key=key_of), [program, *keys, *fixed], first=first))


def options_of(typed: Sequence[str], sweep: Sweep | None) -> tuple[DictConfig, DictConfig | None]:
    """A line's own settings, and those of its search, if it is one. Raises UserError for an unknown or invalid one."""
    starts = ("jobs.", "dry_run", "hydra/sweeper", "hydra.sweeper.")
    words = [word for word in typed if key_of(word).startswith(starts)]
    words += [f"sweep={sweep.name}"] if sweep else []
    with explaining(words, "train"):
        config = composed("train", words)
        options = validate_keys(OmegaConf.masked_copy(config, list(Starting.__annotations__)), Starting)
    if config.hydra.runtime.choices["hydra/sweeper"] == "basic":
        return options, None
    for key in ("n_trials", "batch"):
        if config.hydra.sweeper[key] < 1:
            raise UserError(f"hydra.sweeper.{key}={config.hydra.sweeper[key]}: give a number above 0")
    return options, config.hydra.sweeper


def check_launcher(launcher: str, parallel: int) -> None:
    """Raise UserError for a launcher that cannot run jobs, MissingResource for one whose package is missing."""
    if launcher not in LAUNCHERS:
        raise UserError(f"hydra/launcher={launcher} is not a choice; it has {', '.join(LAUNCHERS)}")
    if launcher == "submitit_slurm":
        if parallel > 1:
            raise UserError(
                f"jobs.parallel={parallel} is for this machine; on a cluster set hydra.launcher.array_parallelism"
            )
        check_loads(*PACKAGES[launcher])


def sweep_of(given: Mapping[str, str]) -> str:
    """The sweep that a line's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
