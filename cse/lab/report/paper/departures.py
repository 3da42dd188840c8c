"""Departures: the settings of a run that its sweep, or its paper, has otherwise. They make it another experiment.

To read: `departures_of` has all departures of a run. `without_departures` says which runs of a cell count, and
`notes_on_departures` what a reader must know of the departures.

`mark_departures` finds the departures from the sweep once, and keeps them in each run (`Run.departures`). They are:

- an argument that was typed in addition to the sweep's own (`extra_arguments`);
- an axis at a value that the sweep does not list (`outside_axes`);
- a setting that the planned job has otherwise (`changes_to_plan`), typed or not, as the sweep, a recipe or a default
  may have changed since.

A further seed is no departure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import cast

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.folder.changes import Change, changes
from cse.lab.folder.facts import as_facts
from cse.lab.folder.runs import Run, Where
from cse.lab.settings.arguments import Argument, key_of, texts_of
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.groups import ONE_CHOICE_ONLY, choices, is_group
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import Config, flattened, format_value, in_one_form, same_as_any
from cse.lab.sweep.axes import interval_of, one_by_one
from cse.lab.sweep.sweeps import Sweep, load_sweep


def departures_of(run: Run, paper_setting: Where) -> dict[str, str]:
    """The departures of a run from its sweep and from the paper's setting: {KEY=VALUE: what it departs from}."""
    departures = dict.fromkeys(run.departures, "(not in the sweep)")
    for key, value in paper_setting.items():
        if not same_as_any(run.get(key), value):
            departures[f"{key}={format_value(run.get(key))}"] = f"(paper: {format_value(value)})"
    return departures


def departures_in(runs: Iterable[Run], paper_setting: Where) -> list[str]:
    """`KEY=VALUE` of each departure of the runs, each once."""
    return list(dict.fromkeys(words for run in runs for words in departures_of(run, paper_setting)))


def without_departures(runs: list[Run], paper_setting: Where) -> list[Run]:
    """The runs without departures; all runs if each of them departs."""
    return [run for run in runs if not departures_of(run, paper_setting)] or runs


def notes_on_departures(runs: list[Run], paper_setting: Where) -> list[str]:
    """How the runs that fill a table depart from the paper's setting.

    One line has what all runs have in common. Each other departure has a line, the most frequent first.
    """
    unique = list({run.folder: run for run in runs}.values())
    departures = [departures_of(run, paper_setting) for run in unique]
    counts = Counter(f"{words} {planned}" for of_run in departures for words, planned in of_run.items())
    shared = ", ".join(sorted(words for words, count in counts.items() if count == len(unique)))
    some = sorted((-count, words) for words, count in counts.items() if count < len(unique))
    lines = [shared, *(f"{-count} of {len(unique)} runs: {words}" for count, words in some)]
    return [f"Not the paper's setting: {line}" for line in lines if line]


GROUPS = (*ONE_CHOICE_ONLY, "data")
"""The groups whose choices make a run's experiment."""


@dataclass(frozen=True)
class PlannedSettings:
    """The settings of a sweep's job on which a table's numbers depend, without the sweep's axes.

    choices: the choice in each of GROUPS. settings: by dotted key. derived: the keys whose values follow from others.
    """

    choices: dict[str, str]
    settings: Config
    derived: set[str]


def mark_departures(runs: Sequence[Run], sweep: str, seed_key: str) -> list[Run]:
    """The runs, each of full size with its departures from its sweep. sweep: for a run whose command names none."""
    plan_of = cache(partial(planned_settings, seed_key=seed_key))  # composed once for all runs of a job
    marked = []
    for run in runs:
        departures = () if run.is_smoke else departures_from_sweep(run, named_sweep(run, sweep), plan_of, seed_key)
        marked.append(replace(run, departures=departures))
    return marked


def named_sweep(run: Run, otherwise: str) -> str:
    """The sweep that the run's command named."""
    return next((argument.value for argument in run.arguments if argument.key == "sweep"), otherwise)


def departures_from_sweep(
    run: Run, name: str, plan_of: Callable[..., PlannedSettings | None], seed_key: str
) -> tuple[str, ...]:
    """`KEY=VALUE` of each departure of a run from the sweep of this name. plan_of: `planned_settings`, cached."""
    if name not in choices("sweep"):
        return (f"sweep={name}",)
    sweep, case = load_sweep(name), run.get("case")
    extra = extra_arguments(run, sweep, seed_key)
    if case is not None and case not in sweep.cases:
        return tuple(extra)
    outside, extra_keys = outside_axes(run, sweep, seed_key), set(map(key_of, extra))
    plan, other_choices = plan_for(run, sweep, case, extra_keys, plan_of)
    if plan is None:
        return (*outside, *extra)
    changed = [f"{change.name}={format_value(change.now)}" for change in changes_to_plan(run, plan, extra_keys)]
    return (*outside, *as_arguments(other_choices), *changed)


