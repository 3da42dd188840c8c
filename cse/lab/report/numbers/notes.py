"""Lines of text that several reports have below their tables: on seeds, on training, and on retrieved captions."""

from collections.abc import Mapping, Sequence
from typing import cast

from cse.files import Json
from cse.lab.folder.runs import Run
from cse.lab.report.numbers.statistics import SeedSpread, seeds_for, smallest_difference
from cse.score import in_short


def detectable_difference(spread: SeedSpread, level: float, sides: int = 2) -> str:
    """Return a line: the smallest difference that the seeds of `spread` detect, and the seeds for half that difference.

    Return "" if the scores do not vary. level: the test's significance level. sides: the number of sides with seeds.
    """
    if not spread.sd:
        return ""
    least = smallest_difference(spread.sd, spread.num_seeds, level, sides)
    needed = seeds_for(least / 2, spread.sd, level, sides)
    each = " per setting" if sides == 2 else ""
    pooled = f" (pooled from SDs {min(spread.each):.2g} to {max(spread.each):.2g})" if len(spread.each) > 1 else ""
    return (
        f"SD over seeds {spread.sd:.2g}{pooled}. With {spread.num_seeds} seeds{each}, the smallest detectable "
        f"difference (80% power) is {least:.2g}; to detect {least / 2:.2g} takes {needed} seeds."
    )


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
