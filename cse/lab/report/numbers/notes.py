"""Lines of text that several reports have below their tables: on seeds, on training, and on retrieved captions."""

from collections.abc import Mapping, Sequence
from typing import cast

from cse.files import Json
from cse.lab.folder.runs import Run
from cse.lab.report.numbers.statistics import SeedSpread, seeds_for, smallest_difference
from cse.score import in_short


def detectable_differences(spreads: Mapping[str, SeedSpread], level: float, sides: int = 2) -> list[str]:
    """Return a line for each number of seeds: the smallest difference that so many seeds detect in each column.

    The line also has the number of seeds for half the difference.

    spreads: {the beginning of a column's text: the variation over seeds}. A column whose scores do not vary is left
    out. level: the test's significance level. sides: the number of sides with seeds.
    """
    each = " per setting" if sides == 2 else ""
    lines = []
    for num_seeds in dict.fromkeys(spread.num_seeds for spread in spreads.values() if spread.sd):
        parts = []
        for name, spread in spreads.items():
            if spread.sd and spread.num_seeds == num_seeds:
                least = smallest_difference(spread.sd, num_seeds, level, sides)
                sds = f", pooled from {min(spread.each):.2g} to {max(spread.each):.2g}" if len(spread.each) > 1 else ""
                parts.append(f"{name}{least:.2g} (SD over seeds {spread.sd:.2g}{sds})")
        half = seeds_for(smallest_difference(1.0, num_seeds, level, sides) / 2, 1.0, level, sides)
        lines.append(
            f"With {num_seeds} seeds{each}, the smallest difference that a test detects with a probability of 80% is "
            f"{', '.join(parts)}. A difference of half this size takes {half} seeds."
        )
    return lines


def no_better_remarks(runs: Sequence[Run]) -> list[str]:
    """Return a line if the selected checkpoint of a run is no better than the run's untrained encoder; else []."""
    untrained = [run.untrained for run in runs if run.no_better]
    scores = [in_short(score) for score in untrained if score is not None]
    counted = f"{len(scores)} of {len(runs)} runs score no better than the untrained encoder"
    return [f"{counted} ({', '.join(dict.fromkeys(scores))}) on the selection metric"] if scores else []


def seen_in_training(runs: Sequence[Run]) -> list[str]:
    """Return a line if 1% or more of a run's training texts are also in the evaluation sets; else []."""
    recorded = [run.results.get("overlap") for run in runs]
    dicts = [overlap for overlap in recorded if isinstance(overlap, dict)]
    overlaps = [overlap for overlap in dicts if {"found", "texts"} <= overlap.keys()]  # older files have other keys
    large = [overlap for overlap in overlaps if overlap["found"] * 100 >= max(1, overlap["texts"])]
    shares = dict.fromkeys(f"{overlap['found']:,} of {overlap['texts']:,}" for overlap in large)
    return [f"{', '.join(shares)} training texts occur in the evaluation sets"] if shares else []


def nearest_captions(runs: Mapping[str, Run]) -> list[str]:
    """Return lines with the captions that each run retrieved for each query, nearest first (NonLing-CSE, Table C.1).

    runs: {name of a table's row: one run of this row}.
    """
    tops = {row: cast("Json", run.data.get("retrieval", {})).get("top", {}) for row, run in runs.items()}
    lines = []
    for query in dict.fromkeys(query for top in tops.values() for query in top):
        captions = {row: [caption for _, caption in top[query]] for row, top in tops.items() if query in top}
        for place in range(max(map(len, captions.values()))):
            beside = " | ".join(f"{row}: {texts[place]}" for row, texts in captions.items() if len(texts) > place)
            lines.append(f"{query}, nearest #{place + 1}: {beside}")
    return lines
