"""Tables of invented runs whose right answer is known, over the papers' real tables."""

import math
import shutil
from dataclasses import replace

import pytest
import yaml
from scipy import stats

from cse.errors import UserError
from cse.report import published
from cse.report.runs import read_runs
from cse.report.spec import parse
from cse.report.statistics import Intervals
from cse.report.table import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY, build


def spec_of(text):
    block = yaml.safe_load(text)
    table = published.table(block["paper"], block["table"])
    return parse(block, table, "sweeps/it.yaml", tolerance=0.1, seed_sd=0.9), table


def built(text, folder, expected=(), confidence=0.95, kind="t"):
    return build(*spec_of(text), read_runs([folder / "runs"]), list(expected), Intervals(confidence, kind))


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
SIMCSE, VISUAL = [75.1, 76.9, 75.2, 74.9, 76.6], [77.0, 76.5, 77.4, 76.6, 77.3]


@pytest.fixture
def table3(leave):
    def run(experiment, seed, score, **more):
        config = {"seed": seed, "trainer.max_steps": None, **more}
        leave(f"{experiment}-{seed}", config, {"test/sts/average": score}, choices={"experiment": experiment})

    for seed, (a, b) in enumerate(zip(SIMCSE, VISUAL, strict=True)):
        run("simcse_bert", seed, a)
        run("visualcse_bert", seed, b)
    return run


def test_seeds_become_mean_sd_interval_and_p(table3, tmp_path):
    jobs = [{"experiment": e, "seed": str(s)} for e in ("simcse_bert", "visualcse_bert") for s in range(5)]
    table = built(TABLE3, tmp_path, jobs)
    cell, base = (table.cells[row]["Avg."] for row in ("VisualCSE-BERT-base", "SimCSE-BERT-base"))
    mean = sum(VISUAL) / 5
    sd = math.sqrt(sum((x - mean) ** 2 for x in VISUAL) / 4)
    assert (cell.ours.mean, cell.ours.sd, cell.ours.n) == (pytest.approx(mean), pytest.approx(sd), 5)
    assert cell.expected == 5
    assert cell.difference == pytest.approx(mean - 76.96)
    reach = stats.t.ppf(0.975, 4) * sd / math.sqrt(5)
    assert cell.interval == (pytest.approx(mean - 76.96 - reach), pytest.approx(mean - 76.96 + reach))
    assert cell.gain == pytest.approx(mean - sum(SIMCSE) / 5)
    assert cell.gain_published == pytest.approx(76.96 - 75.74)
    assert cell.p_student == pytest.approx(stats.ttest_ind(VISUAL, SIMCSE).pvalue)
    assert cell.p_welch == pytest.approx(stats.ttest_ind(VISUAL, SIMCSE, equal_var=False).pvalue)
    assert cell.verdict == "PASS"
    assert base.gain is None
    assert not table.absent
    assert not table.deviations
    roberta = table.cells["SimCSE-RoBERTa-base"]["Avg."]
    assert (roberta.verdict, roberta.ours, roberta.published.sd) == (NOT_RUN, None, 0.18)


def test_the_bootstrap_stays_within_the_seeds(table3, tmp_path):
    cell = built(TABLE3, tmp_path, kind="bootstrap").cells["VisualCSE-BERT-base"]["Avg."]
    assert min(VISUAL) - 76.96 <= cell.interval[0] < cell.difference < cell.interval[1] <= max(VISUAL) - 76.96


def test_runs_of_another_setting_get_no_verdict(table3, tmp_path, leave):
    for folder in (tmp_path / "runs").glob("visualcse_bert-*"):
        shutil.rmtree(folder)
    table3("visualcse_bert", 9, 77.0, **{"trainer.max_steps": 100})
    table3("simcse_bert", 9, 60.0, **{"trainer.max_steps": 100})  # beside five of the paper's: left out
    table = built(TABLE3, tmp_path)
    assert table.cells["VisualCSE-BERT-base"]["Avg."].verdict == OTHER_SETTING
    assert table.cells["SimCSE-BERT-base"]["Avg."].verdict == "PASS"
    assert table.deviations == ["trainer.max_steps=100 (paper: null)"]


