"""Runs read back from their folders: what each was (its config and choices of groups) and what it scored.

This only reads files: results.json, which has everything, and metrics.jsonl. run.yaml tells the settings of a run that
was killed before it wrote results.json. First what these files hold; then a Run, and how it is read.
"""

import logging
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypeVar, cast

import yaml
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # typing's can be checked by pydantic from Python 3.12 on

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.events import Event, metric_events
from cse.lab.folder.heartbeat import read_beat
from cse.lab.folder.status import State, status_of
from cse.lab.settings.dotted import Config
from cse.lab.settings.values import same
from cse.lab.settings.words import Word, recorded_words, split_flags
from cse.score import Score, no_better

log = logging.getLogger(__name__)

T = TypeVar("T")
NOWHERE = object()
Number = Annotated[float, Field(ge=-1e38, le=1e38)]  # within float32, so that squares are within float64
Plain = dict[str, JsonValue]

RUN = "run.yaml"
"""A run's resolved, checked config as data, in its folder from the start on. `resume=FOLDER` reads it."""


class RunFile(TypedDict):
    """run.yaml: the settings that a run uses, and the words of the line that started it."""

    config: Plain
    words: NotRequired[list[str]]


@with_config(ConfigDict(strict=True, extra="allow"))
class Results(TypedDict, total=False):
    """results.json, as far as every reader relies on it. A score is a finite number (true is not), or None where it was
    NaN.

    Other keys may hold anything.
    """

    status: Required[Literal["running", "done", "failed", "interrupted"]]
    config: Required[Plain]
    metrics: Required[dict[str, Number | None]]
    scores: dict[str, Plain]  # what each score is, beside its value; see cse.score.Score


RUN_FILE, RESULTS = TypeAdapter(RunFile), TypeAdapter(Results)
Pairs = tuple[list[float], list[float]]
COSINES = TypeAdapter(dict[str, dict[str, Pairs]])
Where = Config
"""Dotted config keys (or groups) with the value, or list of possible values, that a run must have."""


@dataclass(frozen=True)
class Run:
    """A run, or a planned job of which nothing tells but its line's plan, as it was when it was read.

    state, why: see cse.lab.folder.status. words: the settings of its command line; departures: those that contradict
    its sweep.
    """

    folder: Path
    state: State
    config: Config
    choices: dict[str, str]
    metrics: dict[str, float]
    results: Json
    words: tuple[Word, ...] = ()
    departures: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_done(self) -> bool:
        """Whether it finished."""
        return self.state == State.DONE

    @property
    def versions(self) -> Json:
        """The versions of libraries that it ran with."""
        return self.results.get("versions", {})

    @cached_property
    def scored(self) -> dict[str, Score]:
        """Its scores, by name. A run of an older edition recorded no more than their values."""
        about = self.results.get("scores", {})
        return {name: Score(name, value, **about.get(name, {})) for name, value in self.metrics.items()}

    @property
    def untrained(self) -> float | None:
        """The score that selects, of its encoder before training; None if it is not known."""
        return (self.results.get("untrained") or {}).get(self.get("trainer.select"))

    @property
    def is_smoke(self) -> bool:
        """Whether it ran with smoke=true, whose scores mean nothing."""
        return self.get("smoke") is True

    @property
    def no_better(self) -> bool:
        """Whether it kept a step whose score that selects is no better than `untrained`."""
        return no_better(self.scored, str(self.get("trainer.select")), self.results.get("untrained") or {})

    @property
    def altered(self) -> frozenset[str]:
        """Its scores on incomplete or altered data (allow_partial)."""
        return frozenset(name for name, score in self.scored.items() if score.altered)

    def get(self, key: str) -> Any:
        """The value at a dotted key, or for a group the YAML chosen in it; None if there is neither."""
        found = self._at(key)
        if found is None or found is NOWHERE:
            return self.choices.get(key)
        if isinstance(found, dict) and "." not in key:  # the settings of a group
            return self.choices.get(key)
        return found

    def has(self, key: str) -> bool:
        """Whether the run has such a setting or group at all (cse-eval has no learning rate)."""
        return self._at(key) is not NOWHERE or key in self.choices

    def _at(self, key: str) -> object:
        node: object = self.config
        for part in key.split("."):
            node = node.get(part, NOWHERE) if isinstance(node, dict) else NOWHERE
        return node

    def matches(self, where: Where) -> bool:
        """Whether the run has all these values."""
        return all(same(self.get(key), value) for key, value in where.items())

    def events(self) -> list[Event]:
        """The metric events of metrics.jsonl, in order."""
        return metric_events(self.folder)

    @property
    def begun(self) -> float:
        """When it logged its first score, in seconds since 1970; 0 if it does not say."""
        return next((event.get("time") or 0.0 for event in self.events()), 0.0)


