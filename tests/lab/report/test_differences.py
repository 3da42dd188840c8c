"""How settings differ, held to scipy's tests and Holm's arithmetic, and what a gate in someone's CI lets pass."""

import csv
from functools import partial
from itertools import product

import pytest
from scipy import stats
from typed import exit_code

from cse.lab.report.any_runs import differences
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame, differences_section, differences_table
from cse.lab.report.any_runs.settings_table import notes_on_settings, settings_frame, settings_section
from cse.lab.report.numbers.statistics import seeds_for

SCORES = {
    "1e-05": [70.0, 70.3, 70.1, 69.9],
    "3e-05": [72.0, 72.3, 72.1, 72.2],
    "0.0001": [72.1, 71.7, 72.2, 72.0],
}


cse_report = partial(exit_code, "cse-report")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def three_rates(leave):
    """Runs of three rates with four seeds each, the first in a folder of its own."""
    for lr, values in SCORES.items():
        for seed, value in enumerate(values):
            config = {"trainer.lr": float(lr), "seed": seed, "trainer.select": "dev/stsb/spearman"}
            leave(f"{'low' if lr == '1e-05' else 'high'}/{lr},{seed}", config, {"dev/stsb/spearman": value})


def by_rate(differences):
    return {row["trainer.lr"]: row for row in differences_frame(differences).to_dict("records")}


def test_each_setting_against_the_best_by_welch_and_holm(three_rates, compared):
    differences = compare_settings(compared(), None, 0.95)
    found = differences_section(differences)
    by_lr = by_rate(differences)
    assert set(by_lr) == {"1e-05", "0.0001"}
    welch = {lr: stats.ttest_ind(SCORES[lr], SCORES["3e-05"], equal_var=False) for lr in by_lr}
    for lr, row in by_lr.items():
        assert (row["low"], row["high"]) == pytest.approx(tuple(welch[lr].confidence_interval(0.95)))
    assert by_lr["1e-05"]["p_holm"] == pytest.approx(2 * welch["1e-05"].pvalue)
    assert by_lr["0.0001"]["p_holm"] == pytest.approx(welch["0.0001"].pvalue)
    assert {lr: row["tied"] for lr, row in by_lr.items()} == {"1e-05": False, "0.0001": True}
    assert int(by_lr["0.0001"]["seeds_to_tell"]) > 4
    assert by_lr["1e-05"]["seeds_to_tell"] == ""
    texts = found.table.set_index("lr")["difference"]
    assert texts["0.0001"].endswith(" ≈")


@pytest.mark.parametrize(("far", "bold"), [(60.0, ["close", "best"]), (None, ["close", "best"])])
def test_the_best_mean_and_all_that_do_not_differ_from_it_significantly_are_bold(leave, compared, far, bold):
    """In each column. A setting with one seed has no test and is not bold."""
    for name, base in (("close", 70.0), ("best", 70.5), ("far", far)):
        for seed in (1, 2, 3)[: None if base else 1]:
            score = (base or 70.0) + seed
            leave(f"{name}-{seed}", {"objective": name, "seed": seed}, {"dev/x": score, "test/x": -score})
    found = compared(metrics=["dev/x", "test/x"])
    section = settings_section(found, "a", 0.95)
    shown = {(section.shown["objective"][row], section.shown.columns[column]) for row, column in section.bold}
    assert {name for name, score in shown if score == "dev/x"} == set(bold)
    assert {name for name, score in shown if score == "test/x"} == (set() if far is None else {"far"})
    assert "bold: the best of each score, and means not significantly different" in section.caption


def test_in_latex_a_difference_fits_in_one_column_and_its_caption_has_two_sentences(leave, compared):
    """The remaining sentences are comments."""
    for number in range(2):
        for seed in (1, 2, 3):
            config = {"trainer.lr": 1e-5 * (number + 1), "seed": seed, "trainer.select": "dev/x"}
            leave(f"{number}-{seed}", config, {"dev/x": 70.0 + seed + 0.1 * seed * number})
    latex = differences_section(compare_settings(compared(), None, 0.95), "a").latex()
    assert r"\begin{table}" in latex
    caption = latex.partition(r"\caption{")[2].partition("}\n")[0]
    assert caption.count(". ") + caption.endswith(".") == 2
    assert ("; 3 and 3 seeds; " in caption, "3 and 3" in latex.partition("\\toprule")[2]) == (True, False)  # said once
    assert "% paired: paired t-tests over the seeds." in latex


