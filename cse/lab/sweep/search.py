"""hydra/sweeper=smac: Bayesian optimisation by SMAC's ask and tell, and what each search remembers.

VICReg's search in Pappadopulo & Farina 2024, with SMAC's hyper-parameter facade: a Sobol design for a quarter of the
trials, five at least, then a random forest and expected improvement. Every point is kept in .smac/ of the sweep's
folder before it runs, so that a search that is started again continues: the jobs of those points come first, as of a
grid that is started again.
"""

import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from omegaconf import DictConfig

from cse.errors import UserError
from cse.files import json_line, json_lines
from cse.lab.folder.facts import as_facts, changes, changes_in_words
from cse.lab.settings.grammar import parse_word
from cse.lab.settings.keys import role_of
from cse.lab.settings.words import Word, merged, texts_of
from cse.lab.sweep.grid import first_values, is_interval
from cse.lab.sweep.line import Line
from cse.lab.sweep.names import hash_of
from cse.lab.sweep.start import Runner, Start

if TYPE_CHECKING:  # the package smac is an extra
    from smac import HyperparameterOptimizationFacade as Facade
    from smac.runhistory.dataclasses import TrialInfo

Point = dict[str, Any]
"""The value of each key that is searched."""


class Search(NamedTuple):
    """What a search's file says: what all its trials share, as typed by key, and the points that were asked for."""

    fixed: dict[str, str]
    points: list[Point]


@dataclass(frozen=True)
class Memory:
    """A file with a line {"ranges": ..., "fixed": ...}, and a line {"asked": point} for each point.

    ranges: as typed, by key; fixed: so what all searches of the line share.
    """

    file: Path
    ranges: dict[str, str]
    fixed: dict[str, str]

    def check(self) -> None:
        """Raise UserError if the folder holds a search with other ranges or settings, whose trials would be mixed."""
        for file in self.file.parent.glob("*.jsonl"):
            first: dict[str, Any] = next((line for line in json_lines(file) if line and "ranges" in line), {})
            ranges, fixed = first.get("ranges", self.ranges), first.get("fixed", self.fixed)  # older ones lack fixed
            theirs, ours = fixed | ranges, self.fixed | self.ranges
            defaults = dict.fromkeys(theirs | ours, "its default")
            if changed := changes(as_facts("science", defaults | theirs), as_facts("science", defaults | ours)):
                raise UserError(
                    f"{self.file.parent.parent} has a search with {changes_in_words(changed)}: type what it had to "
                    "continue it, or hydra.sweep.dir=FOLDER for a new one"
                )

    def add(self, point: Point) -> None:
        """Add a point, after the settings if it is the first."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines: list[Mapping[str, object]] = [{"asked": point}]
        if not self.file.exists():
            lines = [{"ranges": self.ranges, "fixed": self.fixed}, *lines]
        with open(self.file, "a", encoding="utf-8") as file:
            file.writelines(map(json_line, lines))

    def points(self) -> list[Point]:
        """Each point that was asked for, once."""
        asked = [line["asked"] for line in json_lines(self.file) if line and "asked" in line]
        return [point for place, point in enumerate(asked) if point not in asked[:place]]


def searches_in(folder: Path) -> list[Search]:
    """The searches of a sweep's folder that have asked for points."""
    files = sorted((folder / ".smac").glob("*.jsonl"))
    return [search for file in files if (search := _as_written(file, file.stat().st_mtime_ns)).points]


@cache
def _as_written(file: Path, written: int) -> Search:
    """The search of a file, read again only when it was written again: a report looks for each of its runs."""
    lines = [line for line in json_lines(file) if line]
    fixed: dict[str, str] = next((line["fixed"] for line in lines if "fixed" in line), {})
    return Search(fixed, [line["asked"] for line in lines if "asked" in line])


def memory_of(line: Line, row: Sequence[Word]) -> Memory:
    """The memory of one of a line's searches. row: its words. Searches of one folder differ in search_each alone."""
    seed = line.search.seed if line.search else 0
    fixed = [word for word in row if role_of(word.key).names_a_job and not word.is_axis]
    ranges = {word.key: word.typed_value for word in row if word.is_axis}
    shared = {word.key: word.typed_value for word in fixed if word.key not in line.sweep.search_each}
    return Memory(line.folder / ".smac" / f"{hash_of(texts_of(fixed))}-{seed}.jsonl", ranges, shared)


def search_in_words(settings: dict[str, str]) -> str:
    """The settings as typed."""
    return " ".join(f"{key}={value}" for key, value in settings.items())


def check_search(line: Line) -> None:
    """Raise UserError for a search of a seed, of a range without values or with values that its key cannot have, for
    one whose jobs select by no score of dev, which it would improve, and for a folder of other searches."""
    for word in (word for row in line.rows for word in row if word.is_axis):
        check_range(word)
    row = line.rows[0]
    job = line.job(first_values(row))
    if job.program != "cse-train" or job.config.trainer.select is None:
        raise UserError(
            "hydra/sweeper=smac improves the score that selects a step: cse-train with trainer.select=dev/..."
        )
    for word in row:
        if word.is_axis:
            check_ends(line, row, word)
    for row in line.rows:
        memory_of(line, row).check()


