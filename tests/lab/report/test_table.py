"""Tables of invented runs whose right answer is known, over the papers' real tables."""

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_tables import TABLE3, built, cell, filled, parsed, values
from scipy import stats

from cse.lab.folder.runs import Run
from cse.lab.report.numbers.groups import Measure, group_of, seed_spread
from cse.lab.report.paper import published
from cse.lab.report.paper.cells import ties
from cse.lab.report.verdicts import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY

SIMCSE, VISUAL = [75.1, 76.9, 75.2, 74.9, 76.6], [77.0, 76.5, 77.4, 76.6, 77.3]


def deviations_of(table):
    """What the notes say of runs in another setting than the paper's."""
    return [note.partition(": ")[2] for note in table.notes if note.startswith("Not the paper's setting")]


@pytest.fixture
def table3(leave):
    """Five seeds of two rows; table3(experiment, seed, score) leaves one run more."""

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
    found, base = (cell(table, row) for row in ("VisualCSE-BERT-base", "SimCSE-BERT-base"))
    mean = sum(VISUAL) / 5
    sd = math.sqrt(sum((x - mean) ** 2 for x in VISUAL) / 4)
    assert (found["ours"], found["ours_sd"]) == pytest.approx((mean, sd))
    assert (found["seeds"], found["expected_runs"]) == (5, 5)
    assert found["difference"] == pytest.approx(mean - 76.96)
    reach = stats.t.ppf(0.975, 4) * sd / math.sqrt(5)
    assert found["difference_low"] == pytest.approx(mean - 76.96 - reach)
    assert found["difference_high"] == pytest.approx(mean - 76.96 + reach)
    assert found["gain"] == pytest.approx(mean - sum(SIMCSE) / 5)
    assert found["gain_published"] == pytest.approx(76.96 - 75.74)
    assert found["p_student"] == pytest.approx(stats.ttest_ind(VISUAL, SIMCSE).pvalue)
    assert found["p_welch"] == pytest.approx(stats.ttest_ind(VISUAL, SIMCSE, equal_var=False).pvalue)
    assert found["verdict"] == "PASS"
    assert base["gain"] is None
    assert not table.missing
    assert not deviations_of(table)
    roberta = cell(table, "SimCSE-RoBERTa-base")
    assert (roberta["verdict"], roberta["ours"], roberta["published_sd"]) == (NOT_RUN, None, 0.18)
    assert [found["p_published"], cell(table, "VisualCSE-RoBERTa-base")["p_published"]] == [".0235", "<.0001"]
    # the text garbles a second printing of Table 3's p, so no mean is starred
    assert (table.frame["published_note"] == "").all()


def test_runs_of_another_setting_get_no_verdict(table3, tmp_path):
    for folder in (tmp_path / "runs").glob("visualcse_bert-*"):
        shutil.rmtree(folder)
    table3("visualcse_bert", 9, 77.0, **{"trainer.max_steps": 100})
    table3("simcse_bert", 9, 60.0, **{"trainer.max_steps": 100})  # beside five of the paper's: left out
    table = built(TABLE3, tmp_path)
    found = cell(table, "VisualCSE-BERT-base")
    assert found[["verdict", "difference", "difference_low"]].tolist() == [OTHER_SETTING, None, None]
    assert cell(table, "SimCSE-BERT-base")["verdict"] == "PASS"
    assert deviations_of(table) == ["1 of 6 runs: trainer.max_steps=100 (paper: null)"]


