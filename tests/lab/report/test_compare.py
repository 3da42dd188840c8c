"""Any runs beside each other: settings, the best one, and the command that trains more seeds of it."""

import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
from made_up_tables import whole_report
from rich.console import Console

from cse.errors import UserError
from cse.lab.folder import jobs_file
from cse.lab.folder.runs import read_runs
from cse.lab.report.any_runs.comparison import compare_runs
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame, differences_section
from cse.lab.report.any_runs.names import format_setting
from cse.lab.report.any_runs.runs_report import best_of
from cse.lab.report.any_runs.runs_table import runs_frame
from cse.lab.report.any_runs.settings_table import notes_on_settings, score_text, settings_frame, settings_section
from cse.lab.report.any_runs.which_runs import places, runs_having, with_origin
from cse.lab.report.formats import suite_of
from cse.lab.report.show.terminal import show_report
from cse.lab.report.show.write import html_of_report

TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")


def again(comparison):
    """The command that trains more seeds of the best setting."""
    return best_of(compare_settings(comparison, None, 0.95), is_part=False).again.get("this setting", "")


@pytest.fixture
def grid_of_runs(leave):
    """Two rates, two temperatures, two seeds, 31 scores; one run failed."""
    for lr in (1e-5, 3e-5):
        for temperature in (0.05, 0.1):
            for seed in (1, 2):
                score = 70 + 1e5 * lr + 10 * temperature + seed / 10
                scores = {f"test/sts/{task}/{kind}": score for task in TASKS for kind in ("a", "b", "c", "d")}
                scores |= {"dev/stsb/spearman": score, "dev/stsb/pearson": 0.5, "test/sts/average": score}
                failed = (lr, temperature, seed) == (1e-5, 0.1, 2)
                config = {"trainer.lr": lr, "trainer.select": "dev/stsb/spearman", "objective.temperature": temperature,
                          "seed": seed, "tracker.wandb.name": f"{lr}{seed}"}  # fmt: skip
                overrides = [f"trainer.lr={lr}", f"objective.temperature={temperature}", f"seed={seed}",
                             "data.path='my file'", "resume=auto", "tracker.wandb.name=x"]  # fmt: skip
                ended = {"status": "failed", "error": "RunError: the loss is nan"} if failed else {"metrics": scores}
                leave(f"lr={lr},t={temperature},seed={seed}", config, overrides=overrides, **ended)


def test_a_copy_of_a_run_is_no_further_seed(leave, compared):
    for name, seed, score in (("a", 1, 70.0), ("a copy", 1, 70.0), ("b", 2, 73.0)):
        leave(name, {"trainer.lr": 1e-5, "seed": seed}, {"dev/stsb/spearman": score})
    comparison = compared()
    assert settings_section(comparison, "", 0.95).table["dev/stsb/spearman"].tolist() == ["71.50 ± 2.12"]
    assert [note for note in notes_on_settings(comparison) if "3 runs of 2 seeds" in note]


def test_a_copy_weighs_nothing_beside_another_run_of_its_seed(leave, compared):
    """The table of settings and the differences have one mean of a seed: of its settings, each counted once."""
    made = [("a", 1e-5, 1, 60.0, 1), ("a copy", 1e-5, 1, 60.0, 1), ("a again", 1e-5, 1, 66.0, 2),
            ("b", 1e-5, 2, 62.0, 1), ("c", 3e-5, 1, 60.0, 1), ("d", 3e-5, 2, 60.0, 1)]  # fmt: skip
    for name, lr, seed, score, clip in made:
        config = {"trainer.lr": lr, "trainer.grad_clip": clip, "seed": seed}
        leave(name, config, {"dev/x": score}, overrides=[f"trainer.lr={lr}", f"seed={seed}"])
    found = compared()
    of = found.ranked[0]
    assert of.means["dev/x"].mean == 62.5
    assert of.means["dev/x"].sd == pytest.approx(0.5**0.5)
    (row,) = differences_frame(compare_settings(found, None, 0.95)).to_dict("records")
    assert row["difference"] == -2.5


