"""Notes beside a table: scores that rest on different things are never mixed silently, and no missing job is hidden."""

from dataclasses import replace

import pytest
from run_folders import leave_heartbeat

from cse.lab.report.any_runs.settings_table import notes_on_settings
from cse.lab.report.numbers.notes import detectable_differences, seen_in_training
from cse.lab.report.numbers.statistics import SeedSpread
from cse.lab.report.numbers.unlike import (
    are_scored_on_other_data,
    changed_training_data,
    differences_in_number,
    notes_on_unlike_runs,
    scoring_differences,
)
from cse.lab.report.paper.departures import notes_on_departures
from cse.lab.report.paper.missing_jobs import missing_jobs

SOURCE = {"protocol": "Spearman", "files": {"sts.csv": {"sha256": "aa", "rows": 9}}, "folds": [1.0]}


def test_columns_with_equally_many_seeds_share_one_note_on_what_their_seeds_detect():
    spreads = {"a ": SeedSpread(0.2, 3, [0.2]), "b ": SeedSpread(0.4, 3, [0.3, 0.5]), "c ": SeedSpread(0.2, 5, [0.2])}
    first, second = detectable_differences(spreads | {"d ": SeedSpread(0.0, 3, [0.0])}, 0.05)
    assert "is a 0.61 (SD over seeds 0.2), b 1.2 (SD over seeds 0.4, pooled from 0.3 to 0.5). " in first
    assert "With 5 seeds" in second
    assert "c 0.4 (SD over seeds 0.2)" in second


def test_libraries_data_and_settings_that_move_a_score_are_named_with_their_values(leave, runs):
    def leave_scored(name, torch="2.11.0", rich="1", partial=False, senteval="/here", **source):
        config = {"seed": 1, "eval.sts.allow_partial": partial, "eval.sts.senteval": senteval}
        about = {"data": {"sts": SOURCE | source}, "versions": {"torch": torch, "rich": rich}}
        leave(name, config, {"test/sts/average": 1.0}, **about)

    leave_scored("a")
    leave_scored("b", rich="2", senteval="/there", folds=[2.0])
    assert scoring_differences(runs()) == []  # nothing that moves a score

    leave_scored("c", torch="2.10.0", files={"sts.csv": {"sha256": "bb"}})
    leave_scored("d", partial=True)
    torch, partial, data = scoring_differences(runs())
    assert (torch, partial) == ("torch (2.11.0 | 2.10.0)", "eval.sts.allow_partial (false | true)")
    assert data.startswith("data of sts (")
    for settings in (True, False):
        assert torch in differences_in_number(runs(), "seed", also_settings=settings)


@pytest.mark.parametrize(("named", "about"), [
    ("data=text", lambda seed, content: {"name": "text", "sha256": {f"/folder{seed}/a.txt": content}}),
    ("aux_modality", lambda seed, digest: {"aux_modality": {"source": f"folder{seed}", "digest": digest}}),
])  # fmt: skip
def test_other_text_or_images_under_one_name_are_noticed(leave, runs, named, about):
    """Wherever they lie."""
    for seed, content in enumerate(("aa", "aa", "bb")):
        leave(str(seed), {"seed": seed}, {"dev/stsb/spearman": 1.0}, training_data=about(seed, content))
    assert differences_in_number(runs()[:2], "seed", also_settings=False) == []
    (line,) = differences_in_number(runs(), "seed", also_settings=False)
    assert named in line


@pytest.mark.parametrize(("key", "about"), [
    ("data.path", lambda digest: {"name": "text", "sha256": {"a.txt": digest}}),
    ("aux_modality.data.per_class", lambda digest: {"aux_modality": {"digest": digest}}),
])  # fmt: skip
def test_settings_of_other_files_have_no_other_bytes_of_one_name(leave, runs, key, about):
    for number, (value, digest) in enumerate([(1, "x"), (2, "y"), (2, "z")]):
        leave(f"{number}", {"seed": 1, key: value}, training_data=about(digest))
    assert changed_training_data(runs()[:2], same_file_names_only=True) == []
    assert changed_training_data(runs(), same_file_names_only=True) == changed_training_data(runs()[:2])


@pytest.mark.parametrize(("score", "other"), [("test/pairs/t/spearman", True), ("dev/pairs/dev/spearman", False)])
def test_a_file_that_is_shared_says_nothing_of_the_tests(leave, runs, score, other):
    for name in ("a", "b"):
        files = {"dev.csv": {"sha256": "1"}, f"{name}/t.csv": {"sha256": name}}
        leave(name, {"seed": 1}, {score: 1.0}, data={"pairs": {"files": files}})
    assert are_scored_on_other_data(runs(), score) == other


