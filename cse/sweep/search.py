"""hydra/sweeper=smac: Bayesian optimisation by SMAC's ask and tell.

VICReg's search in Pappadopulo & Farina 2024, with SMAC's hyper-parameter facade: a Sobol design for a quarter of the
trials, then a random forest and expected improvement. Every score is kept in .smac/ in the sweep's folder, so that a
search that is started again continues, with new trials for the jobs that failed or were killed.
"""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float
from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import DictConfig
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue
from smac.runhistory.enumerations import StatusType

from cse.config.spelling import overrides_of
from cse.files import json_line, json_lines
from cse.sweep.line import Line
from cse.sweep.overrides import decides, digest, merged
from cse.sweep.start import Runner, Start


def search(line: Line, row: Sequence[str], start: Start, run: Runner) -> None:
    """Ask, run and tell until all trials have a score, from this or an earlier start. row: the search's overrides.

    Searches `key=interval(a,b)` (uniform) and `key=choice(...)`, for the best of the score that selects.
    """
    settings: Any = line.search
    axes = {one.key_or_group: one for one in overrides_of(row) if one.is_sweep_override()}
    memory = line.folder / ".smac" / f"{digest(filter(decides, row))}-{settings.seed}.jsonl"
    memory.parent.mkdir(parents=True, exist_ok=True)
    optimiser = optimiser_of(axes, settings, memory.parent)
    count = replay(optimiser, memory)
    while count < settings.n_trials and start.refusal() is None:
        trials = [optimiser.ask() for _ in range(min(settings.batch, settings.n_trials - count))]
        jobs = [line.job(merged([*row, *overrides_from(axes, trial.config)])) for trial in trials]
        for trial, outcome in zip(trials, run(jobs, start), strict=True):
            score = outcome.score
            cost = None if score is None else score.value if score.lower_is_better else -score.value
            optimiser.tell(trial, trial_value(cost))
            if cost is not None:
                with open(memory, "a", encoding="utf-8") as lines:
                    lines.write(json_line({"config": dict(trial.config), "cost": cost}))
        count += len(trials)


def optimiser_of(axes: dict[str, Override], settings: DictConfig, folder: Path) -> Facade:
    """SMAC over the axes. It writes its own files, which nothing reads, into `folder`."""
    logging.getLogger("smac").setLevel(logging.WARNING)
    space = ConfigurationSpace(seed=settings.seed)
    for key, override in axes.items():
        value = override.value()
        if isinstance(value, IntervalSweep):
            bounds = (value.start, value.end)
            space.add(Float(key, bounds, log="log" in value.tags))  # type: ignore[arg-type]
        else:
            space.add(Categorical(key, list(override.sweep_string_iterator())))
    scenario = Scenario(
        space, deterministic=True, n_trials=settings.n_trials, seed=settings.seed, output_directory=folder
    )
    design = Facade.get_initial_design(scenario, n_configs=max(2, settings.n_trials // 4))
    return Facade(scenario, lambda config, seed: math.nan, initial_design=design, overwrite=True, logging_level=False)


def overrides_from(axes: dict[str, Override], config: Configuration) -> list[str]:
    """SMAC's values of the axes as overrides, numbers with six significant digits."""
    values = {key: config[key] for key in axes}
    return [f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()]


def replay(optimiser: Facade, memory: Path) -> int:
    """Tell a new SMAC the trials of earlier starts. Returns their number."""
    lines = [line for line in json_lines(memory) if line is not None and "cost" in line]
    for line in lines:
        config = Configuration(optimiser.scenario.configspace, values=line["config"])
        optimiser.tell(TrialInfo(config, seed=0), trial_value(line["cost"]), save=False)
    return len(lines)


def trial_value(cost: float | None) -> TrialValue:
    """What SMAC minimises; None, from a job that failed, is a crash."""
    if cost is None:
        return TrialValue(cost=math.inf, status=StatusType.CRASHED)
    return TrialValue(cost=cost)