def test_in_latex_a_difference_has_one_p(leave, compared):
    """The p of Welch's t-test decides ≈. A second p would leave readers to choose. The other files have both."""
    for lr, seed in product((1e-5, 3e-5), (1, 2, 3)):
        leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70.0 + seed + 1e4 * lr * seed})
    section = differences_section(compare_settings(compared(), None, 0.95, within=2.0), "a")
    assert {"paired p", "paired equivalent", "paired 95% interval"} <= set(section.shown)
    assert "| paired p |" in section.markdown()
    table = section.latex().partition("\\toprule")[2]
    assert ("paired" in table, "equivalent" in table) == (False, True)
    assert r"$\approx$ by" not in table


@pytest.mark.parametrize(("sign", "head"), [("≈", "≈ by p"), ("", "p")])
def test_the_head_of_a_column_says_which_p_decides_the_sign(leave, compared, sign, head):
    for lr, seed in product((1e-5, 3e-5), (1, 2, 3)):
        better = (0.1 if sign else 9.0) * (lr == 3e-5)
        leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70.0 + seed + better + lr * 1e4 * seed})
    table = differences_section(compare_settings(compared(), "lr=1e-05", 0.95)).shown
    assert [name for name in table if name.endswith("p")] == [head, "paired p"]
    assert (" ≈" in table["difference"].iloc[0]) == bool(sign)


def test_each_p_is_named_as_raw_or_by_holm(three_rates, compared):
    """In the file both, of every test; the table says which it shows, and one comparison needs no correction."""
    differences = compare_settings(compared(), "lr=3e-05", 0.95, within=0.5)
    found = differences_section(differences)
    by_lr, paired = (
        by_rate(differences),
        {lr: stats.ttest_rel(SCORES[lr], SCORES["3e-05"]) for lr in ("1e-05", "0.0001")},
    )
    for lr, row in by_lr.items():
        assert row["p"] == pytest.approx(stats.ttest_ind(SCORES[lr], SCORES["3e-05"], equal_var=False).pvalue)
        assert row["paired_p"] == pytest.approx(paired[lr].pvalue)
    for p in ("p", "paired_p", "equivalent_p", "paired_equivalent_p"):
        small, large = sorted(row[p] for row in by_lr.values())
        corrected = sorted(row[f"{p}_holm"] for row in by_lr.values())
        assert corrected == pytest.approx([min(1, 2 * small), max(large, min(1, 2 * small))])
    assert {"≈ by p (Holm)", "paired p (Holm)"} <= set(found.table)
    assert not {"p", "paired p"} & set(found.table)


def test_two_seeds_give_no_verdict(leave, compared):
    for seed, lr in product((1, 2), (1.0, 2.0)):
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70 + seed + lr / 10})
    found = compare_settings(compared(), None, 0.95)
    assert "≈" not in differences_section(found).markdown()
    assert "too few seeds" in found.verdict


def test_a_best_setting_without_the_score_of_the_differences_says_so(leave, capsys):
    for lr, score in ((1e-5, 70.0), (3e-5, 71.0), (1e-4, None)):
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1}, {"dev/x": 60 + 1e5 * lr, "test/y": score})
    assert cse_report("runs=runs", "metrics=[test/y]", "out=out") == 0
    shown = capsys.readouterr().out
    assert "No differences to lr=0.0001: it has no test/y, by which settings are compared." in shown
    assert "  no verdict: it has no test/y, by which settings are compared\n" in shown


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ((70.0,), ""),  # a single setting: nobody looks for a difference
        ((70.0, None), "no other setting has dev/x"),
        ((None, None), ""),  # no finished run has a score
    ],
)
def test_without_differences_the_reason_is_known_where_one_is_looked_for(leave, compared, scores, why):
    for lr, score in enumerate(scores, 1):
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1}, {} if score is None else {"dev/x": score})
    differences = compare_settings(compared(), None, 0.95)
    assert (differences.lines, differences.no_verdict) == ([], why)