def test_a_difference_is_noted_once_and_hidden_by_no_longer_one(leave, runs):
    for name, torch in (("a", "2.1"), ("b", "2.2")):
        leave(name, {"seed": 1}, {"test/sts/average": 1.0}, versions={"torch": torch})
    (difference,) = scoring_differences(runs())
    assert differences_in_number(runs(), "seed", also_settings=False) == [difference]
    assert notes_on_unlike_runs("cells", runs(), {difference}) == []
    assert notes_on_unlike_runs("cells", runs(), {f"py{difference}"}) == [
        f"The runs of different cells differ in training data or scoring: {difference}."
    ]


def test_what_all_runs_depart_in_is_one_line(leave, runs):
    for seed in range(3):
        leave(f"run-{seed}", {"seed": seed, "model": "minilm", "objective.m": 2 if seed else 3}, {})
    small = [replace(run, departures=("smoke=true", "trainer.max_steps=6")) for run in runs()]
    lines = notes_on_departures([*small, *small], {"model": "bert", "objective.m": 3})
    assert [line.removeprefix("Not the paper's setting: ") for line in lines] == [
        "model=minilm (paper: bert), smoke=true (not in the sweep), trainer.max_steps=6 (not in the sweep)",
        "2 of 3 runs: objective.m=2 (paper: 3)",
    ]


def test_each_missing_job_has_its_state_and_a_running_one_its_progress(leave, runs):
    events = [{"time": 100.0 + step, "train/loss": 1.0} for step in range(51)]
    run = leave("a", {"seed": 1}, status="running", events=events, total_steps=100)
    leave_heartbeat(run, age=-3600)  # however slow this test is
    leave("b", {"seed": 2}, status="running")
    leave("c", {"seed": 4}, status="failed")
    lines = missing_jobs(runs(), [{"seed": seed} for seed in (1, 2, 3, 4)], "seed")
    running = "running (step 50 of 100, 50 s left, elsewhere, process 7)"
    assert lines == [f"seed 1 {running}", "seed 2 stopped", "seed 3 not started", "seed 4 failed"]


def test_many_missing_jobs_are_counted():
    jobs = [{"case": case, "trainer.lr": lr, "seed": seed} for case in "ab" for lr in range(7) for seed in (1, 2)]
    assert missing_jobs([], jobs, "seed") == ["case=a: 14 jobs not started", "case=b: 14 jobs not started"]
    assert missing_jobs([], jobs[:4], "seed") == ["case=a, lr=0 / case=a, lr=1: seeds 1, 2 not started"]
    some = [{"case": case, "seed": seed} for case in "ab" for seed in (1, 2)]
    assert missing_jobs([], some, "seed") == ["case=a, b: seeds 1, 2 not started"]
    assert missing_jobs([], [{"objective.m": 5}], "seed") == ["m=5: not started"]


def test_missing_jobs_that_differ_in_a_seed_of_another_key_share_a_line():
    jobs = [{"case": case, "data.seed": seed} for case in "ab" for seed in (1, 2)]
    assert missing_jobs([], jobs, "data.seed") == ["case=a, b: seeds 1, 2 not started"]
    assert missing_jobs([], [{"seed": 1, "data.seed": 2}], "data.seed") == ["seed=1: seed 2 not started"]


def test_one_missing_job_is_no_several():
    jobs = [{"case": case, "trainer.lr": lr} for case, rates in (("a", 13), ("b", 1)) for lr in range(rates)]
    assert missing_jobs([], jobs, "seed") == ["case=a: 13 jobs not started", "case=b: 1 job not started"]


def test_evaluation_texts_in_the_training_text_are_told(leave, runs):
    """Of a hundredth on: a paper's corpus has some of any benchmark's sentences."""
    for name, found in (("a", 1), ("b", 99), ("c", 5000)):
        leave(name, {"seed": 1}, {"dev/x": 1.0}, overlap={"texts": 10_000, "found": found, "sets": {}, "unread": []})
    leave("d", {"seed": 1}, {"dev/x": 1.0}, overlap=None)
    assert seen_in_training(runs()) == ["5,000 of 10,000 training texts occur in the evaluation sets"]


@pytest.mark.parametrize("smoke", [True, False])
def test_a_note_names_the_columns_whose_choices_smoke_runs_replaced(leave, compared, smoke):
    """Not the column of the objective: a smoke run only makes its projector narrow."""
    replaced = {"eval": ["demo"], "data.name": "wiki1m", "objective.head.hidden": 8192, "trainer.epochs": 3}
    for name in ("demo", "stsb"):
        choices = {"eval": name, "data": "wiki1m" if name == "demo" else "nli", "objective": f"barlow{name}"}
        about = {"smoke": True, "replaced": replaced} if smoke else {}
        words = [f"{key}={value}" for key, value in choices.items()]
        leave(name, {"seed": 1} | about, {"dev/x": 1.0}, choices=choices, overrides=words)
    notes = [note for note in notes_on_settings(compared()) if "Smoke runs replace" in note]
    assert [note.partition(" have ")[0] for note in notes] == (["The columns eval, data"] if smoke else [])
