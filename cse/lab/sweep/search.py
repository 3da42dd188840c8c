"""hydra/sweeper=smac: Bayesian optimisation by SMAC's ask and tell.

Pappadopulo & Farina 2024 search VICReg's hyper-parameters in this way, with SMAC's hyper-parameter facade. A quarter of
the trials (at least five) is a Sobol design. Then a random forest and expected improvement choose the points. A
restarted search continues: the jobs of its stored points (memory.py) come first, as in a restarted grid.

First comes Searches, the plan of a command. Then come Search, a single search with its `run`, and the functions for the
optimizer. The values of an axis are in axes.py.
"""

import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, texts_of
from cse.lab.settings.roles import role_of
from cse.lab.sweep.axes import check_range, choices_of, combinations, first_values, interval_of, values_to_try
from cse.lab.sweep.checks import check_jobs
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.memory import Memory, Point
from cse.lab.sweep.outcomes import Start
from cse.lab.sweep.plan import Place, write_plan, write_trials
from cse.lab.sweep.rows import hash_of
from cse.lab.sweep.sweep_command import SweepCommand
from cse.lab.text_columns import say

if TYPE_CHECKING:  # the package smac is an extra
    from smac import HyperparameterOptimizationFacade as Facade
    from smac.runhistory.dataclasses import TrialInfo


class Searches:
    """The plan of a command with a search.

    The plan has a search for every combination of the values of the axes in search_each. settings: the config
    hydra.sweeper. Raises UserError if there is nothing to search.
    """

    def __init__(self, command: SweepCommand, settings: DictConfig):
        self.command, self.settings = command, settings
        apart = combinations(argument for argument in command.job_arguments if argument.key in command.search_each)
        self.searches = [Search(command, merged([*command.job_arguments, *values]), settings) for values in apart]
        if not self.searches or not self.searches[0].axes:
            raise command.no_job()

    @cached_property
    def examples(self) -> list[PlannedJob]:
        """One example job of each search."""
        by_name = {job.name: job for job in (search.example for search in self.searches)}
        return list(by_name.values())

    def check(self) -> None:
        """Raise UserError for a search over a seed or an empty range, for jobs without a selection score, for invalid
        values of a key, for a mistake in a job, and for a folder with other searches.
        """
        for search in self.searches:
            for axis in search.axes:
                check_range(axis)
        first = self.searches[0]
        if first.example.program != "cse-train" or first.example.config.trainer.select is None:
            raise UserError(
                "hydra/sweeper=smac needs a score that selects a checkpoint: use cse-train trainer.select=dev/..."
            )
        for axis in first.axes:
            first.check_values(axis)
        check_jobs(self.examples, self.settings.n_trials)
        for search in self.searches:
            search.memory.check()

    @property
    def summary(self) -> str:
        """See Plan. The text also has the range of each axis."""
        count = len(self.examples)
        jobs = f"{count} {'job' if count == 1 else 'jobs'} x {self.settings.n_trials} trials"
        return (
            f"{self.command.name}: {jobs}, in {self.command.folder}\n"
            f"each trial takes values from {self.searches[0].memory.ranges_in_words()}"
        )

    def run(self, place: Place, start: Start) -> list[str]:
        """Run the searches in turn. Returns the names of the trials that the searches asked for."""
        for search in self.searches:
            search.run(place, start)
        return list(start.outcomes)