@pytest.mark.parametrize("baseline", ["lr=1e-5", "trainer.lr=0.00001", "runs/low"])
def test_a_baseline_is_named_by_its_values_or_its_folder(three_rates, compared, baseline):
    found = by_rate(compare_settings(compared(), baseline, 0.95))
    assert {lr: row["difference"] > 1.5 for lr, row in found.items()} == {"3e-05": True, "0.0001": True}
    assert "the best" not in differences_section(compare_settings(compared(), "lr=3e-05", 0.95)).title  # though it is


@pytest.mark.parametrize(("words", "code"), [
    (["runs=runs", "baseline=lr=1e-05", "gate=1.5"], 0),
    (["runs=runs", "baseline=lr=1e-05", "gate=2.05"], 1),  # so much it is, and by chance may not be
    (["runs=runs", "gate=0"], 2),  # whichever is better would pass
    (["runs=['runs/high/0.0001*','runs/high/*']", "gate=0"], 1),  # the second may be as good
    (["runs=[runs/low,runs/high]", "baseline=lr=3e-05", "gate=0"], 1),  # the first is the worse
    (["runs=['runs/high/3e-05*','runs/low/*']", "gate=1.5"], 0),
    (["runs=['runs/low/*','runs/high/3e-05*']", "gate=0"], 1),  # the first is the worse
    (["runs=runs", "baseline=lr=3e-05", "gate=0"], 1),  # it is the best itself
    (["runs=runs", "baseline=lr=5", "gate=1"], 2),
    (["runs=runs/low", "gate=1"], 2),
    (["sweep=whitenedcse/table4", "gate=1"], 2),
    (["sweep=whitenedcse/table4", "baseline=lr=1"], 2),
])  # fmt: skip
def test_a_gate_passes_only_what_is_shown(three_rates, words, code):
    assert cse_report(*words, "out=out") == code
    if words == ["runs=runs", "baseline=lr=1e-05", "gate=1.5"]:
        with open("out/differences.csv") as file:
            assert ["better by 1.5: p" in row["gate"] for row in csv.DictReader(file)] == [True, False]


@pytest.mark.parametrize(
    ("baseline", "verdict"),
    [
        (None, "not significantly better than 1 of the 2 other settings"),
        ("lr=3e-05", "not significantly better than 1 of the 2 other settings"),  # the best itself
        ("lr=1e-05", "significantly better than lr=1e-05 (p <.0001); it is compared with no other setting"),
    ],
)
def test_beside_a_baseline_the_best_is_not_named_as_if_it_had_won(three_rates, compared, baseline, verdict):
    assert compare_settings(compared(), baseline, 0.95).verdict == verdict


@pytest.mark.parametrize(("gain", "shown", "verdict"), [
    (10, {}, "significantly better than lr=1 (p "), (0.1, {}, "not significantly better than lr=1 (p "),
    (10, {"test/x": -10}, "significantly worse than lr=1 (p "),  # by the test score, which is shown
])  # fmt: skip
def test_the_best_of_two_settings_has_a_verdict_against_the_baseline(leave, compared, gain, shown, verdict):
    for lr, seed in product((1, 2), (1, 2, 3)):
        of_test = {name: 70 + seed + by * lr for name, by in shown.items()}
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70 + seed + gain * lr} | of_test)
    found = compare_settings(compared(), "lr=1", 0.95).verdict
    assert found.startswith(verdict)
    assert "other setting" not in found


@pytest.mark.parametrize(("gain", "shown", "verdict"), [
    (0.1, {}, "not significantly better"), (10, {}, "significantly better"),
    (10, {"test/x": -10}, "not significantly better"),  # by the test score it is significantly worse
])  # fmt: skip
def test_the_verdict_of_two_settings_names_no_number(leave, compared, gain, shown, verdict):
    for lr, seed in product((1, 2), (1, 2, 3)):
        of_test = {name: 70 + seed + by * lr for name, by in shown.items()}
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70 + seed + gain * lr} | of_test)
    assert compare_settings(compared(), None, 0.95).verdict == f"{verdict} than the other setting"