def test_a_score_that_a_seed_lacks_says_over_how_many_seeds_its_mean_is(leave, compared):
    for seed, score in ((1, 70.0), (2, 71.0), (3, None)):
        leave(f"{seed}", {"trainer.lr": 1e-5, "seed": seed}, {"dev/x": 60.0 + seed, "test/y": score})
    comparison = compared()
    assert settings_section(comparison, "", 0.95).table[["runs", "test/y"]].values.tolist() == [["3", "70.50 ± 0.71"]]
    assert notes_on_settings(comparison) == ["all: only 2 of 3 seeds have test/y"]
    assert settings_frame(comparison)["remarks"].tolist() == ["only 2 of 3 seeds have test/y"]


def test_the_least_wins_where_less_is_better(leave, compared):
    for lr, value in ((1e-5, 9.0), (3e-5, 3.0)):
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1}, {"dev/mine/loss": value})
    comparison = compared()
    assert comparison.best.label == "lr=3e-05"


def test_the_command_for_more_seeds_is_quoted_once_and_has_new_seeds(grid_of_runs, compared, tmp_path):
    def last_words(*folders):
        found = compared(*folders)
        return shlex.split(again(found))

    folder, one = tmp_path / "runs", "lr=3e-05,t=0.1,seed=1"
    assert last_words(folder) == ["cse-train", "-m", "trainer.lr=3e-05", "objective.temperature=0.1",
                                  "data.path='my file'", "seed=3,4,5", f"hydra.sweep.dir={folder}"]  # fmt: skip
    assert last_words(folder / one)[-1] == f"hydra.sweep.dir={folder}"  # beside a run that stands alone
    shutil.rmtree(folder / "lr=3e-05,t=0.1,seed=2")
    assert last_words(folder)[-2] == "seed=2,3,4"  # which others have: it was never started here
    assert last_words(folder.parent)[-1] == f"hydra.sweep.dir={folder}"  # where they lie, wherever they were looked for
    several = last_words(folder / "lr=1e-05,t=0.1,seed=1", folder / one)
    assert several[-1] == f"hydra.sweep.dir='{folder / one}'"  # a folder of its own
    odd = folder.rename(tmp_path / "a=b")
    assert last_words(odd)[-1] == f"hydra.sweep.dir='{odd}'"


def test_more_seeds_leave_out_the_seeds_that_a_job_of_the_setting_has_planned(leave, runs, tmp_path):
    """Not the seeds of another setting: settings with the same seeds are compared in pairs."""
    words = [[f"trainer.lr={lr}", f"seed={seed}"] for lr, seeds in ((1, (1, 2, 4)), (2, (1, 3))) for seed in seeds]
    lines = [{"job": f"{place}", "program": "cse-train", "words": of_job} for place, of_job in enumerate(words)]
    for place, lr in ((0, 1), (3, 2)):
        leave(f"{place}", {"trainer.lr": lr, "seed": 1}, {"dev/x": 9.0 - lr}, overrides=words[place])
    jobs_file.add_jobs(tmp_path / "runs", lines)
    folders = [tmp_path / "runs"]
    found = compare_runs(runs(), folders, [], "seed", jobs_file.jobs_without_run(folders))
    assert shlex.split(again(found))[2:-1] == ["trainer.lr=1", "seed=3,5,6"]


def test_each_setting_that_may_be_as_good_as_the_best_has_a_command_for_more_seeds(leave, compared):
    """At most four settings. A setting that is significantly worse has no command."""
    for number, score in enumerate((72.0, 71.9, 60.0)):
        for seed in (1, 2, 3):
            lr = 1e-5 * (number + 1)
            words = [f"trainer.lr={lr:g}", f"seed={seed}"]
            leave(f"{number}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": score + seed}, overrides=words)
    report, out = whole_report(compared()), io.StringIO()
    assert list(report.best.again) == ["this setting", "lr=2e-05"]
    show_report(report, Path(), Console(file=out, width=500))
    for text in (out.getvalue(), html_of_report(report, Path())):
        assert text.count("cse-train -m trainer.lr=2e-05 seed=4,5,6") == 1
        assert "ore seeds of lr=2e-05" in text
    for number in range(3, 9):
        leave(f"{number}-1", {"trainer.lr": 1e-5 * (number + 1), "seed": 1}, {"dev/x": 60.0})
    assert len(whole_report(compared()).best.again) == 4


def test_a_key_of_seeds_that_holds_no_whole_numbers_has_no_more_seeds(leave, compared):
    for lr in (1e-5, 3e-5):
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1}, {"dev/x": 70.0}, overrides=[f"trainer.lr={lr}"])
    found = compared(seed="trainer.lr")
    assert (found.seed_key, again(found)) == ("trainer.lr", "")


