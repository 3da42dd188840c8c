"""The file metrics.jsonl of each run. It has one line of JSON for each event, written as soon as the event happens.

{"event": "metrics", "step": 125, "time": 1767225600.0, "dev/stsb/spearman": 79.7, "train/loss": 0.02}
{"event": "image", "step": 125, "time": ..., "name": "loss", "path": "plots/loss.png"}
{"event": "table", "step": 125, "time": ..., "name": "scores", "columns": [...], "rows": [[...], ...]}
{"event": "finish", "step": 250, "time": ..., "exit_code": 0, "summary": {...}}
"""

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeGuard

from cse.files import Json, cannot_write, json_line, json_lines, replaced_file
from cse.lab.folder.contents import EVENTS

log = logging.getLogger(__name__)

Event = Json
"""The content of one line of metrics.jsonl, as shown above."""


class EventFile:
    """A writer of a run's metrics.jsonl. Its methods raise RunError if the disk refuses a line.

    resume_step: the step of the checkpoint that the run resumes from; None: begin a new file. If the run resumes, the
    lines of later steps and of the run's end are removed first.
    """

    def __init__(self, folder: str | Path, resume_step: int | None = None):
        self.path = Path(folder) / EVENTS
        self.step = resume_step or 0
        before = () if resume_step is None else read_events(self.path)
        kept = (event for event in before if event["step"] <= self.step and not is_final(event))
        with replaced_file(self.path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(map(json_line, kept))
        self.file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (open as long as the run)

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Write a step's metrics, {name: value}."""
        self.step = step
        self._write("metrics", **metrics)

    def image(self, name: str, path: Path, step: int) -> None:
        """Write the path of a picture."""
        self.step = step
        self._write("image", name=name, path=str(path))

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Write a table; each row has a value for each column."""
        self._write("table", name=name, columns=columns, rows=rows)

    def finish(self, exit_code: int, summary: Json) -> None:
        """Write the last line. exit_code: 0 for a run that is done. summary: the run's scores by name."""
        self._write("finish", exit_code=exit_code, summary=summary)
        self.file.close()

    def _write(self, event: str, **fields: object) -> None:
        try:
            self.file.write(json_line({"event": event, "step": self.step, "time": time.time(), **fields}))
            self.file.flush()
        except OSError as error:
            raise cannot_write(self.path, error) from error


def is_final(event: Event) -> bool:
    """Return whether a run writes this event only at its end: test scores, a picture, a table, or the last line."""
    return event["event"] != "metrics" or any(key.startswith("test/") for key in event)


def metric_events(folder: Path) -> list[Event]:
    """Return the metric events of a run's metrics.jsonl, in order."""
    return [event for event in read_events(folder / EVENTS) if event["event"] == "metrics"]


def is_event(line: object) -> TypeGuard[Event]:
    """Return whether a line's content is an event. All values of an event "metrics" are numbers, or None for NaN."""
    if not isinstance(line, dict) or not isinstance(line.get("event"), str) or not isinstance(line.get("step"), int):
        return False
    numbers = [value for key, value in line.items() if key != "event"] if line["event"] == "metrics" else []
    return all(isinstance(one, int | float | None) for one in numbers)


def read_events(path: Path) -> Iterator[Event]:
    """Yield the file's events in order. Without a file, yield nothing.

    A line that is not an event is skipped with a warning: a killed run left it incomplete, or another program wrote it.
    """
    first = count = 0
    for number, event in enumerate(json_lines(path), 1):
        if is_event(event):
            yield event
        else:
            first, count = first or number, count + 1
    if count:
        more = f" and {count - 1:,} more are" if count > 1 else " is"
        log.warning("%s, line %d%s cut short (a killed run?) and left out", path, first, more)