def check_range(word: Word) -> None:
    """Raise UserError for a seed, and for an interval without values or, if logarithmic, with some below 0."""
    if word.key.rpartition(".")[2] == "seed":
        raise UserError(
            f"{word}: a search of seeds finds the luckiest one. Give one seed; the report of the search has the line "
            "that trains more seeds of its best"
        )
    ends: Any = word.parsed
    if is_interval(word) and (not ends.start < ends.end or ("log" in ends.tags and ends.start <= 0)):
        raise UserError(f"{word}: the lower bound comes first, and above 0 where the range is logarithmic")


def check_ends(line: Line, row: Sequence[Word], word: Word) -> None:
    """Raise UserError if a key cannot have each of its choices, or the ends of its interval and a fraction in it."""
    ends: Any = word.parsed
    if not is_interval(word):
        texts = list(parse_word(word.text).sweep_string_iterator())
    elif isinstance(ends.start, float):
        texts = [str(ends.start), str(ends.end), str(ends.start + (ends.end - ends.start) / 3.1)]
    else:
        texts = [str(ends.start), str(ends.end)]
    for text in texts:
        tried = replace(word, text=f"{word.key}={text}")
        try:
            line.job(merged([*first_values(row), tried])).checked()
        except UserError as error:
            whole = f"; {word.key}=int({word.typed_value}) has whole numbers"
            hint = whole if is_interval(word) and "integer" in str(error) else ""
            raise UserError(f"{word}: {error}{hint}") from error


def search(line: Line, row: Sequence[Word], start: Start, run: Runner) -> None:
    """Ask, run and tell until all trials are made, by this or an earlier start. row: the search's words.

    Searches `key=interval(a,b)` (uniform), `key=int(interval(a,b))` and `key=choice(...)`, for the best of the score
    that selects. Ends early where every point was tried.
    """
    from ConfigSpace import Configuration
    from smac.main.exceptions import ConfigurationSpaceExhaustedException
    from smac.runhistory.dataclasses import TrialInfo, TrialValue

    settings: Any = line.search
    axes = [word for word in row if word.is_axis]
    memory = memory_of(line, row)
    optimiser = optimiser_of(axes, settings, memory.file.parent)

    def trial_of(point: Point) -> "TrialInfo":
        return TrialInfo(Configuration(optimiser.scenario.configspace, values=point), seed=0)

    def new_trials(number: int) -> Iterator["TrialInfo"]:
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
            print(f"every point of {search_in_words(memory.ranges)} was tried: {count} of {settings.n_trials} trials")
            start.plan_search(name, count)
            break
        known = known[size:]
        jobs = [line.job(merged([*row, *at_point(axes, trial.config)])) for trial in trials]
        start.plan(jobs, name)
        for trial, outcome in zip(trials, run(jobs, start), strict=True):
            if score := outcome.score:  # a failure, which may be the machine's, teaches nothing
                optimiser.tell(trial, TrialValue(cost=score.value if score.lower_is_better else -score.value))
        count += len(trials)


def optimiser_of(axes: Sequence[Word], settings: DictConfig, folder: Path) -> "Facade":
    """SMAC over the axes. It writes its own files, which nothing reads, into `folder`."""
    from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario

    logging.getLogger("smac").setLevel(logging.WARNING)
    space = ConfigurationSpace(seed=settings.seed)
    for word in axes:
        if is_interval(word):
            ends: Any = word.parsed
            kind = Integer if isinstance(ends.start, int) and isinstance(ends.end, int) else Float
            space.add(kind(word.key, (ends.start, ends.end), log="log" in ends.tags))
        else:
            space.add(Categorical(word.key, list(parse_word(word.text).sweep_string_iterator())))
    scenario = Scenario(
        space, deterministic=True, n_trials=settings.n_trials, seed=settings.seed, output_directory=folder
    )
    spread = min(max(5, settings.n_trials // 4), settings.n_trials)  # from fewer points the forest stays where it began
    design = Facade.get_initial_design(scenario, n_configs=spread, max_ratio=1.0)
    return Facade(scenario, lambda config, seed: math.nan, initial_design=design, overwrite=True, logging_level=False)


def at_point(axes: Sequence[Word], point: Mapping[str, Any]) -> list[Word]:
    """The axes at SMAC's values, numbers with six significant digits."""
    return [replace(word, text=f"{word.key}={written(number_of(point[word.key]))}") for word in axes]


def written(value: Any) -> str:
    """A value as a word has it."""
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def number_of(value: Any) -> Any:
    """NumPy's numbers, in which SMAC thinks, as Python's."""
    return value.item() if isinstance(value, np.generic) else value
