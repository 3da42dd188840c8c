"""Departures: the settings of a run that its sweep or its paper has otherwise. They make it another experiment.

These are the departures of a run as tables name them. cse.lab.report.paper.sweep_plan finds those from its sweep.
"""

from collections import Counter
from collections.abc import Iterable

from cse.lab.folder.runs import Run, Where
from cse.lab.settings.values import format_value, same_as_any


def departures_of(run: Run, held_fixed: Where) -> dict[str, str]:
    """The departures of a run from its sweep, and from what the paper held fixed: {KEY=VALUE: from what}."""
    departures = dict.fromkeys(run.departures, "(not in the sweep)")
    for key, value in held_fixed.items():
        if not same_as_any(run.get(key), value):
            departures[f"{key}={format_value(run.get(key))}"] = f"(paper: {format_value(value)})"
    return departures


def departures_in(runs: Iterable[Run], held_fixed: Where) -> list[str]:
    """`KEY=VALUE` of each departure of the runs, once."""
    return list(dict.fromkeys(words for run in runs for words in departures_of(run, held_fixed)))


def as_planned(runs: list[Run], held_fixed: Where) -> list[Run]:
    """The runs without departures; all runs if each of them departs."""
    return [run for run in runs if not departures_of(run, held_fixed)] or runs


def notes_on_departures(runs: list[Run], held_fixed: Where) -> list[str]:
    """How the runs that fill a table depart from the paper's setting.

    One line has what all runs have in common. Each other departure has a line, the most frequent first.
    """
    unique = list({run.folder: run for run in runs}.values())
    departures = [departures_of(run, held_fixed) for run in unique]
    counts = Counter(f"{words} {planned}" for of_run in departures for words, planned in of_run.items())
    shared = ", ".join(sorted(words for words, count in counts.items() if count == len(unique)))
    some = sorted((-count, words) for words, count in counts.items() if count < len(unique))
    lines = [shared, *(f"{-count} of {len(unique)} runs: {words}" for count, words in some)]
    return [f"Not the paper's setting: {line}" for line in lines if line]
