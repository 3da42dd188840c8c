"""The class Run: the settings, choices, scores and progress of a run, read from its folder.

The values are in results.json (see cse.lab.folder.contents) and metrics.jsonl. If a run was killed before it wrote
results.json, run.yaml has its settings.

After the class come functions that read one run, or all runs below some folders, and functions that take several runs.
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
from cse.lab.settings.lookup import folders_beside, nearest
from cse.lab.settings.values import PlainConfig, same_as_any
from cse.score import Score, Source, no_better

log = logging.getLogger(__name__)

UNQUOTED = re.compile(r"[\w ./:,=@%+-]*", re.ASCII)
"""The pattern of a command without quotes and escapes. A shell splits such a command only at blanks."""
NOWHERE = object()
Where = PlainConfig
"""Conditions on a run: {dotted key or group: value or list of values}. One value of a list is enough."""


@dataclass(frozen=True)
class Run:
    """A run as it was when its folder was read, or a planned job without a run.

    state, why: see cse.lab.folder.status. program: cse-train or cse-eval. arguments: the arguments of the run's
    command. A report adds the last two fields. departures: the settings that contradict the run's sweep. evaluations:
    cse-eval's runs on best/ whose scores the report has added to `metrics`.
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
        """Return the run's value of a key, such as trainer.lr; None if the run does not have the key.

        The value of a group, such as objective, is the name of the group's choice.
        """
        if key in self.choices:
            return self.choices[key]
        value = self._at(key)
        is_group = isinstance(value, dict) and "." not in key
        return None if value is NOWHERE or is_group else value

    def has(self, key: str) -> bool:
        """Return whether the run has this setting or group. A run of cse-eval has no trainer.lr, for example."""
        return key in self.choices or self._at(key) is not NOWHERE

    def _at(self, key: str) -> object:
        node: object = self.config
        for part in key.split("."):
            if not isinstance(node, dict) or part not in node:
                return NOWHERE
            node = node[part]
        return node

    def matches(self, where: Where) -> bool:
        """Return whether the run meets every condition."""
        return all(same_as_any(self.get(key), value) for key, value in where.items())

    @property
    def is_done(self) -> bool:
        """Whether the run finished."""
        return self.state == State.DONE

    @property
    def is_smoke(self) -> bool:
        """Whether the run has smoke=true. The scores of such a run mean nothing."""
        return self.get("smoke") is True

    @property
    def has_results(self) -> bool:
        """Whether the run's results.json exists and can be read."""
        return "config" in self.results

    @property
    def select(self) -> str:
        """The name of the score that selects the run's checkpoint; "None" if no score selects it."""
        return str(self.get("trainer.select"))

    @cached_property
    def scored(self) -> dict[str, Score]:
        """The run's scores, by name. If an older version of cse made the run, a Score has only its name and value."""
        about = self.results.get("scores", {})
        return {name: Score(name, value, **about.get(name, {})) for name, value in self.metrics.items()}

    @cached_property
    def modified(self) -> frozenset[str]:
        """The names of the run's scores on incomplete or modified data (allow_partial)."""
        return frozenset(name for name, score in self.scored.items() if score.modified)

    @property
    def untrained(self) -> float | None:
        """The untrained encoder's value of the score that selects the checkpoint; None if unknown."""
        return self.before_training.get(self.select)

    @property
    def no_better(self) -> bool:
        """Whether the selected checkpoint scores no better than `untrained`."""
        return no_better(self.scored, self.select, self.before_training)

    @property
    def before_training(self) -> Mapping[str, float | None]:
        """The dev scores of the untrained encoder, by name."""
        return self.results.get("untrained") or {}

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the libraries that the run used."""
        return self.results.get("versions", {})

    @property
    def data(self) -> Mapping[str, Source]:
        """The data that each evaluator scored the run on, by evaluator."""
        return self.results.get("data") or {}

    @property
    def training_data(self) -> TrainingData:
        """The data that the run learned from; {} if unknown."""
        about = self.results.get("training_data")
        return about if isinstance(about, dict) else {}  # a damaged file may hold anything

    def events(self) -> list[Event]:
        """Return the metric events of metrics.jsonl, in order."""
        return metric_events(self.folder)

    @property
    def first_logged_at(self) -> float:
        """The time of the run's first metric event, in seconds since 1970; 0 if unknown."""
        return next((event.get("time") or 0.0 for event in self.events()), 0.0)


def read_run(folder: Path) -> Run:
    """Return the run in a folder.

    If results.json cannot be read, a warning is logged, the run's state is "failed", and the run has no scores. Another
    file that cannot be read counts as empty.
    """
    results, beat = read_results(folder), None
    if results["status"] == "running":
        beat = read_beat(folder)
        if beat is None:
            results = read_results(folder)  # the run may have ended between the two reads
    status = status_of(folder, results, beat)
    if "config" in results:
        config, arguments = results["config"], arguments_in(folder, results)
    else:
        nothing: RunFile = {"config": {}}
        start = read_or(read_run_file, folder / RUN, nothing)
        config, arguments = start["config"], start.get("words", [])
    choices = config["choices"] if isinstance(config.get("choices"), dict) else {}
    if results.get("seed") is not None:  # cse-eval records the seed of the run that it scored
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
    """Return the arguments KEY=VALUE of the command in results.json; [] and a warning if a quote is not closed."""
    command = results.get("command", "")
    try:
        texts = command.split() if UNQUOTED.fullmatch(command) else shlex.split(command)  # shlex is slow
        return split_flags(texts[1:])[0]
    except ValueError as error:
        log.warning("%s: the arguments of its command are ignored (%s)", folder / RESULTS, error)
        return []


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Return every run at or below the folders, sorted by folder. A warning names the files that cannot be read.

    Raises UserError for a folder that does not exist.
    """
    holding: dict[str, Path] = {}  # by resolved path: `folders` may name one folder twice, or by a link
    for folder in folders:
        if not folder.is_dir():
            near = nearest(folder.name, folders_beside(folder)) or "; name the folder with the runs, runs=FOLDER"
            raise UserError(f"runs={folder}: there is no such folder{near}")
        real = os.path.realpath(folder)
        for place, _, files in os.walk(folder):  # os.walk skips a folder that a run removes meanwhile
            if {RESULTS, RUN} & {*files}:  # os.walk follows no link, so only `folder` itself has to be resolved
                holding.setdefault(real + place[len(str(folder)) :], Path(place))
    return sharing_settings(read_run(folder) for folder in sorted(holding.values()))


def sharing_settings(runs: Iterable[Run]) -> list[Run]:
    """Return the same runs, in less memory: groups of settings that are equal in several runs become one object."""
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
    """Return a hint that names the newest run in a folder, such as outputs/ or outputs/DATE; "" without a run."""
    runs = [*folder.glob(f"*/{RUN}"), *folder.glob(f"*/*/{RUN}")]
    return f"; the newest run in this folder is {max(runs, key=lambda run: run.stat().st_mtime).parent}" if runs else ""


def score_named(runs: Iterable[Run], name: str | None) -> Score:
    """Return the score of this name in the first run that has such a score, or an empty score if no run has it.

    Callers use only the score's unit and direction.
    """
    return next((run.scored[name] for run in runs if name in run.scored), Score("", 0.0))


def grouped(runs: Iterable[Run], key: str) -> dict[str, list[Run]]:
    """Return {value of a dotted config key, as text: the runs with this value}, ordered by each value's first run."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(str(run.get(key)), []).append(run)
    return groups
