"""What a number of seeds can tell: the smallest difference that they show, and the seeds that a difference needs.

Of a two-sided t test with 80% power of two settings whose seeds vary alike.
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
from cse.eval.score import nature
from cse.record.runs import read_runs
from cse.sweep.jobs import Job

WANTED = (2.0, 1.0, 0.5)  # points


def power(difference: float, sd: float, seeds: int, level: float = 0.05) -> float:
    """How often a two-sided t test of so many seeds a side sees a difference, and its sign (noncentral t)."""
    freedom, shift = 2 * seeds - 2, difference / (sd * math.sqrt(2 / seeds))
    return float(stats.nct.sf(stats.t.ppf(1 - level / 2, freedom), freedom, shift))


def smallest_difference(sd: float, seeds: int, level: float = 0.05) -> float:
    """The difference that so many seeds a side see with 80% power."""
    error = sd * math.sqrt(2 / seeds)
    return error * float(optimize.brentq(lambda size: power(size * error, sd, seeds, level) - 0.8, 1e-3, 30))


def seeds_for(difference: float, sd: float, level: float = 0.05) -> int:
    """The seeds a side that see a difference with 80% power; at least 2."""
    return next(seeds for seeds in count(2) if power(difference, sd, seeds, level) >= 0.8)


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """The deviation within groups of two values or more, each about its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


def in_words(sd: float, seeds: int, wanted: Sequence[float] = (), level: float = 0.05) -> str:
    """What seeds of this deviation show; the seeds that each wanted difference needs, else half of what they show."""
    told = "one a side shows no difference"
    if seeds > 1:
        least = smallest_difference(sd, seeds, level)
        told, wanted = f"{seeds} a side show {least:.2g} with 80% power", wanted or [least / 2]
    needs = ", ".join(f"{difference:.2g} needs {seeds_for(difference, sd, level)}" for difference in wanted)
    return f"a seed's sd is {sd:.2g}: {told}, {needs}"


def of_plan(planned: Sequence[Job], select: str | None, folder: Path) -> str:
    """What the planned jobs' seeds will tell by the score that selects, from the runs that the folder holds; without
    two of one setting, of STS scores by cse-report's seed_sd. "" where no job is trained."""
    seeds = [len(group) for group in settings((job.arguments, 0.0) for job in planned if job.program == "cse-train")]
    if not seeds or select is None:
        return ""
    runs = [run for run in read_runs([folder]) if select in run.metrics] if folder.is_dir() else []
    groups = [of for of in settings((run.overrides, run.metrics[select]) for run in runs) if len(of) > 1]
    if groups and (sd := pooled_sd(groups)):
        return f"{select}: {in_words(sd, min(seeds), WANTED)} ({len(groups)} settings in {folder})"
    if nature(select).kind != "sts":
        return f"{select}: how much its seeds vary is not known before two runs of one setting"
    sd = OmegaConf.load(Path(CONF_DIR) / "reporting.yaml").seed_sd
    return f"STS scores: {in_words(sd, min(seeds), WANTED)} (published: NonLing-CSE's Table 3, SimCSE-BERT)"


def settings(rows: Iterable[tuple[Sequence[str], float]]) -> list[list[float]]:
    """The values of rows (overrides, value) that differ in their seed alone, together."""
    groups: dict[frozenset[str], list[float]] = {}
    for words, value in rows:
        same = frozenset(word for word in words if key_of(word) != "seed" and changes_a_table(key_of(word)))
        groups.setdefault(same, []).append(value)
    return list(groups.values())
