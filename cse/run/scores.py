"""Scores with what they rest on, as one list of rows: the terminal's table, scores.md and scores.csv show the same."""

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

from cse.files import write_text

SHOWN = ("score", "value", "rows", "data")  # columns of the terminal and of scores.md; scores.csv has all of them
COUNTED = ("pairs", "rows", "captions")  # what an evaluator's provenance may count
LIBRARIES = ("python", "torch", "transformers", "numpy", "scipy", "scikit-learn", "mteb")  # those that move a score


def rows_of(content: dict[str, Any]) -> list[dict[str, str]]:
    """One row a score, from the content of results.json; every value is text, as it is shown."""
    versions = " ".join(f"{name}={content['versions'][name]}" for name in LIBRARIES if name in content["versions"])
    rows = []
    for key, value in content["metrics"].items():
        split, evaluator, score = key.split("/", 2)
        source = content["data"][evaluator]
        origin, named = part_of(source, score)
        task, _, statistic = named.rpartition("/")
        part = "dev" if statistic.startswith("dev_") else split
        counts: Any = next((origin[name] for name in COUNTED if name in origin), {})
        keys = (named.replace("dev_", ""), task, part, "train", "all")
        averaged = counts.get(keys[0])  # the tasks of an average, where it is not of all
        tasks = {task} if task else set(averaged if isinstance(averaged, dict) else ())
        rows.append({
            "score": key, "split": split, "evaluator": evaluator, "value": f"{value:.4f}",
            "rows": str(size(counts, keys, whole=statistic not in ("spearman", "pearson")) or ""),
            "data": "partial" if touched(origin, split, tasks) else "whole",
            "sha256": source["sha256"], "protocol": source["protocol"], "dtype": content["dtype"],
            "encoder": content["encoder"], "versions": versions,
        })  # fmt: skip
    return rows


def part_of(source: dict[str, Any], score: str) -> tuple[dict[str, Any], str]:
    """Whose score it is, and its name there: an evaluator that is made of parts has `<part>/<score>`."""
    part, _, rest = score.partition("/")
    if part in source.get("parts", {}):
        return part_of(source["parts"][part], rest)
    return source, score


def touched(source: dict[str, Any], split: str, tasks: set[str]) -> bool:
    """Whether what is wrong with the data concerns a score of these tasks; one without a task rests on all of them."""
    concerned = [one["split"] in (None, split) and (not tasks or one["task"] in (None, *tasks))
                 for one in source.get("problems", [])]  # fmt: skip
    return any(concerned) or any(touched(part, split, tasks) for part in source.get("parts", {}).values())


def size(counts: Any, keys: tuple[str, ...], whole: bool) -> int:
    """The rows behind a score, out of an evaluator's nested counts by score, task and split, in any order.

    keys: the score, its task, dev or test; where a classifier was chosen without a dev set, train or all of the rows
    took its place. whole: add up what is left, else take the first: an evaluator's own task, which its scores do not
    name.
    """
    if isinstance(counts, int):
        return counts
    for key in keys:
        if key in counts:
            return size(counts[key], keys, whole)
    return sum([size(count, keys, whole) for count in counts.values()][: None if whole else 1])


def checksum(source: dict[str, Any]) -> str:
    """One sha256 for all the data of an evaluator: of the sorted lines "<sha256>  <name>", as `sha256sum` prints them.

    MTEB's data sets stand there by their revision, or by their rows where they lie here. "" where there is neither.
    """
    lines = [f"{file['sha256']}  {name}\n" for name, file in source.get("files", {}).items() if "sha256" in file]
    lines += [f"{task.get('sha256') or task['revision']}  {name}\n" for name, task in source.get("tasks", {}).items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() if lines else ""


def notes_on(name: str, source: dict[str, Any]) -> list[str]:
    """A line for each thing that is wrong with an evaluator's data, or with that of its parts."""
    inner = [line for part, found in source.get("parts", {}).items() for line in notes_on(f"{name}/{part}", found)]
    own = [": ".join(filter(None, (name, one["split"], one["task"], one["problem"])))
           for one in source.get("problems", [])]  # fmt: skip
    return [f"partial: {line}" for line in own] + inner


def footnotes(rows: list[dict[str, str]]) -> list[str]:
    """What the shown rows have in common, a line for each evaluator and one for the run."""
    evaluators = {row["evaluator"]: f"{row['evaluator']}: {row['protocol']}; data {row['sha256'][:12]}" for row in rows}
    first = rows[0]
    return [*evaluators.values(), f"encoder: {first['encoder']}", f"{first['dtype']}; {first['versions']}"]


def write(folder: Path, rows: list[dict[str, str]], notes: list[str]) -> None:
    """scores.csv, and scores.md with the notes."""
    table = io.StringIO()
    writer = csv.DictWriter(table, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / "scores.csv", table.getvalue())
    lines = [f"| {' | '.join(SHOWN)} |", "|---|---:|---:|---|"]
    lines += [f"| {' | '.join(row[column] for column in SHOWN)} |" for row in rows]
    write_text(folder / "scores.md", "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n")


def shown(rows: list[dict[str, str]], notes: list[str]) -> str:
    """The table for the terminal, and the notes."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in SHOWN:
        table.add_column(column, justify="right" if column in ("value", "rows") else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(row[column] for column in SHOWN))
    widths = [max(len(column), *(len(row[column]) for row in rows)) for column in SHOWN]
    console = Console(width=sum(widths) + 2 * len(SHOWN))  # never cut, whatever the terminal's width
    with console.capture() as capture:
        console.print(table)
    return "\n".join([*(line.rstrip() for line in capture.get().splitlines()), "", *notes])
