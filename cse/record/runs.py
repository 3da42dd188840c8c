"""A folder of runs, read back: what each run was (its config and the choices that made it) and what it scored.

Nothing here but files is read: results.json, .hydra/hydra.yaml (which YAML was chosen in each group) and metrics.jsonl.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from cse.dotted import Config, Json
from cse.errors import UserError
from cse.files import checksum
from cse.record.events import Event, metric_events
from cse.record.results import Cosine, Plain, Score, checked, parsed, read_results, read_text
from cse.record.scores import partial_scores

log = logging.getLogger(__name__)

T = TypeVar("T")
NOWHERE = object()
SETTINGS: TypeAdapter[Plain] = TypeAdapter(Plain)
WORDS = TypeAdapter(tuple[str, ...])
CHOSEN = TypeAdapter(dict[str, dict[str, str | None]])
Pairs = tuple[list[Cosine], list[Score]]
COSINES = TypeAdapter(dict[str, dict[str, Pairs]])
CHOICES = re.compile(r"^    choices:\n(?:      .*\n)+", re.MULTILINE)
"""The part of hydra.yaml that is read: the same in most runs of a folder, and parsed once."""
TOKENS = re.compile(r", at most \d+ tokens")
Where = Config
"""Dotted config keys (or groups) and the value, or list of values, that a run must have there."""


@dataclass(frozen=True)
class Run:
    """One run's folder. status: done, failed, interrupted, running (or killed), or broken (no results can be read)."""

    folder: Path
    status: str
    config: Config
    choices: dict[str, str]
    metrics: dict[str, float]
    results: Json
    overrides: tuple[str, ...] = ()  # its command line, as Hydra kept it
    departures: tuple[str, ...] = ()  # those that its sweep does not hold

    @property
    def versions(self) -> Json:
        """The libraries that it ran with."""
        return self.results.get("versions", {})

    @cached_property
    def altered(self) -> frozenset[str]:
        """Its scores on incomplete or altered data (allow_partial)."""
        return partial_scores(self.metrics, self.results.get("data") or {})

    def group(self, name: str) -> Config:
        """The settings of a group, as `trainer`; {} where the run has none."""
        return found if isinstance(found := self.config.get(name), dict) else {}

    def get(self, key: str) -> Any:
        """The config's value at a dotted key; a group's key gives the YAML chosen there; None where neither is."""
        stood_for = self.group("scale").get("replaced")
        if isinstance(stood_for, dict) and key in stood_for:
            return stood_for[key]
        found = self._at(key)
        return self.choices.get(key) if found is None or isinstance(found, dict) or found is NOWHERE else found

    def has(self, key: str) -> bool:
        """Whether the run has such a setting, or group, at all: cse-eval has no learning rate."""
        return self._at(key) is not NOWHERE or key in self.choices

    def _at(self, key: str) -> object:
        node: object = self.config
        for part in key.split("."):
            node = node.get(part, NOWHERE) if isinstance(node, dict) else NOWHERE
        return node

    def matches(self, where: Where) -> bool:
        """Whether the run has these values."""
        return all(same(self.get(key), value) for key, value in where.items())

    def events(self) -> list[Event]:
        """The metric events of metrics.jsonl, in order."""
        return metric_events(self.folder)


def same(value: object, other: object) -> bool:
    """Whether a config's value equals another, or one of several. 32, "32", 32.0 are the same; 1 and true are not."""
    if isinstance(other, (list, tuple)) and not isinstance(value, (list, tuple)):
        return any(same(value, one) for one in other)
    return plain(value) == plain(other)


def plain(value: object) -> Any:
    """Numbers, also those that YAML leaves as text (1e-3), as float; true and false as text, not as 1 and 0."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return float(value) if isinstance(value, (str, int)) else value
    except (ValueError, OverflowError):
        return value


def grouped(runs: Iterable[Run], key: str) -> dict[str, list[Run]]:
    """The runs by their value at a dotted config key, as text, in the order in which the values come up."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(str(run.get(key)), []).append(run)
    return groups


