"""The keys in which runs differ.

    keys_that_differ   all keys with several values
    keys_by_group      the same keys, except the keys below a group that differs
    keys_of_settings   the keys whose values name the setting of a run

`cse-train -m objective=simcse,barlow seed=1,2` makes four runs. The YAML of each objective sets its loss
(objective._target_) and a learning rate (trainer.lr).

    keys_that_differ   objective._target_, trainer.lr, objective
    keys_by_group      trainer.lr, objective: the group replaces all keys below it
    keys_of_settings   objective: the command does not give trainer.lr, which follows from the objective

`cse-train -m sweep=S case=small,large trainer.lr=1,2` makes four runs, too. case=small sets data.limit=1, and
case=large sets data.limit=2.

    keys_that_differ   case, data.limit, trainer.lr
    keys_of_settings   case, trainer.lr: the case sets data.limit

The first half of this file finds keys with several values. The second half finds the keys that name settings.
`fewest_keys` chooses a few keys in which any two settings still differ. In all functions, seed_key is the key of the
runs' seeds.
"""

from collections.abc import Collection, Sequence
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


# Which keys have several values


def keys_that_differ(runs: Sequence[Run], seed_key: str) -> list[str]:
    """Return all keys with several values, except the key of the seeds.

    The result includes groups, and the keys whose values a choice of a group sets.
    """
    shared = groups_shared(runs)
    recorded: dict[str, None] = {}
    for run in runs:
        own = {name: group for name, group in run.config.items() if name not in shared}
        recorded |= dict.fromkeys([*flattened(own), *run.choices])
    recorded.pop(seed_key, None)
    keys = [key for key in recorded if not key.startswith("choices.")]  # run.choices has these
    return [key for key in keys if has_several_values(runs, key)]


def groups_shared(runs: Sequence[Run]) -> set[str]:
    """Return the groups that are one Python object in all runs (`sharing_settings`). No key in such a group differs."""
    first = runs[0].config if runs else {}
    return {name for name, group in first.items() if all(run.config.get(name) is group for run in runs)}


def has_several_values(runs: Sequence[Run], key: str, within: Sequence[str] = ()) -> bool:
    """Return whether two runs have different values at `key`, and equal values at each key in `within`."""
    values: dict[tuple[str, ...], str] = {}
    for run in runs:
        place, value = tuple(value_in_words(run, other) for other in within), value_in_words(run, key)
        if values.setdefault(place, value) != value:
            return True
    return False


def value_in_words(run: Run, key: str) -> str:
    """Return a run's value at a key, as text. Equal values, such as 1e-05 and 0.00001, have the same text."""
    return repr(in_one_form(run.get(key)))


def keys_by_group(runs: Sequence[Run], seed_key: str) -> list[str]:
    """Return the keys with several values. If a group differs, the result has the group without the keys below it."""
    keys = keys_that_differ(runs, seed_key)
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


# Which keys name settings


def keys_of_settings(runs: Sequence[Run], seed_key: str, jobs: Sequence[Run] = ()) -> list[str]:
    """Return the keys whose values name the setting of a run: the columns of a table of settings.

    A run's command gave such a key. The key has several values, and training or scores depend on the key. A key that no
    command gave is left out: its values follow from the given keys and the seed, or from other versions of the code
    (see cse.lab.report.numbers.unlike). If `runs=` names several folders, the key `origin` (`with_origin`) is first.

    A case replaces the keys that it sets: if case=a sets lr=1 and case=b sets lr=2, the runs of both differ only in the
    key `case`. A case does not replace the keys of added arguments: case=a lr=1 and case=a lr=2 differ in lr.

    jobs: planned jobs without a run. The values of an axis (`axes_of`) include its values in these jobs.
    """
    begun = {run.folder.parent for run in runs}
    planned = [*runs, *(job for job in jobs if job.arguments and job.folder.parent in begun)]
    axes = axes_of(planned)
    given = dict.fromkeys(["origin", *NAMES, *(argument.key for run in runs for argument in run.arguments)])
    given.pop(seed_key, None)
    no_science = {key for key in given if not role_of(key).is_science}
    left_out = no_science - {*NAMES, *axes}
    added = keys_added_to_cases(runs)
    of_cases = keys_of_cases(planned, seed_key, added)
    keys = []
    for key in (key for key in given if key not in left_out):
        decided_by = [] if key in added else keys_that_decide(key, of_cases, seed_key)
        if has_several_values(planned if key in axes else runs, key, within=decided_by):
            keys.append(key)
    return keys


