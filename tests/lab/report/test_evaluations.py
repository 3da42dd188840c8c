"""A cse-eval of a run's best/ gives its scores to the run."""

import pytest
from run_folders import change_results

from cse.lab.folder.runs import read_runs
from cse.lab.report.any_runs.comparison import compare_runs
from cse.lab.report.any_runs.evaluations import with_evaluations
from cse.lab.report.any_runs.runs_table import runs_frame
from cse.lab.report.any_runs.settings_table import notes_on_settings, score_text
from cse.lab.report.any_runs.typed_names import setting_named
from cse.lab.report.any_runs.which_runs import with_origin

DEV, TRANSFER = "dev/stsb/spearman", "test/transfer/average"


@pytest.fixture
def trained(leave):
    """Two rates of two seeds each, whose best/ have weights of their own."""
    for lr in (1, 2):
        for seed in (1, 2):
            config = {"trainer.lr": lr, "seed": seed}
            leave(f"T/{lr}-{seed}", config, {DEV: 70.0 + lr}, weights_sum=f"{lr}{seed}")


@pytest.fixture
def evaluate(leave, tmp_path):
    """evaluate(name, of, {setting: value}, weights_sum=...) -> the folder of a cse-eval of the run `of`."""

    def make(name, of, more=(), score=80.0, **about):
        config = {"checkpoint": f"{tmp_path}/runs/T/{of}", **dict(more)}
        metrics = {DEV: 71.0, TRANSFER: score}
        about = {"weights_sum": of.replace("-", "").removesuffix("/best")} | about
        return leave(f"E/{name}", config, metrics, data={"transfer": {"files": {"a": {"sha256": "x"}}}}, **about)

    return make


@pytest.fixture
def joined(tmp_path):
    """joined() -> the comparison of the runs and the evaluations, as of two folders."""

    def make():
        folders = [tmp_path / "runs" / name for name in "TE"]
        runs = with_origin(read_runs(folders), {str(folder): [folder] for folder in folders})
        return compare_runs(with_evaluations(runs), folders, [], "seed")

    return make


def test_the_scores_of_an_evaluation_are_those_of_its_run(trained, evaluate, joined):
    """By the run's own name or as its best/; the average over seeds is then over both."""
    for number, of in enumerate(("1-1", "1-2/best", "2-1", "2-2")):
        evaluate(f"{number}", of, score=80.0 + number)
    found = joined()
    assert [key.short for key in found.keys] == ["lr"]  # neither the folder nor the checkpoint
    assert [setting.means[TRANSFER].mean for setting in found.ranked] == [82.5, 80.5]
    assert found.scores.leading == TRANSFER
    frame = runs_frame([found])
    assert frame["state"].tolist() == ["done"] * 4
    assert frame["evaluations"].str.rpartition("/")[2].tolist() == ["0", "1", "2", "3"]
    means = [setting.means[DEV].mean for setting in found.ranked]
    assert means == [72.0, 71.0]  # their own, not those of the evaluations
    assert [note for note in notes_on_settings(found) if f"2-1: {DEV} 71.00 (72.00)" in note]


def test_of_two_evaluations_that_differ_neither_is_called_the_runs_own(trained, evaluate, joined):
    evaluate("0", "1-1", score=80.0)
    evaluate("1", "1-1", score=81.0)
    (note,) = (note for note in notes_on_settings(joined()) if note.startswith("These cse-eval scores differ"))
    assert note.endswith(f"from the run itself or from another cse-eval: 1-1: {TRANSFER} 81.00 (80.00).")


def test_a_run_that_lacks_an_evaluation_is_named_and_no_test_score_leads(trained, evaluate, joined):
    evaluate("0", "1-1")
    found = joined()
    assert found.scores.leading == DEV
    assert "lr=1: only 1 of 2 seeds have test/transfer/average" in notes_on_settings(found)


@pytest.mark.parametrize(
    "more",
    [
        {"pooling": "cls"},
        {"whitening.kind": "pca"},
        {"max_length": 32},
        {"dtype": "bf16"},
        {"lowercase": True},
        {"smoke": True},
    ],
)
def test_an_evaluation_that_changes_the_encoder_stays_by_itself(trained, evaluate, joined, more):
    evaluate("0", "1-1", more)
    found = joined()
    assert len(found.settings) == 3
    assert sum(TRANSFER in setting.means for setting in found.settings) == 1


def test_an_evaluation_of_other_weights_or_one_that_failed_is_not_its_runs(trained, evaluate, joined):
    evaluate("before it was trained again", "1-1", weights_sum="00")
    evaluate("failed", "1-2", status="failed")
    assert len(joined().runs) == 4 + 2


def test_a_run_in_a_folder_that_was_moved_is_known_by_its_weights(trained, evaluate, joined, tmp_path):
    folder = evaluate("0", "1-1")
    change_results(folder, config={"checkpoint": "elsewhere/1-1"})
    assert len(joined().runs) == 4
    change_results(folder, weights_sum=None)  # as an older edition left it
    assert len(joined().runs) == 5


def test_an_odd_evaluation_harms_no_report(trained, evaluate, joined):
    evaluate("0", "1-1", {"eval": [1]})
    assert len(joined().runs) == 4


def test_modified_data_of_an_evaluation_marks_its_scores_alone(trained, evaluate, joined):
    evaluate("0", "1-1", modified="test/transfer")
    found = joined()
    texts = {metric: score_text(found, found.ranked[1], metric) for metric in (DEV, TRANSFER)}
    assert ("†" in texts[TRANSFER], "†" in texts[DEV]) == (True, False)


@pytest.mark.parametrize(("label", "name"), [(None, "untrained minilm (cls pooling)"), ("MiniLM", "MiniLM")])
def test_an_encoder_without_training_is_one_row_with_a_name(leave, joined, label, name):
    """Keys that only the command of cse-eval or of cse-train has are no columns."""
    for objective in ("simcse", "barlow"):
        for seed in (1, 2):
            given = [f"objective={objective}", "trainer.max_steps=4", "eval=pairs", f"seed={seed}"]
            config = {"objective.t": 1, "trainer.max_steps": 4, "seed": seed}
            choices = {"objective": objective, "eval": "pairs"}
            leave(f"T/{objective}-{seed}", config, {DEV: 70.0 + seed}, choices=choices, overrides=given)
    typed = ["model=minilm", "pooling=cls", "eval=[pairs,stsb]", *([f"label={label}"] if label else [])]
    config = {"model.name": "a/minilm", "pooling": "cls", "label": label}
    leave("E/minilm", config, {DEV: 60.0}, choices={"model": "minilm", "eval": "pairs,stsb"}, overrides=typed)
    comparison = joined()
    assert [key.dotted for key in comparison.keys] == ["objective"]
    assert {setting.label for setting in comparison.settings} == {"objective=simcse", "objective=barlow", name}
    assert setting_named(comparison, name).values == {"objective": name}
