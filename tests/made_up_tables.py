"""Reports' blocks, read and filled from a folder of invented runs, for the tests beside."""

import yaml

from cse.record.runs import read_runs
from cse.report import published
from cse.report.spec import parse
from cse.report.statistics import Intervals
from cse.report.table import build


def spec_of(text):
    block = yaml.safe_load(text)
    table = published.table(block["paper"], block["table"])
    return parse(block, table, "sweeps/it.yaml", tolerance=0.1, seed_sd=0.9), table


def built(text, folder, expected=(), confidence=0.95, kind="t"):
    return build(*spec_of(text), read_runs([folder / "runs"]), list(expected), Intervals(confidence, kind))


def values(cell):
    return list(cell.values.values())


TABLE4 = """
paper: whitenedcse
table: table4
rows: objective.num_groups
metric: test/sts/average
columns:
  shuffled: {where: {objective.shuffle: true}}
  w/o shuffled: {where: {objective.shuffle: false}}
"""

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
