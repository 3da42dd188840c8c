"""The settings of a comparison as a section: a line for each, the best first, with the scores that are shown.

To read: `settings_section`. `settings_frame` is settings.csv; `settings_table` is the same as text.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.folder.status import counted
from cse.lab.report.any_runs.charts import colours_of
from cse.lab.report.any_runs.comparison import Comparison, Setting, marks
from cse.lab.report.any_runs.folder_names import folder_below, folders_below
from cse.lab.report.any_runs.settings_in_words import format_settings
from cse.lab.report.any_runs.which_runs import runs_frame
from cse.lab.report.formats import format_of
from cse.lab.report.numbers.groups import few_seeds, partly_scored
from cse.lab.report.numbers.notes import (
    data_problems,
    evaluated,
    remarks,
    retrieved,
    selected_otherwise,
    unlike_in_all,
    unlike_in_one,
)
from cse.lab.report.show.look import NO_BETTER, PLUS_MINUS, legend_of
from cse.lab.sections import Section, Sortable
from cse.lab.sharing.score_tables import MODIFIED

BEHIND = ("why", "partial", "steps", "tokens_per_second", "device", "git_commit", "code", "evaluations", "command")
"""Columns of runs that a reader of the page may switch on."""

SMOKE = " (smoke runs, of tiny sizes, whose scores mean nothing)"


def settings_section(comparison: Comparison, label: str) -> Section:
    """A line for each setting, the best one starred, with the scores that are shown. label: LaTeX's."""
    shown = comparison.scores.shown
    shared = os.path.commonpath([score.rpartition("/")[0] for score in shown]) if shown else ""
    bold = best_cells(comparison)
    return Section(
        "Settings, the best first" if comparison.best else "Settings",
        settings_table(comparison),
        notes_on_settings(comparison),
        legend_of_settings(comparison),
        label_columns=1 + len(comparison.shown_keys),
        bold=bold,
        caption=caption_of(comparison, shared, has_bold=bool(bold)),
        label=label,
        column_prefix=f"{shared}/",
        frame=settings_frame(comparison),
        sortable=sortable_settings(comparison),
    )


def caption_of(comparison: Comparison, shared: str, *, has_bold: bool) -> str:
    """LaTeX's caption. shared: what the names of all shown scores begin with."""
    names = ", ".join(comparison.keys.values())
    means = [setting.means.get(name) for setting in comparison.settings for name in comparison.scores.shown]
    caption = f"Scores on {shared}" if shared else "Scores"
    caption += f" by {names}" if names else ""
    caption += ": mean ± standard deviation over seeds" if any(mean and mean.sd is not None for mean in means) else ""
    caption += ", the best of each column in bold" if has_bold else ""
    caption += f"; *: the best by {comparison.scores.best_by}" if comparison.best else ""
    return caption + smoke_words(comparison)


def unranked_section(comparison: Comparison) -> Section:
    """The settings of smoke runs that lie beside others."""
    section = settings_section(comparison, "")
    states = [run.state for run in comparison.runs]
    unmarked = section.table.assign(**{"": ""})
    return replace(section, title=f"{counted(states)}{SMOKE}", table=unmarked, bold=(), sortable=None)


def smoke_words(comparison: Comparison) -> str:
    """What to say of smoke runs, if there are no others; else ""."""
    return SMOKE if all(run.is_smoke for run in comparison.runs) else ""