def newest_run(folder: Path) -> str:
    """A hint at the newest run in a folder of runs such as outputs/ or outputs/DATE; "" if there is none."""
    runs = [*folder.glob(f"*/{RUN}"), *folder.glob(f"*/*/{RUN}")]
    return f"; the newest run in it is {max(runs, key=lambda run: run.stat().st_mtime).parent}" if runs else ""


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Every run at or below the folders, sorted by folder; a warning names what cannot be read.

    Raises UserError for a folder that does not exist.
    """
    holding: dict[Path, Path] = {}  # a folder may be named twice, by a link too
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"runs={folder}: there is no such folder; runs=FOLDER says where the runs are")
        for place, _, files in os.walk(folder):  # skips a folder that a run removes meanwhile
            if {"results.json", RUN} & {*files}:
                holding.setdefault(Path(place).resolve(), Path(place))
    runs: list[Run] = []
    groups: dict[str, Config] = {}  # most runs of a folder share most of their settings: one copy of each
    for folder in sorted(holding.values()):
        runs.append(run := read_run(folder))
        for config in (run.config, run.results.get("config", {})):
            config |= {name: groups.setdefault(repr(of), of) for name, of in config.items() if isinstance(of, dict)}
    return runs


def read_run(folder: Path) -> Run:
    """A run. If its results.json is damaged or another program's, it has failed and is left out of every table, with a
    warning. A damaged file beside it is read as empty.
    """
    results, beat = read_results(folder), read_beat(folder)
    if results["status"] == "running" and beat is None:
        results = read_results(folder)  # it may have ended between the two
    status = status_of(folder, results, beat)
    start: RunFile = {"config": {}}
    if "config" not in results:
        start = _read(read_run_file, folder / RUN, start)
    config: Config = results.get("config") or start["config"]
    choices = config["choices"] if isinstance(config.get("choices"), dict) else {}
    if results.get("seed") is not None:  # of cse-eval: the seed of the run that it scored
        config = {"seed": results["seed"], **config}
    return Run(
        folder=folder,
        state=status.state,
        config=config,
        choices={group: str(choice) for group, choice in choices.items()},
        metrics={name: value for name, value in results.get("metrics", {}).items() if value is not None},
        results=results,
        words=tuple(recorded_words(_words(folder, results) if "command" in results else start.get("words", []))),
        why=status.why,
    )


def read_results(folder: Path) -> Json:
    """results.json; {"status": "broken"}, with a warning, if it cannot be read. A run that has none is yet to write it,
    or was killed before its first line of work."""
    try:
        return cast("Json", read_checked(RESULTS, folder / "results.json"))
    except FileNotFoundError:
        return {"status": "running"}
    except (OSError, ValueError) as error:
        log.warning("%s: the run is left out (%s)", folder / "results.json", error)
        return {"status": "broken"}


def read_run_file(file: Path) -> RunFile:
    """The content of a run.yaml. Raises OSError, or ValueError with a reason of one line."""
    return read_checked(RUN_FILE, file)


def read_cosines(folder: Path, when: Literal["before", "after"]) -> dict[str, dict[str, Pairs]]:
    """The cosines of a run's pairs before or after training: {"<evaluator>/<task>": {split: [cosines, gold scores]}}.

    The evaluator alone where its scores name no task, and in a run of an older edition. {} if it kept none and, with a
    warning, if the file holds something else.
    """
    return _read(partial(read_checked, COSINES), folder / "plots" / f"cosines_{when}.json", {})


def read_checked(kind: TypeAdapter[Any], file: Path) -> Any:
    """The content of a JSON or YAML file, of a kind. Raises OSError, or ValueError with a reason of one line."""
    content = file.read_bytes()
    try:
        if file.suffix == ".yaml":
            return kind.validate_python(yaml.load(content, yaml.CSafeLoader))
        return kind.validate_json(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from error


def _words(folder: Path, results: Json) -> Sequence[str]:
    """The settings of the command line."""
    try:
        return split_flags(shlex.split(results["command"])[1:])[0]
    except ValueError as error:
        log.warning("%s cannot be read (%s): it is left out", folder / "results.json", error)
        return []


def _read(read: Callable[[Path], T], path: Path, empty: T) -> T:
    """What a file holds; `empty` if it does not exist and, with a warning, if it cannot be read."""
    try:
        return read(path)
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s): it is left out", path, error)
        return empty


def described(runs: Iterable[Run], name: str | None) -> Score:
    """The score of this name in the first run that has it, for its unit and direction; an empty one if none has."""
    return next((run.scored[name] for run in runs if name in run.scored), Score("", 0.0))


def grouped(runs: Iterable[Run], key: str) -> dict[str, list[Run]]:
    """The runs by their value at a dotted config key, as text, in the order in which the values appear."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(str(run.get(key)), []).append(run)
    return groups
