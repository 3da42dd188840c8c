"""Any runs beside each other: how they differ, what each scored, which setting is best, and the state of each."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from operator import itemgetter
from pathlib import Path

import pandas as pd

from cse.columns import Section
from cse.record.runs import Run, described, grouped
from cse.record.scores import ALTERED
from cse.record.status import DONE, STATES, counted
from cse.report.chosen import folder_of
from cse.report.commands import is_trial, more_seeds
from cse.report.frame import differing, format_settings, runs_frame, short_names
from cse.report.groups import listed
from cse.report.markup import NO_BETTER, legend_of
from cse.report.notes import data_problems, mixed, no_better, not_alike, retrieved, seen_in_training
from cse.score import decimals, in_short

FEW = 8  # scores; without `metrics=`, up to so many are all shown, and of more the averages


@dataclass(frozen=True)
class Comparison:
    """folders: those that were searched. keys: {dotted key that differs: its short name}. seed: the key of seeds.

    metrics: every score of any finished run, in the order of the runs' results; chosen: those that tables show.
    best_by: the dev score that ranks the settings; None without one, as a test score selects nothing.
    compared_by: the score of differences, gates and colours: best_by if tables show it; None without scores.
    frame: a row for each run with its state, settings, scores and origin, as in runs.csv.
    part: whether the folders have other runs too, maybe of the same settings.
    """

    folders: list[Path]
    runs: list[Run]
    keys: dict[str, str]
    seed: str
    metrics: list[str]
    chosen: list[str]
    best_by: str | None
    compared_by: str | None
    frame: pd.DataFrame
    part: bool = False

    @cached_property
    def setting(self) -> pd.Series:
        """The number of each run's setting, which runs share that differ only in their seed."""
        values = self.frame[list(self.keys)].map(repr)
        return values.groupby(list(self.keys), sort=False).ngroup() if self.keys else pd.Series(0, self.frame.index)

    @cached_property
    def left_out(self) -> pd.Series:
        """Whether a run does not count beside the others of its setting: a search's trial, which its score may have
        picked, where seeds were trained since."""
        trials = self.frame["folder"].isin([str(run.folder) for run in self.trials])
        since = ~trials & (self.frame["state"] == DONE)
        return trials & since.groupby(self.setting).transform("any")

    @cached_property
    def of_seeds(self) -> pd.DataFrame:
        """A row for each setting and seed: every score's mean over its finished runs, as a copy is no further seed."""
        scores = self.frame[self.metrics].astype(float).where((self.frame["state"] == DONE) & ~self.left_out)
        return scores.groupby([self.setting, self.frame[self.seed].map(str)]).mean()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row for each setting: (metric, mean | std) over its seeds. Sorted by best_by, else by compared_by; of a
        search, the settings with seeds trained since come first."""
        by = self.best_by or self.compared_by
        if by is None:
            return pd.DataFrame(index=self.setting.unique())
        scores = self.of_seeds.groupby(level=0).agg(["mean", "std"])
        scores = scores.sort_values((by, "mean"), ascending=described(self.runs, by).lower_is_better, kind="stable")
        since = self.left_out.groupby(self.setting).any()
        return scores.loc[(~since[scores.index]).sort_values(kind="stable").index]

    @property
    def best(self) -> int | None:
        """The number of the best setting; None if no run has a dev score."""
        if self.best_by is None or self.scores[self.best_by, "mean"].isna().all():
            return None
        return int(self.scores.index[0])

    @cached_property
    def runs_by_setting(self) -> dict[int, list[Run]]:
        """The runs of each setting."""
        found: dict[int, list[Run]] = {}
        for run, number in zip(self.runs, self.setting, strict=True):
            found.setdefault(number, []).append(run)
        return found

    @cached_property
    def trials(self) -> list[Run]:
        """The finished trials of a search, as they began: the first run of each setting, whose other seeds are none."""
        runs = zip(self.runs, self.setting, strict=True)
        done = [(run.begun, setting, run) for run, setting in runs if run.status == "done" and is_trial(run)]
        first: dict[int, Run] = {}
        for _, setting, run in sorted(done, key=itemgetter(0)):
            first.setdefault(setting, run)
        return list(first.values())

    @cached_property
    def counted_runs(self) -> dict[int, list[Run]]:
        """The finished runs that each setting's scores are means of."""
        found: dict[int, list[Run]] = {one: [] for one in self.runs_by_setting}
        for run, number, out in zip(self.runs, self.setting, self.left_out, strict=True):
            found[number] += [run] * (run.status == "done" and not out)
        return found

    def label(self, setting: int) -> str:
        """The setting as text: lr=3e-05, model=bert; all if there are no keys."""
        values = self.values.loc[setting].rename(self.keys)
        return ", ".join(f"{name}={value}" for name, value in values.items() if value != "") or "all"

    def altered_in(self, setting: int) -> set[str]:
        """The scores that a run of the setting has on incomplete or altered data."""
        return {name for run in self.runs_by_setting[setting] for name in run.altered}

    def mark(self, metric: str, setting: int) -> str:
        """The marks of a score on altered data, and of a run that is no better than untrained."""
        no_better = any(run.no_better for run in self.counted_runs[setting])
        return f" {ALTERED}" * (metric in self.altered_in(setting)) + f" {NO_BETTER}" * no_better

    def score_text(self, setting: int, metric: str) -> str:
        """mean ± sd, marked if data was altered; "" without a run."""
        mean, sd = self.scores.loc[setting, metric]
        spread = "" if pd.isna(sd) else f" ± {sd:.{decimals(mean)}f}"
        return "" if pd.isna(mean) else f"{in_short(mean)}{spread}{self.mark(metric, setting)}"

    @cached_property
    def values(self) -> pd.DataFrame:
        """A row for each setting, sorted as `scores`: its value of each key that differs, as text."""
        runs = [self.runs_by_setting[one][0] for one in self.scores.index]
        texts = {key: format_settings(runs, key) for key in self.keys}
        return pd.DataFrame(texts, index=self.scores.index, columns=list(self.keys), dtype=object)

    def table(self) -> pd.DataFrame:
        """A line for each setting, the best one starred, with the chosen scores. All cells are text."""
        table = self.values.rename(columns=self.keys)
        table.insert(0, "", ["*" if setting == self.best else "" for setting in table.index])
        counts = zip(self.means["done"], self.means["runs"], strict=True)
        table["runs"] = [str(runs) if done == runs else f"{done} of {runs}" for done, runs in counts]
        for metric in self.chosen:
            table[metric] = [self.score_text(setting, metric) for setting in table.index]
        return table.assign(folder=self.means["folder"])

    def section(self, label: str) -> Section:
        """The settings as a section. label: LaTeX's."""
        by = f" by {', '.join(self.keys.values())}" if self.keys else ""
        shared = os.path.commonpath([name.rpartition("/")[0] for name in self.chosen]) if self.chosen else ""
        on = f" on {shared}" if shared else ""
        has_seeds = any(self.scores[metric, "std"].notna().any() for metric in self.chosen)
        spread = ": mean ± standard deviation over seeds" if has_seeds else ""
        best = ", the best of each column in bold" if self.best_cells else ""
        best += f"; *: the best by {self.best_by}" if self.best is not None else ""
        return Section(
            f"{self.title}: {self.counted}",
            self.table(),
            self.notes,
            self.legend,
            words=1 + len(self.keys),
            bold=self.best_cells,
            caption=f"Scores{on}{by}{spread}{best}",
            label=label,
            shared=f"{shared}/",
            frame=self.means,
        )

    def unranked(self) -> Section:
        """The settings of runs with smoke=true, which lie beside others."""
        title = f"Smoke runs, of made-up sizes, whose scores mean nothing: {self.counted}"
        return replace(self.section(""), title=title, table=self.table().assign(**{"": ""}))

    def place(self, setting: int) -> str:
        """The folder of the setting's run; of several, what their names begin with, else the first few."""
        names = [self.name(run) for run in self.runs_by_setting[setting]]
        begun = os.path.commonprefix(names)  # noqa: RUF071 (of characters)
        return names[0] if len(names) == 1 else f"{begun}*" if begun else listed(names)

    @cached_property
    def means(self) -> pd.DataFrame:
        """settings.csv: a line for each setting, the best first: its numbers of finished and of all runs, every score's
        mean and deviation over seeds, the chosen ones first, the scores on altered data, and other remarks."""
        done = (self.frame["state"] == DONE)[~self.left_out]
        counts = done.groupby(self.setting).agg(done="sum", runs="size")
        scores = self.scores[list(dict.fromkeys([*self.chosen, *self.metrics]))]
        named = scores.set_axis([f"{name} sd" if of == "std" else name for name, of in scores], axis=1)
        return (
            self.values.rename(columns=self.keys)
            .join([counts, named])
            .assign(
                folder=list(map(self.place, named.index)),
                partial=[" ".join(filter(self.altered_in(one).__contains__, self.metrics)) for one in named.index],
                remarks=["; ".join(self.remarks[one]) for one in named.index],
            )
        )

    @property
    def best_cells(self) -> list[tuple[int, int]]:
        """The row and column in `table` of the best mean of each score that several settings have."""
        cells = []
        for column, metric in enumerate(self.chosen, 2 + len(self.keys)):
            means = self.scores[metric, "mean"]
            if means.count() > 1:
                best = means.idxmin() if described(self.runs, metric).lower_is_better else means.idxmax()
                cells.append((self.scores.index.get_loc(best), column))
        return cells

    @property
    def title(self) -> str:
        """The folders' names."""
        return ", ".join(map(str, self.folders))

    @property
    def counted(self) -> str:
        """The number of runs in each state, in words."""
        return counted(list(self.frame["state"]))

    @property
    def pending(self) -> list[tuple[str, str, str]]:
        """(state, folder, why) of the unfinished runs, in the order of STATES."""
        found = zip(self.frame["state"], map(self.name, self.runs), self.frame["why"], strict=True)
        return sorted((one for one in found if one[0] != DONE), key=lambda one: STATES.index(one[0]))

    @property
    def legend(self) -> list[str]:
        """What the marks beside scores mean, and what chose the best trial of a search."""
        signs = {ALTERED: any(run.altered for run in self.runs), NO_BETTER: any(run.no_better for run in self.runs)}
        chosen = f"The best of {len(self.trials)} trials was picked by its {self.best_by}"
        luck = f"{chosen}, which is therefore partly luck; where seeds were trained since, the mean is of those alone."
        return legend_of(signs) + ([luck] if self.trials and self.best is not None else [])

    @cached_property
    def remarks(self) -> dict[int, list[str]]:
        """What a reader must know of the runs of each setting."""
        found = {}
        for one, runs in self.counted_runs.items():
            seeds = grouped(runs, self.seed)
            copies = [f"{len(runs)} runs of {len(seeds)} seeds, each of which counts once"]
            copies *= "None" not in seeds and len(runs) > len(seeds)
            found[one] = copies + mixed(runs, self.seed, settings=True) + no_better(runs) + seen_in_training(runs)
        return found

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know beside the numbers."""
        done = self.counted_runs
        found = data_problems(self.runs) + retrieved({self.label(one): runs[-1] for one, runs in done.items() if runs})
        found += [f"{self.label(one)}: {remark}" for one, remarks in self.remarks.items() for remark in remarks]
        found += not_alike("settings", [run for runs in done.values() for run in runs], found)
        if self.compared_by and not self.best_by:
            found.append("No setting is marked as the best: there is no dev score, and a test score selects nothing.")
        return found

    def name(self, run: Run) -> str:
        """A run's folder, relative to the folder that was searched."""
        above = folder_of(run, self.folders)
        return str(run.folder if above == run.folder else run.folder.relative_to(above))

    def more_seeds(self, setting: int) -> str:
        """The command that trains the setting with three more seeds; "" for a part of the runs, which may lack some."""
        seeds = [seed for seed in self.frame[self.seed] if isinstance(seed, int)]
        return "" if self.part else more_seeds(self.runs_by_setting[setting], self.seed, seeds, self.folders)


