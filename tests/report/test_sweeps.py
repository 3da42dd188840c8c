"""The `report:` block of every sweep fits its published table, split for split."""

from pathlib import Path

import pytest
import yaml

from cse.cli.compose import SWEEPS_DIR
from cse.report import figures, published
from cse.report.spec import parse

SWEEPS = sorted(Path(SWEEPS_DIR).glob("*/*.yaml"))


@pytest.mark.skipif(not SWEEPS, reason="no sweep is there yet")
@pytest.mark.parametrize("file", SWEEPS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_report_block_of_a_sweep(file):
    block = yaml.safe_load(file.read_text(encoding="utf-8"))["report"]
    table = published.table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, table, file.name, tolerance=0.1, seed_sd=0.9)
    assert table or spec.figures
    for wanted in spec.figures:
        figures.check(wanted, file.name)
        printed = figures.overlay(wanted, spec.paper)
        if printed:
            figures.check_split(wanted, printed["split"])
