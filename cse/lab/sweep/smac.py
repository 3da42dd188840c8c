"""hydra/sweeper=smac: Bayesian optimisation by SMAC's ask and tell.

VICReg's search in Pappadopulo & Farina 2024, with SMAC's hyper-parameter facade: a Sobol design for a quarter of the
trials, five at least, then a random forest and expected improvement. Every point is kept in .smac/ in the sweep's
folder, so that a search that is started again continues: the jobs of those points come first, as of a grid that is
started again.
"""

import contextlib
import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import DictConfig
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from cse.lab.settings.spelling import overrides_of
from cse.lab.settings.words import merged
from cse.lab.sweep.line import Line
from cse.lab.sweep.points import Point, in_words, memory_of
from cse.lab.sweep.start import Runner, Start


def search(line: Line, row: Sequence[str], start: Start, run: Runner) -> None:
    """Ask, run and tell until all trials are made, by this or an earlier start. row: the search's words.

    Searches `key=interval(a,b)` (uniform), `key=int(interval(a,b))` and `key=choice(...)`, for the best of the score
    that selects. Ends early where every point was tried.
    """
    settings: Any = line.search
    axes = {one.key_or_group: one for one in overrides_of(row) if one.is_sweep_override()}
    memory = memory_of(line, row)
    optimiser = optimiser_of(axes, settings, memory.file.parent)

    def trial_of(point: Point) -> TrialInfo:
        return TrialInfo(Configuration(optimiser.scenario.configspace, values=point), seed=0)

    def new_trials(number: int) -> Iterator[TrialInfo]:
        """So many, or fewer where every point of the ranges was tried."""
        with contextlib.suppress(ConfigurationSpaceExhaustedException):
            for _ in range(number):
                trial = optimiser.ask()
                memory.add({key: number_of(value) for key, value in trial.config.items()})
                yield trial

    known, count, name = memory.points(), 0, memory.file.stem
    start.plan_search(name, settings.n_trials)
    while count < settings.n_trials and start.refusal() is None:
        size = min(settings.batch, settings.n_trials - count)
        trials = [trial_of(point) for point in known[:size]] or list(new_trials(size))
        if not trials:
            print(f"every point of {in_words(memory.ranges)} was tried: {count} of {settings.n_trials} trials")
            start.plan_search(name, count)
            break
        known = known[size:]
        jobs = [line.job(merged([*row, *words_from(axes, trial.config)])) for trial in trials]
        start.plan(jobs, name)
        for trial, outcome in zip(trials, run(jobs, start), strict=True):
            if score := outcome.score:  # a failure, which may be the machine's, teaches nothing
                optimiser.tell(trial, TrialValue(cost=score.value if score.lower_is_better else -score.value))
        count += len(trials)


def optimiser_of(axes: dict[str, Override], settings: DictConfig, folder: Path) -> Facade:
    """SMAC over the axes. It writes its own files, which nothing reads, into `folder`."""
    logging.getLogger("smac").setLevel(logging.WARNING)
    space = ConfigurationSpace(seed=settings.seed)
    for key, override in axes.items():
        value = override.value()
        if isinstance(value, IntervalSweep):
            kind = Integer if isinstance(value.start, int) and isinstance(value.end, int) else Float
            space.add(kind(key, (value.start, value.end), log="log" in value.tags))  # type: ignore[arg-type]
        else:
            space.add(Categorical(key, list(override.sweep_string_iterator())))
    scenario = Scenario(
        space, deterministic=True, n_trials=settings.n_trials, seed=settings.seed, output_directory=folder
    )
    spread = min(max(5, settings.n_trials // 4), settings.n_trials)  # from fewer points the forest stays where it began
    design = Facade.get_initial_design(scenario, n_configs=spread, max_ratio=1.0)
    return Facade(scenario, lambda config, seed: math.nan, initial_design=design, overwrite=True, logging_level=False)


def words_from(axes: dict[str, Override], config: Configuration) -> list[str]:
    """SMAC's values of the axes as words, numbers with six significant digits."""
    values = {key: number_of(config[key]) for key in axes}
    return [f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()]


def number_of(value: Any) -> Any:
    """NumPy's numbers, in which SMAC thinks, as Python's."""
    return value.item() if isinstance(value, np.generic) else value
