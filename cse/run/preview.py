"""data.preview: what the model will see of some rows, as text and as views.

data.preview=3 shows the first three rows, data.preview=[17,204] the rows with these numbers (from 1, over the whole
data), data.preview=FOLDER/anomaly.json the rows, in their epoch, on which a run went wrong.
"""

from pathlib import Path

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from cse.columns import printable
from cse.data.loader import Batches
from cse.errors import UserError
from cse.record.results import Count, checked


class Anomaly(TypedDict):
    """The part of an anomaly.json that is read."""

    rows: list[Count]
    epoch: Count


def preview(batches: Batches, asked: int | list[int] | str) -> None:
    """Print the rows and their views. Raises UserError for a row that is not trained on, or a file without rows."""
    rows, epoch = asked_rows(batches, asked)
    decode = batches.tokenizer.hf.decode
    for row in rows:
        print(printable(f"row {batches.text.number(row)}: {batches.text.text(row)[:300]}"))
        for view, [sequences] in enumerate(batches.views(np.array([row]), epoch)):
            for ids in sequences:
                print(printable(f"  view {view}  {len(ids):3d} tokens  {decode(ids)}"))
                print(f"          ids  {' '.join(map(str, ids))}")


def asked_rows(batches: Batches, asked: int | list[int] | str) -> tuple[list[int], int]:
    """(rows by the numbers that batches use, epoch)."""
    if isinstance(asked, int):
        return [int(row) for row in batches.rows[:asked]], 0
    numbers, epoch = read_anomaly(Path(asked)) if isinstance(asked, str) else (list(asked), 0)
    known = np.array([batches.text.number(int(row)) for row in batches.rows])
    places = np.searchsorted(known, numbers)
    if others := [n for n, place in zip(numbers, places, strict=True) if place == len(known) or known[place] != n]:
        raise UserError(
            f"data.preview: row {others[0]} is not among the {len(known):,} rows of data={batches.text.name} that are "
            f"trained on, of {known[0]:,} to {known[-1]:,}"
        )
    return [int(batches.rows[place]) for place in places], epoch


def read_anomaly(file: Path) -> tuple[list[int], int]:
    """(rows, epoch) of an anomaly.json."""
    try:
        content = checked(TypeAdapter(Anomaly), file)
        return content["rows"], content["epoch"]
    except (OSError, ValueError) as error:
        raise UserError(f"data.preview={file} is not the anomaly.json of a run ({error})") from error