@pytest.mark.parametrize(
    ("lower", "line"),
    [
        (0, None),
        (1, "1 further setting, which ranks lower, is not compared."),
        (2, "2 further settings, which rank lower, are not compared."),
    ],
)
def test_settings_that_are_not_compared_are_counted(leave, compared, monkeypatch, lower, line):
    monkeypatch.setattr(differences, "MOST", 2)
    for lr, seed in product(range(2 + lower), (1, 2, 3)):
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70 + seed + lr / 10})
    notes = differences_section(compare_settings(compared(), None, 0.95)).notes
    assert [note for note in notes if "not compared" in note] == ([line] if line else [])


def test_differences_are_in_every_file(three_rates, tmp_path, capsys):
    assert cse_report("runs=runs", "out=out") == 0
    printed = capsys.readouterr().out
    assert "-0.15 ≈" in printed
    for name in ("report.html", "report.md"):
        assert "-0.15 ≈" in (tmp_path / "out" / name).read_text()
    latex = (tmp_path / "out" / "differences.tex").read_text()
    heads = [
        (tmp_path / "out" / "report.md").read_text().partition("\n## ")[0],
        (tmp_path / "out" / "report.tex").read_text().partition("\n")[0],
    ]
    for shown in (printed, (tmp_path / "out" / "report.html").read_text(), *heads):  # where the best is named
        assert "not significantly better than 1 of the 2 other settings" in shown
    assert heads[1].startswith(r"% Best by dev/stsb/spearman: lr=3e-05 (72.15 $\pm$ 0.13)")
    assert r"$-$0.15\textsuperscript{$\approx$}" in latex
    (caption,) = (line for line in latex.splitlines() if line.startswith(r"\caption") and r"$\approx$: " in line)
    assert "corrected by Holm" in caption
    with open(tmp_path / "out" / "differences.csv") as file:
        assert len(list(csv.DictReader(file))) == 2


def test_a_folder_whose_name_has_an_equals_sign_is_a_folder(leave):
    """`lr=5` is the folder of the better runs, and the setting of the others."""
    for name, lr, value in (("lr=5", 1.0, 80.0), ("other", 5.0, 70.0)):
        for seed in (1, 2, 3):
            leave(f"{name}/{seed}", {"seed": seed, "trainer.lr": lr}, {"dev/stsb/spearman": value + seed / 100})
    folders = "runs=[runs/lr=5,runs/other]"
    assert cse_report(folders, "gate=1", "out=out") == 0
    assert cse_report(folders, "gate=1", "baseline=runs/lr=5", "out=out") == 2  # it is the first itself


@pytest.mark.parametrize(
    ("files", "seeds", "modified", "told"),
    [
        ({"dev.csv": "1"}, 3, None, "gate=1 on dev/stsb/spearman: passed"),
        # a run that scored fewer splits has read fewer files
        ({"dev.csv": "1", "t.csv": "2"}, 3, None, "gate=1 on dev/stsb/spearman: passed"),
        ({"dev.csv": "1"}, 2, None, "too few seeds"),
        ({"dev.csv": "1"}, 3, 2, "incomplete or modified data"),
        ({"dev.csv": "2"}, 3, None, "scored on different data"),
        ({"third.csv": "2"}, 3, None, "scored on different data"),
    ],
)
def test_few_seeds_and_modified_or_other_data_pass_no_gate(leave, capsys, files, seeds, modified, told):
    for name, value, read in (("a", 80.0, files), ("b", 70.0, {"dev.csv": "1"})):
        data = {"stsb": {"files": {file: {"sha256": digest} for file, digest in read.items()}}}
        for seed in range(seeds):
            about = {"modified": "stsb"} if (name, seed) == ("a", modified) else {"data": data}
            leave(f"{name}/{seed}", {"seed": seed}, {"dev/stsb/spearman": value + seed / 100}, **about)
    assert cse_report("runs=[runs/a,runs/b]", "gate=1", "out=out") == ("passed" not in told)
    printed = capsys.readouterr().out
    assert told in printed
    assert ("The runs of different settings differ in training data or scoring: " in printed) is (
        files != {"dev.csv": "1"}
    )