def test_a_partial_sweep_says_what_is_missing(leave, tmp_path):
    leave("a", {"seed": 0}, {"test/sts/average": 75.0}, choices={"experiment": "simcse_bert"})
    leave("b", {"seed": 1}, status="failed", choices={"experiment": "simcse_bert"})
    leave("c", {"seed": 0}, status="killed", choices={"experiment": "visualcse_bert"})
    jobs = [{"experiment": e, "seed": s} for e in ("simcse_bert", "visualcse_bert") for s in ("0", "1")]
    table = built(TABLE3, tmp_path, jobs)
    assert table.absent == [
        "experiment=simcse_bert, seed=1: failed",
        "experiment=visualcse_bert, seed=0: not finished",
        "experiment=visualcse_bert, seed=1: not started",
    ]
    cell = table.cells["SimCSE-BERT-base"]["Avg."]
    assert (len(cell.runs), cell.expected, cell.interval, cell.p_student) == (1, 2, None, None)
    assert table.cells["VisualCSE-BERT-base"]["Avg."].verdict == NOT_RUN


def test_a_finished_run_without_the_metric_is_named(leave, tmp_path):
    leave("a", {"seed": 0}, {"dev/stsb/spearman": 75.0}, choices={"experiment": "simcse_bert"})
    table = built(TABLE3, tmp_path)
    assert table.absent == ["SimCSE-BERT-base, Avg.: 1 finished run(s) did not measure test/sts/average"]


def test_rows_by_a_config_key_and_columns_by_another(leave, tmp_path):
    """WhitenedCSE's Table 4: 8 group numbers x shuffled or not."""
    text = """
    paper: whitenedcse
    table: table4
    rows: objective.num_groups
    metric: test/sts/average
    columns:
      shuffled: {where: {objective.shuffle: true}}
      w/o shuffled: {where: {objective.shuffle: false}}
    """
    for k in (32, 384):
        for shuffle in (True, False):
            config = {"objective.num_groups": k, "objective.shuffle": shuffle, "seed": 42}
            leave(f"{k}-{shuffle}", config, {"test/sts/average": 70 + k / 100 + shuffle})
    cells = built(text, tmp_path).cells
    assert cells["32"]["shuffled"].values == [pytest.approx(71.32)]
    assert cells["384"]["w/o shuffled"].values == [pytest.approx(73.84)]
    assert cells["48"]["shuffled"].verdict == NOT_RUN
    assert cells["384"]["shuffled"].verdict == "DIFFERS"  # 74.84 against 78.78, one run, seed_sd .9
    assert list(cells) == ["32", "48", "64", "96", "128", "192", "256", "384"]


def test_statistics_over_a_grid(leave, tmp_path):
    """Noncontrastive's Table 1: a row is a statistic over the jobs of an augmentation's value."""
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
    scores = [70.0, 74.0, 79.6, 78.6, 77.7]
    for i, score in enumerate(scores):
        leave(f"r{i}", {"augmentation.p": 0.5, "objective.lambd": i / 1000, "seed": 42}, {"dev/stsb/spearman": score},
              choices={"objective": "barlow", "model": "bert", "augmentation": "shuffle"})  # fmt: skip
    cells = built(text, tmp_path).cells
    got = [cells[f"Barlow Twins BERT {s}"]["shuffle 0.5"] for s in ("max", "q75", "q50")]
    assert [cell.values for cell in got] == [[79.6], [78.6], [77.7]]
    assert [cell.verdict for cell in got] == ["PASS"] * 3
    assert got[0].interval is None  # a maximum's bootstrap would promise too much
    assert got[1].interval[0] <= 0 <= got[1].interval[1]
    assert cells["VICReg BERT max"]["shuffle 0.5"].verdict == NOT_RUN


def test_a_grid_with_two_seeds_gives_one_statistic_for_each(leave, tmp_path):
    text = """
    {paper: noncontrastive, table: table1, metric: dev/stsb/spearman, rows: {Barlow Twins BERT max: {aggregate: max}}}
    """
    for seed in (1, 2):
        for i in range(3):
            leave(f"{seed}-{i}", {"seed": seed, "l": i}, {"dev/stsb/spearman": 70 + seed + i})
    cell = built(text, tmp_path).cells["Barlow Twins BERT max"]["EDA 0.1"]
    assert (cell.values, len(cell.runs)) == ([73.0, 74.0], 6)


