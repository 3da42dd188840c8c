"""The jobs of a sweep: the arguments of each, and the name of its folder, which tells what it runs.

A sweep's YAML (sweeps/<paper>/<table>.yaml, the config group `sweep`) holds settings, as any config does, and

    hydra.sweeper.params  the axes, in Hydra's notation; on the command line KEY=... replaces an axis
    cases                 {name: [override, ...]}: rows that differ in several settings at once. `case` is then one more
                          axis, over all of them; case=a,b picks some. A case that starts with cse-eval trains nothing:
                          it is a job of cse-eval, with its own settings only, e.g. on another sweep's run,
                          checkpoint=run:whitenedcse/table1:whitened_bert
    same_runs_as          the sweep whose folder holds these jobs too: one run serves several tables
    search_each           the axes of which every combination gets a search of its own (hydra.sweeper searches the rest)
    laptop                axes with fewer values, or fewer cases, for scale=laptop, which also runs three seeds
    report                what the runs are laid beside (cse.report.spec)

What several tables of a paper share is in a file one folder deeper, which their `defaults` name.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.config.compose import SWITCH, composed, nearest, without_hydra
from cse.config.keys import changes_a_table, identity, is_science, key_of
from cse.dotted import Config
from cse.errors import UserError

OWN_KEYS = ("cases", "report", "same_runs_as", "search_each", "laptop")
SEEDS = "1,2,3"  # of scale=laptop, where the sweep has none of its own
SHARED = {"model", "paths", "smoke", "scale", "tracker", "allow_partial"}  # keys of cse-eval that are its run's too
SLUG = 80  # characters of a folder's name before its hash


@dataclass(frozen=True)
class Job:
    """One run. arguments: of `program` (cse-train or cse-eval), without its folder; name: of that folder.

    scores: the folder of the run that it scores, and the job that makes it; None where it scores no run.
    """

    name: str
    program: str
    arguments: list[str]
    scores: "tuple[Path, Job] | None" = None


@dataclass(frozen=True)
class Sweep:
    """What a sweep's YAML says beside its settings; see above. folder: PAPER/TABLE whose runs it shares, or its own."""

    name: str
    folder: Path
    params: dict[str, str]
    cases: dict[str, list[str]]
    search_each: list[str]
    sweeper: str  # basic: a grid
    trials: int  # of each search
    own_keys: list[str]
    report: Config | None
    laptop: dict[str, str] = field(default_factory=dict)  # axes with fewer values, for scale=laptop

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its axes."""
        return tuple(self.params)

    @property
    def settings(self) -> tuple[str, ...]:
        """The config keys by which its jobs tell their settings apart; of a search, whose trials never meet, those that
        each search keeps fixed."""
        keys = self.params if self.sweeper == "basic" else self.search_each
        return tuple(dict.fromkeys([*(["case"] if self.cases else []), *keys]))

    def place(self, arguments: Sequence[str]) -> Path:
        """Where its jobs go, relative to where it is started. A smoke test's scores never lie among real ones."""
        smoke = any(key_of(a) == "smoke" and SWITCH.get(value_of(a).lower()) for a in arguments)
        scale = scale_of(arguments)
        return Path("runs", "smoke" if smoke else "", "" if scale == "paper" else scale, self.folder)

    def jobs(self, arguments: Sequence[str]) -> list[Job]:
        """Every job of the grid with the command line's overrides, in order; equal ones (of cse-eval) once."""
        jobs = [self.job(overrides) for overrides in expanded([*self.axes(arguments), *arguments])]
        return list({job.name: job for job in jobs}.values())

    def axes(self, arguments: Sequence[str]) -> list[str]:
        """`key=values` of the axes that the command line leaves as they are."""
        given = {key_of(argument) for argument in arguments}
        axes = {"case": ",".join(self.cases)} if self.cases else {}
        axes |= self.params
        if scale_of(arguments) == "laptop":
            axes = {"seed": SEEDS, **axes, **self.laptop}
        return [f"{key}={values}" for key, values in axes.items() if key not in given]

    def searches(self, arguments: Sequence[str]) -> list[list[str]]:
        """What each search keeps fixed: every combination of the axes in search_each."""
        axes = merged([*self.axes(arguments), *arguments])
        return expanded([axis for axis in axes if key_of(axis) in self.search_each])

    def job(self, overrides: Sequence[str]) -> Job:
        """The job of one combination. Raises UserError for a case that the sweep does not have."""
        overrides = [override.lstrip("+") for override in overrides if key_of(override) != "sweep"]
        case = next((value_of(override) for override in overrides if key_of(override) == "case"), None)
        if case is not None and case not in self.cases:
            near = nearest(case, list(self.cases))
            raise UserError(f"case={case} is not a case of sweep={self.name}{near}; it has {', '.join(self.cases)}")
        bundle = list(self.cases[case]) if case is not None else []
        if bundle and bundle[0] == "cse-eval":
            return self.evaluation(bundle[1:], overrides)
        arguments = merged([*bundle, *overrides])
        own = [f"sweep={self.name}", *arguments, *(f"~{key}" for key in self.own_keys), "hydra.mode=RUN", "resume=auto"]
        return Job(self.slug(overrides, arguments), "cse-train", own)

    def evaluation(self, bundle: list[str], overrides: list[str]) -> Job:
        """The job of a case that starts with cse-eval; checkpoint=run:SWEEP:CASE is the run of that sweep's case."""
        keys = {str(key) for key in composed("evaluate", [])}
        mine = [override for override in overrides if root_of(override) in keys]
        run = next((value_of(argument) for argument in bundle if argument.startswith("checkpoint=run:")), None)
        if run is None:
            arguments = merged([*bundle, *mine])
            return Job(self.slug(mine, arguments), "cse-eval", arguments)
        folder, trained = run_of(run, [override for override in overrides if root_of(override) not in keys - SHARED])
        arguments = merged([*bundle, *(override for override in mine if root_of(override) != "model")])
        renamed = [argument.replace(run, f"run:{trained.name}") for argument in arguments]
        whole = [f"checkpoint={quoted(folder)}" if key_of(a) == "checkpoint" else a for a in arguments]
        return Job(self.slug(overrides, renamed), "cse-eval", whole, (folder, trained))

    def departures(self, overrides: Sequence[str]) -> list[str]:
        """Those of a run's overrides that decide what it runs and that neither the axes nor the cases hold."""
        axes = {"case", "checkpoint", *self.params}
        bundled = {override for bundle in self.cases.values() for override in bundle}
        rest = [o for o in overrides if not o.startswith("~") and o not in bundled]
        return [o for o in rest if key_of(o) not in axes and changes_a_table(key_of(o))]

    def slug(self, readable: Sequence[str], arguments: Sequence[str]) -> str:
        """A folder's name: the axes, then other overrides, and a hash of everything that decides what it runs."""
        place = {key: place for place, key in enumerate(dict.fromkeys(["case", *self.params, "seed"]))}
        shown = [override for override in readable if decides(override)]
        shown.sort(key=lambda override: (place.get(key_of(override), len(place)), key_of(override)))
        return short_name(shown, (a for a in arguments if decides(a) and key_of(a) != "case"))  # its words say it