def test_what_differs_within_a_setting_is_said_once(leave, compared):
    for lr in (1, 2):
        for seed in (1, 2):
            data = {"stsb": {"files": {"dev.csv": {"sha256": f"{seed}"}}}}
            leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/stsb/spearman": 70.0}, data=data)
    assert [note.partition(" (")[0] for note in notes_on_settings(compared())] == [
        f"lr={lr}: the mean is over runs that differ in data of stsb" for lr in (1, 2)
    ]
    assert [remark.partition(" (")[0] for remark in settings_frame(compared())["remarks"]] == [
        "the mean is over runs that differ in data of stsb"
    ] * 2


@pytest.mark.parametrize(("codes", "passed"), [("aaa", True), ("bbb", True), ("aab", False)])
def test_a_gate_passes_no_setting_whose_code_changed_between_its_runs(leave, capsys, codes, passed):
    """Two settings of different code are what a gate is for."""
    for name, value, code in (("a", 70.0, codes), ("b", 60.0, "aaa")):
        for seed in range(3):
            score = {"dev/stsb/spearman": value + seed / 100}
            leave(f"{name}/{seed}", {"seed": seed}, score, code=code[seed] * 16)
    assert cse_report("runs=[runs/a,runs/b]", "gate=1", "out=out") == (not passed)
    printed = " ".join(capsys.readouterr().out.split())
    assert ("not shown, the runs of a setting have different code" in printed) is not passed
    assert (" code (" in printed) is ("b" in codes)


def test_a_gate_has_the_decimals_of_its_score(leave, capsys):
    for name, value in (("a", 0.704), ("b", 0.7)):
        for seed in range(3):
            leave(f"{name}/{seed}", {"seed": seed}, {"dev/stsb/spearman": value + seed / 10000})
    cse_report("runs=[runs/a,runs/b]", "gate=0.001", "out=out")
    assert "+0.0040 [+0.00" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("contents", "path", "passed"),
    [("xxx", "1.txt", True), ("xxy", "1.txt", False), ("yyy", "1.txt", False), ("yyy", "2.txt", True)],
)
def test_a_gate_passes_nothing_trained_on_other_bytes_of_one_name(leave, capsys, contents, path, passed):
    """Two settings of different files are what a gate is for."""
    for name, value, of, place in (("a", 70.0, contents, path), ("b", 60.0, "xxx", "1.txt")):
        for seed in range(3):
            config = {"seed": seed, "data.path": place}
            about = {"name": "text", "sha256": {place: of[seed]}}
            leave(f"{name}/{seed}", config, {"dev/stsb/spearman": value + seed / 100}, training_data=about)
    assert cse_report("runs=[runs/a,runs/b]", "gate=1", "out=out") == (not passed)
    printed = " ".join(capsys.readouterr().out.split())
    assert ("were trained on different data" in printed) is not passed
    assert ("the files of data=text" in printed) is not passed


def test_the_same_seeds_are_compared_in_pairs_and_for_likeness(leave, compared):
    """As bf16 beside fp32, where a seed decides more than the setting: told to be alike by pairs alone."""
    fp32 = [70.0, 72.0, 69.0, 71.0, 73.0]
    bf16 = [70.1, 72.0, 69.1, 71.1, 72.9]
    for precision, values in (("fp32", fp32), ("bf16", bf16)):
        for seed, value in enumerate(values):
            config = {"trainer.precision": precision, "seed": seed}
            leave(f"{precision}-{seed}", config, {"dev/stsb/spearman": value})
    differences = compare_settings(compared(), "precision=fp32", 0.95, within=0.5)
    found = differences_section(differences)
    (row,) = differences_frame(differences).to_dict("records")
    paired = stats.ttest_rel(bf16, fp32)
    assert (row["paired_low"], row["paired_high"]) == pytest.approx(tuple(paired.confidence_interval(0.95)))
    assert row["paired_p"] == pytest.approx(paired.pvalue)
    for p, test in (
        (
            "equivalent_p",
            lambda shift, side: stats.ttest_ind(bf16, [v + shift for v in fp32], equal_var=False, alternative=side),
        ),
        ("paired_equivalent_p", lambda shift, side: stats.ttest_rel(bf16, [v + shift for v in fp32], alternative=side)),
    ):
        assert row[p] == pytest.approx(max(test(-0.5, "greater").pvalue, test(0.5, "less").pvalue))
    assert row["equivalent_p"] > 0.05 > row["paired_equivalent_p"]
    assert (row["equivalent"], row["paired_equivalent"]) == ("not shown", "yes")
    assert {"paired p", "equivalent", "paired equivalent"} <= set(found.table)
    assert not [note for note in found.notes if "No paired test" in note]
    leave("fp32-9", {"trainer.precision": "fp32", "seed": 9}, {"dev/stsb/spearman": 71.0})
    (note,) = (
        note
        for note in differences_section(compare_settings(compared(), "precision=fp32", 0.95)).notes
        if "paired" in note
    )
    assert "where=seed=0,1,2,3,4 " in note