def settings_table(comparison: Comparison) -> pd.DataFrame:
    """The settings as text, the best first."""
    rows = []
    for setting in comparison.ranked:
        folder = folders_below(setting.runs, comparison.folders)
        star = "*" if setting is comparison.best else ""
        values = [setting.values[key] for key in comparison.shown_keys]
        scores = [score_text(comparison, setting, name) for name in comparison.scores.shown]
        rows.append([star, *values, runs_in_words(setting), *scores, folder])
    columns = ["", *comparison.shown_keys.values(), "runs", *comparison.scores.shown, "folder"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def settings_frame(comparison: Comparison) -> pd.DataFrame:
    """settings.csv: a line for each setting, the best first, by the dotted keys that runs.csv has too.

    It has the number of finished and of all runs, every score's mean and deviation over seeds, the shown ones first,
    the scores on modified data, and other remarks.
    """
    names = list(dict.fromkeys([*comparison.scores.shown, *comparison.scores.all]))
    rows = []
    for setting in comparison.ranked:
        scores: list[float | None] = []
        for name in names:
            score = setting.means.get(name)
            scores += [score.mean, score.sd] if score else [None, None]
        rows.append(
            [
                *(setting.values[key] for key in comparison.keys),
                len(setting.included),
                setting.expected,
                *scores,
                folders_below(setting.runs, comparison.folders),
                " ".join(name for name in comparison.scores.all if name in setting.modified),
                "; ".join(remarks_on(setting, comparison)),
            ]
        )
    of_scores = [column for name in names for column in (name, f"{name} sd")]
    columns = [*comparison.keys, "done", "runs", *of_scores, "folder", "partial", "remarks"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def remarks_on(setting: Setting, comparison: Comparison) -> list[str]:
    """What a reader must know of a setting's included runs."""
    runs, seed = setting.included, comparison.seed
    return remarks(runs, seed) + partly_scored(runs, comparison.scores.all, seed)


def score_text(comparison: Comparison, setting: Setting, name: str) -> str:
    """mean ± sd, marked if data was modified; "" without a run."""
    score, form = setting.means.get(name), comparison.formats.get(name)
    if score is None:
        return ""
    words = [f"{score.mean:{form}}"]
    words += [] if score.sd is None else [f"{PLUS_MINUS} {score.sd:{form}}"]
    return " ".join(words) + marks(setting, name)


def best_cells(comparison: Comparison) -> list[tuple[int, int]]:
    """The row and column in the table of the best mean of each score that several settings have.

    A mean over too few seeds for a verdict is not marked, and of smoke runs none is.
    """
    if smoke_words(comparison):
        return []
    cells = []
    for column, name in enumerate(comparison.scores.shown, 2 + len(comparison.shown_keys)):
        sign = 1 if comparison.lower_is_better(name) else -1
        means = [
            (sign * setting.means[name].mean, row)
            for row, setting in enumerate(comparison.ranked)
            if name in setting.means
        ]
        row = min(means)[1] if len(means) > 1 else None
        if row is not None and not few_seeds([comparison.compared_group(comparison.ranked[row], name)]):
            cells.append((row, column))
    return cells


def legend_of_settings(comparison: Comparison) -> list[str]:
    """What the marks beside scores mean, and what chose the best trial of a search."""
    no_better = any(setting.no_better for setting in comparison.settings)
    lines = legend_of({MODIFIED: any(setting.modified for setting in comparison.settings), NO_BETTER: no_better})
    trials = sum(setting.trial is not None for setting in comparison.settings)
    if trials and comparison.best:
        lines.append(
            f"The best of {trials} trials was selected by {comparison.scores.best_by}, so this score of it is "
            "optimistic. Where more seeds were trained later, the mean is over these alone."
        )
    return lines


def notes_on_settings(comparison: Comparison) -> list[str]:
    """What a reader must know beside the numbers."""
    settings, scores = comparison.settings, comparison.scores
    every = [run for setting in settings for run in setting.included]
    notes = data_problems(comparison.runs)
    notes += evaluated(comparison.runs)
    notes += retrieved({setting.label: setting.included[-1] for setting in settings if setting.included})
    notes += [f"{setting.label}: {remark}" for setting in settings for remark in remarks_on(setting, comparison)]
    noted = {
        word for setting in settings for word in unlike_in_one(setting.included, comparison.seed, also_settings=True)
    }
    notes += unlike_in_all("settings", every, noted)
    if left := [name for key, name in comparison.keys.items() if key not in comparison.shown_keys]:
        notes.append(f"Settings also differ in {', '.join(left)}. settings.csv and report.html have these values.")
    notes += selected_otherwise(every, scores.best_by)
    if scores.leading and not scores.best_by:
        notes.append("No setting is marked as the best: model selection needs a dev score, and there is none.")
    return notes


def sortable_settings(comparison: Comparison) -> Sortable:
    """The settings for the page, with every key and score, numbered in the colours of the charts.

    The reader may switch on what is hidden.
    """
    scores = [*comparison.scores.shown, *scores_not_shown(comparison)]
    rows = [
        [
            *(setting.values[key] for key in comparison.keys),
            runs_in_words(setting),
            *(score_text(comparison, setting, name) for name in scores),
            "; ".join(remarks_on(setting, comparison)),
            folders_below(setting.runs, comparison.folders),
        ]
        for setting in comparison.ranked
    ]
    columns = [*comparison.keys.values(), "runs", *scores, "remarks", "folder"]
    hidden = [*scores_not_shown(comparison), "remarks"]  # which the notes have too
    hidden += [name for key, name in comparison.keys.items() if key not in comparison.shown_keys]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return Sortable(table, hidden, list(colours_of(comparison).values()))


def scores_not_shown(comparison: Comparison) -> list[str]:
    """The scores that tables of text do not show."""
    return [name for name in comparison.scores.all if name not in comparison.scores.shown]


def runs_in_words(setting: Setting) -> str:
    """How many runs of a setting are included; if some are not finished, of how many."""
    done, runs = len(setting.included), setting.expected
    return str(runs) if done == runs else f"{done} of {runs}"


def in_text(table: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """The table as text: a column of scores with the decimals that every table has for it, another one of floats with
    those that its values need; "" for None and NaN."""
    texts = table.astype(object).where(table.notna(), "")
    for name in texts:
        sizes = [value for value in texts[name] if isinstance(value, float)]
        form = comparison.formats.get(str(name).removesuffix(" sd")) or format_of(sizes)
        texts[name] = [f"{value:{form}}" if isinstance(value, float) else str(value) for value in texts[name]]
    return texts


def frame_of_runs(comparisons: Sequence[Comparison], jobs: Sequence[Run] = ()) -> pd.DataFrame:
    """runs.csv: every run of the comparisons, each with its settings, and then the planned jobs."""
    keys = dict.fromkeys(key for compared in comparisons for key in compared.keys)
    scores = dict.fromkeys(
        score for compared in comparisons for score in (*compared.scores.shown, *compared.scores.all)
    )
    runs = [run for compared in comparisons for run in compared.runs]
    return runs_frame([*runs, *jobs], [*keys, comparisons[0].seed], list(scores))


def runs_section(comparison: Comparison) -> Section:
    """Every run for the page."""
    texts = in_text(frame_of_runs([comparison]).drop(columns="folder"), comparison)
    for key in (*comparison.keys, comparison.seed):
        texts[key] = format_settings(comparison.runs, key)
    texts["folder"] = [folder_below(run, comparison.folders) for run in comparison.runs]
    hidden = [*scores_not_shown(comparison), *BEHIND]
    hidden += [key for key in comparison.keys if key not in comparison.shown_keys]
    return Section("Runs", texts, sortable=Sortable(texts, hidden))
