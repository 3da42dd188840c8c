"""In which keys of their settings runs differ.

To read: `KeysThatDiffer`. `fewest_keys` chooses a few of them, by which no two settings are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.settings.arguments import RUN_ALONE, key_of, keys_of_person, values_of
from cse.lab.settings.groups import choices, is_group
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import flattened, in_one_form
from cse.lab.sweep.sweeps import load_sweep

NAMES = ("case", "sweep", "label")
"""The keys that name runs."""


@dataclass(frozen=True)
class KeysThatDiffer:
    """In which keys some runs differ, except the key of their seeds.

    An example: `cse-train -m objective=simcse,barlow seed=1,2` makes four runs. The YAML of each objective sets its
    loss (objective._target_) and a learning rate (trainer.lr).

        keys = KeysThatDiffer(runs, seed_key="seed")
        keys.every           objective._target_, trainer.lr, objective
        keys.by_group        trainer.lr, objective: the group stands for all that is below it
        keys.of_settings     objective: nobody typed trainer.lr, it follows from the objective
    """

    runs: Sequence[Run]
    seed_key: str

    @cached_property
    def every(self) -> list[str]:
        """All such keys: choices of groups, and also the values that a choice sets."""
        recorded = dict.fromkeys(key for run in self.runs for key in (*flattened(run.config), *run.choices))
        recorded.pop(self.seed_key, None)
        keys = [key for key in recorded if not key.startswith("choices.")]  # which run.choices has too
        return [key for key in keys if self.differs(key)]

    @property
    def by_group(self) -> list[str]:
        """The same without the values of a group that differs: the group stands for them."""
        groups = tuple(f"{key}." for key in self.every if any(key in run.choices for run in self.runs))
        return [key for key in self.every if not key.startswith(groups)]

    @cached_property
    def of_settings(self) -> list[str]:
        """The keys whose values tell to which setting a run belongs: the columns of a table of settings.

        Somebody typed such a key for a run, and it `makes_settings`. Among runs that have the same values of the keys
        `standing_for` it, it still has several. `origin`, the folder where several are compared, comes first. A value
        that differs though nobody typed it follows from these keys and the seed, or is of another edition of the code
        (see cse.lab.report.numbers.unlike).
        """
        typed = dict.fromkeys(["origin", *NAMES, *(argument.key for run in self.runs for argument in run.arguments)])
        typed.pop(self.seed_key, None)
        candidates = filter(self.makes_settings, typed)
        return [key for key in candidates if self.differs(key, within=self.standing_for(key))]

    def differs(self, key: str, within: Sequence[str] = ()) -> bool:
        """Whether a key has several values among runs that have the same values of the keys `within`."""
        values: dict[tuple[str, ...], set[str]] = {}
        for run in self.runs:
            place = tuple(value_in_words(run, other) for other in within)
            values.setdefault(place, set()).add(value_in_words(run, key))
        return any(len(several) > 1 for several in values.values())

    def makes_settings(self, key: str) -> bool:
        """Whether another value at a key makes another setting: what is learned or scored depends on it, or it is an
        axis.

        lr=1e-5 and lr=3e-5 are two settings. workers=2 and workers=4 are one, unless a command has both: workers=2,4.
        """
        return role_of(key).is_science or key in NAMES or key in self.axes_of_no_number

    def standing_for(self, key: str) -> list[str]:
        """The keys whose values already say what a run has at a key.

        A case stands for all that it sets: case=a, which sets lr=1, and case=b, which sets lr=2, differ in their case
        alone. It does not stand for what was typed in addition: case=a lr=1 and case=a lr=2 differ in lr. With cases, a
        checkpoint names the run of each seed, so the case and the seed stand for it.
        """
        if key in self.typed_beside_cases or key in ("origin", "case"):
            return []
        others = [other for other in self.keys_of_cases if other != key]
        return [*others, self.seed_key] if key == "checkpoint" and self.keys_of_cases else others

    @cached_property
    def keys_of_cases(self) -> list[str]:
        """The keys that name the case of a run: case, or case and sweep if several sweeps have cases of one name.

        [] if the runs have no two cases, and if cases are what is repeated like seeds.
        """
        if self.seed_key == "case" or not self.differs("case"):
            return []
        several_sweeps = self.differs("sweep", within=() if "sweep" in self.typed_beside_cases else ("case",))
        return ["case", "sweep"] if several_sweeps else ["case"]

    @cached_property
    def typed_beside_cases(self) -> set[str]:
        """The keys that were typed for runs of a sweep's cases, and that their case does not set."""
        keys: set[str] = set()
        of_case, sweeps = cache(arguments_of_case), choices("sweep")
        for run in self.runs:
            typed = values_of(run.arguments)
            if RUN_ALONE in run.arguments:
                keys |= {*keys_of_person(run.arguments)}
            elif typed.get("sweep") in sweeps:
                keys |= typed.keys() - map(key_of, of_case(typed["sweep"], typed.get("case", "")))
        return keys

    @cached_property
    def axes_of_no_number(self) -> set[str]:
        """The axes on which no number depends, such as workers: typed for all runs of a folder, with several values.

        The name that a tracker gives a run is no axis.
        """
        folders: dict[Path, list[dict[str, str]]] = {}
        for run in self.runs:
            folders.setdefault(run.folder.parent, []).append(values_of(run.arguments))
        axes: set[str] = set()
        for typed in folders.values():
            for_all = set(typed[0]).intersection(*typed)
            axes |= {key for key in for_all if len({values[key] for values in typed}) > 1}
        of_no_number = {key for key in axes if role_of(key).purpose in ("machine", "logging")}
        return {key for key in of_no_number if not key.startswith(("hydra", "tracker.", "note"))}


def value_in_words(run: Run, key: str) -> str:
    """A run's value at a key as text that is the same for equal values: for 1e-05 and 0.00001."""
    return repr(in_one_form(run.get(key)))


def arguments_of_case(sweep: str, case: str) -> list[str]:
    """The arguments that a case of a sweep sets; [] if there is no such sweep or case."""
    if sweep not in choices("sweep"):
        return []
    its_case = load_sweep(sweep).cases.get(case)
    return its_case.set if its_case else []


def fewest_keys(values: pd.DataFrame) -> list[str]:
    """As few keys as possible by which no two rows are the same, and each row has a value.

    Choices of groups, and keys that were typed first, are kept before others. values: a row for each setting, by key.
    """
    kept = list(values)
    for key in sorted(reversed(kept), key=lambda key: (key != "origin", is_group(key))):
        fewer = values[[other for other in kept if other != key]]
        if not fewer.duplicated().any() and (fewer != "").any(axis=1).all():
            kept = list(fewer)
    return kept
