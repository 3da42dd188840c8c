"""The table of runs: a row for each run, with the run's settings and scores and the command that repeats the run.

`runs_frame` returns the table of runs.csv. `runs_section` returns the table for the page.
"""

from collections.abc import Sequence

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.comparison import Comparison
from cse.lab.report.any_runs.names import folder_below, format_settings
from cse.lab.report.any_runs.repeat import repeat_command
from cse.lab.report.formats import format_of
from cse.lab.sections import Section

FACTS = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit", "code")
"""Keys of results.json that are columns of runs.csv."""

HIDDEN = ("why", "partial", "steps", "tokens_per_second", "device", "git_commit", "code", "evaluations", "command")
"""Columns of runs that the page hides until a reader switches them on."""


def runs_frame(comparisons: Sequence[Comparison], jobs: Sequence[Run] = ()) -> pd.DataFrame:
    """Return the table of runs.csv: every run of the comparisons, and then the planned jobs."""
    keys = dict.fromkeys(key.dotted for comparison in comparisons for key in comparison.keys)
    scores = dict.fromkeys(name for comparison in comparisons for name in comparison.scores.all)
    runs = [run for comparison in comparisons for run in comparison.runs]
    seeds = dict.fromkeys(comparison.seed_key for comparison in comparisons)  # one key; no key without comparisons
    return rows_of_runs([*runs, *jobs], [*keys, *seeds], list(scores))


def rows_of_runs(runs: Sequence[Run], keys: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Return a row for each run: state, values at `keys`, unrounded scores, FACTS, the command that repeats the run."""
    rows = []
    for run in runs:
        row: dict[str, object] = {"folder": str(run.folder), "state": str(run.state), "why": run.why}
        row |= {key: run.get(key) for key in keys}
        row |= {metric: run.metrics.get(metric) for metric in metrics}
        row |= {"partial": " ".join(sorted(run.modified)), "untrained": run.untrained}
        row |= {fact: run.results.get(fact) for fact in FACTS}
        row["evaluations"] = "; ".join(str(evaluation.folder) for evaluation in run.evaluations) or None
        row["command"] = repeat_command(run)
        rows.append(row)
    columns = ["folder", "state", "why", *keys, *metrics, "partial", "untrained", *FACTS, "evaluations", "command"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def runs_section(comparison: Comparison) -> Section:
    """Return the section of all runs for the page. The page can sort and filter the rows."""
    texts = in_text(runs_frame([comparison]).drop(columns="folder"), comparison)
    for key in (*(key.dotted for key in comparison.keys), comparison.seed_key):
        texts[key] = format_settings(comparison.runs, key)
    texts["folder"] = [folder_below(run, comparison.folders) for run in comparison.runs]
    hidden = [*comparison.scores.hidden, *HIDDEN]
    hidden += [key.dotted for key in comparison.keys if not key.is_shown]
    return Section("Runs", texts, hidden=hidden, layout="sortable")


def in_text(table: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Return the table as text; "" for None and NaN.

    A column of scores has the same decimals in every table. Any other column of floats has as many decimals as its
    values need.
    """
    texts = table.astype(object).where(table.notna(), "")
    for name in texts:
        sizes = [value for value in texts[name] if isinstance(value, float)]
        form = comparison.formats.get(str(name)) or format_of(sizes)
        texts[name] = [f"{value:{form}}" if isinstance(value, float) else str(value) for value in texts[name]]
    return texts
