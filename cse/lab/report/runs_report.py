"""The report of any runs beside each other: the status of each, a row for each setting, how far they are apart; and
what differs between two runs.

To read: `report_of_runs` compares the runs that were asked for (cse.lab.report.which_runs), smoke runs apart, and makes
the sections: the settings (`settings_section`) and their differences. `section_of_two` is `differ=`.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.facts import Change, Kind, changes, facts
from cse.lab.folder.runs import Run, newest_run, read_run
from cse.lab.folder.score_tables import ALTERED
from cse.lab.folder.status import STATES, counted
from cse.lab.report.charts import colours_of, draw_charts
from cse.lab.report.compare import (
    Comparison,
    Setting,
    compare_runs,
    folder_below,
    folders_below,
    marks,
    more_seeds,
)
from cse.lab.report.differences import compare_settings, differences_section
from cse.lab.report.frame import format_settings, runs_frame
from cse.lab.report.gate import Gate, gate
from cse.lab.report.groups import partly_scored
from cse.lab.report.notes import data_problems, evaluated, remarks, retrieved, selected_otherwise, unlike_in_all
from cse.lab.report.signs import NO_BETTER, PLUS_MINUS, first_few, format_of, legend_of
from cse.lab.report.which_runs import Asked, asked_for
from cse.lab.report.write import Best, Report, Unfinished
from cse.lab.sections import Section, Sortable
from cse.lab.settings.dotted import Config, flattened, format_value

SMOKE = " (smoke runs, of made-up sizes, whose scores mean nothing)"
ORDER = get_args(Kind)
ABSENT = "-"


def report_of_runs(config: Config, folders: Sequence[Path], name: str) -> tuple[Report, Gate | None]:
    """Runs beside each other, and what a gate says, if there is one. name: of the report, in LaTeX's labels.

    Raises UserError if no run is as asked for.
    """
    asked = asked_for(folders, config["where"], config["seed"])
    check_asked(asked, config)
    small = [run for run in asked.runs if run.is_smoke]
    real = [run for run in asked.runs if not run.is_smoke]
    comparison = compare_runs(real or small, asked.folders, config["metrics"], config["seed"])
    if config["metrics"] and not comparison.scores.shown:
        have = first_few(sorted({score for run in asked.runs for score in run.scored})) or "none"
        raise UserError(
            f"metrics={config['metrics']} are scores of none of the {len(asked.runs)} runs, which have {have}"
        )
    baseline, confidence, least = config["baseline"], config["confidence"], config["gate"]
    gated = None if least is None else gate(comparison, least, baseline, confidence, asked.first)
    label, lines = f"{name}-differences", gated.lines if gated else {}
    differences = compare_settings(comparison, baseline, confidence, config["within"], lines)
    gaps, doubt = differences_section(differences, label), differences.doubt if differences else ""
    apart = compare_runs(small, asked.folders, config["metrics"], config["seed"]) if real and small else None
    best = best_of(comparison, doubt, is_part=config["where"] is not None)  # which may lack some of its seeds
    return report_of(comparison, apart, asked.jobs, gaps=gaps, best=best, name=name), gated


def report_of(
    comparison: Comparison,
    apart: Comparison | None,
    jobs: Sequence[Run],
    *,
    gaps: Section | None,
    best: Best | None,
    name: str,
) -> Report:
    """The report of a comparison. apart: of smoke runs beside it; jobs: planned, without a run; gaps: how far its
    settings are apart; name: of the report, in LaTeX's labels."""
    settings = settings_section(comparison, name)
    smoke = unranked_section(apart) if apart else None
    states = [run.state for run in [*comparison.runs, *jobs]]
    return Report(
        title=", ".join(map(str, comparison.folders)) + smoke_words(comparison),
        subtitle=f"{counted(states)}.",
        sections=[section for section in (settings, gaps, smoke) if section is not None],
        csv={
            "runs.csv": frame_of_all(comparison, apart, jobs),
            "settings.csv": settings.frame,
            "differences.csv": gaps.frame if gaps else None,
        },
        best=best,
        pending=unfinished(comparison, jobs),
        hint=hidden_scores(comparison),
        charts=draw_charts(comparison),
        runs=runs_section(comparison),
    )