def scale_of(arguments: Sequence[str]) -> str:
    """The value of scale=; paper where the arguments name none."""
    return next((value_of(argument) for argument in arguments if key_of(argument) == "scale"), "paper")


def run_of(reference: str, overrides: Sequence[str]) -> tuple[Path, Job]:
    """The folder and the job of run:SWEEP:CASE with these overrides. Raises UserError for an unknown case."""
    _, name, case = reference.split(":")
    sweep = read(name)
    trained = sweep.job([f"case={case}", *overrides])
    return (sweep.place(overrides) / trained.name).absolute(), trained


def read(name: str) -> Sweep:
    """The sweep of that name. Raises UserError for an unknown name."""
    config = composed("train", [f"sweep={name}"])
    cases = OmegaConf.to_container(config.get("cases") or OmegaConf.create({}))
    return Sweep(
        name=name,
        folder=Path(config.get("same_runs_as") or name),
        params={key: str(values) for key, values in (config.hydra.sweeper.params or {}).items()},
        cases={str(case): [str(override) for override in bundle] for case, bundle in cases.items()},  # type: ignore[union-attr]
        search_each=list(config.get("search_each") or []),
        sweeper=config.hydra.runtime.choices["hydra/sweeper"],
        trials=config.hydra.sweeper.get("n_trials", 1),
        own_keys=[key for key in OWN_KEYS if key in config],
        laptop={str(key): str(values) for key, values in (config.get("laptop") or {}).items()},
        report=OmegaConf.to_container(config.report) if "report" in config else None,  # type: ignore[arg-type]
    )


def short_name(shown: Sequence[str], decisive: Iterable[str], first: str = "") -> str:
    """A folder's name: `first`, the overrides `shown` in few words, and a hash of all that decides what is run."""
    lasts = [key_of(override).split(".")[-1] for override in shown]
    words = [first] if first else []
    for last, override in zip(lasts, shown, strict=True):
        value = value_of(override).rpartition("/")[2]  # of a path its end says enough
        key = last if lasts.count(last) == 1 else key_of(override)
        words.append(value if last == "case" else f"{key}_{value}")
    text = re.sub(r"[^\w.+-]+", "_", "-".join(words)) or "run"
    return f"{text[:SLUG]}-{digest(decisive)}"


def digest(overrides: Iterable[str]) -> str:
    """Eight hexadecimal digits of overrides, whatever their order."""
    return hashlib.sha1(" ".join(sorted(overrides)).encode()).hexdigest()[:8]


def is_axis(override: str) -> bool:
    """Whether it gives a key several values (a,b  range(...)  interval(...)  glob(...))."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(override).is_sweep_override()


def sampled(overrides: Sequence[str]) -> list[str]:
    """The overrides with the first of its values for each axis."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import IntervalSweep

    sample = []
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if not override.is_sweep_override():
            sample.append(override.input_line or "")
            continue
        value = override.value()
        first = value.start if isinstance(value, IntervalSweep) else next(override.sweep_string_iterator())
        sample.append(f"{override.get_key_element()}={first}")
    return sample


def expanded(overrides: Sequence[str]) -> list[list[str]]:
    """Hydra's own product of all `key=a,b` and `key=range(...)`; of a key given twice the last counts."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(list(overrides)), None)[0]


def merged(overrides: Sequence[str]) -> list[str]:
    """Each key once; the last wins, so that the command line beats a case."""
    return list({key_of(override): override for override in overrides}.values())


def decides(override: str) -> bool:
    """Whether an override changes what a job computes."""
    return is_science(key_of(override))


def root_of(override: str) -> str:
    """`trainer` of `trainer.lr=1e-5`."""
    return key_of(override).partition(".")[0]


def value_of(override: str) -> str:
    """`1e-5` of `trainer.lr=1e-5`, without quotes around it."""
    return override.partition("=")[2].strip("'\"")


def quoted(value: object) -> str:
    """A value as Hydra's grammar takes it whole, whatever is in it."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def settings(config: DictConfig) -> Config:
    """The settings, by dotted key, that a finished run must share with the job; the machine may be another."""
    from cse.run.build import resolved

    return {key: value for key, value in identity(resolved(without_hydra(config))).items() if is_science(key)}
