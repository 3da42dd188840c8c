"""Scores with what they rest on, as rows of text that the terminal, scores.md, scores.tex and scores.csv show."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cse.columns import in_columns, printable, to_latex, to_markdown
from cse.files import csv_text, write_text
from cse.provenance import Provenance, RowCounts

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("score", "value", "rows", "data")  # on the terminal and in scores.md; scores.csv has all
ALTERED = "†"
IS_ALTERED = f"{ALTERED}: on incomplete or altered data (allow_partial)"
MOST = 12  # columns of a table of one line; with more scores, each has a line
LIBRARIES = ("python", "torch", "transformers", "numpy", "scipy", "scikit-learn", "mteb")  # that may change a score

Row = dict[str, str]
"""One score: its columns, as text."""


class Source(Provenance):
    """An evaluator's provenance in results.json. sha256: of all its data; dtype: of the encoder's weights."""

    sha256: str
    dtype: str


def source(provenance: Provenance, dtype: str) -> Source:
    """An evaluator's provenance as results.json has it. dtype: of the scored encoder's weights."""
    return {**provenance, "sha256": checksum(provenance), "dtype": dtype}


def rows_of(
    metrics: Mapping[str, float], sources: Mapping[str, Source], encoder: str, versions: Mapping[str, str]
) -> list[Row]:
    """A row for each score, `<split>/<evaluator>/<score>`.

    sources: by evaluator; encoder: its description; versions: of packages.
    """
    common = {"encoder": encoder, "versions": " ".join(f"{n}={versions[n]}" for n in LIBRARIES if n in versions)}
    return [row_of(key, value, sources[key.split("/", 2)[1]]) | common for key, value in metrics.items()]


def row_of(key: str, value: float, source: Source) -> Row:
    """A score's row, without what all rows of a run share."""
    split, evaluator, score = key.split("/", 2)
    origin, name = part_of(source, score)
    counts = origin.get("rows", {})
    task, _, statistic = name.rpartition("/")
    # a classifier that had no dev set was chosen on train, or on all rows
    keys = (name.replace("dev_", ""), task, "dev" if statistic.startswith("dev_") else split, "train", "all")
    return {
        "score": key,
        "split": split,
        "evaluator": evaluator,
        "value": f"{value:.4f}",
        "rows": str(count_rows(counts, keys, whole=statistic not in ("spearman", "pearson")) or ""),
        "data": "partial" if is_altered(source, split, score) else "whole",
        "sha256": source["sha256"],
        "protocol": source["protocol"],
        "dtype": source["dtype"],
    }


def part_of(source: Provenance, score: str) -> tuple[Provenance, str]:
    """The provenance behind a score, and the score's name there: an evaluator with parts has `<part>/<score>`."""
    part, _, rest = score.partition("/")
    if part in source.get("parts", {}):
        return part_of(source["parts"][part], rest)
    return (source, rest) if re.fullmatch(r"width\d+", part) else (source, score)  # of leading channels: the same data


def is_altered(source: Provenance, split: str, score: str) -> bool:
    """Whether something is wrong with the data of a score."""
    origin, name = part_of(source, score)
    average = origin.get("rows", {}).get(name)  # by task, if the average is not over all tasks
    task = name.rpartition("/")[0]
    return is_partial(origin, split, {task} if task else set(average if isinstance(average, dict) else ()))


def is_partial(source: Provenance, split: str, tasks: set[str]) -> bool:
    """Whether what is wrong with the data concerns a score of these tasks; without any, a score of all tasks."""
    own = any(
        problem.get("split") in (None, split) and (not tasks or problem.get("task") in (None, *tasks))
        for problem in source.get("problems", [])
    )
    return own or any(is_partial(part, split, tasks) for part in source.get("parts", {}).values())


def partial_scores(metrics: Iterable[str], sources: Mapping[str, Provenance]) -> frozenset[str]:
    """Those of the scores that rest on incomplete or altered data (allow_partial). sources: by evaluator."""
    told = (key.split("/", 2) for key in metrics)
    known = (words for words in told if len(words) == 3 and words[1] in sources)
    return frozenset("/".join(words) for words in known if is_altered(sources[words[1]], words[0], words[2]))