def test_more_seeds_stay_in_their_setting_where_an_axis_is_of_the_machine(leave, compared):
    for workers in (0, 2):
        leave(f"{workers}", {"trainer.workers": workers, "trainer.log_every": 1, "seed": 1}, {"dev/x": 70.0 + workers})
    found = compared()
    assert shlex.split(again(found))[2:-1] == ["trainer.workers=2", "seed=2,3,4"]


def test_the_command_of_a_sweeps_run_names_its_case_and_not_what_that_sets(leave, compared):
    """So that the folders of the seeds have the names by which the sweep finds them."""
    words = ["sweep=whitenedcse/figure3", "objective=simcse", "model=bert", "case=simcse_bert", "seed=1", "smoke=true"]
    config = {"case": "simcse_bert", "seed": 1, "trainer.lr": 1.0}
    found = compared(leave("a", config, {"dev/stsb/spearman": 7.0}, overrides=words))
    line = shlex.split(again(found))
    assert line[2:-1] == ["sweep=whitenedcse/figure3", "case=simcse_bert", "smoke=true", "seed=2,3,4"]


def test_more_seeds_of_a_choice_of_ones_own_need_its_folder(leave, compared):
    words = ["--config-dir", "own/conf", "objective=mine", "seed=1"]
    found = compared(leave("a", {"seed": 1, "trainer.lr": 1.0}, {"dev/stsb/spearman": 7.0}, overrides=words))
    line = shlex.split(again(found))
    assert line[:-1] == ["cse-train", "--config-dir", "own/conf", "-m", "objective=mine", "seed=2,3,4"]


def test_a_setting_is_named_by_what_tells_it_apart(leave, compared):
    """A choice of a group before a value, and neither the folder nor what follows from them."""
    for objective, lr, steps in (("simcse", 1.0, 5), ("simcse", 2.0, 5), ("barlow", 1.0, 9)):
        config = {"objective": objective, "trainer.lr": lr, "trainer.max_steps": steps, "seed": 1}
        leave(f"{objective},{lr}", config, {"dev/x": lr}, overrides=[f"{key}={value}" for key, value in config.items()])
    found = compared()
    names = {setting.label for setting in found.settings}
    assert names == {"objective=simcse, lr=1", "objective=simcse, lr=2", "objective=barlow, lr=1"}
    assert "max_steps" in settings_section(found, "", 0.95).table


def test_each_setting_has_a_name_though_some_lack_a_key(leave, compared):
    for name, config in (
        ("a", {"objective": "simcse"}),
        ("b", {"objective": "barlow", "augmentation.p": 1.0}),
        ("c", {"objective": "barlow", "augmentation.p": 2.0}),
    ):
        leave(
            name, {**config, "seed": 1}, {"dev/x": 1.0}, overrides=[f"{key}={value}" for key, value in config.items()]
        )
    found = compared()
    names = {setting.label for setting in found.settings}
    assert names == {"objective=simcse", "objective=barlow, augmentation.p=1", "objective=barlow, augmentation.p=2"}


def test_a_key_named_like_a_column_of_ours_keeps_its_longer_name(leave, compared):
    for number in (1, 2):
        for seed in (1, 2, 3):
            config = {"aux_modality.data.folder": f"/images/{number}", "augmentation.p": number, "seed": seed}
            leave(f"{number}-{seed}", config, {"dev/x": number + seed / 10})
    found = compared()
    assert settings_frame(found)["aux_modality.data.folder"].tolist() == ["2", "1"]
    assert settings_frame(found)["folder"].tolist() == ["2-*", "1-*"]
    latex = settings_section(found, "a", 0.95).latex()
    assert "data.folder & augmentation.p & x" in latex
    other = differences_section(compare_settings(found, None, 0.95)).table
    assert other[["data.folder", "augmentation.p"]].to_numpy().tolist() == [["1", "1"]]
    assert other["p"].tolist() != ["1"]


def test_no_line_gives_more_seeds_of_a_run_that_a_function_scored(leave, compared):
    config = {"seed": 1, "trainer.lr": 1.0, "eval": {"mine": {"_target_": "cse.eval.function.Function"}}}
    found = compared(leave("a", config, {"dev/mine/a": 7.0}))
    assert again(found) == ""