def frame_of_all(comparison: Comparison, apart: Comparison | None, jobs: Sequence[Run]) -> pd.DataFrame:
    """runs.csv: every run, those apart and planned jobs after the others, each with its settings."""
    both = [one for one in (comparison, apart) if one]
    keys = dict.fromkeys([*(key for one in both for key in one.keys), comparison.seed])
    scores = dict.fromkeys(score for one in both for score in (*one.scores.shown, *one.scores.all))
    return runs_frame([*(run for one in both for run in one.runs), *jobs], list(keys), list(scores))


def check_asked(asked: Asked, config: Config) -> None:
    """Refuse a report of no runs, and a key of seeds that no run has."""
    if not asked.runs:
        raise UserError(f"runs={', '.join(map(str, asked.folders))} holds no run (no results.json in it)")
    seed = config["seed"]
    if seed != "seed" and not any(seed in flattened(run.config) for run in asked.runs):
        raise UserError(f"seed={seed}: none of the {len(asked.runs)} runs has such a key")


def smoke_words(comparison: Comparison) -> str:
    """What to say of smoke runs, if there are no others; else ""."""
    return SMOKE if all(run.is_smoke for run in comparison.runs) else ""


def settings_section(comparison: Comparison, label: str) -> Section:
    """A line for each setting, the best one starred, with the scores that are shown. label: LaTeX's."""
    names, shown = list(comparison.keys.values()), comparison.scores.shown
    shared = os.path.commonpath([score.rpartition("/")[0] for score in shown]) if shown else ""
    bold = best_cells(comparison)
    caption = f"Scores on {shared}" if shared else "Scores"
    caption += f" by {', '.join(names)}" if names else ""
    if any(
        score.sd is not None
        for setting in comparison.settings
        for name, score in setting.means.items()
        if name in shown
    ):
        caption += ": mean ± standard deviation over seeds"
    caption += ", the best of each column in bold" if bold else ""
    caption += f"; *: the best by {comparison.scores.best_by}" if comparison.best else ""
    frame = settings_frame(comparison)
    return Section(
        "Settings, the best first" if comparison.best else "Settings",
        settings_table(comparison, frame),
        notes_on_settings(comparison),
        legend_of_settings(comparison),
        words=1 + len(comparison.shown_keys),
        bold=bold,
        caption=caption + smoke_words(comparison),
        label=label,
        shared=f"{shared}/",
        frame=frame,
        sortable=sortable_settings(comparison, frame),
    )


def unranked_section(comparison: Comparison) -> Section:
    """The settings of smoke runs that lie beside others."""
    section = settings_section(comparison, "")
    states = [run.state for run in comparison.runs]
    return replace(section, title=f"{counted(states)}{SMOKE}", table=section.table.assign(**{"": ""}), sortable=None)


