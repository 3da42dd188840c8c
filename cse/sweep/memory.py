"""What a search remembers, in .smac/ of the sweep's folder: its ranges, each point before it runs, and its outcome.

A point without an outcome was interrupted: it is the first to run when the search goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cse.config.keys import key_of
from cse.config.spelling import value_of
from cse.errors import UserError
from cse.files import json_line, json_lines
from cse.sweep.line import Line
from cse.sweep.words import decides, digest, is_axis

Point = dict[str, Any]
"""The value of each key that is searched."""


@dataclass(frozen=True)
class Memory:
    """A file with a line {"ranges": ...}, and for each point {"asked": point}, later {"config": point, "cost": number}.

    ranges: as typed, by key. cost: what is minimised, None where the job failed.
    """

    file: Path
    ranges: dict[str, str]

    def check(self) -> None:
        """Raise UserError if the folder holds the same search with other ranges."""
        digits = self.file.name.partition("-")[0]
        for file in self.file.parent.glob(f"{digits}-*.jsonl"):
            known = next((line["ranges"] for line in json_lines(file) if line and "ranges" in line), self.ranges)
            if known != self.ranges:
                raise UserError(
                    f"{self.file.parent.parent} has a search of {in_words(known)}: type that to continue it, or "
                    f"hydra.sweep.dir=FOLDER for {in_words(self.ranges)}"
                )

    def write(self, **line: object) -> None:
        """Add a line, after the ranges if it is the first."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines: list[dict[str, object]] = [line] if self.file.exists() else [{"ranges": self.ranges}, line]
        with open(self.file, "a", encoding="utf-8") as file:
            file.writelines(map(json_line, lines))

    def read(self) -> tuple[list[tuple[Point, float]], list[Point]]:
        """(each point with its cost; the points without an outcome)."""
        lines = [line for line in json_lines(self.file) if line is not None]
        ended = [(line["config"], line["cost"]) for line in lines if "cost" in line]
        known = [point for point, _ in ended]
        open_points = [line["asked"] for line in lines if "asked" in line and line["asked"] not in known]
        return [(point, cost) for point, cost in ended if cost is not None], open_points


def memory_of(line: Line, row: Sequence[str]) -> Memory:
    """The memory of one of a line's searches. row: its words. Searches of one folder differ in what they fix."""
    seed = line.search.seed if line.search else 0
    fixed = [word for word in row if decides(word) and not is_axis(word)]
    ranges = {key_of(word): value_of(word) for word in row if is_axis(word)}
    return Memory(line.folder / ".smac" / f"{digest(fixed)}-{seed}.jsonl", ranges)


def in_words(ranges: dict[str, str]) -> str:
    """The ranges as typed."""
    return " ".join(f"{key}={value}" for key, value in ranges.items())
