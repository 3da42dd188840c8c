"""Numbers and names of scores as text."""

import math
from pathlib import Path

import pytest

from cse.lab.folder.runs import Run
from cse.lab.folder.status import State
from cse.lab.report.any_runs.scores import axis_name
from cse.lab.report.formats import format_of, score_in_words


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([70.1, 65.57], ["70.10", "65.57"]),
        ([1.50127, 0.7071], ["1.50", "0.71"]),
        ([0.25, 0.0013], ["0.2500", "0.0013"]),
        ([0.0012, 3456.7], ["0.0012", "3456.7000"]),  # a loss near 0 beside seconds
        ([74.151, 3e-15], ["74.15", "0.00"]),  # what rounding of floats leaves
        ([-2.5, -0.004], ["-2.5000", "-0.0040"]),
        ([-1e-15, 70.0], ["0.00", "70.00"]),
        ([1e-6, -2.5e-7], ["1.00e-06", "-2.50e-07"]),
        ([0.0, math.nan, math.inf], ["0.00", "nan", "inf"]),
        ([1e6, 12.0], ["1000000.00", "12.00"]),
    ],
)
def test_a_column_of_numbers_has_one_format(values, texts):
    assert [f"{value:{format_of(values)}}" for value in values] == texts


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (-2.7617, 0.0031, "-2.7617 ± 0.0031"),  # uniformity
        (-2.7617, 0.0131, "-2.76 ± 0.01"),
        (66.2454, 0.0491, "66.25 ± 0.05"),  # a paper has two decimals
        (66.2454, 0.0031, "66.25 ± 0.00"),
        (1.5, 1e-16, "1.50 ± 0.00"),  # what rounding of floats leaves
    ],
)
def test_a_small_deviation_adds_decimals_only_to_small_scores(mean, sd, text):
    form = format_of([mean], [sd])
    assert f"{mean:{form}} ± {sd:{form}}" == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dev/stsb/spearman", "Spearman's correlation on STS-B dev"),
        ("test/sts/STS12/spearman", "Spearman's correlation on STS12 test"),
        ("dev/pairs/dev/spearman", "Spearman's correlation on text pairs dev"),
        ("test/pairs/test/pearson", "Pearson's correlation on text pairs test"),
        ("dev/pairs/my_file/spearman", "Spearman's correlation on text pairs dev"),
        ("test/transfer/MR/dev_accuracy", "dev accuracy on transfer MR test"),
        ("dev/x", "x on dev"),
        ("train/loss", "training loss"),
        ("trainer.weight_decay", "trainer.weight_decay"),
    ],
)
def test_a_paper_has_words_for_a_score_and_keys_for_settings(name, words):
    assert score_in_words(name) == words


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("Spearman's correlation x 100", "STS-B dev (Spearman's correlation × 100)"),
        ("points", "Spearman's correlation on STS-B dev (points)"),
        ("", "Spearman's correlation on STS-B dev"),
    ],
)
def test_an_axis_has_the_unit_and_names_a_metric_once(unit, label):
    name = "dev/stsb/spearman"
    run = Run(Path("run"), State.DONE, {}, {}, {name: 70.0}, {"scores": {name: {"unit": unit}}})
    assert axis_name([run], name) == label
