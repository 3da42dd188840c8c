"""How a run is compared with what its sweep plans: `mark_departures` keeps in each run its departures from its sweep.

To read: `departures_from_sweep`. Three things depart from a sweep:

- an argument typed beside the sweep's own (`typed_beside`);
- an axis at a value that the sweep does not list (`outside_axes`);
- a setting that the planned job has otherwise (`changes_to_plan`), typed or not, as the sweep, a recipe or a default
  may have changed since.

A further seed is no departure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.folder.changes import Change, changes
from cse.lab.folder.facts import as_facts
from cse.lab.folder.runs import Run
from cse.lab.settings.arguments import Argument, key_of, texts_of
from cse.lab.settings.compose import resolved, without_hydra
from cse.lab.settings.groups import ONE_CHOICE_ONLY, choices, is_group
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import Config, flattened, format_value, in_one_form, same_as_any
from cse.lab.sweep.axes import interval_of
from cse.lab.sweep.grid import one_by_one
from cse.lab.sweep.sweeps import Sweep, load_sweep

GROUPS = (*ONE_CHOICE_ONLY, "data")
"""The groups whose choices make a run's experiment."""


@dataclass(frozen=True)
class Plan:
    """The settings of a sweep's job on which a table's numbers depend, without the sweep's axes.

    choices: of GROUPS. settings: by dotted key. derived: the keys whose values follow from others.
    """

    choices: dict[str, str]
    settings: Config
    derived: set[str]


PlanOf = Callable[[str, str | None, tuple[str, ...]], Plan | None]
"""`planned_settings` of a sweep, a case and choices, composed once for all runs of a job."""


def mark_departures(runs: Sequence[Run], sweep: str, seed: str) -> list[Run]:
    """The runs, each with its departures from its sweep. sweep: of a run whose line names none."""
    plans: PlanOf = cache(lambda name, case, chosen: planned_settings(name, case, chosen, seed))
    return [replace(run, departures=departures_from_sweep(run, named_sweep(run, sweep), plans, seed)) for run in runs]


def named_sweep(run: Run, otherwise: str) -> str:
    """The sweep that the run's line named."""
    return next((argument.value for argument in run.arguments if argument.key == "sweep"), otherwise)


def departures_from_sweep(run: Run, name: str, plans: PlanOf, seed: str) -> tuple[str, ...]:
    """`KEY=VALUE` of each departure of a run from the sweep of this name."""
    if name not in choices("sweep"):
        return (f"sweep={name}",)
    sweep, case = load_sweep(name), run.get("case")
    typed = typed_beside(run, sweep, seed)
    if case is not None and case not in sweep.cases:
        return tuple(typed)
    outside = outside_axes(run, sweep, seed)
    keys = set(map(key_of, typed))
    plan, other_choices = plan_for(run, sweep, case, keys, plans)
    if plan is None:
        return (*outside, *typed)
    changed = [f"{change.name}={format_value(change.now)}" for change in changes_to_plan(run, plan, keys)]
    return (*outside, *as_arguments(other_choices), *changed)


def plan_for(
    run: Run, sweep: Sweep, case: str | None, typed: set[str], plans: PlanOf
) -> tuple[Plan | None, dict[str, str]]:
    """The plan with which a run is compared, and the choices typed beside the sweep that its job has otherwise.

    A choice stands for all its values, so the plan is that of the job with these choices. case: of the sweep, or
    None. typed: the keys of the arguments typed beside the sweep.
    """
    of_axes = {key: run.choices[key] for key in sweep.params if key in run.choices}
    plan = plans(sweep.name, case, as_arguments(of_axes))
    if plan is None:
        return None, {}
    by_hand = {key: run.choices[key] for key in GROUPS if key in typed and key in run.choices}
    other_choices = {key: choice for key, choice in by_hand.items() if plan.choices.get(key, choice) != choice}
    if other_choices:
        plan = plans(sweep.name, case, as_arguments(of_axes | by_hand)) or plan
    return plan, other_choices


