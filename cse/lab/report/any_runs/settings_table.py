"""The table of settings: a row for each setting, the best first, with the scores that are shown.

Start at `settings_section`, which has the table as text (`settings_table`) and its notes (`notes_on_settings`).
`settings_frame` returns the table of settings.csv.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from cse.lab.folder.runs import Run, grouped
from cse.lab.folder.status import counted
from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.differences import best_and_tied
from cse.lab.report.any_runs.evaluations import notes_on_evaluations
from cse.lab.report.any_runs.names import folders_below
from cse.lab.report.any_runs.scores import selection_in_words
from cse.lab.report.formats import capitalised, counted_noun, first_few, place_in_words, score_in_words
from cse.lab.report.numbers.notes import nearest_captions, no_better_remarks, seen_in_training
from cse.lab.report.numbers.unlike import notes_on_unlike_runs, remarks_on_number
from cse.lab.report.show.look import NO_BETTER, PLUS_MINUS, legend_of, setting_colours
from cse.lab.sections import Section
from cse.lab.settings.groups import is_group
from cse.lab.sharing.score_tables import MODIFIED, problems_of

MOST_PROBLEMS = 12  # this many problems of data have a line each; one more line counts the further problems
SMOKE = " (smoke runs: all sizes are tiny, so scores mean nothing)"


def settings_section(comparison: Comparison, label: str, confidence: float) -> Section:
    """Return the section of settings. A star marks the best setting. label: the label for LaTeX."""
    shown = comparison.scores.shown
    shared = os.path.commonpath([score.rpartition("/")[0] for score in shown]) if shown else ""
    bold = best_cells(comparison, confidence)
    return Section(
        "Settings, the best first" if comparison.best else "Settings",
        settings_table(comparison),
        notes_on_settings(comparison),
        legend_of_settings(comparison),
        label_columns=1 + len(comparison.shown_keys),
        bold=bold,
        caption=caption_of(comparison, shared, has_bold=bool(bold)),
        label=label,
        file="settings",
        column_prefix=f"{shared}/",
        hidden=hidden_columns(comparison),
        layout="sortable",
        colours=setting_colours(len(comparison.ranked)),
    )


def caption_of(comparison: Comparison, shared: str, *, has_bold: bool) -> str:
    """Return the caption for LaTeX. shared: the common beginning of the names of all shown scores."""
    names = ", ".join(key.short for key in comparison.shown_keys)
    means = [setting.means.get(name) for setting in comparison.settings for name in comparison.scores.shown]
    caption = f"Scores on {place_in_words(shared)}" if shared else "Scores"
    caption += f" by {names}" if names else ""
    caption += ": mean ± standard deviation over seeds" if any(mean and mean.sd is not None for mean in means) else ""
    caption += "; bold: the best of each score, and means not significantly different from it" if has_bold else ""
    numbers = {runs_in_words(setting) for setting in comparison.ranked}
    caption += f"; runs per setting: {next(iter(numbers))}" if len(numbers) == 1 else ""
    best_by = str(comparison.scores.best_by)
    caption += f"; *: the best by {score_in_words(best_by)}" if comparison.best else ""
    selection = selection_in_words(comparison.runs, comparison.scores.shown, best_by if comparison.best else "")
    return f"{caption}{smoke_words(comparison)}{selection and '. '}{capitalised(selection)}"


def unranked_section(comparison: Comparison) -> Section:
    """Return the section with the settings of smoke runs. No star marks a best setting."""
    section = settings_section(comparison, "", 0.95)  # smoke runs have no bold means
    states = [run.state for run in comparison.runs]
    unmarked = section.table.assign(**{"": ""})
    return replace(section, title=f"{counted(states)}{SMOKE}", table=unmarked, layout="rows")


def smoke_words(comparison: Comparison) -> str:
    """Return a text about smoke runs if all runs are smoke runs; else ""."""
    return SMOKE if comparison.is_smoke else ""


def settings_table(comparison: Comparison) -> pd.DataFrame:
    """Return the settings as text with every key and score, the best first. Only the page shows `hidden_columns`."""
    rows = [
        [
            "*" if setting is comparison.best else "",
            *(setting.values[key.dotted] for key in comparison.keys),
            runs_in_words(setting),
            *(score_text(comparison, setting, name) for name in comparison.scores.all),
            "; ".join(remarks_on(setting, comparison)),
            folders_below(setting.runs, comparison.folders),
        ]
        for setting in comparison.ranked
    ]
    columns = ["", *(key.short for key in comparison.keys), "runs", *comparison.scores.all, "remarks", "folder"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def hidden_columns(comparison: Comparison) -> list[str]:
    """Return the columns of settings that only the page shows. Other formats have the remarks in the notes."""
    keys = [key.short for key in comparison.keys if not key.is_shown]
    return [*comparison.scores.hidden, "remarks", *keys]


def settings_frame(comparison: Comparison) -> pd.DataFrame:
    """Return the table of settings.csv: a row for each setting, the best first. The columns of keys are as in runs.csv.

    done: the number of included runs. runs: this number once all jobs are finished. NAME, NAME sd: the mean and the
    standard deviation of the score NAME over seeds, the shown scores first. partial: the scores on modified data.
    """
    names = [*comparison.scores.shown, *comparison.scores.hidden]
    rows = []
    for setting in comparison.ranked:
        row: dict[str, object] = {key.dotted: setting.values[key.dotted] for key in comparison.keys}
        row |= {"done": len(setting.included), "runs": setting.expected}
        for name in names:
            score = setting.means.get(name)
            row |= {name: score.mean if score else None, f"{name} sd": score.sd if score else None}
        row["folder"] = folders_below(setting.runs, comparison.folders)
        row["partial"] = " ".join(name for name in comparison.scores.all if name in setting.modified)
        row["remarks"] = "; ".join(remarks_on(setting, comparison))
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def runs_in_words(setting: Setting) -> str:
    """Return the number of included runs of a setting: "3", or "2 of 3" if some are not finished."""
    done, runs = len(setting.included), setting.expected
    return str(runs) if done == runs else f"{done} of {runs}"


def score_text(comparison: Comparison, setting: Setting, name: str) -> str:
    """Return a setting's score as mean ± sd, with its marks; "" if the setting has no such score."""
    score, form = setting.means.get(name), comparison.formats.get(name)
    if score is None:
        return ""
    spread = "" if score.sd is None else f" {PLUS_MINUS} {score.sd:{form}}"
    return f"{score.mean:{form}}{spread}{marks([setting], name)}"