def test_a_trial_with_other_settings_never_mixes_with_the_sweeps_own_runs(table3, runs):
    """60 steps in the same folder: alone they fill the cell, marked so; beside a real run they are left out."""
    block, printed = parsed(TABLE3)
    trials = [replace(run, departures=("trainer.max_steps=60",)) for run in runs()[:4]]
    alone = cell(filled(block, printed, trials), "SimCSE-BERT-base")
    assert (alone["runs"], alone["verdict"]) == (4, OTHER_SETTING)
    beside = filled(block, printed, [*trials, runs()[4]], [{"seed": 0}])
    assert values(cell(beside, "SimCSE-BERT-base")) == SIMCSE[4:]
    assert "seed 0 not started" in beside.missing
    assert not deviations_of(beside)


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
    """One seed of uniformity -2.5 is no seed noise about -3.08 only where the other row's seeds say so."""
    scores = {"test/mteb/STS/average": 74.0, "test/mteb/average": 46.0, "test/geometry/uniformity": -2.5}
    leave("barlow", {"case": "barlow", "seed": 0}, scores)
    cells = built(TABLE2, tmp_path).frame
    assert set(cells.loc[cells["seeds"] > 0, "verdict"]) == {"ONE SEED"}
    for seed, uniformity in enumerate((-2.60, -2.62, -2.64)):
        leave(f"simcse{seed}", {"case": "simcse", "seed": seed}, {"test/geometry/uniformity": uniformity})
    table = built(TABLE2, tmp_path)
    assert (
        cell(table, "BERT Barlow Twins (shuffle 0.5)", "uniformity")["verdict"] == "DIFFERS"
    )  # sd .02 of SimCSE's seeds
    assert cell(table, "BERT SimCSE", "uniformity")["verdict"] == "PASS"
    assert cell(table, "BERT SimCSE", "STS")["verdict"] == NOT_RUN
    printed = published.published_table("noncontrastive", "table2")
    assert (printed.digits("uniformity"), printed.digits("STS")) == (2, 1)
    assert "PASS: within 0.1 of the published number, uniformity within 0.05" in " ".join(table.notes)


def test_an_encoder_that_is_only_scored_has_no_seed_noise(leave, tmp_path):
    leave("barlow", {"case": "barlow"}, {"test/mteb/STS/average": 74.0})
    assert cell(built(TABLE2, tmp_path), "BERT Barlow Twins (shuffle 0.5)", "STS")["verdict"] == "DIFFERS"


def test_a_column_that_no_run_measures_has_no_gain_and_no_split(leave):
    """Numbers of parameters and widths have no gain, as printed or ours, no decimals, and are of no split."""
    block = """
paper: declutr
table: table1
rows:
  Transformer-small: {case: transformer}
  DeCLUTR-small: {case: declutr}
columns: {Avg.: test/declutr/average}
baseline: {DeCLUTR-small: Transformer-small}
"""
    table = built(block, leave("declutr", {"case": "declutr"}).parents[1])
    average, *counts = (cell(table, "DeCLUTR-small", column) for column in ("Avg.", "Parameters (M)", "Embed. dim."))
    assert cell(table, "USE")["verdict"] == PUBLISHED_ONLY
    assert (average["gain_published"], average["split"]) == (pytest.approx(75.32 - 73.48), "test")
    assert [(one["gain_published"], one["split"]) for one in counts] == [(None, "none")] * 2
    text = table.table
    assert list(text)[2:5] == ["Parameters (M)", "Embed. dim.", "Downstream (test)"]
    assert ["GloVe", "published", "", "300", "65.50"] in text.iloc[:, :5].to_numpy().tolist()


def test_runs_that_differ_in_more_than_their_seed_are_noted(table3, tmp_path):
    assert not [note for note in built(TABLE3, tmp_path).notes if "trainer." in note]
    table3("visualcse_bert", 7, 77.0, **{"trainer.lr": 1e-5})
    (note,) = (note for note in built(TABLE3, tmp_path).notes if "trainer.lr" in note)
    assert note.startswith("VisualCSE-BERT-base, Avg.: ")


def tied(metric, *, only_scored=(), **rows):
    """The rows that tie with the best of a column. rows: a score for each seed. only_scored: rows without seeds."""
    results = {"scores": {metric: {"lower_is_better": "uniformity" in metric}}}
    groups = {}
    for row, scores in rows.items():
        runs = [Run(Path("nowhere"), "done", {"seed": s}, {}, {metric: one}, results) for s, one in enumerate(scores)]
        group = group_of(runs, Measure(metric), "seed")
        groups[row] = group.without_seeds() if row in only_scored else group
    spread = seed_spread(groups.values())
    return sorted(ties(groups, spread and spread.sd, 0.95))


