"""The settings that a sweep plans for a job (`Plans`), and a run's differences from its plan (`changes_to_plan`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.folder.changes import Change, changes
from cse.lab.folder.facts import as_facts
from cse.lab.folder.runs import Run
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.groups import ONE_CHOICE_ONLY, is_group
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.references import resolved
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import PlainConfig, flattened
from cse.lab.sweep.rows import job_of_row
from cse.lab.sweep.sweeps import Sweep

GROUPS = (*ONE_CHOICE_ONLY, "data")
"""The groups whose choices define a run's experiment."""


@dataclass(frozen=True)
class PlannedSettings:
    """The settings of a sweep's job that change a table's numbers, without the sweep's axes.

    choices: {group: choice}, for GROUPS. settings: {dotted key: value}. derived: the keys whose values refer to other
    keys.
    """

    choices: dict[str, str]
    settings: PlainConfig
    derived: set[str]


@dataclass(frozen=True)
class Plans:
    """The planned settings of jobs. The settings of a job are composed once for all runs of the job."""

    seed_key: str
    composed: dict[tuple[str, ...], PlannedSettings | None] = field(default_factory=dict)

    def of(self, sweep: Sweep, case: str | None, chosen: Mapping[str, str]) -> PlannedSettings | None:
        """Return the settings of a sweep's job with this case and these choices; None: see `planned_settings`.

        case: None for a sweep without cases.
        """
        texts = as_arguments({"case": case, **chosen} if case else chosen)
        place = (sweep.name, *texts)
        if place not in self.composed:
            self.composed[place] = planned_settings(sweep, texts, self.seed_key)
        return self.composed[place]


def as_arguments(chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Return choices as KEY=VALUE."""
    return tuple(f"{key}={choice}" for key, choice in chosen.items())


def planned_settings(sweep: Sweep, arguments: Sequence[str], seed_key: str) -> PlannedSettings | None:
    """Return the settings of a sweep's job with these arguments.

    Return None if the job trains nothing, or if a choice no longer exists.
    """
    job = job_of_row(sweep, [*map(Argument, arguments)], sweep.folder_of_jobs([]))
    if job.program != "cse-train":
        return None
    try:
        with explaining(texts_of(job.arguments), job.kind):
            config = job.config
    except UserError:
        return None
    free = {*sweep.params, seed_key, "case"}
    settings = without_hydra(config)
    texts, values = flattened(cast("PlainConfig", OmegaConf.to_container(settings))), flattened(resolved(settings))
    deciding = {key: value for key, value in values.items() if role_of(key).changes_a_table and key not in free}
    made_of = config.hydra.runtime.choices.items()
    return PlannedSettings(
        choices={key: choice for key, choice in made_of if key in GROUPS and key not in free},
        settings={key: value for key, value in deciding.items() if value != "auto"},  # the machine decides auto
        derived={key for key in deciding if "${" in str(texts[key])},
    )


def changes_to_plan(run: Run, plan: PlannedSettings, extra_keys: set[str]) -> list[Change]:
    """Return the changes from the plan: settings with another value in the run, and extra settings that the plan lacks.

    extra_keys: the keys of the extra arguments. If a choice differs, the result has no values that the choice sets.
    """
    planned: PlainConfig = {**plan.choices, **plan.settings}
    written = [key for key in planned if run.has(key) and "${" not in str(run.get(key))]  # no reference to another key
    compared = [key for key in written if key in extra_keys or not follows(key, run, plan)]
    unplanned = [key for key in sorted(extra_keys) if is_not_planned(run, key, planned)]
    expected: PlainConfig = {key: planned[key] for key in compared}
    ours: PlainConfig = {key: run.get(key) for key in [*compared, *unplanned]}
    changed = changes(as_facts("science", expected), as_facts("science", ours))
    inside = tuple(f"{change.name}." for change in changed)
    return [change for change in changed if not change.name.startswith(inside)]


def follows(key: str, run: Run, plan: PlannedSettings) -> bool:
    """Return whether a key's value, in the run or in the plan, follows from other values or is a path on one machine.

    Such a value is compared only if the command line gave it.
    """
    if key in plan.derived:
        return True
    values = (run.get(key), plan.settings.get(key))
    return role_of(key).is_verbatim and any(str(value).startswith(("/", "~")) for value in values)


def is_not_planned(run: Run, key: str, planned: PlainConfig) -> bool:
    """Return whether an extra key has a value in the run, but is not in the plan. A group always counts as planned."""
    is_planned = any(f"{other}.".startswith(f"{key}.") for other in planned)
    return not (is_planned or is_group(key) or run.get(key) is None)
