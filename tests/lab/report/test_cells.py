"""What fills a cell: which runs, which of their scores, and which statistic of these, over the papers' real tables."""

import shutil

import pytest
from made_up_tables import built, cell, values

from cse.lab.report.numbers.groups import without_copies
from cse.lab.report.verdicts import NOT_RUN

DEV, TEST = "dev/stsb/spearman", "test/sts/average"


def test_statistics_over_a_grid(leave, tmp_path):
    """Noncontrastive's Table 1: a row is a statistic over the jobs of an augmentation's value, one for each seed."""
    text = """
    paper: noncontrastive
    table: table1
    metric: dev/stsb/spearman
    rows:
      Barlow Twins BERT max: {where: {objective: barlow, model: bert}, aggregate: max}
      Barlow Twins BERT q75: {where: {objective: barlow, model: bert}, aggregate: q75}
      Barlow Twins BERT q50: {where: {objective: barlow, model: bert}, aggregate: q50}
    columns:
      shuffle 0.5: {where: {augmentation: shuffle, augmentation.p: 0.5}}
    """

    def leave_grid(seed, *scores):
        for i, score in enumerate(scores):
            config = {"augmentation.p": 0.5, "objective.lambd": i / 1000, "seed": seed}
            choices = {"objective": "barlow", "model": "bert", "augmentation": "shuffle"}
            leave(f"{seed}-{i}", config, {DEV: score}, choices=choices)

    leave_grid(41, 70.0)
    assert cell(built(text, tmp_path), "Barlow Twins BERT q75", "shuffle 0.5")["difference_low"] is None  # of one run
    shutil.rmtree(tmp_path / "runs")
    leave_grid(42, 70.0, 74.0, 79.6, 78.6, 77.7)
    table = built(text, tmp_path)
    most, q75, q50 = (cell(table, f"Barlow Twins BERT {name}", "shuffle 0.5") for name in ("max", "q75", "q50"))
    assert [values(one) for one in (most, q75, q50)] == [[79.6], [78.6], [77.7]]
    assert [one["verdict"] for one in (most, q75, q50)] == ["PASS"] * 3
    assert [one["difference_low"] for one in (most, q75, q50)] == [None] * 3  # of one seed
    assert cell(table, "VICReg BERT max", "shuffle 0.5")["verdict"] == NOT_RUN
    leave_grid(43, 71.0, 73.0)
    most = cell(built(text, tmp_path), "Barlow Twins BERT max", "shuffle 0.5")
    assert (values(most), most["runs"], most["aggregate"]) == ([79.6, 73.0], 7, "max")


def test_the_selected_hyper_parameters(leave, tmp_path):
    """NonLing-CSE's Table A.1: what the search on dev selects."""
    text = """
    paper: nonling
    table: table_a1
    select: dev/stsb/spearman
    rows: {VisualCSE-BERT-base: {experiment: visualcse_bert}}
    columns:
      Text Bsz: {config: trainer.batch_size}
      Img/Audio LR: {config: aux_modality.lr}
    """
    for batch, lr, dev in [(64, 1e-6, 83.6), (128, 1e-6, 83.1), (64, 5e-7, 83.2)]:
        config = {"trainer.batch_size": batch, "aux_modality.lr": lr, "seed": 42}
        leave(f"{dev}", config, {DEV: dev}, choices={"experiment": "visualcse_bert"})
    table = built(text, tmp_path)
    for column, selected in (("Text Bsz", 64), ("Img/Audio LR", 1e-6)):
        found = cell(table, "VisualCSE-BERT-base", column)
        assert (values(found), found["verdict"]) == ([selected], "PASS")


def test_a_run_without_an_auxiliary_modality_has_no_number_of_it(leave, tmp_path):
    text = """
    paper: nonling
    table: table_a1
    select: dev/stsb/spearman
    rows: {VisualCSE-BERT-base: {experiment: visualcse_bert}}
    columns: {Img/Audio LR: {config: aux_modality.lr}}
    """
    choices = {"experiment": "visualcse_bert", "aux_modality": "none"}
    leave("a", {"aux_modality": None, "seed": 42}, {DEV: 80.0}, choices=choices)
    table = built(text, tmp_path)
    assert cell(table, "VisualCSE-BERT-base", "Img/Audio LR")["verdict"] == NOT_RUN
    assert table.missing[0].endswith("1 finished run without a number at aux_modality.lr")


@pytest.mark.parametrize(("select", "best"), [(DEV, 75.0), ("dev/geometry/alignment", 76.0)])
def test_best_is_picked_on_dev_in_its_own_direction_and_scored_on_test(leave, tmp_path, select, best):
    text = f"""
    {{paper: nonling, table: table_f1, metric: test/sts/average, aggregate: best, select: {select},
     rows: {{SimCSE-BERT-base: {{objective: simcse}}}}}}
    """
    for dev, test in [(82.0, 76.0), (83.0, 75.0)]:
        leave(f"{dev}", {"seed": 1, "x": dev}, {select: dev, TEST: test}, choices={"objective": "simcse"})
    leave("unscored", {"seed": 1, "x": 0}, {TEST: 80.0}, choices={"objective": "simcse"})
    assert values(cell(built(text, tmp_path), "SimCSE-BERT-base")) == [best]


def test_runs_of_one_choice_that_differ_in_a_value_are_no_copies_of_each_other(leave, runs):
    """Also beside a run of another choice, whose values all differ."""
    for name, choice, layers in (("a", "bert", 1), ("b", "bert", 2), ("b again", "bert", 2), ("c", "roberta", 3)):
        leave(name, {"model.layers": layers, "seed": 1}, {TEST: 70.0 + layers}, choices={"model": choice})
    assert [run.metrics[TEST] for run in without_copies(runs(), "seed")] == [71.0, 72.0, 73.0]


def test_a_mean_over_seeds_is_not_called_one_of_runs(leave, tmp_path):
    """Where a seed was run again with another setting, its runs make one number of the mean."""
    text = "{paper: nonling, table: table_f1, metric: test/sts/average, rows: {SimCSE-BERT-base: {objective: simcse}}}"
    for name, seed, clip, score in (("a", 1, 1, 70.0), ("b", 2, 1, 71.0), ("c", 3, 1, 72.0), ("again", 3, 2, 74.0)):
        config = {"seed": seed, "trainer.grad_clip": clip}
        leave(name, config, {TEST: score}, choices={"objective": "simcse"}, overrides=[f"seed={seed}"])
    table = built(text, tmp_path)
    assert sorted(values(cell(table, "SimCSE-BERT-base"))) == [70.0, 71.0, 73.0]
    (shown,) = (line for line in table.table["ours"] if line)
    assert shown.startswith("71.33 ± 1.53 (3) mean over 3 seeds, 4 runs")