def test_a_setting_of_few_seeds_leaves_the_others_their_verdict(three_rates, leave, compared):
    for seed in (0, 1):
        leave(f"few-{seed}", {"trainer.lr": 1e-3, "seed": seed}, {"dev/stsb/spearman": 60.0 + seed})
    differences = compare_settings(compared(), "lr=3e-05", 0.95, within=0.5)
    found = differences_section(differences)
    alike = {lr: row["equivalent"] for lr, row in by_rate(differences).items()}
    assert alike == {"0.0001": "not shown", "1e-05": "no", "0.001": ""}
    assert "No verdict: too few seeds (2): each trained setting needs 3, in 1 of 3 comparisons." in found.notes


def test_seeds_beside_an_encoder_that_is_only_scored_are_those_of_a_one_sample_test(leave, compared):
    for seed, value in enumerate([70.0, 71.0, 70.4, 70.6, 69.9]):
        leave(f"mine-{seed}", {"case": "mine", "seed": seed}, {"dev/stsb/spearman": value})
    leave("theirs", {"case": "theirs"}, {"dev/stsb/spearman": 70.2})
    differences = compare_settings(compared(), "case=theirs", 0.95)
    found = differences_section(differences)
    (row,) = differences_frame(differences).to_dict("records")
    sd = stats.tstd([70.0, 71.0, 70.4, 70.6, 69.9])
    assert int(row["seeds_to_tell"]) == seeds_for(row["difference"], sd, sides=1)
    assert " 5 seeds, " in found.notes[0]


def test_seeds_may_be_another_key(three_rates, tmp_path):
    assert cse_report("runs=runs", "seed=trainer.lr", "out=out") == 0
    assert cse_report("runs=runs", "where=seed=1", "where=seed=2") == 2


def test_settings_further_apart_than_the_margin_are_not_alike(three_rates, compared):
    found = by_rate(compare_settings(compared(), "lr=3e-05", 0.95, within=0.5))
    assert {lr: row["equivalent"] for lr, row in found.items()} == {"0.0001": "yes", "1e-05": "no"}


@pytest.mark.parametrize(("others", "words"), [(1, "the other setting"), (2, "either of"), (3, "any of the 3 other")])
def test_a_verdict_on_no_setting_reads_as_english(leave, compared, others, words):
    for lr, seed in product(range(others + 1), (1, 2, 3)):
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70 + seed + lr / 10})
    assert f"not significantly better than {words}" in compare_settings(compared(), None, 0.95).verdict


@pytest.mark.parametrize(("shift", "is_shown"), [(0.001, False), (1.0, True)])
def test_paired_columns_stand_only_beside_another_p(leave, compared, shift, is_shown):
    """Both tests of a large difference have p < .0001."""
    for lr, seed in product((1, 2), range(5)):
        score = 70 + (0 if is_shown else 20) * lr + seed / 10 + (seed % 2) * shift * lr / 10
        leave(f"{lr},{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": score})
    table = differences_table(compare_settings(compared(), None, 0.95))
    assert any(name.startswith("paired ") for name in table) is is_shown