def test_the_mean_of_metrics(leave, tmp_path):
    """DeCLUTR: MRPC counts once, as the mean of its accuracy and F1; Avg. is the mean of two means."""
    text = """
    paper: declutr
    table: table1
    rows: {DeCLUTR-base: {model: roberta}}
    columns:
      Downstream: {metric: [test/transfer/CR/accuracy, [test/transfer/MRPC/accuracy, test/transfer/MRPC/f1]]}
      Probing: test/probing/average
      Avg.: {metric: [[test/transfer/CR/accuracy, [test/transfer/MRPC/accuracy, test/transfer/MRPC/f1]],
                      test/probing/average]}
    """
    metrics = {"test/transfer/CR/accuracy": 90.0, "test/transfer/MRPC/accuracy": 70.0, "test/transfer/MRPC/f1": 80.0,
               "test/probing/average": 73.8}  # fmt: skip
    leave("a", {"seed": 1}, metrics, choices={"model": "roberta"})
    leave("b", {"seed": 2}, {"test/probing/average": 73.8}, choices={"model": "roberta"})
    cells = built(text, tmp_path).cells["DeCLUTR-base"]
    assert cells["Downstream"].values == [(90 + 75) / 2]
    assert cells["Avg."].values == [((90 + 75) / 2 + 73.8) / 2]
    assert cells["Probing"].values == [73.8, 73.8]
    assert built(text, tmp_path).cells["USE"]["Avg."].verdict == PUBLISHED_ONLY


def test_rows_by_data_set_and_columns_by_model(leave, tmp_path):
    """Noncontrastive's Table 4: the row names the metric, the column the run."""
    text = """
    paper: noncontrastive
    table: table4
    rows:
      ArguAna: {metric: test/mteb/ArguAna}
      SciDocsRR: {metric: test/mteb/SciDocsRR}
    columns:
      SimCSE: {where: {objective: simcse}}
      Barlow Twins (dropout): {where: {objective: barlow}}
    """
    leave("a", {}, {"test/mteb/ArguAna": 34.7, "test/mteb/SciDocsRR": 60.0}, choices={"objective": "simcse"})
    cells = built(text, tmp_path).cells
    assert cells["ArguAna"]["SimCSE"].verdict == "PASS"
    assert cells["SciDocsRR"]["SimCSE"].verdict == ""  # the paper's number is lost
    assert cells["ArguAna"]["Barlow Twins (dropout)"].verdict == NOT_RUN
    assert cells["ArguAna"]["VICReg (dropout)"].verdict == ""  # the report asks no run for it


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
    for i, (batch, lr, dev) in enumerate([(64, 1e-6, 83.6), (128, 1e-6, 83.1), (64, 5e-7, 83.2)]):
        leave(f"{i}", {"trainer.batch_size": batch, "aux_modality.lr": lr, "seed": 42}, {"dev/stsb/spearman": dev},
              choices={"experiment": "visualcse_bert"})  # fmt: skip
    cells = built(text, tmp_path).cells["VisualCSE-BERT-base"]
    assert (cells["Text Bsz"].values, cells["Text Bsz"].verdict) == ([64], "PASS")
    assert (cells["Img/Audio LR"].values, cells["Img/Audio LR"].verdict) == ([1e-6], "PASS")


def test_best_is_picked_on_dev_and_scored_on_test(leave, tmp_path):
    text = """
    {paper: nonling, table: table_f1, metric: test/sts/average, aggregate: best, select: dev/stsb/spearman,
     rows: {SimCSE-BERT-base: {objective: simcse}}}
    """
    for i, (dev, test) in enumerate([(82.0, 76.0), (83.0, 75.0)]):
        leave(f"{i}", {"seed": 1, "x": i}, {"dev/stsb/spearman": dev, "test/sts/average": test},
              choices={"objective": "simcse"})  # fmt: skip
    assert built(text, tmp_path).cells["SimCSE-BERT-base"]["Avg."].values == [75.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "dev/stsb/spearman"}, "is of the test split, and the two are never read as one"),
        ({"rows": {"SimCSE-BERT": {}}}, "report.rows names 'SimCSE-BERT'"),
        ({"columns": {"Average": "test/x"}}, "report.columns names 'Average'; the paper's are Avg."),
        ({"tabel": 1}, "report has no key 'tabel'"),
        ({"aggregate": "median"}, "'median' is not one of mean, max, q75, q50, best"),
        ({"aggregate": "best"}, "report.select is missing"),
        ({"metric": None}, "has no metric"),
        ({"baseline": "SimCSE"}, "report.baseline names 'SimCSE'"),
        ({"columns": {"Avg.": {"metrik": "test/x"}}}, "metrik"),
    ],
)
def test_a_mistake_in_the_block_is_one_sentence(change, message):
    block = {**yaml.safe_load(TABLE3), **change}
    with pytest.raises(UserError, match=message.replace(".", r"\.")) as caught:
        spec_of(yaml.safe_dump(block))
    assert str(caught.value).startswith("sweeps/it.yaml: ")
    assert "\n" not in str(caught.value)