def test_the_best_and_what_seeds_cannot_tell_from_it():
    """One run is told apart by how much the seeds of others vary; if nothing has several, by nothing."""
    rows = {"a": (76.1, 76.3, 76.0), "b": (76.2, 76.1, 76.1), "c": (70.1, 70.4, 70.0), "d": (60.0,), "e": (76.0,)}
    assert tied("test/sts/average", **rows) == ["a", "b", "e"]
    assert tied("test/sts/average", d=rows["d"], e=rows["e"]) == ["d", "e"]
    assert tied("test/sts/average", c=rows["c"], e=rows["e"]) == ["e"]


def test_no_seeds_explain_a_difference_of_two_encoders_that_are_only_scored():
    rows = {"a": (60.0, 64.0, 62.0), "b": (70.0,), "c": (69.5,)}
    assert tied("test/sts/average", **rows, only_scored="bc") == ["b"]
    assert tied("test/sts/average", b=(70.0,), c=(69.5,), only_scored="bc") == ["b"]
    assert tied("test/sts/average", b=(70.0,), c=(70.0,), only_scored="bc") == ["b", "c"]
    assert tied("test/sts/average", **rows) == ["b", "c"]


def test_ties_are_corrected_over_the_column():
    """Alone b would differ from the best (p .030); among three that are compared with it, it ties (Holm: .060)."""
    rows = {"a": (76.0, 76.2, 76.1), "b": (75.6, 75.8, 75.4), "c": (75.9, 76.3, 75.8), "d": (60.1, 60.2, 60.3)}
    p = [stats.ttest_ind(rows["a"], rows[name], equal_var=False).pvalue for name in "bcd"]
    assert p[2] < p[0] < 0.05 <= min(2 * p[0], p[1])
    assert tied("test/sts/average", **rows) == ["a", "b", "c"]
    assert tied("test/sts/average", a=rows["a"], b=rows["b"]) == ["a"]


def test_the_least_is_best_where_less_is_better():
    assert tied("test/geometry/uniformity", a=(-2.1, -2.2, -2.1), b=(-1.1, -1.0, -1.2)) == ["a"]


TABLE5 = """
paper: nonling
table: table5
rows:
  German SimCSE: {where: {case: a}, metric: dev/stsb_multi/de/spearman}
  German VisualCSE: {where: {case: b}, metric: dev/stsb_multi/de/spearman}
  Russian SimCSE: {where: {case: c}, metric: dev/stsb_multi/ru/spearman}
columns: {"Spearman's": null}
"""


def test_only_rows_of_one_score_have_a_best_and_a_deviation_of_seeds_in_common(leave, tmp_path):
    for case, language, scores in (("a", "de", (67.0, 67.2)), ("b", "de", (71.0, 71.2)), ("c", "ru", (80.0, 86.0))):
        for seed, score in enumerate(scores):
            leave(f"{case}{seed}", {"case": case, "seed": seed}, {f"dev/stsb_multi/{language}/spearman": score})
    table = built(TABLE5, tmp_path)
    assert list(table.frame["tied_with_best"].dropna()) == [False, True, False]
    (note,) = (note for note in table.notes if "SD over seeds" in note)
    assert re.search(r" Spearman's of German SimCSE, German VisualCSE [\d.]+ \(SD over seeds 0.14, ", note)


def test_what_ties_with_the_best_is_signed(table3, tmp_path):
    table3("simcse_bert", 5, 77.4)  # p of the difference: .06
    table = built(TABLE3, tmp_path)
    assert set(table.frame.loc[table.frame["seeds"] > 0, "tied_with_best"]) == {True}
    assert [text[-1] for text in table.table["ours"] if text] == ["≈", "≈"]
    assert "≈" in [remark[0] for remark in table.legend]
