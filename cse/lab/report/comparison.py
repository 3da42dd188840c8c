"""Any runs beside each other: how they differ, what each scored, which setting is best, and the state of each."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run, described, plain
from cse.lab.folder.score_tables import ALTERED
from cse.lab.folder.status import DONE, STATES, counted, status_of
from cse.lab.report.counted import OF_RUNS, in_settings, name_of
from cse.lab.report.frame import OWN, differing, format_settings, in_label, runs_frame, short_names, telling_apart
from cse.lab.report.group import listed, partly_scored
from cse.lab.report.markup import NO_BETTER, PLUS_MINUS, format_of, legend_of
from cse.lab.report.notes import data_problems, evaluated, not_alike, remarks, retrieved, selected_otherwise
from cse.lab.report.ranking import ranked, scores_of
from cse.lab.report.repeat import more_seeds
from cse.lab.sections import Section

MANY_KEYS = 6  # columns of keys; of more, tables of text have those that tell the settings apart


@dataclass(frozen=True)
class Comparison:
    """folders: those that were searched. keys: {dotted key that differs: its short name}. seed: the key of seeds.

    metrics: every score of any finished run, in the order of the runs' results; chosen: those that tables show.
    best_by: the dev score that ranks the settings; None without one, as a test score selects nothing.
    compared_by: the score that leads, and of differences and gates: of those that tables show a test score of all runs,
    else best_by, else any, averages first; None without scores.
    frame: a row for each run with its state, settings, scores and origin, as in runs.csv, and OF_RUNS.
    part: whether the folders have other runs too, maybe of the same settings. jobs: planned, without a run.
    """

    folders: list[Path]
    keys: dict[str, str]
    seed: str
    metrics: list[str]
    chosen: list[str]
    best_by: str | None
    compared_by: str | None
    frame: pd.DataFrame
    part: bool = False
    jobs: Sequence[Run] = ()

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of runs.csv."""
        return self.frame.drop(columns=list(OF_RUNS))

    @cached_property
    def of_seeds(self) -> pd.DataFrame:
        """A row for each setting and seed: every score's mean over its counted runs, as a copy is no further seed."""
        scores = self.frame[self.metrics].astype(float).where(self.frame["counted"])
        return scores.groupby([self.frame["setting"], self.frame[self.seed].map(str)]).mean()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row for each setting: (metric, mean | std) over its seeds. Sorted by best_by, else by compared_by, then by
        what the settings are, so that names of folders decide nothing. A search's setting that has only its trial comes
        after the best of those of the search whose seeds were trained since."""
        by = self.best_by or self.compared_by
        if by is None:
            return pd.DataFrame(index=self.settings.index)
        scores = self.of_seeds.groupby(level=0).agg(["mean", "std"])
        named = [repr([plain(of[0].get(key)) for key in self.keys]) for of in self.settings["runs"]]
        sign = 1 if described(self.frame["run"], by).lower_is_better else -1
        return scores.loc[ranked(sign * scores[by, "mean"], self.frame, named)]

    @property
    def best(self) -> int | None:
        """The number of the best setting; None if no run has a dev score."""
        if self.best_by is None or self.scores[self.best_by, "mean"].isna().all():
            return None
        return int(self.scores.index[0])

    @cached_property
    def settings(self) -> pd.DataFrame:
        """A row for each setting, by its number: its runs, and those of them that are counted; where they lie; which
        scores a run has on altered data; whether a counted one is no better than untrained; what else to know."""
        rows = []
        for _, of in self.frame.groupby("setting"):
            runs, counted = list(of["run"]), list(of["run"][of["counted"]])
            rows.append(
                {
                    "runs": runs,
                    "counted": counted,
                    "folder": place(list(of["name"])),
                    "altered": {name for run in runs for name in run.altered},
                    "no_better": any(run.no_better for run in counted),
                    "remarks": remarks(counted, self.seed) + partly_scored(counted, self.metrics, self.seed),
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def of_encoders(self) -> bool:
        """Whether all is of cse-eval, and each setting a single checkpoint: these are compared, not seeds."""
        checkpoints = self.frame["run"].map(lambda run: run.get("checkpoint"))
        only_scored = (checkpoints.notna() | self.frame[self.seed].isna()).all()
        return bool(only_scored) and checkpoints.groupby(self.frame["setting"]).nunique().max() <= 1

    @cached_property
    def values(self) -> pd.DataFrame:
        """A row for each setting, sorted as `scores`: its value of each key that differs, as text."""
        runs = [of[0] for of in self.settings["runs"][self.scores.index]]
        texts = {key: format_settings(runs, key) for key in self.keys}
        return pd.DataFrame(texts, index=self.scores.index, columns=list(self.keys), dtype=object)

    @cached_property
    def label_keys(self) -> list[str]:
        """Few keys that tell the settings apart."""
        return telling_apart(self.values)

    @cached_property
    def shown_keys(self) -> dict[str, str]:
        """The keys that tables of text show, with their short names: all; of many, those that tell the settings apart,
        and of those that every setting has the first."""
        if len(self.keys) <= MANY_KEYS:
            return self.keys
        of_all = [key for key in self.keys if key not in self.label_keys and (self.values[key] != "").all()]
        chosen = {*self.label_keys, *of_all[: max(0, MANY_KEYS - len(self.label_keys))]}
        return {key: name for key, name in self.keys.items() if key in chosen}

    def label(self, setting: int) -> str:
        """The setting in few keys, as `baseline=` reads it: lr=3e-05, model=bert; all if there are no keys."""
        run, values = self.settings.at[setting, "runs"][0], self.values.loc[setting, self.label_keys]
        texts = {key: in_label(run.get(key), value) for key, value in values.items() if value != ""}
        return ", ".join(f"{self.keys[key]}={text}" for key, text in texts.items()) or "all"

    def mark(self, metric: str, setting: int) -> str:
        """The marks of a score on altered data, and of a run that is no better than untrained."""
        of = self.settings.loc[setting]
        return (f" {ALTERED}" if metric in of["altered"] else "") + (f" {NO_BETTER}" if of["no_better"] else "")

    @cached_property
    def formats(self) -> dict[str, str]:
        """The format of each score and its deviation in every table, as a column has one."""
        return {metric: format_of(self.scores[metric, "mean"]) for metric in self.metrics}

    def score_text(self, setting: int, metric: str) -> str:
        """mean ± sd, marked if data was altered; "" without a run."""
        mean, sd = self.scores.loc[setting, metric]
        spread = "" if pd.isna(sd) else f" {PLUS_MINUS} {sd:{self.formats[metric]}}"
        return "" if pd.isna(mean) else f"{mean:{self.formats[metric]}}{spread}{self.mark(metric, setting)}"

    def best_text(self, setting: int) -> str:
        """The score that leads, with its name if another one selected."""
        score = str(self.compared_by)
        return f"{score} " * (score != self.best_by) + self.score_text(setting, score)

    def table(self) -> pd.DataFrame:
        """A line for each setting, the best one starred, with the chosen scores. All cells are text."""
        table = self.values[list(self.shown_keys)].rename(columns=self.shown_keys)
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
            words=1 + len(self.shown_keys),
            bold=self.best_cells,
            caption=f"Scores{on}{by}{spread}{best}{self.smoke}",
            label=label,
            shared=f"{shared}/",
            frame=self.means,
        )

    def unranked(self) -> Section:
        """The settings of runs with smoke=true, which lie beside others."""
        return replace(self.section(""), table=self.table().assign(**{"": ""}))

    @cached_property
    def means(self) -> pd.DataFrame:
        """settings.csv: a line for each setting, the best first: its numbers of finished and of all runs, every score's
        mean and deviation over seeds, the chosen ones first, the scores on altered data, and other remarks."""
        counts = self.frame[~self.frame["left_out"]].groupby("setting")["counted"].agg(done="sum", runs="size")
        scores = self.scores[list(dict.fromkeys([*self.chosen, *self.metrics]))]
        named = scores.set_axis([f"{name} sd" if of == "std" else name for name, of in scores], axis=1)
        settings = self.settings.loc[named.index]
        return (
            self.values.rename(columns=self.keys)
            .join([counts, named])
            .assign(
                folder=settings["folder"],
                partial=[" ".join(filter(altered.__contains__, self.metrics)) for altered in settings["altered"]],
                remarks=settings["remarks"].map("; ".join),
            )
        )

    @property
    def best_cells(self) -> list[tuple[int, int]]:
        """The row and column in `table` of the best mean of each score that several settings have."""
        cells = []
        for column, metric in enumerate(self.chosen, 2 + len(self.shown_keys)):
            means = self.scores[metric, "mean"]
            if means.count() > 1:
                best = means.idxmin() if described(self.frame["run"], metric).lower_is_better else means.idxmax()
                cells.append((self.scores.index.get_loc(best), column))
        return cells

    @property
    def smoke(self) -> str:
        """What to say of runs with smoke=true, if there are no others; else ""."""
        small = all(run.is_smoke for run in self.frame["run"])
        return " (smoke runs, of made-up sizes, whose scores mean nothing)" * small

    @property
    def title(self) -> str:
        """The folders' names."""
        return ", ".join(map(str, self.folders)) + self.smoke

    @property
    def counted(self) -> str:
        """The number of runs, and of planned jobs without one, in each state, in words."""
        return counted([*self.frame["state"], *(status_of(job).state for job in self.jobs)])

    @property
    def pending(self) -> list[tuple[str, str, str]]:
        """(state, folder, why) of the unfinished runs and the planned jobs without one, in the order of STATES."""
        found = self.frame.loc[self.frame["state"] != DONE, ["state", "name", "why"]]
        jobs = [(of.state, name_of(job, self.folders), of.detail) for job in self.jobs for of in [status_of(job)]]
        return sorted([*found.itertuples(index=False, name=None), *jobs], key=lambda one: STATES.index(one[0]))

    @property
    def legend(self) -> list[str]:
        """What the marks beside scores mean, and what chose the best trial of a search."""
        no_better = any(run.no_better for run in self.frame["run"])
        trials = (self.frame["trial"] > 0).sum()
        chosen = f"The best of {trials} trials was picked by its {self.best_by}"
        luck = f"{chosen}, which is therefore partly luck; where seeds were trained since, the mean is of those alone."
        return legend_of({ALTERED: self.settings["altered"].any(), NO_BETTER: no_better}) + (
            [luck] if trials and self.best is not None else []
        )

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know beside the numbers."""
        labels, counted = [self.label(one) for one in self.settings.index], self.settings["counted"]
        told = zip(labels, self.settings["remarks"], strict=True)
        found = data_problems(list(self.frame["run"]))
        found += evaluated(list(self.frame["run"]))
        found += retrieved({label: runs[-1] for label, runs in zip(labels, counted, strict=True) if runs})
        found += [f"{label}: {remark}" for label, remarks in told for remark in remarks]
        found += not_alike("settings", [run for runs in counted for run in runs], found)
        if left := [name for key, name in self.keys.items() if key not in self.shown_keys]:
            found.append(f"They also differ in {', '.join(left)}: settings.csv and report.html have these values.")
        found += selected_otherwise([run for runs in counted for run in runs], self.best_by)
        if self.compared_by and not self.best_by:
            found.append("No setting is marked as the best: there is no dev score, and a test score selects nothing.")
        return found

    def more_seeds(self, setting: int) -> str:
        """The command that trains the setting with three more seeds; "" for a part of the runs, which may lack some."""
        seeds = [seed for seed in self.frame[self.seed] if isinstance(seed, int)]
        runs = self.settings.at[setting, "runs"]
        return "" if self.part else more_seeds(runs, self.seed, seeds, self.folders, self.keys)


def compare_runs(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """Compare runs. patterns: the scores that tables show (test/sts/*); []: all if they are few, else the averages."""
    begun = [run for run in runs if "config" in run.results] or list(runs)  # the others have not said anything yet
    done = [run for run in runs if run.status == "done"]
    scores = scores_of(done, patterns)
    keys = short_names(differing(begun, seed), taken=OWN)
    columns = list(dict.fromkeys([*scores.chosen, *scores.all]))
    frame = runs_frame(runs, list(dict.fromkeys([*keys, seed])), columns)
    return Comparison(
        folders=list(folders),
        keys=keys,
        seed=seed,
        metrics=scores.all,
        chosen=scores.chosen,
        best_by=scores.best_by,
        compared_by=scores.compared_by,
        frame=in_settings(frame, runs, folders, list(keys), seed),
    )


def place(names: Sequence[str]) -> str:
    """The folder of a setting's run; of several, what their names begin with, else the first few."""
    begun = os.path.commonprefix(names)  # noqa: RUF071 (of characters)
    return names[0] if len(names) == 1 else f"{begun}*" if begun else listed(names)
