"""A run, read from its folder: its settings, its choices of groups, its scores and its progress.

The files are results.json (see cse.lab.folder.contents) and metrics.jsonl. If a run was killed before it wrote
results.json, run.yaml has its settings.

First a Run; then how a run is read, and all runs below some folders; then questions about several runs.
"""

import logging
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cse.errors import UserError
from cse.lab.folder.contents import RESULTS, RUN, Results, RunFile, TrainingData, read_or, read_results, read_run_file
from cse.lab.folder.events import Event, metric_events
from cse.lab.folder.heartbeat import read_beat
from cse.lab.folder.status import State, status_of
from cse.lab.settings.arguments import Argument, recorded_arguments
from cse.lab.settings.command import split_flags
from cse.lab.settings.values import PlainConfig, same_as_any
from cse.score import Score, Source, no_better

log = logging.getLogger(__name__)

UNQUOTED = re.compile(r"[\w ./:,=@%+-]*", re.ASCII)
"""A command without quotes and escapes, so that a shell splits it only at blanks."""
NOWHERE = object()
Where = PlainConfig
"""Dotted config keys (or groups) with the value, or list of possible values, that a run must have."""


@dataclass(frozen=True)
class Run:
    """A run at the time of reading, or a planned job that only a plan records.

    state, why: see cse.lab.folder.status. program: cse-train or cse-eval. arguments: the arguments of the run's
    command. A report adds the last two fields. departures: the settings that contradict the run's sweep. evaluations:
    the evaluations of best/ by cse-eval whose scores a report has added to `metrics`.
    """

    folder: Path
    state: State
    config: PlainConfig
    choices: dict[str, str]
    metrics: dict[str, float]
    results: Results
    program: str = "cse-train"
    arguments: tuple[Argument, ...] = ()
    why: str = ""
    departures: tuple[str, ...] = ()
    evaluations: "tuple[Run, ...]" = ()

    def get(self, key: str) -> object:
        """The run's value of a key of the command line; None if the run does not have the key.

        For a group (objective) this is the name of its choice. For any other key (trainer.lr) it is the value.
        """
        if key in self.choices:
            return self.choices[key]
        value = self._at(key)
        is_group = isinstance(value, dict) and "." not in key
        return None if value is NOWHERE or is_group else value

    def has(self, key: str) -> bool:
        """Whether the run has such a setting or group at all (cse-eval has no learning rate)."""
        return key in self.choices or self._at(key) is not NOWHERE

    def _at(self, key: str) -> object:
        node: object = self.config
        for part in key.split("."):
            node = node.get(part, NOWHERE) if isinstance(node, dict) else NOWHERE
        return node

    def matches(self, where: Where) -> bool:
        """Whether the run has all these values."""
        return all(same_as_any(self.get(key), value) for key, value in where.items())

    @property
    def is_done(self) -> bool:
        """Whether it finished."""
        return self.state == State.DONE

    @property
    def is_smoke(self) -> bool:
        """Whether it ran with smoke=true. Its scores then mean nothing."""
        return self.get("smoke") is True

    @property
    def has_results(self) -> bool:
        """Whether the run's results.json exists and can be read."""
        return "config" in self.results

    @property
    def select(self) -> str:
        """The name of the score that selects the run's checkpoint; "None" if no score does."""
        return str(self.get("trainer.select"))

    @cached_property
    def scored(self) -> dict[str, Score]:
        """The run's scores, by name. A run of an older version of cse recorded only their values."""
        about = self.results.get("scores", {})
        return {name: Score(name, value, **about.get(name, {})) for name, value in self.metrics.items()}

    @property
    def modified(self) -> frozenset[str]:
        """The run's scores on incomplete or modified data (allow_partial)."""
        return frozenset(name for name, score in self.scored.items() if score.modified)

    @property
    def untrained(self) -> float | None:
        """The score that selects the checkpoint, of the untrained encoder; None if unknown."""
        return self._before_training.get(self.select)

    @property
    def no_better(self) -> bool:
        """Whether the selected checkpoint scores no better than `untrained`."""
        return no_better(self.scored, self.select, self._before_training)

    @property
    def _before_training(self) -> Mapping[str, float | None]:
        return self.results.get("untrained") or {}

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the libraries that the run used."""
        return self.results.get("versions", {})

    @property
    def data(self) -> Mapping[str, Source]:
        """The data behind the scores of each evaluator."""
        return self.results.get("data") or {}

    @property
    def training_data(self) -> TrainingData:
        """The data that the run learned from; {} if unknown."""
        about = self.results.get("training_data")
        return about if isinstance(about, dict) else {}  # a damaged file may hold anything

    def events(self) -> list[Event]:
        """The metric events of metrics.jsonl, in order."""
        return metric_events(self.folder)

    @property
    def first_logged_at(self) -> float:
        """The time of the run's first logged score, in seconds since 1970; 0 if unknown."""
        return next((event.get("time") or 0.0 for event in self.events()), 0.0)


