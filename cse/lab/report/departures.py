"""By what a sweep's run departs from the job that its sweep plans: such a run is another experiment.

To read: `departures`. Three things make another experiment: a word typed beside the sweep's own (`typed_beside`), an
axis at a value that the sweep does not list (`outside_axes`), and a setting that the planned job has otherwise
(`changes_to_plan`), typed or not: the sweep, a recipe or a default may have changed since. Further seeds are none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.folder.facts import Change, as_facts, changes
from cse.lab.folder.runs import Run
from cse.lab.settings.compose import SINGLE, explaining, is_group, resolved, without_hydra
from cse.lab.settings.dotted import Config, flattened, format_value
from cse.lab.settings.groups import choices
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import plain, same
from cse.lab.settings.words import Word, key_of, texts_of
from cse.lab.sweep.grid import is_interval, one_by_one
from cse.lab.sweep.jobs import CONFIGS, Sweep, load_sweep

GROUPS = (*SINGLE, "data")
"""The groups whose choices make a run's experiment."""


@dataclass(frozen=True)
class Plan:
    """What a sweep's job is composed to, of what a table's numbers depend on, but for its axes.

    choices: of GROUPS. settings: by dotted key. derived: the keys whose values follow from others.
    """

    choices: dict[str, str]
    settings: Config
    derived: set[str]


PlanOf = Callable[[str, str | None, tuple[str, ...]], Plan | None]
"""`plan_of`, composed once for all runs of a job: of a sweep, a case, and choices."""


def mark_departures(runs: Sequence[Run], sweep: str, seed: str) -> list[Run]:
    """The runs, each with the settings by which it departs from its sweep. sweep: of a run whose line names none."""
    plans: PlanOf = cache(lambda name, case, chosen: plan_of(name, case, chosen, seed))
    return [replace(run, departures=departures(run, named_sweep(run, sweep), plans, seed)) for run in runs]


def named_sweep(run: Run, otherwise: str) -> str:
    """The sweep that its line named."""
    return next((word.value for word in run.words if word.key == "sweep"), otherwise)


def departures(run: Run, name: str, plans: PlanOf, seed: str) -> tuple[str, ...]:
    """`KEY=VALUE` of each setting by which a run departs from the sweep of this name, as it ran."""
    if name not in choices("sweep"):
        return (f"sweep={name}",)
    sweep, case = load_sweep(name), run.get("case")
    typed = typed_beside(run, sweep, seed)
    if case is not None and case not in sweep.cases:
        return tuple(typed)
    outside = outside_axes(run, sweep, seed)
    chosen = {key: run.choices[key] for key in sweep.params if key in run.choices}
    plan = plans(name, case, as_words(chosen))
    if plan is None:
        return (*outside, *typed)
    keys = set(map(key_of, typed))
    by_hand = {key: run.choices[key] for key in GROUPS if key in keys and key in run.choices}
    others = {key: choice for key, choice in by_hand.items() if plan.choices.get(key, choice) != choice}
    if others:  # a choice stands for all its values: those of the job with this choice are compared
        plan = plans(name, case, as_words(chosen | by_hand)) or plan
    changed = [f"{change.name}={format_value(change.now)}" for change in changes_to_plan(run, plan, keys)]
    return (*outside, *as_words(others), *changed)


def as_words(chosen: dict[str, str]) -> tuple[str, ...]:
    """Choices as KEY=VALUE."""
    return tuple(f"{key}={choice}" for key, choice in chosen.items())


def typed_beside(run: Run, sweep: Sweep, seed: str) -> list[str]:
    """The words of a run's line that decide its numbers and that neither the axes nor its case have."""
    return [word.text for word in sweep.departures(run.words) if word.key != seed]


def outside_axes(run: Run, sweep: Sweep, seed: str) -> list[str]:
    """`KEY=VALUE` of each axis at which the run has a value that the sweep does not list."""
    axes = {key: values for key, values in sweep.params.items() if key != seed and run.has(key)}
    outside = [key for key, values in axes.items() if not is_of(values, run.get(key))]
    return [f"{key}={format_value(run.get(key))}" for key in outside]


def is_of(values: str, value: object) -> bool:
    """Whether a value is one of an axis, or in its interval. values: in Hydra's notation."""
    axis = Word(f"axis={values}")
    if is_interval(axis):
        ends: Any = axis.parsed
        number = plain(value)
        return isinstance(number, float) and ends.start - 1e-9 <= number <= ends.end + 1e-9
    return any(same(value, one.parsed) for one in one_by_one(axis))


def plan_of(name: str, case: str | None, chosen: Sequence[str], seed: str) -> Plan | None:
    """The plan of a sweep's job of a case (None: of a sweep without cases) and these choices.

    None for a case that trains nothing, and for a choice that is gone.
    """
    sweep = load_sweep(name)
    job = sweep.job([*([Word(f"case={case}")] if case else []), *map(Word, chosen)])
    if job.program != "cse-train":
        return None
    try:
        with explaining(texts_of(job.words), CONFIGS[job.program]):
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
    """What the plan has otherwise, and what was typed that it has not. typed: the keys of words typed beside it.

    A choice stands for its values. What nobody typed says nothing if it follows from other values, or is a folder of a
    machine.
    """
    known: Config = {**plan.choices, **plan.settings}
    said = [key for key in known if run.has(key) and "${" not in str(run.get(key))]
    told = [key for key in said if key in typed or not (key in plan.derived or names_a_place(key, run, known))]
    more = [key for key in sorted(typed) if not is_group(key) and run.get(key) is not None]
    more = [key for key in more if not any(f"{one}.".startswith(f"{key}.") for one in known)]
    planned = as_facts("science", {key: known[key] for key in told})
    ours = as_facts("science", {key: run.get(key) for key in (*told, *more)})
    changed = changes(planned, ours)
    inside = tuple(f"{change.name}." for change in changed)
    return [change for change in changed if not change.name.startswith(inside)]


def names_a_place(key: str, run: Run, known: Config) -> bool:
    """Whether a key's value is a folder or file of a machine, in the run or as planned."""
    return role_of(key).is_verbatim and any(str(value).startswith(("/", "~")) for value in (run.get(key), known[key]))
