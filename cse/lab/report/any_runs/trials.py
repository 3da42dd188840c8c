"""Trials, the runs that a search made. The mean of a setting that was repeated leaves out its trial.

A search selects its best trial by the score, so this score is optimistic. If the setting of a trial has further seeds,
the setting's mean is only over these seeds.

`first_trials` finds the trial of each setting. `runs_included` returns the runs of a setting that its mean includes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from cse.lab.folder.runs import Run
from cse.lab.settings.arguments import recorded_arguments, value_in, values_of
from cse.lab.settings.groups import choices
from cse.lab.settings.values import in_one_form, same_as_any
from cse.lab.sweep.memory import PastSearch, past_searches
from cse.lab.sweep.sweeps import load_sweep


class Trial(NamedTuple):
    """A search's first finished run of a setting. number: 1 for the search's trial that began first, 2 for the next."""

    run: Run
    search: str
    number: int


def first_trials(by_setting: Sequence[Sequence[Run]], seed_key: str) -> list[Trial | None]:
    """Return the trial of each setting; None if no search tried the setting. by_setting: the runs of each setting."""
    first: dict[int, Run] = {}
    for place, runs in enumerate(by_setting):
        done = [run for run in runs if run.is_done]
        trials = [run for run in done if is_trial(run, seed_key)]
        if trials:
            first[place] = min(trials, key=lambda run: run.first_logged_at)
    numbered: dict[int, Trial] = {}
    trials_of: Counter[str] = Counter()
    for place in sorted(first, key=lambda place: first[place].first_logged_at):
        search = search_of(first[place])
        trials_of[search] += 1
        numbered[place] = Trial(first[place], search, trials_of[search])
    return [numbered.get(place) for place in range(len(by_setting))]


def runs_included(done: Sequence[Run], trial: Trial | None, seed_key: str) -> list[Run]:
    """Return the finished runs of a setting that the analysis includes: the runs with other seeds than the trial.

    If there is no trial, or no run with another seed, the result is all finished runs.
    """
    if trial is None:
        return list(done)
    since = [run for run in done if str(run.get(seed_key)) != str(trial.run.get(seed_key))]
    return since or list(done)


def is_trial(run: Run, seed_key: str) -> bool:
    """Return whether a search made the run. The search is recorded in the folder above the run.

    If the folder has a search but no record of the values that the search asked for, every run there is a trial.
    """
    if not (run.folder.parent / ".smac").is_dir():
        return False
    searches = past_searches(run.folder.parent)
    return not searches or any(is_of_search(run, search, seed_key) for search in searches)


def is_of_search(run: Run, search: PastSearch, seed_key: str) -> bool:
    """Return whether a search asked for a run's values, and the run's command does not contradict `search.fixed`.

    If the search sets no seed, a run whose command sets a seed is not a trial, but a further seed of a trial.
    """
    typed = values_of(run.arguments)
    fixed = values_of(recorded_arguments([f"{key}={value}" for key, value in (search.fixed or {}).items()]))
    has_fixed = all(typed.get(key, value) == value for key, value in fixed.items())
    has_point = any(all(is_near(run.get(key), value) for key, value in point.items()) for point in search.points)
    is_further_seed = bool(fixed) and seed_key in typed and seed_key not in fixed
    return has_fixed and has_point and not is_further_seed


def is_near(value: object, asked: object) -> bool:
    """Return whether a run's value is the value that a search asked for. Numbers are compared to five digits."""
    if isinstance(asked, str):
        return same_as_any(value, value_in(asked))
    ours = in_one_form(value)
    return isinstance(ours, float) and math.isclose(ours, float(str(asked)), rel_tol=1e-5)


def search_of(trial: Run) -> str:
    """Return a text that names a trial's search: the folder, and the trial's values at the keys of `searched_each`."""
    name = values_of(trial.arguments).get("sweep")
    keys = searched_each(name) if name in choices("sweep") else ()
    return repr([str(trial.folder.parent), *map(trial.get, keys)])


@cache  # a folder may have hundreds of trials of one sweep
def searched_each(sweep: str) -> tuple[str, ...]:
    """Return the keys `search_each` of a sweep. Every combination of values of these keys has its own search."""
    return tuple(load_sweep(sweep).search_each)