def newest_run(folder: Path) -> str:
    """The words that name the newest run in a folder of runs, as outputs/ or outputs/DATE, or nothing."""
    runs = [*folder.glob("*/.hydra"), *folder.glob("*/*/.hydra")]
    return f"; the newest run in it is {max(runs, key=lambda run: run.stat().st_mtime).parent}" if runs else ""


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Every run at or below the folders, in the order of their names; what cannot be read is named in a warning.

    Raises UserError where a folder does not exist.
    """
    holding = set()
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"runs={folder}: there is no such folder; runs=FOLDER says where the runs are")
        for place, below, files in os.walk(folder):  # which forgives a folder that a run removes meanwhile
            if "results.json" in files or (".hydra" in below and Path(place, ".hydra", "overrides.yaml").exists()):
                holding.add(Path(place))
    runs: list[Run] = []
    groups: dict[str, Config] = {}  # most runs of a folder share most of their settings: one copy of each
    for folder in sorted(holding):
        runs.append(run := read_run(folder))
        for config in (run.config, run.results.get("config", {})):
            config |= {name: groups.setdefault(repr(of), of) for name, of in config.items() if isinstance(of, dict)}
    return runs


def read_run(folder: Path) -> Run:
    """A run; without results.json it was killed before its first line of work.

    A run whose results.json is half, another program's or damaged is "broken", and left out of every table; a warning
    names it. Of its other files, what fits is taken.
    """
    results: Json = {"status": "running"}
    try:
        results = read_results(folder)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        log.warning("%s: the run is left out (%s)", folder / "results.json", error)
        results = {"status": "broken"}
    config: Config = results.get("config") or _read(partial(checked, SETTINGS), folder / ".hydra" / "config.yaml", {})
    if results.get("seed") is not None:  # cse-eval has no seed of its own: that of the run which it scored
        config = {"seed": results["seed"], **config}
    choices = {group: str(choice) for group, choice in _choices(folder, results).items()}
    if results.get("encoder"):  # likewise its name: what it scored, and how that was read
        config = {"encoder": _encoder(results["encoder"], config, choices), **config}
    return Run(
        folder=folder,
        status=results["status"],
        config=config,
        choices=choices,
        metrics={name: value for name, value in results.get("metrics", {}).items() if value is not None},
        results=results,
        overrides=tuple(filter(is_setting, _read(partial(checked, WORDS), folder / ".hydra" / "overrides.yaml", ()))),
    )


def weights_sum(checkpoint: object) -> str | None:
    """The checksum of the weights of a run's best/, or of a folder; None where no such file is."""
    folder = Path(str(checkpoint)).expanduser()
    for file in (folder / "best" / "model.safetensors", folder / "model.safetensors"):
        if file.is_file():
            return checksum(file)
    return None


def read_cosines(folder: Path, when: Literal["before", "after"]) -> dict[str, dict[str, Pairs]]:
    """The cosines of a run's pairs before or after training: {evaluator: {split: [cosines, gold scores]}}; {} where it
    kept none and, with a warning, where the file holds something else."""
    read = partial(checked, COSINES, largest=64 << 20)
    stored: dict[str, dict[str, Pairs]] = _read(read, folder / "plots" / f"cosines_{when}.json", {})
    return {
        name: {split: pairs for split, pairs in of.items() if 0 < len(pairs[0]) == len(pairs[1])}
        for name, of in stored.items()
    }


def is_setting(word: str) -> bool:
    """Whether a word of a run's line sets a value: a command that is shown with it must not run what the run names."""
    key = word.partition("=")[0]
    return not word.startswith("-") and "._" not in key


def _encoder(described: str, config: Config, choices: dict[str, str]) -> str:
    """What cse-eval scored, by the name that was typed: minilm, mean pooling."""
    model = config.get("model")
    name = str(config.get("checkpoint") or (model.get("name") if isinstance(model, dict) else None))
    how = described.removeprefix(name) if config.get("max_length") else TOKENS.sub("", described.removeprefix(name))
    return (name if config.get("checkpoint") else choices.get("model", name)) + how


def _choices(folder: Path, results: Json) -> Json:
    """Which YAML was chosen in each group; of a run that does not say so itself, by Hydra's record."""
    if (own := results.get("choices")) is not None:
        return own
    return _read(_chosen, folder / ".hydra" / "hydra.yaml", {})


def _chosen(path: Path) -> Json:
    block = CHOICES.search(read_text(path))
    return _parsed_choices(block[0]) if block else {}


@cache
def _parsed_choices(block: str) -> Json:
    return CHOSEN.validate_python(parsed(block, ".yaml"))["choices"]


def _read(read: Callable[[Path], T], path: Path, empty: T) -> T:
    """What a file holds; `empty` where it does not exist and, with a warning, where it holds something else."""
    try:
        return read(path)
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s): it is left out", path, error)
        return empty
