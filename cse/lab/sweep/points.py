"""What a search remembers, in .smac/ of the sweep's folder: its settings, and each point before it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cse.errors import UserError
from cse.files import json_line, json_lines
from cse.lab.folder.facts import as_facts, changes, listed
from cse.lab.settings.keys import key_of, names_a_job
from cse.lab.settings.spelling import value_of
from cse.lab.settings.words import digest, is_axis
from cse.lab.sweep.line import Line

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
                    f"{self.file.parent.parent} has a search with {listed(changed)}: type what it had to continue it, "
                    "or hydra.sweep.dir=FOLDER for a new one"
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


def memory_of(line: Line, row: Sequence[str]) -> Memory:
    """The memory of one of a line's searches. row: its words. Searches of one folder differ in search_each alone."""
    seed = line.search.seed if line.search else 0
    fixed = [word for word in row if names_a_job(word) and not is_axis(word)]
    ranges = {key_of(word): value_of(word) for word in row if is_axis(word)}
    own = line.sweep.search_each if line.sweep else []
    shared = {key_of(word): value_of(word) for word in fixed if key_of(word) not in own}
    return Memory(line.folder / ".smac" / f"{digest(fixed)}-{seed}.jsonl", ranges, shared)


def in_words(settings: dict[str, str]) -> str:
    """The settings as typed."""
    return " ".join(f"{key}={value}" for key, value in settings.items())