def plan_for(
    run: Run, sweep: Sweep, case: str | None, extra_keys: set[str], plan_of: Callable[..., PlannedSettings | None]
) -> tuple[PlannedSettings | None, dict[str, str]]:
    """The plan with which a run is compared, and the extra choices, which its job has otherwise.

    A choice stands for all its values, so the plan is that of the job with these choices. case: of the sweep, or
    None. extra_keys: of the extra arguments.
    """
    of_axes = {key: run.choices[key] for key in sweep.params if key in run.choices}
    plan = plan_of(sweep.name, case, as_arguments(of_axes))
    if plan is None:
        return None, {}
    by_hand = {key: run.choices[key] for key in GROUPS if key in extra_keys and key in run.choices}
    other_choices = {key: choice for key, choice in by_hand.items() if plan.choices.get(key, choice) != choice}
    if other_choices:
        plan = plan_of(sweep.name, case, as_arguments(of_axes | by_hand)) or plan
    return plan, other_choices


def as_arguments(chosen: dict[str, str]) -> tuple[str, ...]:
    """Choices as KEY=VALUE."""
    return tuple(f"{key}={choice}" for key, choice in chosen.items())


def extra_arguments(run: Run, sweep: Sweep, seed_key: str) -> list[str]:
    """The arguments of a run that decide its numbers, and that neither the sweep's axes nor its case contain."""
    return [argument.text for argument in sweep.further_arguments(run.arguments) if argument.key != seed_key]


def outside_axes(run: Run, sweep: Sweep, seed_key: str) -> list[str]:
    """`KEY=VALUE` of each axis at which the run has a value that the sweep does not list."""
    outside = []
    for key, values in sweep.params.items():
        if key != seed_key and run.has(key) and not is_on_axis(values, run.get(key)):
            outside.append(f"{key}={format_value(run.get(key))}")
    return outside


def is_on_axis(values: str, value: object) -> bool:
    """Whether an axis has a value, or its interval contains it. values: of the axis, in Hydra's notation."""
    axis = Argument(f"axis={values}")
    interval = interval_of(axis)
    if interval is not None:
        number = in_one_form(value)
        return isinstance(number, float) and interval.start - 1e-9 <= number <= interval.end + 1e-9
    return any(same_as_any(value, argument.parsed) for argument in one_by_one(axis))


def planned_settings(name: str, case: str | None, chosen: Sequence[str], seed_key: str) -> PlannedSettings | None:
    """The plan of a sweep's job with this case and these choices; None if the case trains nothing, or a choice is gone.

    case: None for a sweep without cases.
    """
    sweep = load_sweep(name)
    job = sweep.job([*([Argument(f"case={case}")] if case else []), *map(Argument, chosen)], sweep.folder_of_jobs([]))
    if job.program != "cse-train":
        return None
    try:
        with explaining(texts_of(job.arguments), job.kind):
            config = job.config
    except UserError:
        return None
    free = {*sweep.params, seed_key, "case"}
    settings = without_hydra(config)
    texts, values = flattened(cast("Config", OmegaConf.to_container(settings))), flattened(resolved(settings))
    deciding = {key: value for key, value in values.items() if role_of(key).changes_a_table and key not in free}
    made_of = config.hydra.runtime.choices.items()
    return PlannedSettings(
        choices={key: choice for key, choice in made_of if key in GROUPS and key not in free},
        settings={key: value for key, value in deciding.items() if value != "auto"},  # which the machine decides
        derived={key for key in deciding if "${" in str(texts[key])},
    )


def changes_to_plan(run: Run, plan: PlannedSettings, extra_keys: set[str]) -> list[Change]:
    """The settings that the plan has otherwise, and the extra settings, which it does not have.

    extra_keys: of the extra arguments. A choice stands for its values.
    """
    planned: Config = {**plan.choices, **plan.settings}
    written = [key for key in planned if run.has(key) and "${" not in str(run.get(key))]  # no reference to another key
    compared = [key for key in written if key in extra_keys or not follows(key, run, plan)]
    unplanned = [key for key in sorted(extra_keys) if is_not_planned(run, key, planned)]
    expected: Config = {key: planned[key] for key in compared}
    ours: Config = {key: run.get(key) for key in [*compared, *unplanned]}
    changed = changes(as_facts("science", expected), as_facts("science", ours))
    inside = tuple(f"{change.name}." for change in changed)
    return [change for change in changed if not change.name.startswith(inside)]


def follows(key: str, run: Run, plan: PlannedSettings) -> bool:
    """Whether a key's value follows from other values, or is a folder or file of a machine, in the run or the plan.

    Such a value says nothing unless it was typed.
    """
    if key in plan.derived:
        return True
    values = (run.get(key), plan.settings.get(key))
    return role_of(key).is_verbatim and any(str(value).startswith(("/", "~")) for value in values)


def is_not_planned(run: Run, key: str, planned: Config) -> bool:
    """Whether the plan does not have an extra key; a group is planned if the plan has a key in it."""
    is_planned = any(f"{other}.".startswith(f"{key}.") for other in planned)
    return not (is_planned or is_group(key) or run.get(key) is None)
