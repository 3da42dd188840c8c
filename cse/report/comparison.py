"""Any runs beside each other: what tells them apart, what each scored, which setting is best, what became of each."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from cse.config.keys import makes_again
from cse.eval.score import nature
from cse.files import csv_text
from cse.record.runs import Run
from cse.record.status import DONE, STATES, Status, status_of
from cse.report.layout import Grid, number
from cse.report.notes import mixed, retrieved
from cse.report.settings import differing, short_names, shown
from cse.report.statistics import summary

FEW = 8  # scores that are all shown where nobody says which


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone. values: of the comparison's keys, in order."""

    values: tuple[object, ...]
    runs: list[Run]

    def scores(self, metric: str) -> list[float]:
        """The metric of every run that is done and has it."""
        return [run.metrics[metric] for run in self.runs if run.status == "done" and metric in run.metrics]

    def mean_and_sd(self, metric: str) -> str:
        """mean ± sd; "" without a run."""
        scores = self.scores(metric)
        if not scores:
            return ""
        whole = summary(scores)
        return number(whole.mean, 2) + ("" if whole.sd is None else f" ± {number(whole.sd, 2)}")


@dataclass(frozen=True)
class Comparison:
    """folders: where the runs were looked for. keys: {dotted key that differs: its short name}. seed: the key of seeds.

    metrics: every score of any run that is done, in the order of the runs' results; chosen: those that a table shows.
    best_by: the score that ranks the settings; None without scores.
    """

    folders: list[Path]
    runs: list[Run]
    lives: list[Status]
    keys: dict[str, str]
    seed: str
    metrics: list[str]
    chosen: list[str]
    best_by: str | None

    @cached_property
    def settings(self) -> list[Setting]:
        """The runs by their settings, in the order in which these come up."""
        groups: dict[str, Setting] = {}
        for run in self.runs:
            values = tuple(run.get(key) for key in self.keys)
            groups.setdefault(repr(values), Setting(values, [])).runs.append(run)
        return list(groups.values())

    @cached_property
    def ranked(self) -> list[Setting]:
        """The settings that have the score that ranks them, the best first."""
        by = self.best_by or ""
        scored = [(summary(one.scores(by)).mean, one) for one in self.settings if one.scores(by)]
        return [one for _, one in sorted(scored, key=lambda pair: pair[0], reverse=not nature(by).lower_is_better)]

    @property
    def title(self) -> str:
        """The folders' names."""
        return ", ".join(map(str, self.folders))

    @property
    def counted(self) -> str:
        """How many runs are in each state."""
        states = [life.state for life in self.lives]
        parts = [f"{states.count(state)} {state}" for state in reversed(STATES) if state in states]
        return f"{len(self.runs)} run{'s' if len(self.runs) > 1 else ''}: {', '.join(parts)}"

    @property
    def pending(self) -> list[tuple[Run, Status]]:
        """The runs that are not done, in the order in which a person wants to hear of them."""
        pairs = zip(self.runs, self.lives, strict=True)
        return sorted((p for p in pairs if p[1].state != DONE), key=lambda pair: STATES.index(pair[1].state))

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know beside the numbers."""
        done = {self.label(one): [run for run in one.runs if run.status == "done"] for one in self.settings}
        found = retrieved({label: runs[-1] for label, runs in done.items() if runs})
        return found + [
            line
            for label, runs in done.items()
            if len(runs) > 1
            for line in mixed(label, runs, self.seed, settings=True)
        ]

    def label(self, setting: Setting) -> str:
        """`lr=3e-05, model=bert`; `all` where nothing differs."""
        names = zip(self.keys.values(), setting.values, strict=True)
        return ", ".join(f"{name}={shown(value)}" for name, value in names) or "all"

    def name(self, run: Run) -> str:
        """A run's folder below those that were looked in."""
        above = next((one for one in self.folders if run.folder != one and run.folder.is_relative_to(one)), None)
        return str(run.folder.relative_to(above) if above else run.folder)

    def grid(self) -> Grid:
        """A line for each setting, ranked, with the chosen scores; a star marks the best."""
        rest = [one for one in self.settings if not any(one is other for other in self.ranked)]
        lines = []
        for place, one in enumerate([*self.ranked, *rest]):
            star = "*" if place == 0 and self.ranked else ""
            lines.append([star, *map(shown, one.values), runs_of(one), *map(one.mean_and_sd, self.chosen)])
        return Grid(["", *self.keys.values(), "runs", *self.chosen], lines, set(range(len(lines))))

    def more_seeds(self, setting: Setting) -> str:
        """The command that trains the setting with three further seeds, beside its runs; "" where seeds say nothing."""
        run = setting.runs[-1]
        if program_of(run) != "cse-train":
            return ""
        seeds = [run.get(self.seed) for one in self.settings for run in one.runs]
        numbers = [seed for seed in seeds if isinstance(seed, int)]
        first = max(numbers, default=0) + 1
        words = [word for word in words_of(run) if not word.startswith(f"{self.seed}=")]
        seeds_given = f"{self.seed}={','.join(str(first + more) for more in range(3))}"
        place = str(run.folder.parent if run.folder == self.folders[0] else self.folders[0])
        where = "hydra.sweep.dir=" + (place if re.fullmatch(r"[\w./+-]+", place) else f"'{place}'")
        return shlex.join(["cse-train", "-m", *words, seeds_given, where])

    def to_csv(self) -> str:
        """A line for each run: what became of it, its settings, and every score, unrounded."""
        keys = [*self.keys, *([self.seed] if self.seed not in self.keys else [])]
        facts = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit")
        rows = [
            [
                *(run.folder, life.state, life.detail),
                *map(run.get, keys),
                *map(run.metrics.get, self.metrics),
                *map(run.results.get, facts),
                command_of(run),
            ]
            for run, life in zip(self.runs, self.lives, strict=True)
        ]
        return csv_text(["folder", "state", "why", *keys, *self.metrics, *facts, "command"], rows)