def marks(settings: Iterable[Setting], name: str) -> str:
    """Return the marks of these settings' score: for modified data, and for a run that training did not improve."""
    settings = list(settings)
    modified = f" {MODIFIED}" if any(name in setting.modified for setting in settings) else ""
    return f"{modified} {NO_BETTER}" if any(setting.no_better for setting in settings) else modified


def best_cells(comparison: Comparison, confidence: float) -> list[tuple[int, int]]:
    """Return the (row, column) of each bold mean: see `best_and_tied`. Means of smoke runs are not bold."""
    cells: list[tuple[int, int]] = []
    scores = [] if comparison.is_smoke else comparison.scores.shown
    for column, name in enumerate(scores, 2 + len(comparison.shown_keys)):
        bold = best_and_tied(comparison, name, confidence)
        cells += [(row, column) for row, setting in enumerate(comparison.ranked) if setting in bold]
    return cells


def legend_of_settings(comparison: Comparison) -> list[str]:
    """Return the meaning of the marks beside scores, and a line on the selection of a search's best trial."""
    no_better = any(setting.no_better for setting in comparison.settings)
    lines = legend_of({MODIFIED: any(setting.modified for setting in comparison.settings), NO_BETTER: no_better})
    trials = sum(setting.trial is not None for setting in comparison.settings)
    if trials and comparison.best:
        lines.append(
            f"The best of {trials} trials was selected by {comparison.scores.best_by}, so its score is optimistic. "
            "If more seeds were trained later, the mean is only over these seeds."
        )
    return lines