def test_patterns_choose_the_scores_and_a_dev_score_the_best(leave, grid_of_runs, compared):
    """However test scores rank the settings."""
    leave("lucky", {"trainer.lr": 1.0, "seed": 1}, {"test/sts/STS12/a": 99.0, "dev/stsb/spearman": 1.0})
    chosen = compared(metrics=["test/sts/STS12/*"])
    assert chosen.scores.shown == [f"test/sts/STS12/{kind}" for kind in "abcd"]
    assert (chosen.scores.best_by, chosen.scores.leading) == ("dev/stsb/spearman", "test/sts/STS12/a")
    assert chosen.best.label == "lr=3e-05, temperature=0.1"
    assert compared(metrics=["dev/stsb/pearson", "test/*"]).scores.best_by == "dev/stsb/pearson"


@pytest.mark.parametrize("further", [0, 8])  # of more scores, tables show a few
def test_the_scores_of_one_split_and_evaluator_are_side_by_side(leave, compared, further):
    names = ["dev/x/average", "dev/x/pearson", "test/x/pearson", "test/x/average", "test/y/mean"]
    scores = dict.fromkeys([*names, *(f"test/x/{number}" for number in range(further))], 70.0)
    leave("run", {"trainer.lr": 1, "seed": 1, "trainer.select": "dev/x/average"}, scores)
    found = compared()
    tables = [settings_section(found, "", 0.95).shown, settings_section(found, "", 0.95).table]
    for table in (*tables, runs_frame([found])):
        suites = [suite_of(name) for name in table if "/" in name]
        assert suites == sorted(suites, key=["test/x", "dev/x", "test/y"].index)
        assert next(name for name in table if "/" in name) == "test/x/average"


def test_a_test_score_marks_no_best(leave, compared):
    for lr in (1, 2):
        leave(f"{lr}", {"trainer.lr": lr, "trainer.select": "test/sts/average"}, {"test/sts/average": 70.0 + lr})
    comparison = compared()
    assert (comparison.best, comparison.scores.best_by, comparison.scores.leading) == (None, None, "test/sts/average")
    assert settings_section(comparison, "", 0.95).table[""].tolist() == ["", ""]
    assert [note for note in notes_on_settings(comparison) if "needs a dev score" in note]


def test_of_many_scores_the_averages_are_shown_and_a_pattern_names_others(grid_of_runs, compared):
    few, out = compared(), io.StringIO()
    show_report(whole_report(few), Path(), Console(file=out, width=200))
    (pattern,) = re.findall(r"29 more scores: use metrics=\[(\S+)\]", out.getvalue())
    assert len(compared(metrics=[pattern]).scores.shown) > 1


@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_number_is_cut_at_31_scores(grid_of_runs, compared, is_terminal):
    """A terminal has a width; a pipe has none, and a line for each setting."""
    whole = compared(metrics=["*"])
    out = io.StringIO()
    show_report(whole_report(whole), Path(), Console(file=out, width=60, force_terminal=is_terminal, no_color=True))
    text = out.getvalue()
    assert text.count("74.15 ± 0.07") == 30 + 1  # its scores, but for dev/stsb/pearson, and the best
    assert "RunError: the loss is nan" in text
    assert again(whole) in re.sub(r" \\\n +", " ", text)  # on a terminal in several lines
    table = [line for line in text.splitlines() if "±" in line and "best" not in line]
    assert (max(map(len, table)) <= 60) is is_terminal
    assert is_terminal or len(table) == 3  # those with two seeds


def test_modified_data_is_marked(leave, compared):
    """Of the split whose file was cut short. What a run does not have is left empty."""
    for name, config, more in (
        ("trained", {"trainer.lr": 1e-5, "seed": 1}, {"modified": "dev/stsb"}),
        ("other", {"trainer.lr": 3e-5, "seed": 1}, {}),
        ("scored", {"checkpoint": "/a/b/best", "pooling": "mean"}, {}),
    ):  # fmt: skip
        leave(name, config, {"dev/stsb/spearman": 70.0, "test/stsb/spearman": 60.0}, **more)
    comparison = compared()
    table = settings_section(comparison, "", 0.95).table.set_index(["checkpoint", "lr"])
    assert table.loc[("", "1e-05"), "dev/stsb/spearman"] == "70.00 †"
    assert table.loc[("", "1e-05"), "test/stsb/spearman"] == "60.00"
    assert table.loc[("b", ""), "dev/stsb/spearman"] == "70.00"
    assert list(runs_frame([comparison])["partial"]) == ["", "", "dev/stsb/spearman"]
    assert "partial: stsb: 12 of 1,500 rows" in notes_on_settings(comparison)


