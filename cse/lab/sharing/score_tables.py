"""The scores of one encoder as tables: on the terminal, and as scores.csv, scores.md and scores.tex.

`csv_frame` returns a row for each score, and `footnotes` returns the facts that the rows share. `write_score_files`
writes the three files, and `terminal_table` returns the table for the terminal. In all tables, MODIFIED marks scores on
modified data.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.files import write_text
from cse.lab.folder.facts import LIBRARIES, data_digest
from cse.lab.sections import Section, latex
from cse.lab.settings.values import PlainConfig, flattened
from cse.lab.text_columns import to_columns
from cse.score import Score, Source, evaluator_of, in_short

if TYPE_CHECKING:
    import pandas as pd

MODIFIED = "†"
MODIFIED_MEANS = "on incomplete or modified data (allow_partial), or by SentEval's fast settings"
IS_MODIFIED = f"{MODIFIED}: {MODIFIED_MEANS}."
SYNTHETIC = "smoke=true has small synthetic benchmarks, so its scores mean nothing"
COLUMNS = ("score", "value", "rows")


def marked_name(score: Score) -> str:
    """Return the name of a score, with the mark MODIFIED if the score's data is modified."""
    return f"{score.name} {MODIFIED}" if score.modified else score.name


def csv_frame(
    scores: Iterable[Score], sources: Mapping[str, Source], dtype: str, encoder: str, versions: Mapping[str, str]
) -> "pd.DataFrame":
    """Return the content of scores.csv: a row for each score, with the facts on which the score depends.

    sources: the data of each evaluator. dtype: the dtype of the encoder's weights. encoder: the description of the
    encoder. versions: the versions of packages.
    """
    import pandas as pd

    libraries = " ".join(f"{name}={versions[name]}" for name in ("python", *LIBRARIES) if name in versions)
    rows = []
    for score in scores:
        source = sources[evaluator_of(score.name)]
        data = {"sha256": data_digest(source), "protocol": source["protocol"]}
        rows.append({"name": score.name, "value": score.value, **score.about(), **data})
    return pd.DataFrame(rows).assign(dtype=dtype, encoder=encoder, versions=libraries)


def problems_of(sources: Mapping[str, Source], config: PlainConfig) -> list[str]:
    """Return a line for each problem of the evaluators' data, or one line if a smoke test made the data.

    config: the settings of the run.
    """
    lines = [
        f"partial: {name}: {problem}" for name, source in sources.items() for problem in source.get("problems", [])
    ]
    own = flattened(config).get("paths.senteval")
    is_synthetic = config.get("smoke") and all(source.get("place") != own for source in sources.values())
    return [SYNTHETIC] if lines and is_synthetic else lines


def footnotes(frame: "pd.DataFrame") -> list[str]:
    """Return the facts that rows share: a line for each evaluator, two lines for the run, and a line on the mark.

    frame: the result of `csv_frame`.
    """
    lines = {evaluator_of(name): row for name, row in zip(frame["name"], frame.to_dict("records"), strict=True)}
    of_data = []
    for name, row in lines.items():
        data = f"; data {row['sha256'][:12]}" if row["sha256"] else ""
        of_data.append(f"{name}: {row['protocol']}{data}")
    first = frame.iloc[0]
    marked = [IS_MODIFIED] if frame["modified"].any() else []
    return [*of_data, f"encoder: {first['encoder']}", f"{first['dtype']}; {first['versions']}", *marked]


def write_score_files(
    folder: Path, scores: Sequence[Score], frame: "pd.DataFrame", notes: Sequence[str], label: str = ""
) -> None:
    """Write scores.csv and scores.md with all scores, and scores.tex with headline scores by evaluator and split.

    label: the name of the encoder's row in scores.tex; "": the name of the encoder.
    """
    import pandas as pd

    write_text(folder / "scores.csv", frame.to_csv(index=False, float_format="%.4f"))
    table = pd.DataFrame(
        [(marked_name(score), f"{score.value:.4f}", score.rows or "") for score in scores], columns=COLUMNS
    )
    write_text(folder / "scores.md", Section("", table.astype(str), notes).markdown())
    encoder, legend = frame["encoder"].iloc[0], [IS_MODIFIED] if frame["modified"].any() else []
    by_suite = suite_tables([score for score in scores if score.headline], label or encoder.partition(", ")[0])
    tables = [
        Section(f"{suite}: {label or encoder}", table, notes, legend, label_columns=1, label=suite)
        for suite, table in by_suite.items()
    ]
    write_text(folder / "scores.tex", latex(tables))


def suite_tables(scores: Iterable[Score], encoder: str) -> "dict[str, pd.DataFrame]":
    """Return {"EVALUATOR, SPLIT": table of texts}, with a column for each task, and the average as the last column.

    The encoder is one row. If scores use only the first dimensions (width64/...), each width is a row.
    """
    cells: dict[str, dict[tuple[str, str], str]] = {}  # {suite: {(row, column): text}}
    for score in scores:
        split, evaluator, name = score.name.split("/", 2)
        suite = cells.setdefault(f"{evaluator}, {split}", {})
        row, column = row_and_column(name, encoder)
        if (row, column) in suite:  # the task has several headline scores
            column = name
        value = in_short(score.value)
        suite[row, column] = f"{value} {MODIFIED}" if score.modified else value
    return {suite: suite_table(cells_of_suite) for suite, cells_of_suite in cells.items()}


def row_and_column(name: str, encoder: str) -> tuple[str, str]:
    """Return the row and the column of a score in the table of its suite.

    name: the score's name without split and evaluator.
    """
    row = encoder
    if width := re.match(r"width(\d+)/", name):
        row, name = f"{encoder}, {width[1]} wide", name[width.end() :]
    task, _, statistic = name.rpartition("/")
    is_average = statistic == "average" and not task
    return row, "Avg." if is_average else task or statistic


def suite_table(cells: Mapping[tuple[str, str], str]) -> "pd.DataFrame":
    """Return a table of {(row, column): cell}, with the rows' names as the first column and any average as the last."""
    import pandas as pd

    names = dict.fromkeys(row for row, _ in cells)
    columns = list(dict.fromkeys(column for _, column in cells))
    if "Avg." in columns:
        columns.remove("Avg.")
        columns.append("Avg.")
    rows = [[name, *(cells.get((name, column), "") for column in columns)] for name in names]
    return pd.DataFrame(rows, columns=["", *columns])


def terminal_table(scores: Iterable[Score], notes: Sequence[str]) -> str:
    """Return the table for the terminal, with the notes below the table."""
    lines = [COLUMNS, *((marked_name(score), in_short(score.value), str(score.rows or "")) for score in scores)]
    return "\n".join([to_columns(lines, right=(1, 2)), "", *notes])
