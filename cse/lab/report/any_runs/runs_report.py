"""The report of any runs: the state of each run, a row for each setting, and how much the settings differ.

Start at `report_of_runs`. It reads the runs that the user asks for. It compares real runs and smoke runs separately. A
gate tests the settings. Sections, CSV files, charts and figures show the settings.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.runs import Run
from cse.lab.folder.status import STATES, counted
from cse.lab.report.any_runs.charts import draw_charts
from cse.lab.report.any_runs.comparison import Comparison, compare_without_smoke
from cse.lab.report.any_runs.curves import curves_of
from cse.lab.report.any_runs.differences import Differences, compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame, differences_section
from cse.lab.report.any_runs.gate import Gate, judge_gate
from cse.lab.report.any_runs.names import folder_below
from cse.lab.report.any_runs.paper_figures import draw_paper_figures
from cse.lab.report.any_runs.repeat import more_seeds_command
from cse.lab.report.any_runs.runs_table import runs_frame, runs_section
from cse.lab.report.any_runs.settings_table import (
    score_text,
    settings_frame,
    settings_section,
    smoke_words,
    unranked_section,
)
from cse.lab.report.any_runs.which_runs import Asked, asked_for
from cse.lab.report.formats import FEW, first_few, folded, suite_of
from cse.lab.report.show.document import Best, Report
from cse.lab.settings.values import PlainConfig, flattened

TITLE = 60  # the most characters of a folder in a title


def report_of_runs(config: PlainConfig, folders: Sequence[Path], name: str) -> Report:
    """Return the report of the runs in these folders or globs. name: the name of the report, for LaTeX's labels.

    Raises UserError if no run matches.
    """
    seed_key, patterns = config["seed"], config["metrics"]
    asked = asked_for(folders, config["where"], seed_key)
    check_asked(asked, seed_key)
    comparisons = compare_without_smoke(asked.runs, asked.folders, patterns, seed_key, asked.jobs)
    comparison, *of_smoke = comparisons
    check_metrics(comparison, asked, patterns)
    least, baseline, confidence = config["gate"], config["baseline"], config["confidence"]
    gate = None if least is None else judge_gate(comparison, least, baseline, asked.first, confidence)
    curves = curves_of(comparison)
    differences = compare_settings(comparison, baseline, confidence, config["within"])
    is_tested = differences.lines and (baseline or not comparison.is_smoke)  # smoke runs only if the user asks for it

    settings = settings_section(comparison, name, confidence)
    if differences.no_verdict and not differences.lines:
        why_none = f"No differences to {differences.reference.label}: {differences.no_verdict}."
        settings = replace(settings, notes=[*settings.notes, why_none])
    sections = [settings]
    sections += [differences_section(differences, f"{name}-differences")] if is_tested else []
    sections += map(unranked_section, of_smoke)
    is_part = config["where"] is not None  # settings may then lack some of their seeds
    return Report(
        title=", ".join(folded(str(folder), TITLE) for folder in comparison.folders) + smoke_words(comparison),
        subtitle=f"{counted([run.state for run in [*comparison.runs, *asked.jobs]])}.",
        sections=sections,
        csv={
            "runs.csv": runs_frame(comparisons, asked.jobs),
            "settings.csv": settings_frame(comparison),
            "differences.csv": frame_with_gate(differences, gate) if is_tested else None,
        },
        best=best_of(differences, is_part=is_part),
        pending=unfinished(comparison, asked.jobs),
        hint=hint_at_hidden(comparison),
        charts=draw_charts(comparison, curves),
        pictures=draw_paper_figures(comparison, curves),
        all_runs=runs_section(comparison),
        gate=[gate.title, *gate.lines.values()] if gate else (),
        is_passed=gate is None or gate.is_passed,
    )


def frame_with_gate(differences: Differences, gate: Gate | None) -> pd.DataFrame:
    """Return the table of differences.csv with a further column: the gate's line on each difference."""
    reference = differences.reference
    lines = [gate.line_on(line.setting, reference) if gate else "" for line in differences.lines]
    return differences_frame(differences).assign(gate=lines)


def check_asked(asked: Asked, seed_key: str) -> None:
    """Refuse a report without runs, and a `seed=` key that no run has."""
    if not asked.runs:
        raise UserError(f"runs={', '.join(map(str, asked.folders))} holds no run (no results.json in it)")
    if seed_key != "seed" and not any(seed_key in flattened(run.config) for run in asked.runs):
        raise UserError(f"seed={seed_key}: none of the {len(asked.runs)} runs has such a key")


def check_metrics(comparison: Comparison, asked: Asked, patterns: Sequence[str]) -> None:
    """Refuse `metrics=` if no run has any of the named scores."""
    if patterns and not comparison.scores.shown:
        have = first_few(sorted({score for run in asked.runs for score in run.scored})) or "none"
        raise UserError(f"metrics={patterns}: none of the {len(asked.runs)} runs has such a score; they have {have}")


def best_of(differences: Differences, *, is_part: bool) -> Best | None:
    """Return the best setting; None without a dev score.

    At most FEW settings have a command for more seeds. is_part: whether `where=` selected some of the runs. The report
    then does not know all seeds of a setting, so it shows no command.
    """
    comparison, scores = differences.comparison, differences.comparison.scores
    setting = comparison.best
    if setting is None:
        return None
    not_worse = [line.setting for line in differences.lines if differences.is_best and line.tied is not False]
    names = {setting: "this setting"} | {other: other.label for other in not_worse if not other.trial}
    commands = {name: more_seeds_command(comparison, one) for one, name in [*names.items()][: 0 if is_part else FEW]}
    again = {name: command for name, command in commands.items() if command}
    shown, untrained = score_text(comparison, setting, str(scores.leading)), comparison.below_untrained()
    return Best(setting.label, str(scores.best_by), str(scores.leading), shown, differences.verdict, untrained, again)


def unfinished(comparison: Comparison, jobs: Sequence[Run]) -> list[tuple[str, str, str]]:
    """Return (state, folder, reason) of each unfinished run and of each planned job without a run, sorted by STATES."""
    not_done = [run for run in [*comparison.runs, *jobs] if not run.is_done]
    in_order = sorted(not_done, key=lambda run: STATES.index(run.state))
    return [(run.state, folder_below(run, comparison.folders), run.why) for run in in_order]


def hint_at_hidden(comparison: Comparison) -> str:
    """Return a line that says where to find the scores that text tables do not show; "" if they show all scores."""
    hidden = comparison.scores.hidden
    if not hidden:
        return ""
    return f"{len(hidden)} more scores: use metrics=[{suite_of(hidden[0])}/*], or see report.html or runs.csv"