def notes_on_settings(comparison: Comparison) -> list[str]:
    """Return the notes below the table: on data, evaluations, unlike runs, keys that are not shown, and selection."""
    settings, scores = comparison.settings, comparison.scores
    every = [run for setting in settings for run in setting.included]
    notes = choices_replaced(comparison) + data_problems(comparison.runs)
    notes += notes_on_evaluations(comparison.runs)
    notes += nearest_captions({setting.label: setting.included[-1] for setting in settings if setting.included})
    is_said = comparison.best is not None and comparison.below_untrained()  # beside the best setting
    for setting in settings:
        said = no_better_remarks(setting.included) if is_said else []
        notes += [f"{setting.label}: {line}" for line in remarks_on(setting, comparison) if line not in said]
    noted: set[str] = set()
    for setting in settings:
        noted.update(setting.unlike)
    notes += notes_on_unlike_runs("settings", every, noted)
    if not_shown := [key.short for key in comparison.keys if not key.is_shown]:
        notes.append(f"Settings also differ in {', '.join(not_shown)}. settings.csv and report.html have these values.")
    notes += notes_on_selection(every, scores.best_by)
    if scores.leading and not scores.best_by:
        notes.append("No setting is marked as the best: model selection needs a dev score, and there is none.")
    return notes


def choices_replaced(comparison: Comparison) -> list[str]:
    """Return a note on the columns of choices, such as eval=demo, whose weights or data the smoke runs replaced."""
    replaced: set[str] = set()
    for run in comparison.runs:
        values = run.config.get("replaced")
        for key in values if isinstance(values, dict) else ():  # eval, model.name, data.name, aux_modality.data.folder
            replaced.add(key.removesuffix(".name").removesuffix(".data.folder"))
    named = [key.short for key in comparison.keys if is_group(key.dotted) and key.dotted in replaced]
    if not named:
        return []
    columns = f"column {named[0]} has" if len(named) == 1 else f"columns {', '.join(named)} have"
    return [
        f"The {columns} the choices of the command. Smoke runs replace them with synthetic weights and data, at least "
        "in part."
    ]


def remarks_on(setting: Setting, comparison: Comparison) -> list[str]:
    """Return the remarks on the runs of a setting that the analysis includes."""
    runs, seed_key = setting.included, comparison.seed_key
    seeds = grouped(runs, seed_key)
    lines = []
    if all(run.get(seed_key) is not None for run in runs) and len(runs) > len(seeds):
        lines.append(f"{len(runs)} runs of {counted_noun(len(seeds), 'seed')}, averaged by seed")
    lines += remarks_on_number(setting.unlike)
    lines += no_better_remarks(runs) + seen_in_training(runs)
    return lines + partly_scored(runs, comparison.scores.all, seed_key)


def partly_scored(runs: Sequence[Run], metrics: Sequence[str], seed_key: str) -> list[str]:
    """Return lines on the scores that only some seeds have. The mean of such a score is over only these seeds."""
    seeds = grouped(runs, seed_key).values()
    partly: dict[int, list[str]] = {}
    for metric in metrics:
        number = sum(any(metric in run.metrics for run in of_seed) for of_seed in seeds)
        if 0 < number < len(seeds):
            partly.setdefault(number, []).append(metric)
    return [f"only {number} of {len(seeds)} seeds have {first_few(names)}" for number, names in sorted(partly.items())]


def data_problems(runs: Sequence[Run]) -> list[str]:
    """Return the problems of the data behind scores that have the mark of modified data."""
    marked = [run for run in runs if run.modified]
    problems = list(dict.fromkeys(line for run in marked for line in problems_of(run.data, run.config)))
    more = [f"partial: {len(problems) - MOST_PROBLEMS} more problems"] if len(problems) > MOST_PROBLEMS else []
    return problems[:MOST_PROBLEMS] + more


def notes_on_selection(runs: Sequence[Run], ranking: str | None) -> list[str]:
    """Return a line if another score than `ranking` selected a checkpoint. ranking: the score that ranks settings."""
    selecting = [run.get("trainer.select") for run in runs]
    counts = Counter(str(name) for name in selecting if name not in (None, ranking))
    if not (ranking and counts):
        return []
    others = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    return [f"Settings are ranked by {ranking}. Some runs selected their checkpoint by another score: {others}."]