def test_runs_that_are_no_better_than_untrained_are_named(leave, compared):
    for seed, score in ((1, 70.0), (2, 74.5)):
        config = {"trainer.lr": 1e-5, "seed": seed, "trainer.select": "dev/stsb/spearman"}
        leave(f"{seed}", config, {"dev/stsb/spearman": score}, untrained={"dev/stsb/spearman": 72.0})
    comparison = compared()
    assert (
        "all: 1 of 2 runs score no better than the untrained encoder (72.00) on the selection metric"
        in notes_on_settings(comparison)
    )
    latex = settings_section(comparison, "a", 0.95).latex()
    assert latex.count(r"$\ddagger$") == 2  # the score, and in the caption


@pytest.mark.parametrize(("level", "is_said"), [(73.0, True), (72.5, True), (72.4, False)])
def test_a_report_says_that_no_trained_setting_is_better_than_the_untrained_encoder(leave, compared, level, is_said):
    """The mean decides, not a single seed. The notes do not say it again."""
    for lr, score in ((3e-5, 70.0), (1e-5, 72.0)):
        for seed in (0, 1):
            config = {"trainer.lr": lr, "seed": seed, "trainer.select": "dev/x"}
            scores = {"dev/x": score + seed, "test/x": 80.0}
            leave(f"{lr}-{seed}", config, scores, untrained={"dev/x": level})
    leave("reference", {"checkpoint": "bert"}, {"dev/x": 80.0, "test/x": 70.0})
    report, out = whole_report(compared()), io.StringIO()
    show_report(report, Path(), Console(file=out, width=200))
    for text in (out.getvalue(), html_of_report(report, Path())):
        assert text.count(f"untrained encoder (dev/x: {level:.2f} untrained, 72.50 after training).") == is_said
    assert any("score no better" in note for note in notes_on_settings(compared())) is not is_said


def test_more_seeds_are_put_into_a_searchs_folder_but_not_among_its_trials(leave, compared):
    folder = leave("a", {"trainer.lr": 1e-5, "seed": 1, "trainer.select": "dev/x"}, {"dev/x": 70.0})
    found = compared()
    assert again(found).endswith(f"hydra.sweep.dir={folder.parent}")
    (folder.parent / ".smac").mkdir()
    assert again(found).endswith(f"hydra.sweep.dir={folder.parent}/seeds")


def test_seeds_trained_since_a_search_replace_the_score_that_picked_its_setting(leave, compared):
    select = {"trainer.select": "dev/x", "seed": 1}
    folder = leave("lucky", {"trainer.lr": 1e-5, **select}, {"dev/x": 74.0}, untrained={"dev/x": 75.0})
    leave("second", {"trainer.lr": 2e-5, **select}, {"dev/x": 73.0})
    (folder.parent / ".smac").mkdir()
    before = compared()
    assert [score_text(before, one, "dev/x") for one in before.ranked] == ["74.00 ‡", "73.00"]
    for seed, score in ((2, 70.0), (3, 71.0)):
        leave(f"seeds/{seed}", {"trainer.lr": 1e-5, **select, "seed": seed}, {"dev/x": score})
    since = compared()
    assert [score_text(since, one, "dev/x") for one in since.ranked] == ["70.50 ± 0.71", "73.00"]
    assert since.best is since.ranked[0]  # not the trial with the highest score that is left
    assert list(settings_frame(since)["runs"]) == list(settings_frame(since)["done"]) == [2, 1]
    frame = differences_frame(compare_settings(since, None, 0.95))
    assert list(frame["difference"]) == [2.5]
    leave("seeds/4", {"trainer.lr": 1e-5, **select, "seed": 4}, {"dev/x": 70.0})
    section = settings_section(compared(), "", 0.95)
    assert [row for row, _ in section.bold] == [0]  # the best as the table ranks settings, and no lucky trial


