"""What stands on the two sides of a claim: the paper's sweep, and invented runs of some of its settings."""

import pytest

from cse.cli.reporting import settings
from cse.report.sweep import of_sweep
from cse.report.verdicts import NOT_RUN

SCORE = "dev/stsb/spearman"


@pytest.fixture
def figure(leave, tmp_path):
    """figure(*(case, rate, score)) -> the findings of noncontrastive/figure1, over Barlow Twins' runs."""

    def make(*runs):
        for case, rate, score in runs:
            config = {"case": case, "seed": 0, "objective.lambd": 0.005, "trainer.lr": rate}
            leave(f"{case}-{rate}", config, {SCORE: score}, choices={"objective": "barlow", "model": "bert"})
        folder = tmp_path / "runs"
        report = of_sweep(settings(["sweep=noncontrastive/figure1", f"runs={folder}"]), [folder], tmp_path)
        return report.findings

    return make


def test_what_was_tried_on_one_side_alone_does_not_speak_for_it(figure):
    """EDA, 20 points worse, ran at the middle rate only: the rates differ by a point, over dropout's runs."""
    smallest, _ = figure(("dropout_0.05", 1e-5, 79.0), ("dropout_0.05", 2e-5, 80.0), ("eda_0.1", 2e-5, 60.0))
    assert smallest.found.effect == pytest.approx(1.0)


def test_sides_without_a_setting_in_common_are_not_compared(figure):
    smallest, _ = figure(("dropout_0.05", 1e-5, 79.0), ("eda_0.1", 2e-5, 60.0))
    assert smallest.verdict_text == NOT_RUN
    assert "the same case, model, objective.lambd" in smallest.missing