def test_a_trial_with_other_settings_never_mixes_with_the_sweeps_own_runs(table3, tmp_path):
    """60 steps in the same folder: alone they fill the cell, marked so; beside a real run they are left out."""
    spec, printed = spec_of(TABLE3)
    runs = read_runs([tmp_path / "runs"])
    small = [replace(run, departures=("trainer.max_steps=60",)) for run in runs[:4]]
    alone = build(spec, printed, small, [], Intervals(0.95, "t")).cells["SimCSE-BERT-base"]["Avg."]
    assert (len(alone.runs), alone.verdict) == (4, OTHER_SETTING)
    beside = build(spec, printed, [*small, *runs[4:5]], [{"seed": 0}], Intervals(0.95, "t"))
    assert beside.cells["SimCSE-BERT-base"]["Avg."].values == SIMCSE[4:]
    assert "seed=0: not started" in beside.absent
    assert not beside.deviations


TABLE2 = """
paper: noncontrastive
table: table2
rows:
  BERT SimCSE: {case: simcse}
  BERT Barlow Twins (shuffle 0.5): {case: barlow}
columns:
  STS: test/mteb/STS/average
  Avg.: test/mteb/average
  uniformity: {metric: test/geometry/uniformity, tolerance: 0.05}
baseline: BERT SimCSE
"""


def test_a_column_is_judged_by_its_own_spread(leave, tmp_path):
    """One seed of uniformity -2.5 is no seed noise about -3.08, for .9 points of an STS average say nothing of it; the
    other row's seeds do."""
    scores = {"test/mteb/STS/average": 74.0, "test/mteb/average": 46.0, "test/geometry/uniformity": -2.5}
    leave("barlow", {"case": "barlow", "seed": 0}, scores)
    cells = built(TABLE2, tmp_path).cells["BERT Barlow Twins (shuffle 0.5)"]
    assert {cell.verdict for cell in cells.values() if cell.values} == {"ONE SEED"}
    for seed, uniformity in enumerate((-2.60, -2.62, -2.64)):
        leave(f"simcse{seed}", {"case": "simcse", "seed": seed}, {"test/geometry/uniformity": uniformity})
    table = built(TABLE2, tmp_path)
    assert table.cells["BERT Barlow Twins (shuffle 0.5)"]["uniformity"].verdict == "DIFFERS"  # sd .02 of SimCSE's seeds
    assert table.cells["BERT SimCSE"]["uniformity"].verdict == "PASS"
    assert table.cells["BERT SimCSE"]["STS"].verdict == NOT_RUN
    assert (table.digits("uniformity"), table.digits("STS")) == (2, 1)
    assert "PASS: within 0.1, uniformity within 0.05" in " ".join(table.notes)


def test_what_no_run_measures_has_no_gain(leave, tmp_path):
    """Numbers of parameters and widths have no gain, as printed or ours."""
    block = """
paper: declutr
table: table1
rows:
  Transformer-small: {case: transformer}
  DeCLUTR-small: {case: declutr}
columns: {Avg.: test/declutr/average}
baseline: {DeCLUTR-small: Transformer-small}
"""
    row = built(block, leave("declutr", {"case": "declutr"}).parents[1]).cells["DeCLUTR-small"]
    assert row["Avg."].gain_published == pytest.approx(75.32 - 73.48)
    assert row["Parameters (M)"].gain_published is None
    assert row["Embed. dim."].gain_published is None


def test_printed_p_values_stand_in_their_cells(table3, tmp_path):
    """Table 3's garbled second printing concerns the p, so neither mean is starred."""
    cells = built(TABLE3, tmp_path).cells
    assert cells["VisualCSE-BERT-base"]["Avg."].p_published == ".0235"
    assert cells["VisualCSE-RoBERTa-base"]["Avg."].p_published == "<.0001"
    assert not any(cell.published.note for row in cells.values() for cell in row.values())


def test_runs_that_differ_in_more_than_their_seed_are_said_to(table3, tmp_path):
    assert not [note for note in built(TABLE3, tmp_path).notes if "differ in" in note]
    table3("visualcse_bert", 7, 77.0, **{"trainer.lr": 1e-5})
    table = built(TABLE3, tmp_path)
    assert "VisualCSE-BERT-base, Avg.: joins runs that differ in trainer.lr" in table.notes