def test_a_trial_that_is_left_out_marks_no_score(leave, compared):
    config = {"trainer.select": "dev/x", "trainer.lr": 1e-5}
    about = {"untrained": {"dev/x": 75.0}, "modified": "dev/x"}
    folder = leave("trial", {**config, "seed": 1}, {"dev/x": 74.0}, **about)
    leave("seeds/2", {**config, "seed": 2}, {"dev/x": 76.0}, untrained={"dev/x": 75.0})
    (folder.parent / ".smac").mkdir()
    since = compared()
    assert score_text(since, since.settings[0], "dev/x") == "76.00"
    assert settings_frame(since)["partial"].tolist() == [""]
    assert not [line for line in settings_section(since, "", 0.95).legend if line.startswith(("†", "‡"))]


def test_a_copy_of_a_trial_is_no_seed_trained_since(leave, compared):
    config = {"trainer.select": "dev/x", "seed": 1}
    for name, lr, score in (("a", 1e-5, 74.0), ("b", 2e-5, 60.0), ("b.bak", 2e-5, 60.0)):
        folder = leave(name, {"trainer.lr": lr, **config}, {"dev/x": score})
    (folder.parent / ".smac").mkdir()
    assert [one.values["trainer.lr"] for one in compared().ranked] == ["1e-05", "2e-05"]
    leave("seeds/2", {"trainer.lr": 2e-5, **config, "seed": 2}, {"dev/x": 61.0})
    since = compared()
    assert score_text(since, since.best, "dev/x") == "61.00"  # neither the trial nor its copy
    assert settings_frame(since)["runs"].tolist() == [1, 1]


def test_paths_of_one_name_are_told_apart(leave, compared, runs):
    for version, score in (("v1", 70.0), ("v2", 60.0)):
        leave(version, {"data.path": f"data/{version}/train.txt", "seed": 1}, {"dev/x": score})
    comparison = compared()
    assert [one.values["data.path"] for one in comparison.ranked] == ["v1/train.txt", "v2/train.txt"]
    assert comparison.best.label == "path=v1/train.txt"
    assert [run.folder.name for run in runs_having(runs(), "path=v2/train.txt", "seed")] == ["v2"]
    with pytest.raises(UserError, match="none of the 2 runs"):
        runs_having(runs(), "data.other=None", "seed")


def test_runs_keep_what_names_them_apart_also_globs_and_a_folder_in_another(leave, tmp_path):
    for name in ("old_1", "old_2", "new_1", "new_2", "all/1", "all/inner/2"):
        leave(name, {"seed": int(name[-1])}, {"dev/x": 1.0})
    folder = tmp_path / "runs"
    for named, expected in ((["old_*", "new_*"], ["new_*", "old_*"]), (["all", "all/inner"], ["all", "inner"])):
        where = {one: places(folder / one) for one in named}
        found = with_origin(read_runs([place for of in where.values() for place in of]), where)
        assert sorted({format_setting(run, "origin") for run in found}) == expected


def test_scores_below_one_have_four_decimals(leave, compared):
    for seed, isotropy in ((1, 0.0012), (2, 0.0014)):
        leave(f"{seed}", {"seed": seed}, {"test/geometry/isotropy": isotropy})
    found = compared()
    assert score_text(found, found.settings[0], "test/geometry/isotropy") == "0.0013 ± 0.0001"


@pytest.mark.parametrize(("step", "text"), [(0.002, "-2.7700 ± 0.0020"), (0.0, "-2.77 ± 0.00"), (0.1, "-2.77 ± 0.10")])
def test_a_small_deviation_has_enough_decimals(leave, compared, step, text):
    for seed in (-1, 0, 1):
        leave(f"{seed}", {"seed": seed}, {"dev/geometry/uniformity": -2.77 + step * seed})
    found = compared()
    assert score_text(found, found.settings[0], "dev/geometry/uniformity") == text


def test_retrieved_captions_stand_side_by_side(leave, compared):
    """NonLing-CSE's Table C.1 of any runs, also where they were asked other things."""
    asked = {"a": {"dog": [[0.9, "a dog"], [0.8, "dogs"]], "cat": [[0.7, "a cat"]]}, "b": {"dog": [[0.6, "a hog"]]}}
    for name, top in (asked | {"c": {}}).items():
        leave(name, {"checkpoint": name}, {"test/retrieval/recall@1": 1.0}, data={"retrieval": {"top": top}})
    assert notes_on_settings(compared())[:3] == [
        "dog, nearest #1: checkpoint=a: a dog | checkpoint=b: a hog",
        "dog, nearest #2: checkpoint=a: dogs",
        "cat, nearest #1: checkpoint=a: a cat",
    ]
