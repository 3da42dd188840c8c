"""A run that is stopped and resumed ends with the same bits as one that was not, and what last/ needs for that."""

import json
import random
import threading
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import PartialState
from damaged import unchanged
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from killed import assert_same_run, train_to
from run_folders import logged_of, results_of
from toys import toy_of

from cse.errors import UserError
from cse.training import checkpoint
from cse.training.loop import Training, save_seconds


def test_a_resumed_run_ends_with_the_same_bits(small_run, tmp_path, cse_train):
    """Stopped where it is scored anyway and resumed, with two batches an update and Barlow's running moments. Both are
    scored every 3 of 12 planned steps, after 2 of warm-up. The tensors of others: tests/test_composability.py."""
    line = [*small_run, "trainer.lr=1e-3", "trainer.eval_every=0.25", "trainer.warmup=0.1", "trainer.accumulate=2"]
    line += ["objective=barlow", "trainer.epochs=1", *toy_of("objective", "barlow", 32)]
    straight = train_to(cse_train, line, tmp_path / "straight", 12)

    @settings(max_examples=2, phases=[Phase.generate])
    @given(stops=st.sets(st.sampled_from([3, 6, 9]), min_size=1))
    def check(stops):
        folder = tmp_path / "-".join(map(str, stops))
        assert_same_run(straight, train_to(cse_train, line, folder, *sorted(stops), 12))

    check()


def test_a_logged_loss_is_the_mean_since_the_last_line_and_survives_a_resume(small_run, tmp_path, cse_train):
    line = [*small_run, "objective=simcse", "objective.mlm_weight=0.1", "trainer.lr=1e-3", "trainer.epochs=1"]
    every = dict(logged_of(train_to(cse_train, line, tmp_path / "every", 8)))
    straight = dict(logged_of(train_to(cse_train, [*line, "trainer.log_every=3"], tmp_path / "straight", 8)))
    paused = dict(logged_of(train_to(cse_train, [*line, "trainer.log_every=3"], tmp_path / "paused", 4, 8)))
    for step, own in {3: [1, 2, 3], 6: [4, 5, 6], 8: [7, 8]}.items():
        assert straight[step] == pytest.approx(sum(every[one] for one in own) / len(own), rel=1e-6)
    assert paused == straight | {4: every[4]}  # the last step of a run has a line


@pytest.mark.parametrize("select", ["trainer.select=dev/stsb/spearman", "trainer.select=null"])
def test_a_finished_run_keeps_its_checkpoint_without_tensors(small_run, tmp_path, cse_train, capsys, select):
    """It is scored again when it is resumed, and says what more steps need."""
    run = train_to(cse_train, [*small_run, select, "trainer.keep_last=false"], tmp_path / "run", 4)
    tensors, about = checkpoint.read_last(run)
    assert (tensors, about["step"]) == ({}, 4)
    best, results = ((run / name).read_bytes() for name in ("best/model.safetensors", "results.json"))
    assert cse_train([f"resume={run}"]) == 0
    assert (run / "best/model.safetensors").read_bytes() == best
    before, after = json.loads(results), results_of(run)
    assert all(before[key] == after[key] for key in ("status", "steps", "best_step", "metrics"))
    with unchanged(run):
        assert cse_train([f"resume={run}", "trainer.max_steps=6"]) == 2
    assert "trainer.keep_last=true" in capsys.readouterr().err.splitlines()[-1]


def test_another_protocol_of_the_score_that_selects_is_refused(small_run, tmp_path, cse_train, capsys):
    assert cse_train([*small_run, "trainer.max_steps=2"]) == 0
    resumed = [f"resume={tmp_path}/run", "trainer.max_steps=4"]
    assert cse_train([*resumed, "eval.stsb.widths=[4]"]) == 2
    assert "eval.stsb.widths=[] (now [4])" in capsys.readouterr().err
    assert cse_train(resumed) == 0


