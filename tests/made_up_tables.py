"""Checked `report:` blocks of sweeps, and their tables, filled from the synthetic runs of a test."""

from dataclasses import dataclass

import pandas as pd
import yaml

from cse.lab.folder.runs import read_runs
from cse.lab.report.any_runs.charts import draw_charts
from cse.lab.report.any_runs.curves import curves_of
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.runs_report import best_of, hint_at_hidden, unfinished
from cse.lab.report.any_runs.runs_table import runs_section
from cse.lab.report.any_runs.settings_table import settings_section
from cse.lab.report.paper.claims import judge_claims
from cse.lab.report.paper.paper_table import paper_table
from cse.lab.report.paper.report_block import checked_block
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.show.document import Report
from cse.lab.sections import PaperSection


def parsed(block, name="sweeps/it.yaml"):
    """Return (checked block, published table). block: a dictionary, or its YAML."""
    block = yaml.safe_load(block) if isinstance(block, str) else block
    return checked_block(block, name, tolerance=0.1)


@dataclass(frozen=True)
class Filled(PaperSection):
    """The section of a paper's table, with its report.csv."""

    frame: pd.DataFrame | None = None


def filled(block, printed, runs, expected=()):
    section, frame = paper_table(SweepRuns(block, printed, runs, list(expected), 0.95))
    return Filled(**vars(section), frame=frame)


def built(text, folder, expected=()):
    return filled(*parsed(text), read_runs([folder / "runs"]), expected)


def judged(block, printed, runs):
    return judge_claims(SweepRuns(block, printed, runs, [], 0.95))


def cell(table, row, column="Avg."):
    """Return a row of report.csv."""
    return table.frame.set_index(["row", "column"]).loc[row, column]


def values(cell):
    return [float(value) for value in cell["values"].split()]


TABLE3 = """
paper: nonling
table: table3
metric: test/sts/average
rows:
  SimCSE-BERT-base: {experiment: simcse_bert}
  VisualCSE-BERT-base: {experiment: visualcse_bert}
baseline: {VisualCSE-BERT-base: SimCSE-BERT-base}
setting: {trainer.max_steps: null}
"""


def charts_of(comparison):
    return draw_charts(comparison, curves_of(comparison))


def whole_report(comparison):
    """Return a report with only the settings, charts and runs of a comparison."""
    return Report(
        "",
        "",
        [settings_section(comparison, "", 0.95)],
        {},
        best=best_of(compare_settings(comparison, None, 0.95), is_part=False),
        pending=unfinished(comparison, []),
        hint=hint_at_hidden(comparison),
        charts=charts_of(comparison),
        all_runs=runs_section(comparison),
    )
