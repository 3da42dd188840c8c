"""What a dry run measures, and that it changes nothing."""

import re
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from toys import run_of

from cse import progress
from cse.lab.run import dry_run
from cse.model.load import load_encoder
from cse.training import forecast
from cse.training.settings import State
from cse.types import Tokens


@pytest.mark.parametrize(("objective", "negatives"), [("simcse", "7 per anchor"), ("barlow", "0 per anchor")])
def test_a_dry_run_prints_the_time_memory_and_work_of_the_run(
    objective, negatives, small_run, cse_train, documents, triplets, tmp_path, capsys
):
    words = run_of(objective, None, 32, documents, triplets)
    assert cse_train([*small_run, *words, "dry_run=true"]) == 0
    told = dict(re.findall(r"^(\w+) +(.+)$", capsys.readouterr().out, re.M))
    assert told["negatives"] == negatives
    assert re.match(r"6 of \d+ steps \(trainer.max_steps\), ", told["schedule"])
    steps, step = re.match(r"(\d+) steps of (\S+) s, 4 dev scores of \S+ s, \S+ s to encode", told["time"]).groups()
    assert int(steps) == 6
    assert 0 < float(step) < 60
    assert 0.05 < float(told["memory"].split()[0]) < 20
    # 2 layers of width 32 over 16 rows of about 10 tokens, forward and backward
    assert 0.3 < float(told["work"].split()[0]) * 1e15 / (6 * 6 * (2 * 12 * 32**2) * 160) < 6
    assert not (tmp_path / "run").exists()


def test_a_dry_run_says_which_step_it_measures(small_run, cse_train, monkeypatch, capsys):
    """A step of a large batch takes minutes on a CPU."""
    monkeypatch.setattr(progress, "EVERY", 0.01)
    assert cse_train([*small_run, "dry_run=true"]) == 0
    assert re.search(r"measuring, step \d of 4", capsys.readouterr().out)


def test_a_step_that_cannot_fit_the_memory_is_refused_before_it_starts(
    small_run, cse_train, monkeypatch, tmp_path, capsys
):
    """The kernel would kill the process in the first step. In chunks the step may fit."""
    run = [*small_run, "trainer.max_steps=1", "dry_run=true"]
    monkeypatch.setattr(forecast, "total_memory", lambda device: 2**12)
    measure = Mock(wraps=forecast.forecast)
    monkeypatch.setattr(dry_run, "forecast", measure)
    assert cse_train([*run, "trainer.batch_size=16"]) == 2
    assert "trainer.batch_size=16: " in capsys.readouterr().err
    assert not measure.called
    assert cse_train([*run, "dry_run=false", "trainer.batch_size=16"]) == 2
    assert not (tmp_path / "run").exists()
    assert cse_train([*run, "trainer.batch_size=16", "trainer.chunk=4"]) == 0
    assert measure.called


def test_the_bytes_saved_for_a_backward_pass_are_a_constant_and_bytes_for_each_row(tiny_bert):
    encoder = load_encoder(str(tiny_bert), "cls")
    ids_BT = torch.full((8, 16), 5)
    once, twice, thrice = (
        forecast.saved_bytes(encoder, Tokens(ids_BT.repeat(n, 1), torch.ones(8 * n, 16, dtype=torch.long)))
        for n in (1, 2, 3)
    )
    layers, width = encoder.backbone.config.num_hidden_layers, encoder.width
    assert twice - once == pytest.approx(thrice - twice, rel=0.05)
    assert 4 * 8 * 16 * layers * width * 4 < twice - once < 100 * 8 * 16 * layers * width * 4


def test_of_a_run_that_goes_on_a_dry_run_tells_what_is_left(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "trainer.max_steps=4", "trainer.keep_last=true"]) == 0
    before = (tmp_path / "run" / "results.json").read_bytes()
    for words, told in (
        (["trainer.max_steps=6"], "resuming {} at step 4 of 6.*time +2 steps of .*, 1 dev scores"),
        ([], "time +all 4 steps are done"),
    ):
        capsys.readouterr()
        assert cse_train([f"resume={tmp_path}/run", *words, "dry_run=true"]) == 0
        assert re.search(told.format(tmp_path / "run"), capsys.readouterr().out, re.S)
    assert cse_train([f"resume={tmp_path}/run", "seed=9", "dry_run=true"]) == 2
    assert (tmp_path / "run" / "results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("compiles", "steps", "first", "usual", "seconds", "timed"),
    [
        (False, 10, 2.0, 4, 1.0, 9),
        (False, 1, 2.0, 1, 2.0, 1),
        (True, 10, 2.0, 7, 1.0, 6),
        (False, 10, 61.0, 1, 61.0, 1),  # no second minute
        (True, 10, 61.0, 4, 61.0, 1),
    ],
)
def test_flop_come_from_the_first_step_and_seconds_from_the_others(
    monkeypatch, compiles, steps, first, usual, seconds, timed
):
    """With a clock that moves only in steps: by `first` seconds in the first and in those that compile, by 1 in others.

    A run that compiles is forecast with its compiled encoder. After the usual batches come batches of ascending length.
    """
    now, done, lengths = [0.0], [], [5, 9, 4, 7, 3, 8, 2, 6, 1, 10]

    def update(step, batches, aux_batches):
        done.append(next(batches).tokens.mask_BT.sum())
        now[0] += first if step < 1 + 3 * compiles else 1.0
        torch.ones(3, 4) @ torch.ones(4, 5)
        return {"loss": torch.tensor(1.0)}, []

    parts = SimpleNamespace(encoder=None, evaluators={})
    batches = [SimpleNamespace(tokens=SimpleNamespace(mask_BT=torch.ones(1, length))) for length in lengths]
    training = SimpleNamespace(steps=steps, state=State(), watched=[], parts=parts, batches=partial(iter, batches),
                               aux_batches=list, accelerator=SimpleNamespace(device=torch.device("cpu")), modules={},
                               trainer=SimpleNamespace(compile=compiles, accumulate=1))  # fmt: skip
    encoder = update.text_encoder = object()
    update.plain_optimizers = dict
    training.update = update
    monkeypatch.setattr(forecast.time, "perf_counter", lambda: now[0])
    found = forecast.forecast(training)
    assert (found.step, found.flop, found.timed) == (seconds, 2 * 3 * 4 * 5, timed)
    assert done == [*lengths[:steps][:usual], *(sorted(lengths[:steps][usual:]) if first < 60 else [])]
    assert training.update.text_encoder is encoder