def settings_table(comparison: Comparison, frame: pd.DataFrame) -> pd.DataFrame:
    """The settings as text, the best first. frame: settings.csv."""
    rows = []
    for setting, done, runs, folder in zip(
        comparison.ranked, frame["done"], frame["runs"], frame["folder"], strict=True
    ):
        star = "*" if setting is comparison.best else ""
        values = [setting.values[key] for key in comparison.shown_keys]
        scores = [score_text(comparison, setting, name) for name in comparison.scores.shown]
        rows.append([star, *values, str(runs) if done == runs else f"{done} of {runs}", *scores, folder])
    columns = ["", *comparison.shown_keys.values(), "runs", *comparison.scores.shown, "folder"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def settings_frame(comparison: Comparison) -> pd.DataFrame:
    """settings.csv: a line for each setting, the best first: its numbers of finished and of all runs, every score's
    mean and deviation over seeds, the shown ones first, the scores on altered data, and other remarks."""
    names = list(dict.fromkeys([*comparison.scores.shown, *comparison.scores.all]))
    rows = []
    for setting in comparison.ranked:
        left_out = len(setting.done) - len(setting.included)
        scores: list[float | None] = []
        for name in names:
            score = setting.means.get(name)
            scores += [score.mean, score.sd] if score else [None, None]
        rows.append(
            [
                *(setting.values[key] for key in comparison.keys),
                len(setting.included),
                len(setting.runs) - left_out,
                *scores,
                folders_below(setting.runs, comparison.folders),
                " ".join(name for name in comparison.scores.all if name in setting.altered),
                "; ".join(remarks_on(setting, comparison)),
            ]
        )
    of_scores = [column for name in names for column in (name, f"{name} sd")]
    columns = [*comparison.keys.values(), "done", "runs", *of_scores, "folder", "partial", "remarks"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def remarks_on(setting: Setting, comparison: Comparison) -> list[str]:
    """What a reader must know of the runs that a setting's scores are means of."""
    runs, seed = setting.included, comparison.seed
    return remarks(runs, seed) + partly_scored(runs, comparison.scores.all, seed)


def score_text(comparison: Comparison, setting: Setting, name: str) -> str:
    """mean ± sd, marked if data was altered; "" without a run."""
    score, form = setting.means.get(name), comparison.formats.get(name)
    if score is None:
        return ""
    words = [f"{score.mean:{form}}"]
    words += [] if score.sd is None else [f"{PLUS_MINUS} {score.sd:{form}}"]
    return " ".join(words) + marks(setting, name)


def best_cells(comparison: Comparison) -> list[tuple[int, int]]:
    """The row and column in the table of the best mean of each score that several settings have."""
    cells = []
    for column, name in enumerate(comparison.scores.shown, 2 + len(comparison.shown_keys)):
        sign = 1 if comparison.lower_is_better(name) else -1
        means = [(sign * of.means[name].mean, row) for row, of in enumerate(comparison.ranked) if name in of.means]
        if len(means) > 1:
            cells.append((min(means)[1], column))
    return cells


def legend_of_settings(comparison: Comparison) -> list[str]:
    """What the marks beside scores mean, and what chose the best trial of a search."""
    no_better = any(run.no_better for run in comparison.runs)
    lines = legend_of({ALTERED: any(setting.altered for setting in comparison.settings), NO_BETTER: no_better})
    trials = sum(setting.trial is not None for setting in comparison.settings)
    if trials and comparison.best:
        lines.append(
            f"The best of {trials} trials was picked by its {comparison.scores.best_by}, which is therefore partly "
            "luck; where seeds were trained since, the mean is of those alone."
        )
    return lines


def notes_on_settings(comparison: Comparison) -> list[str]:
    """What a reader must know beside the numbers."""
    settings, scores = comparison.settings, comparison.scores
    every = [run for setting in settings for run in setting.included]
    found = data_problems(comparison.runs)
    found += evaluated(comparison.runs)
    found += retrieved({setting.label: setting.included[-1] for setting in settings if setting.included})
    found += [f"{setting.label}: {remark}" for setting in settings for remark in remarks_on(setting, comparison)]
    found += unlike_in_all("settings", every, found)
    if left := [name for key, name in comparison.keys.items() if key not in comparison.shown_keys]:
        found.append(f"They also differ in {', '.join(left)}: settings.csv and report.html have these values.")
    found += selected_otherwise(every, scores.best_by)
    if scores.leading and not scores.best_by:
        found.append("No setting is marked as the best: there is no dev score, and a test score selects nothing.")
    return found


def best_of(comparison: Comparison, doubt: str, *, is_part: bool) -> Best | None:
    """The best setting; None without a dev score. doubt: why it has not won. is_part: it may have more seeds."""
    setting, scores = comparison.best, comparison.scores
    if setting is None:
        return None
    seeds = [seed for run in comparison.runs if isinstance(seed := run.get(comparison.seed), int)]
    again = "" if is_part else more_seeds(setting.runs, comparison.seed, seeds, comparison.folders, comparison.keys)
    shown = score_text(comparison, setting, str(scores.leading))
    return Best(setting.label, str(scores.best_by), str(scores.leading), shown, doubt, again)


def unfinished(comparison: Comparison, jobs: Sequence[Run]) -> list[Unfinished]:
    """The unfinished runs and the planned jobs without one, in the order of STATES."""
    not_done = [run for run in [*comparison.runs, *jobs] if not run.is_done]
    found = [Unfinished(run.state, folder_below(run, comparison.folders), run.why) for run in not_done]
    return sorted(found, key=lambda one: STATES.index(one.state))


def hidden_scores(comparison: Comparison) -> str:
    """Where the scores are that tables of text do not show; "" if these show all."""
    hidden = [name for name in comparison.scores.all if name not in comparison.scores.shown]
    if not hidden:
        return ""
    suite = "/".join(hidden[0].split("/")[:-1][:2])
    return f"{len(hidden)} more scores: metrics=[{suite}/*], report.html and runs.csv"


def sortable_settings(comparison: Comparison, frame: pd.DataFrame) -> Sortable:
    """The settings for the page, numbered in the colours of the charts; the reader may switch on what is hidden."""
    others = [name for name in comparison.scores.all if name not in comparison.scores.shown]
    hidden = [*others, *(f"{name} sd" for name in others), "remarks"]  # which the notes have too
    hidden += [name for key, name in comparison.keys.items() if key not in comparison.shown_keys]
    return Sortable(in_text(frame, comparison), hidden, list(colours_of(comparison).values()))


def runs_section(comparison: Comparison) -> Section:
    """Every run for the page."""
    texts = in_text(comparison.frame.drop(columns="folder"), comparison)
    for key in (*comparison.keys, comparison.seed):
        texts[key] = format_settings(comparison.runs, key)
    folders = [folder_below(run, comparison.folders) for run in comparison.runs]
    texts.insert(texts.columns.get_loc("partial"), "folder", folders)  # first, it would hide the scores
    hidden = [name for name in comparison.scores.all if name not in comparison.scores.shown]
    hidden += [key for key in comparison.keys if key not in comparison.shown_keys]
    return Section("Runs", texts, sortable=Sortable(texts, hidden))


def in_text(table: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """The table as text: a column of scores with the decimals that every table has for it, another one of floats with
    those that its values need; "" for None and NaN."""
    texts = table.astype(object).where(table.notna(), "")
    for name in texts:
        sizes = [value for value in texts[name] if isinstance(value, float)]
        form = comparison.formats.get(str(name).removesuffix(" sd")) or format_of(sizes)
        texts[name] = [f"{value:{form}}" if isinstance(value, float) else str(value) for value in texts[name]]
    return texts


def section_of_two(folders: Sequence[Path]) -> Section:
    """What is not the same in two runs, A and B: their facts by kind (cse.lab.folder.facts), what changes results
    first.

    Of a training and an evaluation, which have other settings, only those that both have, and each score. Raises
    UserError for a folder that is no run, and for the same one twice.
    """
    for folder in folders:
        if not (folder / "results.json").is_file():
            raise UserError(f"differ: {folder} is no run's folder (no results.json in it){newest_run(folder)}")
    if folders[0].resolve() == folders[1].resolve():
        raise UserError(f"differ={folders[0]},{folders[1]}: name two runs")
    runs = [read_run(folder) for folder in folders]
    ours, theirs = map(facts, runs)
    both = ours.keys() & theirs.keys()
    unlike = changes(ours, theirs)
    if runs[0].program != runs[1].program:
        unlike = [one for one in unlike if (one.kind, one.name) in both or one.kind == "scores"]
    unlike.sort(key=lambda one: (ORDER.index(one.kind), one.name))
    rows = [[one.kind, one.name, *texts_of_change(one)] for one in unlike]
    table = pd.DataFrame(rows, columns=["kind", "what", "A", "B"])
    kinds = {one.kind for one in unlike}
    in_both = {kind for kind, _ in both}
    same = [kind for kind in ORDER if kind in in_both - kinds]
    notes = [f"The same: {', '.join(same)}."] if same else []
    notes += weights_apart(runs) if "weights" in kinds else []
    frame = table.set_axis(["kind", "what", *(str(folder) for folder in folders)], axis=1)
    return Section(f"A: {folders[0]}\nB: {folders[1]}", table, notes, frame=frame)


def texts_of_change(change: Change) -> list[str]:
    """The values of two runs, "-" where one has none; scores as tables show them, if that tells them apart."""
    both = [ABSENT if value is None else value for value in (change.before, change.now)]
    whole = [format_value(value) for value in both]
    if change.kind != "scores":
        return whole
    form = format_of(value for value in both if isinstance(value, float))
    short = [f"{value:{form}}" if isinstance(value, float) else format_value(value) for value in both]
    return whole if short[0] == short[1] else short


def weights_apart(runs: Sequence[Run]) -> list[str]:
    """A line with the largest difference between the weights of two runs' best/; none if a best/ is missing or cannot
    be read, or they have other shapes."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        one, two = (load_file(run.folder / "best" / "model.safetensors") for run in runs)
    except (OSError, SafetensorError):
        return []
    if {name: weight.shape for name, weight in one.items()} != {name: weight.shape for name, weight in two.items()}:
        return []
    apart = max(float((one[name].double() - two[name].double()).abs().max()) for name in one)
    largest = max(float(weight.abs().max()) for weight in one.values())
    return [f"The weights: {apart:.2g} apart at most; the largest is {largest:.2g}."]