def as_arguments(chosen: dict[str, str]) -> tuple[str, ...]:
    """Choices as KEY=VALUE."""
    return tuple(f"{key}={choice}" for key, choice in chosen.items())


def typed_beside(run: Run, sweep: Sweep, seed: str) -> list[str]:
    """A run's arguments that decide its numbers, without the arguments of the sweep's axes and of its case."""
    return [argument.text for argument in sweep.arguments_beside(run.arguments) if argument.key != seed]


def outside_axes(run: Run, sweep: Sweep, seed: str) -> list[str]:
    """`KEY=VALUE` of each axis at which the run has a value that the sweep does not list."""
    outside = []
    for key, values in sweep.params.items():
        if key != seed and run.has(key) and not is_on_axis(values, run.get(key)):
            outside.append(f"{key}={format_value(run.get(key))}")
    return outside


def is_on_axis(values: str, value: object) -> bool:
    """Whether a value is one of an axis, or in its interval. values: in Hydra's notation."""
    axis = Argument(f"axis={values}")
    interval = interval_of(axis)
    if interval is not None:
        number = in_one_form(value)
        return isinstance(number, float) and interval.start - 1e-9 <= number <= interval.end + 1e-9
    return any(same_as_any(value, argument.parsed) for argument in one_by_one(axis))


def planned_settings(name: str, case: str | None, chosen: Sequence[str], seed: str) -> Plan | None:
    """The plan of a sweep's job of a case (None: of a sweep without cases) and these choices.

    None for a case that trains nothing, and for a choice that is gone.
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
    free = {*sweep.params, seed, "case"}
    settings = without_hydra(config)
    texts, values = flattened(cast("Config", OmegaConf.to_container(settings))), flattened(resolved(settings))
    deciding = {key: value for key, value in values.items() if role_of(key).changes_a_table and key not in free}
    made_of = config.hydra.runtime.choices.items()
    return Plan(
        choices={key: choice for key, choice in made_of if key in GROUPS and key not in free},
        settings={key: value for key, value in deciding.items() if value != "auto"},  # which the machine decides
        derived={key for key in deciding if "${" in str(texts[key])},
    )


def changes_to_plan(run: Run, plan: Plan, typed: set[str]) -> list[Change]:
    """The settings that the plan has otherwise, and those that were typed and the plan has not.

    typed: the keys of the arguments typed beside the plan. A choice stands for its values.
    """
    planned: Config = {**plan.choices, **plan.settings}
    compared = [key for key in planned if is_written(run, key) and (key in typed or not follows(key, run, plan))]
    beside = [key for key in sorted(typed) if is_beside_plan(run, key, planned)]
    expected: Config = {key: planned[key] for key in compared}
    ours: Config = {key: run.get(key) for key in [*compared, *beside]}
    changed = changes(as_facts("science", expected), as_facts("science", ours))
    inside = tuple(f"{change.name}." for change in changed)
    return [change for change in changed if not change.name.startswith(inside)]


def is_written(run: Run, key: str) -> bool:
    """Whether a run has a value at a key, and not a reference to another one."""
    return run.has(key) and "${" not in str(run.get(key))


def follows(key: str, run: Run, plan: Plan) -> bool:
    """Whether a key's value follows from other values, or is a folder or file of a machine, in the run or the plan.

    Such a value says nothing unless it was typed.
    """
    if key in plan.derived:
        return True
    values = (run.get(key), plan.settings.get(key))
    return role_of(key).is_verbatim and any(str(value).startswith(("/", "~")) for value in values)


def is_beside_plan(run: Run, key: str, planned: Config) -> bool:
    """Whether a key that was typed is none of the plan: neither one of its keys nor a group of them."""
    is_planned = any(f"{other}.".startswith(f"{key}.") for other in planned)
    return not (is_planned or is_group(key) or run.get(key) is None)
