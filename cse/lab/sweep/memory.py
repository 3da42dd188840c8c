"""What searches remember: .smac/*.jsonl in a sweep's folder, a file for each search.

The first line of a file is {"ranges": ..., "fixed": ...}, what the search varies and what its trials share, as typed by
key. Then comes a line {"asked": point} for each point, written before its job runs. So a search that is started again
goes on, and a report finds a search's trials among other runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cse.errors import UserError
from cse.files import json_line, json_lines
from cse.lab.folder.facts import as_facts, changes, changes_in_words

Point = dict[str, object]
"""The value of each key that is searched."""


@dataclass(frozen=True)
class Memory:
    """The file of a search that runs. ranges, fixed: of its first line."""

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

    def ranges_in_words(self) -> str:
        """What it searches, as typed."""
        return " ".join(f"{key}={value}" for key, value in self.ranges.items())


class PastSearch(NamedTuple):
    """What the file of a search tells a report: what all its trials share, and the points that were asked for."""

    fixed: dict[str, str]
    points: list[Point]


def past_searches(folder: Path) -> list[PastSearch]:
    """The searches of a sweep's folder that have asked for points."""
    files = sorted((folder / ".smac").glob("*.jsonl"))
    found = [_as_written(file, file.stat().st_mtime_ns) for file in files]
    return [search for search in found if search.points]


@cache
def _as_written(file: Path, written: int) -> PastSearch:
    """The search of a file, read again only when it was written again: a report looks for each of its runs."""
    lines = [line for line in json_lines(file) if line]
    fixed: dict[str, str] = next((line["fixed"] for line in lines if "fixed" in line), {})
    return PastSearch(fixed, [line["asked"] for line in lines if "asked" in line])