def count_rows(counts: int | RowCounts, keys: tuple[str, ...], whole: bool) -> int:
    """The number of rows behind a score. keys: names that `counts` may have for the score, its task, its split, ...

    whole: if no key fits, add up all counts; else take the first, the only task of an evaluator whose scores name none.
    """
    if isinstance(counts, int):
        return counts
    for key in keys:
        if key in counts:
            return count_rows(counts[key], keys, whole)
    sizes = [count_rows(count, keys, whole) for count in counts.values()]
    return sum(sizes if whole else sizes[:1])


def checksum(source: Provenance) -> str:
    """One sha256 for all data of an evaluator: that of the sorted lines "<sha256>  <name>", as `sha256sum` prints them.

    A dataset without files has a line with its revision. "" without any line.
    """
    lines = [f"{file['sha256']}  {name}\n" for name, file in source.get("files", {}).items() if "sha256" in file]
    lines += [f"{revision}  {name}\n" for name, revision in source.get("revisions", {}).items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() if lines else ""


def problems_of(name: str, source: Provenance) -> list[str]:
    """A line for each problem of an evaluator's data, or of its parts' data."""
    inner = [line for part, about in source.get("parts", {}).items() for line in problems_of(f"{name}/{part}", about)]
    words = [(name, one.get("split"), one.get("task"), one["problem"]) for one in source.get("problems", [])]
    return ["partial: " + ": ".join(word for word in line if word) for line in words] + inner


def footnotes(rows: list[Row]) -> list[str]:
    """What the rows have in common: a line for each evaluator, and two for the run."""
    evaluators = {row["evaluator"]: f"{row['evaluator']}: {row['protocol']}; data {row['sha256'][:12]}" for row in rows}
    first = rows[0]
    return [*evaluators.values(), f"encoder: {first['encoder']}", f"{first['dtype']}; {first['versions']}"]


def write(folder: Path, rows: list[Row], headline: list[Row], notes: list[str]) -> None:
    """Write scores.csv and scores.md with all rows, and scores.tex with a table for each suite of the headline."""
    import pandas as pd

    write_text(folder / "scores.csv", csv_text(list(rows[0]), [list(row.values()) for row in rows]))
    table = pd.DataFrame(rows)[list(COLUMNS)]
    listed = "".join(f"- {' '.join(note.split())}\n" for note in notes)
    write_text(folder / "scores.md", f"{to_markdown(table)}\n\n{listed}")
    marks = [IS_ALTERED] if any(row["data"] == "partial" for row in headline) else []
    comments = [*marks, *map(printable, notes)]
    latex = [
        to_latex(of, f"{suite}: {rows[0]['encoder']}", comments, words=1) for suite, of in suites(headline).items()
    ]
    write_text(folder / "scores.tex", "\n".join(latex))


def suites(rows: list[Row]) -> "dict[str, pd.DataFrame]":
    """A table of text for each evaluator and split: one line for the encoder, a column for each task, the average last.

    Scores of leading channels have lines of their own.
    """
    import pandas as pd

    lines: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        name = row["score"].removeprefix(f"{row['split']}/{row['evaluator']}/")
        width = re.match(r"width(\d+)/", name)
        encoder = row["encoder"].partition(", ")[0] + (f", {width[1]} wide" if width else "")
        task, _, statistic = name[width.end() if width else 0 :].rpartition("/")
        line = lines.setdefault(f"{row['evaluator']}, {row['split']}", {}).setdefault(encoder, {})
        column = "Avg." if name.endswith("average") and not task else task or statistic
        column = name if column in line else column  # of a task with several headlines
        line[column] = row["value"] + (f" {ALTERED}" if row["data"] == "partial" else "")
    tables = {}
    for suite, of in lines.items():
        table = pd.DataFrame.from_dict(of, orient="index").fillna("")
        table = table[sorted(table, key="Avg.".__eq__)]
        table = table if len(table.columns) <= MOST else table.T
        tables[suite] = table.reset_index(names="")
    return tables


def to_table(rows: list[Row], notes: list[str]) -> str:
    """The table for the terminal, with the notes below."""
    lines = [COLUMNS, *([row[column] for column in COLUMNS] for row in rows)]
    return "\n".join([in_columns(lines, right=(1, 2)), "", *notes])
