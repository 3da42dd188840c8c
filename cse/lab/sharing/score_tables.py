"""Tables of scores: on the terminal, and in scores.csv, scores.md and scores.tex."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.files import write_text
from cse.lab.folder.facts import LIBRARIES, data_digest
from cse.lab.sections import Section, latex, to_columns
from cse.score import Score, Source, in_short

if TYPE_CHECKING:
    import pandas as pd

ALTERED = "†"
IS_ALTERED = f"{ALTERED}: on incomplete or altered data (allow_partial), or by SentEval's fast settings."


def marked_name(score: Score) -> str:
    """Its name, marked if its data is altered."""
    return f"{score.name} {ALTERED}" if score.altered else score.name


def to_frame(
    scores: Iterable[Score], sources: Mapping[str, Source], dtype: str, encoder: str, versions: Mapping[str, str]
) -> "pd.DataFrame":
    """A row for each score: what it is, and what it rests on.

    sources: by evaluator. dtype: of the encoder's weights. encoder: its description. versions: of packages.
    """
    import pandas as pd

    libraries = " ".join(f"{name}={versions[name]}" for name in ("python", *LIBRARIES) if name in versions)
    rows = []
    for score in scores:
        source = sources[score.name.split("/")[1]]
        data = {"sha256": data_digest(source), "protocol": source["protocol"]}
        rows.append({"name": score.name, "value": score.value, **score.about(), **data})
    return pd.DataFrame(rows).assign(dtype=dtype, encoder=encoder, versions=libraries)


def problems_of(sources: Mapping[str, Source]) -> list[str]:
    """A line for each problem of the evaluators' data."""
    return [f"partial: {name}: {problem}" for name, one in sources.items() for problem in one.get("problems", [])]


def footnotes(frame: "pd.DataFrame") -> list[str]:
    """What the rows have in common: a line for each evaluator, and two for the run."""
    lines = {name.split("/")[1]: row for name, row in zip(frame["name"], frame.to_dict("records"), strict=True)}
    of_data = []
    for name, row in lines.items():
        data = f"; data {row['sha256'][:12]}" if row["sha256"] else ""
        of_data.append(f"{name}: {row['protocol']}{data}")
    first = frame.iloc[0]
    marked = [IS_ALTERED] if frame["altered"].any() else []
    return [*of_data, f"encoder: {first['encoder']}", f"{first['dtype']}; {first['versions']}", *marked]


def write_tables(
    folder: Path, scores: Sequence[Score], frame: "pd.DataFrame", notes: Sequence[str], label: str = ""
) -> None:
    """Write scores.csv and scores.md with all scores, and scores.tex with a table for each suite of the headlines.

    label: the name of the encoder's row in scores.tex; "": the encoder's own.
    """
    import pandas as pd

    write_text(folder / "scores.csv", frame.to_csv(index=False, float_format="%.4f"))
    table = pd.DataFrame([(marked_name(one), f"{one.value:.4f}", one.rows or "") for one in scores], columns=COLUMNS)
    write_text(folder / "scores.md", Section("", table.astype(str), notes).markdown())
    encoder, legend = frame["encoder"].iloc[0], [IS_ALTERED] if frame["altered"].any() else []
    tables = [
        Section(f"{suite}: {label or encoder}", of, notes, legend, words=1, label=suite)
        for suite, of in suites([one for one in scores if one.headline], label or encoder.partition(", ")[0]).items()
    ]
    write_text(folder / "scores.tex", latex(tables))


COLUMNS = ("score", "value", "rows")


def suites(scores: Iterable[Score], encoder: str) -> "dict[str, pd.DataFrame]":
    """A table of text for each evaluator and split: one line for the encoder, a column for each task, the average last.

    Scores of leading channels have lines of their own.
    """
    import pandas as pd

    lines: dict[str, dict[str, dict[str, str]]] = {}
    for score in scores:
        split, evaluator, name = score.name.split("/", 2)
        width = re.match(r"width(\d+)/", name)
        label = encoder + (f", {width[1]} wide" if width else "")
        task, _, statistic = name[width.end() if width else 0 :].rpartition("/")
        line = lines.setdefault(f"{evaluator}, {split}", {}).setdefault(label, {})
        column = "Avg." if statistic == "average" and not task else task or statistic
        column = name if column in line else column  # of a task with several headlines
        value = in_short(score.value)
        line[column] = f"{value} {ALTERED}" if score.altered else value
    tables = {}
    for suite, of in lines.items():
        table = pd.DataFrame.from_dict(of, orient="index").fillna("")
        tables[suite] = table[sorted(table, key="Avg.".__eq__)].reset_index(names="")
    return tables


def to_table(scores: Iterable[Score], notes: Sequence[str]) -> str:
    """The table for the terminal, with the notes below."""
    lines = [COLUMNS, *((marked_name(one), in_short(one.value), str(one.rows or "")) for one in scores)]
    return "\n".join([to_columns(lines, right=(1, 2)), "", *notes])
