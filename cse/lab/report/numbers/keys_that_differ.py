"""In which keys runs differ.

`keys_that_vary` has all such keys. `keys_that_tell_settings_apart` has those that make another setting of a table.
`fewest_keys` has a few of these: no two settings have the same values there.
"""

from collections.abc import Sequence
from functools import cache
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


def keys_that_vary(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys in which the runs differ, except the seed; a group that differs stands for all its values."""
    keys = every_key_that_varies(runs, seed)
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def every_key_that_varies(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys in which the runs differ, except the seed: choices of groups, and the values that they stand for too."""
    keys = dict.fromkeys(key for run in runs for key in (*flattened(run.config), *run.choices))
    return [key for key in keys if key != seed and key_varies(runs, key)]


def keys_that_tell_settings_apart(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys whose values make another setting.

    Such a key was typed for some run, `makes_settings`, and is not the same in all runs that have the same values of
    `keys_standing_for` it. `origin`, the folder where several are compared, comes first. A value that varies though
    nobody typed it follows from these keys and the seed, or is of another edition (see notes.unlike_in_one).
    """
    typed = dict.fromkeys(["origin", *NAMES, *(argument.key for run in runs for argument in run.arguments)])
    axes, beside = axes_of_no_number(runs), typed_beside_cases(runs)
    cases = keys_of_cases(runs, beside) if seed != "case" else []
    candidates = [key for key in typed if key != seed and makes_settings(key, axes)]
    return [key for key in candidates if key_varies(runs, key, within=keys_standing_for(key, cases, beside, seed))]


def makes_settings(key: str, axes: set[str]) -> bool:
    """Whether another value at a key makes another setting: what is learned or scored depends on it, or it is an axis.

    lr=1e-5 and lr=3e-5 are two settings. workers=2 and workers=4 are one, unless a line has both: workers=2,4. axes:
    see `axes_of_no_number`.
    """
    return role_of(key).is_science or key in NAMES or key in axes


def keys_standing_for(key: str, cases: Sequence[str], beside: set[str], seed: str) -> list[str]:
    """The keys whose values say already what a run has at a key.

    A case stands for all that it sets: case=a, which sets lr=1, and case=b, which sets lr=2, differ in their case
    alone. It does not stand for what was typed beside it: case=a lr=1 and case=a lr=2 differ in lr.
    With cases, a checkpoint names the run of each seed, so the case and the seed stand for it.

    cases: see `keys_of_cases`. beside: see `typed_beside_cases`.
    """
    if key in beside or key in ("origin", "case"):
        return []
    others = [other for other in cases if other != key]
    return [*others, seed] if key == "checkpoint" and cases else others


def keys_of_cases(runs: Sequence[Run], beside: set[str]) -> list[str]:
    """The keys that name the case of a run; [] if the runs have no two cases.

    Cases of several sweeps may have one name: then the sweep is one of the keys. beside: the keys that were typed
    beside cases.
    """
    if not key_varies(runs, "case"):
        return []
    several_sweeps = key_varies(runs, "sweep", within=() if "sweep" in beside else ("case",))
    return ["case", "sweep"] if several_sweeps else ["case"]


def key_varies(runs: Sequence[Run], key: str, within: Sequence[str] = ()) -> bool:
    """Whether a key has several values among runs that have the same values of the keys `within`."""
    values: dict[tuple[str, ...], set[str]] = {}
    for run in runs:
        place = tuple(value_in_words(run, other) for other in within)
        values.setdefault(place, set()).add(value_in_words(run, key))
    return any(len(several) > 1 for several in values.values())


def value_in_words(run: Run, key: str) -> str:
    """A run's value in one form, by which it is compared with others."""
    return repr(in_one_form(run.get(key)))


def typed_beside_cases(runs: Sequence[Run]) -> set[str]:
    """The keys that were typed for runs of a sweep's cases, which their case does not set."""
    keys: set[str] = set()
    arguments_of, sweeps = cache(arguments_of_case), choices("sweep")
    for run in runs:
        typed = values_of(run.arguments)
        if RUN_ALONE in run.arguments:
            keys |= {*keys_of_person(run.arguments)}
        elif typed.get("sweep") in sweeps:
            keys |= typed.keys() - map(key_of, arguments_of(typed["sweep"], typed.get("case", "")))
    return keys


def arguments_of_case(sweep: str, case: str) -> list[str]:
    """The arguments that a case of a sweep sets; [] if there is no such sweep or case."""
    if sweep not in choices("sweep"):
        return []
    its_case = load_sweep(sweep).cases.get(case)
    return its_case.set if its_case else []


def axes_of_no_number(runs: Sequence[Run]) -> set[str]:
    """The axes on which no number depends (workers, a tracker): typed for all runs of a folder, with several values.

    The name that a tracker gives a run is no axis.
    """
    folders: dict[Path, list[dict[str, str]]] = {}
    for run in runs:
        folders.setdefault(run.folder.parent, []).append(values_of(run.arguments))
    axes: set[str] = set()
    for lines in folders.values():
        of_all = set(lines[0]).intersection(*lines)
        axes |= {key for key in of_all if len({line[key] for line in lines}) > 1}
    of_no_number = {key for key in axes if role_of(key).purpose in ("machine", "logging")}
    return {key for key in of_no_number if not key.startswith(("hydra", "tracker.", "note"))}


def fewest_keys(values: pd.DataFrame) -> list[str]:
    """As few keys as can be: no two rows have the same values there, and each row has a value.

    Choices of groups, and keys that were typed first, are kept before others. values: a row for each setting, by key.
    """
    kept = list(values)
    for key in sorted(reversed(kept), key=lambda key: (key != "origin", is_group(key))):
        fewer = values[[other for other in kept if other != key]]
        if not fewer.duplicated().any() and (fewer != "").any(axis=1).all():
            kept = list(fewer)
    return kept
