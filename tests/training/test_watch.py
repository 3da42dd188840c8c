"""Training that goes wrong: the step is named, and only broken training ends the run."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from run_folders import results_of

from cse.errors import RunError
from cse.training.settings import State
from cse.training.watch import CHECKED, Watch


@pytest.fixture
def watch():
    trainer = SimpleNamespace(select="dev/x", patience=3, stop_early=False, stop_on_collapse=True, precision="bf16")
    return Watch(trainer, scaled=False)


def scored(*values):
    """A run with these scores, whose best is the highest after step 0."""
    curve = [(step, {"dev/x": value}) for step, value in enumerate(values)]
    best = max((value for value in values[1:] if not math.isnan(value)), default=None)
    return State(curve=curve, best_step=0 if best is None else values.index(best, 1), best_score=best)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["loss", "grad_norm", "aux/loss"])
def test_the_first_step_that_is_not_finite_is_named(watch, name, value):
    whole = {key: torch.tensor(1.0) for key in ("loss", "aux/loss", "grad_norm", "lr")}
    for step in range(1, 8):
        watch.add(step, whole | ({name: torch.tensor(value)} if step >= 4 else {}))
    with pytest.raises(RunError, match=f"{CHECKED[name]} is {value} at step 4.* step 2"):
        watch.check({}, best_step=2)


def test_an_infinite_gradient_under_fp16_is_not_an_error(watch):
    watch = Watch(watch.trainer, scaled=True)
    watch.add(1, {"loss": torch.tensor(1.0), "grad_norm": torch.tensor(float("inf"))})
    watch.check({}, best_step=0)


@pytest.mark.parametrize(("rank", "ends"), [(1.04, True), (1.06, False)])
def test_collapse_ends_the_run(watch, rank, ends):
    with pytest.raises(RunError, match=r"trainer\.lr") if ends else nullcontext():
        watch.check({"train/step": 3, "train/effective_rank": rank}, best_step=0)
    watch.trainer.stop_on_collapse = False
    watch.check({"train/step": 3, "train/effective_rank": rank}, best_step=0)


def test_scores_that_stop_rising_are_warned_of_once_for_each_best(watch, caplog):
    values = [9, 1, 3, 2, 2, 2, 2, 4, 3, 3, 3]
    for end in range(1, len(values) + 1):
        watch.check_scores(scored(*values[:end]))
    said = [record.message for record in caplog.records]
    assert [message.partition(":")[0] for message in said] == ["step 5", "step 10"]
    assert "3.00 of step 2" in said[0]
    watch.check_scores(scored(9, math.nan, 3, 2, 2, 2))
    assert "3.00 of step 2" in caplog.records[-1].message
    assert not watch.is_over(scored(*values))
    watch.trainer.stop_early = True
    assert watch.is_over(scored(*values))
    watch.trainer.patience = None
    assert not watch.is_over(scored(*values))


def test_scores_that_are_never_a_number_are_warned_of(watch, caplog):
    """As Spearman's correlation of embeddings that collapsed, with stop_on_collapse=false."""
    watch.check_scores(scored(9, *[math.nan] * 3))
    assert len(caplog.records) == 1
    watch.trainer.stop_early = True
    assert watch.is_over(scored(9, *[math.nan] * 3))


def test_a_nan_loss_ends_the_run(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "trainer.lr=1e30", "trainer.log_every=5"]) == 1
    assert " at step " in capsys.readouterr().err
    assert results_of(tmp_path / "run")["status"] == "failed"


def test_a_preview_or_dry_run_leaves_a_run_resumable(small_run, cse_train, tmp_path):
    run = tmp_path / "run"
    assert cse_train([*small_run, "trainer.max_steps=2"]) == 0
    for look in ("data.preview=1", "dry_run=true"):
        assert cse_train([f"resume={run}", look]) == 0
    assert cse_train([f"resume={run}", "trainer.max_steps=4"]) == 0
    assert results_of(run)["steps"] == 4


def test_stop_early_ends_the_run(small_run, cse_train, tmp_path):
    early = ["trainer.patience=1", "trainer.stop_early=true", "trainer.eval_every=1", "trainer.max_steps=25",
             "trainer.save_every=20"]  # fmt: skip
    assert cse_train([*small_run, *early]) == 0
    results = results_of(tmp_path / "run")
    assert (results["status"], results["steps"]) == ("done", results["best_step"] + 1)
    assert results["steps"] < 25
    assert cse_train([f"resume={tmp_path}/run"]) == 0  # nothing is left to do
    assert results_of(tmp_path / "run")["steps"] == results["steps"]


def test_a_preview_numbers_rows_as_the_file_does(small_run, cse_train, capsys, sentences):
    text = sentences.read_text().splitlines()
    assert cse_train([*small_run, "data.limit=100", "data.limit_seed=1", "data.preview=2"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("row ")]
    numbers = [int(row.split()[1].rstrip(":")) for row in rows]
    assert numbers != [1, 2]
    assert rows == [f"row {number}: {text[number - 1]}" for number in numbers]