def test_training_goes_on_while_last_is_written(tmp_path, monkeypatch):
    write, go_on = checkpoint.write_last, threading.Event()
    monkeypatch.setattr(checkpoint, "write_last", lambda *given: go_on.wait(60) and write(*given))
    module = torch.nn.Linear(2, 2)
    saved = module.weight.detach().clone()
    with checkpoint.Saver(tmp_path) as saver:
        saver.save({"encoder": module}, {}, [checkpoint.process_random_state()], {})
        torch.nn.init.zeros_(module.weight)
        assert not (tmp_path / checkpoint.FILE).exists()
        go_on.set()
    assert torch.equal(checkpoint.read_last(tmp_path)[0]["encoder/weight"], saved)


def test_a_failed_write_of_last_is_raised_by_the_next_save(tmp_path):
    (tmp_path / "last").write_text("not a folder")
    saver = checkpoint.Saver(tmp_path)
    saver.save({}, {}, [checkpoint.process_random_state()], {})
    with pytest.raises(UserError, match="last"):
        saver.save({}, {}, [checkpoint.process_random_state()], {})


@pytest.fixture
def saved_steps(monkeypatch):
    """The steps at which last/ is written, by a clock that adds a second after every step and every save."""
    write, steps, ticks = checkpoint.write_last, [], count()

    def noted(*given):
        steps.append(json.loads(given[2])["step"])
        return write(*given)

    monkeypatch.setattr(checkpoint, "write_last", noted)
    monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    return steps


@pytest.mark.parametrize(("more", "expected"), [
    pytest.param(["trainer.save_every=1000", "trainer.save_minutes=1e-9"], [1, 2, 3, 4, 5, 6, 7],
                 marks=pytest.mark.nightly),
    (["trainer.save_every=2", "trainer.save_seconds=3"], [4, 7]),
    pytest.param(["trainer.save_every=2", "trainer.save_seconds=100", "trainer.save_minutes=0.05"], [4, 7],
                 marks=pytest.mark.nightly),
])  # fmt: skip
def test_last_is_saved_by_steps_and_by_time(more, expected, small_run, cse_train, saved_steps):
    """And at the end."""
    line = [*small_run, *more, "trainer.max_steps=7", "trainer.keep_last=true", "trainer.eval_every=100"]
    assert cse_train(line) == 0
    assert saved_steps == expected


@pytest.mark.parametrize(
    ("device", "every", "least"), [("cpu", None, 0), ("cpu", 5, 0), ("cuda", None, 60), ("cuda", 5, 0)]
)
def test_only_on_a_gpu_saves_are_apart_by_themselves(device, every, least):
    trainer = SimpleNamespace(save_seconds="auto", save_every=every)
    assert save_seconds(trainer, torch.device(device)) == least


def test_only_the_process_that_writes_last_knows_its_age():
    """The others never save, so by their clocks it would be late at every step."""

    def age_of(is_main: bool) -> int:
        accelerator = SimpleNamespace(is_main_process=is_main)
        mine = SimpleNamespace(accelerator=accelerator, saver=SimpleNamespace(age=lambda: 7.5))
        return Training._wishes(mine, SimpleNamespace(requested=None)).age

    assert (age_of(True), age_of(False)) == (7500, 0)


def test_each_process_draws_its_own_dropout(tmp_path, monkeypatch):
    Accelerator(cpu=True)
    drawn = set()
    for rank in range(2):
        monkeypatch.setitem(PartialState._shared_state, "process_index", rank)
        Training.start(SimpleNamespace(folder=tmp_path, inputs=None), seed=1, resume=False)
        drawn.add(torch.rand(()).item())
    assert len(drawn) == 2


def draws() -> tuple[float, ...]:
    """A normal number from each global generator; numpy's and Python's keep a second one for the next call."""
    return torch.randn(()).item(), np.random.standard_normal(), random.gauss(0, 1)


def test_every_random_generator_of_every_process_is_restored(tmp_path):
    """Training itself draws only from torch's; a user's augmentation may draw from any."""
    states, expected = [], []
    for _ in range(2):
        draws()
        states.append(checkpoint.process_random_state())
        expected.append([draws() for _ in range(3)])
    with checkpoint.Saver(tmp_path) as saver:
        saver.save({}, {}, states, {})
    for rank in range(2):
        checkpoint.set_process_random_state(*checkpoint.read_last(tmp_path), rank)
        assert [draws() for _ in range(3)] == expected[rank]