def compare_runs(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """Compare runs. patterns: the scores that tables show (test/sts/*); []: all if they are few, else the averages."""
    begun = [run for run in runs if "config" in run.results] or list(runs)  # the others have not said anything yet
    done = [run for run in runs if run.status == "done"]
    # a score without a split is not ours, and may have the name of a column of runs.csv
    metrics = list(dict.fromkeys(name for run in done for name in run.metrics if "/" in name))
    chosen = list(dict.fromkeys(name for pattern in patterns for name in metrics if fnmatch(name, pattern)))
    dev, chosen_dev = ([name for name in of if name.startswith("dev/")] for of in (metrics, chosen))
    ranking, shown = chosen_dev or dev, chosen or metrics
    selects = dict.fromkeys(str(run.get("trainer.select")) for run in done)
    best_by = next((name for name in [*selects, *averages(ranking), *ranking] if name in ranking), None)
    compared_by = best_by if best_by in shown else next(iter([*averages(shown), *shown]), None)
    few = metrics if len(metrics) <= FEW else averages(metrics)
    keys = short_names(differing(begun, seed))
    return Comparison(
        folders=list(folders),
        runs=list(runs),
        keys=keys,
        seed=seed,
        metrics=metrics,
        chosen=chosen if patterns else list(dict.fromkeys([*filter(None, [compared_by]), *few])),
        best_by=best_by,
        compared_by=compared_by,
        frame=runs_frame(runs, list(dict.fromkeys([*keys, seed])), metrics),
    )


def averages(metrics: Sequence[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]