def compared(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """The comparison of runs. patterns: the scores that its tables show (test/sts/*); []: the averages, or a few."""
    told = [run for run in runs if "config" in run.results] or list(runs)  # others are what they were before they began
    done = [run for run in runs if run.status == "done"]
    metrics = list(dict.fromkeys(name for run in done for name in run.metrics))
    selects = dict.fromkeys(str(run.get("trainer.select")) for run in done)
    best_by = next((name for name in [*selects, *headline(metrics), *metrics] if name in metrics), None)
    chosen = [name for name in metrics if any(fnmatch(name, pattern) for pattern in patterns)]
    if patterns and best_by not in chosen:
        best_by = next(iter(headline(chosen)), next(iter(chosen), best_by))
    few = metrics if len(metrics) <= FEW else headline(metrics)
    default = list(dict.fromkeys([*([best_by] if best_by else []), *few]))
    return Comparison(
        folders=list(folders),
        runs=list(runs),
        lives=[status_of(run) for run in runs],
        keys=short_names(differing(told, seed)),
        seed=seed,
        metrics=metrics,
        chosen=chosen if patterns else default,
        best_by=best_by,
    )


def headline(metrics: Iterable[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]


def program_of(run: Run) -> str:
    """cse-train or cse-eval, whichever made the run."""
    return "cse-train" if "trainer" in run.config else "cse-eval"


def words_of(run: Run) -> list[str]:
    """The words of a run's command line that say what it is, wherever it is run."""
    return list(filter(makes_again, run.overrides))


def command_of(run: Run) -> str:
    """What makes the run again, elsewhere, as a shell takes it."""
    return shlex.join([program_of(run), *words_of(run)])


def runs_of(setting: Setting) -> str:
    """How many runs are done, of how many."""
    done = sum(run.status == "done" for run in setting.runs)
    return str(done) if done == len(setting.runs) else f"{done} of {len(setting.runs)}"