class Search:
    """One search. The searches of a command differ only in the values of the axes in search_each.

    arguments: the arguments of the search's jobs, with the range of each axis. axes: the arguments that the search
    varies. memory: the points that the search asked for.
    """

    def __init__(self, command: SweepCommand, arguments: list[Argument], settings: DictConfig):
        self.command, self.arguments, self.settings = command, arguments, settings
        self.axes = [argument for argument in arguments if argument.is_axis]
        fixed = [argument for argument in arguments if role_of(argument.key).names_a_job and not argument.is_axis]
        self.memory = Memory(
            file=command.folder / ".smac" / f"{hash_of(texts_of(fixed))}-{settings.seed}.jsonl",
            ranges={argument.key: argument.spelled for argument in self.axes},
            fixed={argument.key: argument.spelled for argument in fixed if argument.key not in command.search_each},
        )

    @cached_property
    def example(self) -> PlannedJob:
        """The job at the first value of each axis."""
        return self.command.job(first_values(self.arguments))

    def check_values(self, axis: Argument) -> None:
        """Raise UserError if a value of an axis is invalid for the axis's key.

        A mistake that also occurs without the axis is about another argument. check_jobs finds such a mistake.
        """
        for text in values_to_try(axis):
            error = self.mistake_at(axis, text)
            if error is None or str(error) == str(self.mistake_without(axis)):
                continue
            hint = ""
            if interval_of(axis) and self.mistake_at(axis, f"{float(text):.0f}") is None:
                hint = f"; {axis.key}=int({axis.spelled}) has whole numbers"
            raise UserError(f"{axis}: {error}{hint}") from error

    def mistake_at(self, axis: Argument, text: str) -> UserError | None:
        """Return the error of the example job with this value of an axis, or None."""
        arguments = merged([*first_values(self.arguments), replace(axis, text=f"{axis.key}={text}")])
        return self.command.job(arguments).find_mistake()

    def mistake_without(self, axis: Argument) -> UserError | None:
        """Return the error of the example job with the default of an axis, or None."""
        arguments = [argument for argument in first_values(self.arguments) if argument.key != axis.key]
        return self.command.job(arguments).find_mistake()

    def run(self, place: Place, start: Start) -> None:
        """Run the search: ask SMAC for points, run a job at each point, and give SMAC the scores of the jobs.

        The axes may be `key=interval(a,b)` (uniform), `key=int(interval(a,b))` and `key=choice(...)`. The goal is the
        best value of the selection score. The search ends early if every point was tried.
        """
        from smac.runhistory.dataclasses import TrialValue

        optimiser = optimiser_of(self.axes, self.settings, self.memory.file.parent)
        write_trials(start.folder, self.name, self.settings.n_trials)
        for trials in self.batches(optimiser, start):
            jobs = [self.command.job(merged([*self.arguments, *at_point(self.axes, trial.config)])) for trial in trials]
            write_plan(start.folder, jobs, self.name)
            for trial, outcome in zip(trials, place.run(jobs, start), strict=True):
                if score := outcome.score:  # the optimizer ignores a failure, which may be the machine's
                    optimiser.tell(trial, TrialValue(cost=score.value if score.lower_is_better else -score.value))

    @property
    def name(self) -> str:
        """The search's name in the folder's plan."""
        return self.memory.file.stem

    def batches(self, optimiser: "Facade", start: Start) -> Iterator[list["TrialInfo"]]:
        """Yield the trials, a batch at a time: first the points that earlier starts asked for, then new points."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        space = optimiser.scenario.configspace
        known = [TrialInfo(Configuration(space, values=point), seed=0) for point in self.memory.points()]
        count, wanted = 0, self.settings.n_trials
        while count < wanted and not start.why_not_started():
            size = min(self.settings.batch, wanted - count)
            trials = known[count : count + size] or self.new_trials(optimiser, size)
            if not trials:
                say(f"every point of {self.memory.ranges_in_words()} was tried: {count} of {wanted} trials")
                write_trials(start.folder, self.name, count)
                return
            yield trials
            count += len(trials)

    def new_trials(self, optimiser: "Facade", number: int) -> list["TrialInfo"]:
        """Return `number` new trials, or fewer if every point of the ranges was tried."""
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        known = self.memory.points()
        trials: list[TrialInfo] = []
        with contextlib.suppress(ConfigurationSpaceExhaustedException, StopIteration):
            while len(trials) < number:
                trial = optimiser.ask()
                point: Point = {key: as_python(value) for key, value in trial.config.items()}
                if point in known:  # its job failed in an earlier start, so the optimizer lacks the point
                    continue
                self.memory.add(point)
                trials.append(trial)
        return trials


def optimiser_of(axes: Sequence[Argument], settings: DictConfig, folder: Path) -> "Facade":
    """Return a SMAC optimiser over the axes of the search. SMAC writes files into `folder`; cse reads none of them."""
    from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario

    logging.getLogger("smac").setLevel(logging.WARNING)
    space = ConfigurationSpace(seed=settings.seed)
    for axis in axes:
        interval = interval_of(axis)
        if interval is None:
            space.add(Categorical(axis.key, choices_of(axis)))
            continue
        if isinstance(interval.start, int) and isinstance(interval.end, int):
            space.add(Integer(axis.key, (interval.start, interval.end), log=interval.is_log))
        else:
            space.add(Float(axis.key, (interval.start, interval.end), log=interval.is_log))
    scenario = Scenario(
        space, deterministic=True, n_trials=settings.n_trials, seed=settings.seed, output_directory=folder
    )
    # with fewer points in the design, the forest would search only near these points
    spread = min(max(5, settings.n_trials // 4), settings.n_trials)
    design = Facade.get_initial_design(scenario, n_configs=spread, max_ratio=1.0)
    return Facade(scenario, lambda config, seed: math.nan, initial_design=design, overwrite=True, logging_level=False)


def at_point(axes: Sequence[Argument], point: Mapping[str, object]) -> list[Argument]:
    """Return the arguments that set the axes to SMAC's values. Numbers have six significant digits."""
    return [replace(axis, text=f"{axis.key}={value_in_digits(as_python(point[axis.key]))}") for axis in axes]


def value_in_digits(value: object) -> str:
    """Return a value in the spelling of an argument."""
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def as_python(value: object) -> object:
    """Return a value from SMAC, which has a NumPy type, as a Python type."""
    return value.item() if isinstance(value, np.generic) else value
