"""The report of two runs: the differences between the runs (`differ=[RUN,RUN]`).

Start at `section_of_two`, which compares the facts of both runs (cse.lab.folder.facts).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.changes import Change, changes
from cse.lab.folder.contents import RESULTS
from cse.lab.folder.facts import Kind, facts
from cse.lab.folder.runs import Run, newest_run, read_run
from cse.lab.report.formats import format_of
from cse.lab.sections import Section
from cse.lab.settings.values import format_value

ORDER = get_args(Kind)
ABSENT = "-"


def section_of_two(folders: Sequence[Path]) -> Section:
    """Return a section of the facts that differ between two runs, A and B. Kinds that change results come first.

    For a training and an evaluation, only scores and facts that both runs have are compared. Raises UserError for
    a folder without a run, and for the same folder twice.
    """
    check_two(folders)
    runs = [read_run(folder) for folder in folders]
    ours, theirs = map(facts, runs)
    shared = ours.keys() & theirs.keys()
    unlike = sorted(changes(ours, theirs), key=lambda change: (ORDER.index(change.kind), change.name))
    if runs[0].program != runs[1].program:
        unlike = [change for change in unlike if change.kind == "scores" or (change.kind, change.name) in shared]
    table = pd.DataFrame(
        [[change.kind, change.name, *texts_of_change(change)] for change in unlike], columns=["kind", "what", "A", "B"]
    )
    kinds = {change.kind for change in unlike}
    compared = {kind for kind, _ in shared}
    same = [kind for kind in ORDER if kind in compared - kinds]
    notes = [f"The same: {', '.join(same)}."] if same else []
    notes += weights_apart(runs) if "weights" in kinds else []
    return Section(f"A: {folders[0]}\nB: {folders[1]}", table, notes)


def check_two(folders: Sequence[Path]) -> None:
    """Refuse a folder without a run, and the same folder twice."""
    for folder in folders:
        if not (folder / RESULTS).is_file():
            raise UserError(f"differ: {folder} is not the folder of a run (no results.json in it){newest_run(folder)}")
    if folders[0].resolve() == folders[1].resolve():
        raise UserError(f"differ={folders[0]},{folders[1]}: name two different runs")


def texts_of_change(change: Change) -> list[str]:
    """Return both values as text; "-" for no value. Scores are rounded as in tables, unless both would look equal."""
    both = [ABSENT if value is None else value for value in (change.before, change.now)]
    whole = [format_value(value) for value in both]
    if change.kind != "scores":
        return whole
    form = format_of(value for value in both if isinstance(value, float))
    short = [f"{value:{form}}" if isinstance(value, float) else format_value(value) for value in both]
    return whole if short[0] == short[1] else short


def weights_apart(runs: Sequence[Run]) -> list[str]:
    """Return a line with the largest difference between the weights in two runs' checkpoints best/.

    Return [] if a best/ is missing or cannot be read, or if the shapes differ.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights, others = (load_file(run.folder / "best" / "model.safetensors") for run in runs)
    except (OSError, SafetensorError):
        return []
    if {name: weight.shape for name, weight in weights.items()} != {
        name: weight.shape for name, weight in others.items()
    }:
        return []
    apart = max(float((weights[name].double() - others[name].double()).abs().max()) for name in weights)
    largest = max(float(weight.abs().max()) for weight in weights.values())
    return [f"The weights differ by at most {apart:.2g}; the largest weight is {largest:.2g}."]
