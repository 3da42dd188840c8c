"""hydra/sweeper=smac: Bayesian optimisation by SMAC's ask and tell, with any Hydra launcher.

VICReg's search in Pappadopulo & Farina 2024. SMAC's hyper-parameter facade: a random forest and expected improvement,
after a Sobol design of a quarter of the trials. Every score is kept in .smac/ in the sweep's folder, so a search that
is started again continues; a job that failed or was killed is proposed anew.
"""

import hashlib
import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

if TYPE_CHECKING:  # smac is an extra
    from ConfigSpace import Configuration
    from smac import HyperparameterOptimizationFacade
    from smac.runhistory.dataclasses import TrialValue


@dataclass
class SmacConf:
    """n_trials: jobs of a search. batch: jobs that SMAC proposes before it is told a result. seed: of the search.

    memory: the name of the file with its trials; null: a hash of the search's arguments.
    """

    _target_: str = "hydra_plugins.cse_smac.SmacSweeper"
    n_trials: int = 50
    batch: int = 1
    initial_share: float = 0.25
    seed: int = 0
    memory: str | None = None
    params: dict[str, str] | None = None


ConfigStore.instance().store(group="hydra/sweeper", name="smac", node=SmacConf, provider="cse")


class SmacSweeper(Sweeper):
    """Searches `key=interval(a,b)` (uniform) and `key=choice(...)`, and maximises what the job returns."""

    def __init__(
        self, n_trials: int, batch: int, initial_share: float, seed: int, memory: str | None, params: DictConfig | None
    ):
        self.n_trials, self.batch, self.initial_share, self.seed = n_trials, batch, initial_share, seed
        self.memory = memory
        self.params = dict(params or {})

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's call before `sweep`: the launcher that its config names."""
        self.hydra_context, self.config = hydra_context, config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Ask, launch and tell until n_trials scores are known, those of earlier starts among them."""
        assert self.hydra_context is not None
        assert self.config is not None
        assert self.launcher is not None
        words = [f"{key}={values}" for key, values in self.params.items()]
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = {override.key_or_group: override for override in parser.parse_overrides([*words, *arguments])}
        searched = {key: override for key, override in overrides.items() if override.is_sweep_override()}
        fixed = [str(override.input_line) for key, override in overrides.items() if key not in searched]
        optimiser = self.optimiser(searched)
        decisive = " ".join([*sorted(words), *sorted(arguments), str(self.seed)])
        name = self.memory or hashlib.sha1(decisive.encode()).hexdigest()[:8]
        memory = Path(self.config.hydra.sweep.dir, ".smac", f"{name}-{self.seed}.jsonl")
        memory.parent.mkdir(parents=True, exist_ok=True)
        count = replayed(optimiser, memory)
        while count < self.n_trials:
            trials = [optimiser.ask() for _ in range(min(self.batch, self.n_trials - count))]
            jobs = [[*proposal(searched, trial.config), *fixed] for trial in trials]
            self.validate_batch_is_legal(jobs)
            for trial, outcome in zip(trials, self.launcher.launch(jobs, initial_job_idx=count), strict=True):
                score = float(outcome.return_value)
                optimiser.tell(trial, trial_value(score))
                if not math.isnan(score):
                    with open(memory, "a", encoding="utf-8") as lines:
                        lines.write(json.dumps({"config": dict(trial.config), "score": score}) + "\n")
            count += len(trials)

    def optimiser(self, searched: dict[str, Override]) -> "HyperparameterOptimizationFacade":
        """SMAC over the searched keys. Its own files, which nothing reads, go to .smac/ too."""
        assert self.config is not None
        try:
            from ConfigSpace import Categorical, ConfigurationSpace, Float
            from smac import HyperparameterOptimizationFacade as Facade
            from smac import Scenario
        except ImportError as error:
            from cse.errors import MissingResource

            raise MissingResource("hydra/sweeper=smac needs the package smac: pip install -e '.[smac]'") from error
        logging.getLogger("smac").setLevel(logging.WARNING)
        space = ConfigurationSpace(seed=self.seed)
        for key, override in searched.items():
            value = override.value()
            if isinstance(value, IntervalSweep):
                bounds = (value.start, value.end)
                space.add(Float(key, bounds, log="log" in value.tags))  # type: ignore[arg-type]
            else:
                space.add(Categorical(key, list(override.sweep_string_iterator())))
        scenario = Scenario(
            space, deterministic=True, n_trials=self.n_trials, seed=self.seed,
            output_directory=Path(self.config.hydra.sweep.dir) / ".smac",
        )  # fmt: skip
        design = Facade.get_initial_design(scenario, n_configs=max(2, round(self.initial_share * self.n_trials)))
        return Facade(
            scenario, lambda config, seed: math.nan, initial_design=design, overwrite=True, logging_level=False
        )


def proposal(searched: dict[str, Override], config: "Configuration") -> list[str]:
    """SMAC's values of the searched keys, as overrides."""
    return [f"{override.get_key_element()}={formatted(config[key])}" for key, override in searched.items()]


def replayed(optimiser: "HyperparameterOptimizationFacade", memory: Path) -> int:
    """Tell a new SMAC the trials of an earlier start. Returns their number."""
    from ConfigSpace import Configuration
    from smac.runhistory.dataclasses import TrialInfo

    from cse.files import read_lines

    lines = read_lines(memory)
    for line in lines:
        config = Configuration(optimiser.scenario.configspace, values=line["config"])
        optimiser.tell(TrialInfo(config, seed=0), trial_value(line["score"]), save=False)
    return len(lines)


def formatted(value: object) -> str:
    """A value as an override and a folder's name have it: six significant digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def trial_value(score: float) -> "TrialValue":
    """A job's score as SMAC's cost, which it minimises; NaN, of a job that failed, as a crash."""
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    if math.isnan(score):
        return TrialValue(cost=math.inf, status=StatusType.CRASHED)
    return TrialValue(cost=-score)
