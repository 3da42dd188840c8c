"""The record of each search: a file .smac/*.jsonl in the folder of the sweep's jobs.

The first line of a file is {"ranges": ..., "fixed": ...}: the arguments that the search varies, and the arguments that
its trials share, by key. Then comes a line {"asked": point} for each point, written before the point's job runs. So a
restarted search continues, and a report finds a search's trials among other runs.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.files import add_json_lines, json_lines
from cse.lab.folder.changes import changes, changes_in_words
from cse.lab.folder.facts import as_facts

Point = dict[str, object]
"""The value of each key that a search varies."""


class PastSearch(NamedTuple):
    """The content of a search's file.

    ranges: the arguments that the search varies. fixed: the arguments that its trials share. Both are None in older
    files. points: each point that the search asked for.
    """

    ranges: dict[str, str] | None
    fixed: dict[str, str] | None
    points: list[Point]


def read_memory(file: Path) -> PastSearch:
    """Return the search in a file; an empty search if there is no file."""
    lines = [line for line in json_lines(file) if line]
    first: dict[str, dict[str, str]] = next((line for line in lines if "ranges" in line), {})
    asked = [line["asked"] for line in lines if "asked" in line]
    points = [point for place, point in enumerate(asked) if point not in asked[:place]]
    return PastSearch(first.get("ranges"), first.get("fixed"), points)


def past_searches(folder: Path) -> list[PastSearch]:
    """Return the searches of a sweep's folder that have asked for points."""
    files = sorted((folder / ".smac").glob("*.jsonl"))
    searches = [memory_as_written(file, file.stat().st_mtime_ns) for file in files]
    return [search for search in searches if search.points]


@cache
def memory_as_written(file: Path, written: int) -> PastSearch:
    """Return the search in a file. written: the time of the file's last write.

    The file is read again only after a new write, because a report calls this function for each run in the report.
    """
    return read_memory(file)


@dataclass(frozen=True)
class Memory:
    """The file of a running search. ranges, fixed: the content of the file's first line."""

    file: Path
    ranges: dict[str, str]
    fixed: dict[str, str]

    def check(self) -> None:
        """Raise UserError for a search with other ranges or settings in the folder: the trials of both would mix."""
        for file in self.file.parent.glob("*.jsonl"):
            past = read_memory(file)
            ranges = self.ranges if past.ranges is None else past.ranges
            fixed = self.fixed if past.fixed is None else past.fixed
            theirs, ours = fixed | ranges, self.fixed | self.ranges
            defaults = dict.fromkeys(theirs | ours, "its default")
            if changed := changes(as_facts("science", defaults | theirs), as_facts("science", defaults | ours)):
                raise UserError(
                    f"{self.file.parent.parent} has a search with {changes_in_words(changed)}: give the same values "
                    "to continue it, or hydra.sweep.dir=FOLDER for a new search"
                )

    def points(self) -> list[Point]:
        """Return each point that the search asked for, once."""
        return read_memory(self.file).points

    def add(self, point: Point) -> None:
        """Add a point. Before the first point, add the line with the ranges and the fixed arguments."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines: list[dict[str, object]] = [{"asked": point}]
        if not self.file.exists():
            lines = [{"ranges": self.ranges, "fixed": self.fixed}, *lines]
        add_json_lines(self.file, lines)

    def ranges_in_words(self) -> str:
        """Return the ranges of the search, as in the command."""
        return " ".join(f"{key}={value}" for key, value in self.ranges.items())
