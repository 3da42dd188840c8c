"""What a number of seeds can show: the smallest difference that they detect, and the seeds that a difference needs.

For a two-sided t test with 80% power between two settings whose scores have the same deviation over seeds.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

import numpy as np
from omegaconf import OmegaConf
from scipy import optimize, stats

from cse.config.groups import CONF_DIR
from cse.config.keys import changes_a_table, key_of
from cse.record.runs import read_runs
from cse.sweep.jobs import Job

WANTED = (2.0, 1.0, 0.5)  # points


def power(difference: float, sd: float, seeds: int, level: float = 0.05) -> float:
    """How often a two-sided t test with `seeds` on each side detects a difference and its sign (noncentral t)."""
    freedom, shift = 2 * seeds - 2, difference / (sd * math.sqrt(2 / seeds))
    return float(stats.nct.sf(stats.t.ppf(1 - level / 2, freedom), freedom, shift))


def smallest_difference(sd: float, seeds: int, level: float = 0.05) -> float:
    """The smallest difference that `seeds` on each side detect with 80% power."""
    error = sd * math.sqrt(2 / seeds)
    return error * float(optimize.brentq(lambda size: power(size * error, sd, seeds, level) - 0.8, 1e-3, 30))


def seeds_for(difference: float, sd: float, level: float = 0.05) -> int:
    """The seeds on each side that detect a difference with 80% power; at least 2."""
    return next(seeds for seeds in count(2) if power(difference, sd, seeds, level) >= 0.8)


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """The standard deviation within groups of two or more values, each around its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


def in_words(sd: float, seeds: int, wanted: Sequence[float] = (), level: float = 0.05) -> str:
    """What `seeds` of this deviation show, and how many seeds each wanted difference needs.

    Without wanted differences: how many half of the smallest detectable difference needs.
    """
    shown = "one a side shows no difference"
    if seeds > 1:
        least = smallest_difference(sd, seeds, level)
        shown, wanted = f"{seeds} a side show {least:.2g} with 80% power", wanted or [least / 2]
    needs = ", ".join(f"{difference:.2g} needs {seeds_for(difference, sd, level)}" for difference in wanted)
    return f"a seed's sd is {sd:.2g}: {shown}, {needs}"


def describe_plan(planned: Sequence[Job], select: str | None, folder: Path) -> str:
    """What the planned jobs' seeds can show in the score `select`, or "" if no job trains.

    The deviation over seeds is that of finished runs in `folder`; if no two of them share a setting, for STS scores
    cse-report's seed_sd.
    """
    seeds = [len(group) for group in by_setting((job.arguments, 0.0) for job in planned if job.program == "cse-train")]
    if not seeds or select is None:
        return ""
    runs = [run for run in read_runs([folder]) if select in run.metrics] if folder.is_dir() else []
    groups = [of for of in by_setting((run.overrides, run.metrics[select]) for run in runs) if len(of) > 1]
    if groups and (sd := pooled_sd(groups)):
        return f"{select}: {in_words(sd, min(seeds), WANTED)} ({len(groups)} settings in {folder})"
    if "sts" not in select:
        return f"{select}: its deviation over seeds is unknown until two runs share a setting"
    sd = OmegaConf.load(Path(CONF_DIR) / "reporting.yaml").seed_sd
    return f"STS scores: {in_words(sd, min(seeds), WANTED)} (published: NonLing-CSE's Table 3, SimCSE-BERT)"


def by_setting(rows: Iterable[tuple[Sequence[str], float]]) -> list[list[float]]:
    """The values of rows (overrides, value), grouped by overrides that differ only in their seed."""
    groups: dict[frozenset[str], list[float]] = {}
    for words, value in rows:
        same = frozenset(word for word in words if key_of(word) != "seed" and changes_a_table(key_of(word)))
        groups.setdefault(same, []).append(value)
    return list(groups.values())