def read_run(folder: Path) -> Run:
    """A run.

    If its results.json is damaged, or another program wrote it, a warning says so: the run counts as failed, and no
    table has it. Any other damaged file of the run is read as empty.
    """
    results, beat = read_results(folder), None
    if results["status"] == "running":
        beat = read_beat(folder)
        if beat is None:
            results = read_results(folder)  # it may have ended between the two
    status = status_of(folder, results, beat)
    if "config" in results:
        config, arguments = results["config"], arguments_in(folder, results)
    else:
        nothing: RunFile = {"config": {}}
        start = read_or(read_run_file, folder / RUN, nothing)
        config, arguments = start["config"], start.get("words", [])
    choices = config["choices"] if isinstance(config.get("choices"), dict) else {}
    if results.get("seed") is not None:  # of cse-eval: the seed of the run that it scored
        config = {"seed": results["seed"], **config}
    return Run(
        folder=folder,
        state=status.state,
        why=status.why,
        program="cse-train" if "trainer" in config else "cse-eval",
        arguments=tuple(recorded_arguments(arguments)),
        config=config,
        choices={group: str(choice) for group, choice in choices.items()},
        metrics={name: value for name, value in results.get("metrics", {}).items() if value is not None},
        results=results,
    )


def arguments_in(folder: Path, results: Results) -> Sequence[str]:
    """The settings of the command line that results.json records. [] and a warning if the quotes are damaged."""
    command = results.get("command", "")
    try:
        texts = command.split() if UNQUOTED.fullmatch(command) else shlex.split(command)  # which is slow
        return split_flags(texts[1:])[0]
    except ValueError as error:
        log.warning("%s: the arguments of its command are ignored (%s)", folder / RESULTS, error)
        return []


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Every run at or below the folders, sorted by folder. A warning names the files that cannot be read.

    Raises UserError for a folder that does not exist.
    """
    holding: dict[str, Path] = {}  # a folder may be named twice, by a link too
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"runs={folder}: there is no such folder; name the folder with the runs, runs=FOLDER")
        for place, _, files in os.walk(folder):  # skips a folder that a run removes meanwhile
            if {RESULTS, RUN} & {*files}:
                holding.setdefault(os.path.realpath(place), Path(place))
    return sharing_settings(read_run(folder) for folder in sorted(holding.values()))


def sharing_settings(runs: Iterable[Run]) -> list[Run]:
    """The same runs. Equal groups of settings become one object in memory, because most runs share most settings."""
    groups: dict[str, PlainConfig] = {}
    shared = []
    for run in runs:
        own = {name: group for name, group in run.config.items() if isinstance(group, dict)}
        config = run.config | {name: groups.setdefault(repr(group), group) for name, group in own.items()}
        results = run.results
        if run.has_results:
            results = {**results, "config": {key: config[key] for key in results["config"]}}
        shared.append(replace(run, config=config, results=results))
    return shared


def newest_run(folder: Path) -> str:
    """A hint at the newest run in a folder of runs such as outputs/ or outputs/DATE; "" if there is none."""
    runs = [*folder.glob(f"*/{RUN}"), *folder.glob(f"*/*/{RUN}")]
    return f"; the newest run in it is {max(runs, key=lambda run: run.stat().st_mtime).parent}" if runs else ""


def score_named(runs: Iterable[Run], name: str | None) -> Score:
    """The score of this name in the first run that has it; an empty score if no run has it.

    Callers use the unit and the direction of the score.
    """
    return next((run.scored[name] for run in runs if name in run.scored), Score("", 0.0))


def grouped(runs: Iterable[Run], key: str) -> dict[str, list[Run]]:
    """The runs, grouped by their value at a dotted config key.

    The values are texts, in the order of their first appearance.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(str(run.get(key)), []).append(run)
    return groups
