"""Departures: the settings in which a run differs from its sweep or paper. Departures make the run another experiment.

`departures_of` returns all departures of a run. `without_departures` chooses the runs of a cell, and
`notes_on_departures` makes the notes.

`mark_departures` finds the departures from the sweep once, and stores them in each run (`Run.departures`). There are
three kinds:

1. an axis at a value that the sweep does not list (`outside_axes`);
2. an extra choice, such as model=roberta: a choice that was given in addition to the sweep's arguments;
3. a setting with another value than in the planned job with these choices (cse.lab.report.paper.planned_settings). The
   setting need not be an argument: the sweep, a recipe or a default may have changed since the run.

If the sweep plans no settings for a run, for example for a job that only scores, every extra argument is a departure.
This rule replaces kinds 2 and 3. A further seed is not a departure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cse.lab.folder.runs import Run, Where
from cse.lab.report.paper.planned_settings import GROUPS, Plans, as_arguments, changes_to_plan
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.groups import choices
from cse.lab.settings.values import format_value, in_one_form, same_as_any
from cse.lab.sweep.axes import interval_of, one_by_one
from cse.lab.sweep.sweeps import Sweep, load_sweep


def departures_of(run: Run, paper_setting: Where) -> dict[str, str]:
    """Return the departures of a run: {KEY=VALUE: "(not in the sweep)" or "(paper: VALUE)"}."""
    departures = dict.fromkeys(run.departures, "(not in the sweep)")
    for key, value in paper_setting.items():
        if not same_as_any(run.get(key), value):
            departures[f"{key}={format_value(run.get(key))}"] = f"(paper: {format_value(value)})"
    return departures


def departures_in(runs: Iterable[Run], paper_setting: Where) -> list[str]:
    """Return `KEY=VALUE` of each departure of the runs, each once."""
    return list(dict.fromkeys(words for run in runs for words in departures_of(run, paper_setting)))


def without_departures(runs: list[Run], paper_setting: Where) -> list[Run]:
    """Return the runs without departures; all runs if every run has departures."""
    return [run for run in runs if not departures_of(run, paper_setting)] or runs


def notes_on_departures(runs: list[Run], paper_setting: Where) -> list[str]:
    """Return notes on how the runs that fill a table depart from the paper's setting.

    The first line has the departures that all runs share. Each other departure has its own line, the most frequent
    first.
    """
    unique = list({run.folder: run for run in runs}.values())
    departures = [departures_of(run, paper_setting) for run in unique]
    counts = Counter(f"{words} {planned}" for of_run in departures for words, planned in of_run.items())
    shared = ", ".join(sorted(words for words, count in counts.items() if count == len(unique)))
    some = sorted((-count, words) for words, count in counts.items() if count < len(unique))
    lines = [shared, *(f"{-count} of {len(unique)} runs: {words}" for count, words in some)]
    return [f"Not the paper's setting: {line}" for line in lines if line]


def mark_departures(runs: Sequence[Run], sweep: str, seed_key: str) -> list[Run]:
    """Return the runs, each with its departures from its sweep. A smoke run is returned without departures.

    sweep: the name of the sweep with which a run is compared if the run's command names no sweep.
    """
    plans = Plans(seed_key)
    marked = []
    for run in runs:
        departures = () if run.is_smoke else departures_from_sweep(run, named_sweep(run, sweep), plans)
        marked.append(replace(run, departures=departures))
    return marked


def named_sweep(run: Run, otherwise: str) -> str:
    """Return the sweep that the run's command named; `otherwise` if the command named no sweep."""
    return next((argument.value for argument in run.arguments if argument.key == "sweep"), otherwise)


def departures_from_sweep(run: Run, name: str, plans: Plans) -> tuple[str, ...]:
    """Return `KEY=VALUE` of each departure of a run from a sweep, by kind, in the order of this file's docstring."""
    if name not in choices("sweep"):
        return (f"sweep={name}",)
    sweep, case = load_sweep(name), run.get("case")
    extra = [argument for argument in sweep.further_arguments(run.arguments) if argument.key != plans.seed_key]
    if case is not None and case not in sweep.cases:
        return tuple(texts_of(extra))
    outside = outside_axes(run, sweep, plans.seed_key)
    on_axes = {key: run.choices[key] for key in sweep.params if key in run.choices}
    plan = plans.of(sweep, case, on_axes)
    if plan is None:
        return (*outside, *texts_of(extra))
    extra_keys = {argument.key for argument in extra}
    chosen = {key: run.choices[key] for key in GROUPS if key in extra_keys and key in run.choices}
    extra_choices = {key: choice for key, choice in chosen.items() if plan.choices.get(key, choice) != choice}
    if extra_choices:  # the plan with these choices has their values, too
        plan = plans.of(sweep, case, on_axes | chosen) or plan
    changed = [f"{change.name}={format_value(change.now)}" for change in changes_to_plan(run, plan, extra_keys)]
    return (*outside, *as_arguments(extra_choices), *changed)


def outside_axes(run: Run, sweep: Sweep, seed_key: str) -> list[str]:
    """Return `KEY=VALUE` of each axis on which the run has a value that the sweep does not list."""
    outside = []
    for key, values in sweep.params.items():
        if key != seed_key and run.has(key) and not is_on_axis(values, run.get(key)):
            outside.append(f"{key}={format_value(run.get(key))}")
    return outside


def is_on_axis(values: str, value: object) -> bool:
    """Return whether an axis, which is a list or an interval, has this value. values: the axis in Hydra's notation."""
    axis = Argument(f"axis={values}")
    interval = interval_of(axis)
    if interval is not None:
        number = in_one_form(value)
        return isinstance(number, float) and interval.start - 1e-9 <= number <= interval.end + 1e-9
    return any(same_as_any(value, argument.parsed) for argument in one_by_one(axis))