def axes_of(runs: Sequence[Run]) -> set[str]:
    """Return the axes of the runs' commands, including axes that change no score, such as workers.

    An axis is a key that all runs of a folder set, to several values. So workers=2 and workers=4 are two settings only
    if one command has both values: workers=2,4. A run's name in a tracker is not an axis.
    """
    folders: dict[Path, list[dict[str, str]]] = {}
    for run in runs:
        folders.setdefault(run.folder.parent, []).append(values_of(run.arguments))
    axes: set[str] = set()
    for given in folders.values():
        for_all = set(given[0]).intersection(*given)
        axes |= {key for key in for_all if len({values[key] for values in given}) > 1}
    named = {key for key in axes if key in NAMES or role_of(key).purpose != "bookkeeping"}
    return {key for key in named if not key.startswith(("hydra", "tracker.", "note"))}


def keys_added_to_cases(runs: Sequence[Run]) -> set[str]:
    """Return the keys that the command of a run in a sweep gives in addition to the keys that the run's case sets."""
    keys: set[str] = set()
    of_case, sweeps = cache(arguments_of_case), choices("sweep")
    for run in runs:
        given = values_of(run.arguments)
        if RUN_ALONE in run.arguments:
            keys |= {*keys_of_person(run.arguments)}
        elif given.get("sweep") in sweeps:
            keys |= given.keys() - map(key_of, of_case(given["sweep"], given.get("case", "")))
    return keys


def arguments_of_case(sweep: str, case: str) -> list[str]:
    """Return the arguments that a case of a sweep sets; [] if there is no such sweep or case."""
    if sweep not in choices("sweep"):
        return []
    its_case = load_sweep(sweep).cases.get(case)
    return its_case.set if its_case else []


def keys_of_cases(runs: Sequence[Run], seed_key: str, added: Collection[str]) -> list[str]:
    """Return the keys that name a run's case: `case`, and also `sweep` if two sweeps have a case of the same name.

    Return [] if all runs have the same case, or if `case` is the key of the seeds. added: see `keys_added_to_cases`.
    """
    if seed_key == "case" or not has_several_values(runs, "case"):
        return []
    several_sweeps = has_several_values(runs, "sweep", within=[] if "sweep" in added else ["case"])
    return ["case", "sweep"] if several_sweeps else ["case"]


def keys_that_decide(key: str, of_cases: Sequence[str], seed_key: str) -> list[str]:
    """Return the keys whose values decide a run's value at `key`. `key` is not one of `keys_added_to_cases`.

    Usually the case alone decides. Each seed has its own checkpoint, so the case and the seed together decide the value
    of `checkpoint`. of_cases: see `keys_of_cases`.
    """
    if key in ("origin", "case") or not of_cases:
        return []
    others = [other for other in of_cases if other != key]
    return [*others, seed_key] if key == "checkpoint" else others


def fewest_keys(values: pd.DataFrame) -> list[str]:
    """Return a minimal set of the keys with which no two rows are equal and each row has a value.

    The function prefers groups, then the first keys of the command line, and last `origin`. values: a row for each
    setting, and a column for each key.
    """
    kept = list(values)
    for key in sorted(reversed(kept), key=lambda key: (key != "origin", is_group(key))):
        fewer = values[[other for other in kept if other != key]]
        if not fewer.duplicated().any() and (fewer != "").any(axis=1).all():
            kept = list(fewer)
    return kept
