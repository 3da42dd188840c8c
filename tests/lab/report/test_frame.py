"""Columns of a comparison: what was typed and differs, and nothing that follows from it."""

import pytest

from cse.lab.report.frame import differing
from cse.lab.report.runs_report import notes_on_settings


@pytest.fixture
def columns(leave, runs):
    """columns(*(overrides, {dotted key: value}, choices)) -> the columns of a table of these runs."""

    def make(*lines):
        for number, (overrides, config, *choices) in enumerate(lines):
            leave(f"{number}", config, {"test/x": 1.0}, "done", *choices, overrides=overrides)
        return differing(runs(), "seed")

    return make


def test_only_what_was_typed_and_differs_is_a_column(columns):
    lines = []
    for number, (lr, seed) in enumerate([(1e-5, 1), (1e-5, 2), (3e-5, 1)]):
        overrides = [f"trainer.lr={lr}", f"seed={seed}", "model=bert", f"tracker.wandb.name=job{number}",
                     "jobs.parallel=2", "resume=auto", "~cases"]  # fmt: skip
        config = {"trainer.lr": lr, "seed": seed, "data.seed": seed, "trainer.warmup": 10 if lr == 1e-5 else 20,
                  "tracker.wandb.name": f"job{number}", "note": f"{number}"}  # fmt: skip
        lines.append((overrides, config, {"model": "bert", "recipe@_global_": f"r{number}"}))
    assert columns(*lines) == ["trainer.lr"]


def test_what_nobody_typed_is_no_column_but_is_told(leave, compared):
    """As a default that another edition has."""
    for clip in (1.0, 2.0):
        config = {"trainer.lr": 1, "trainer.clip": clip, "seed": clip}
        leave(f"{clip}", config, {"dev/x": 1.0}, overrides=["trainer.lr=1", f"seed={clip}"])
    comparison = compared()
    assert not comparison.keys
    assert notes_on_settings(comparison) == ["all: joins runs that differ in trainer.clip"]


def test_what_was_typed_for_some_seeds_of_a_case_is_a_column(columns):
    lines = [(["case=a", f"seed={seed}"], {"case": "a", "seed": seed, "trainer.lr": 1}) for seed in (1, 2)]
    lines += [(["case=b", "seed=1"], {"case": "b", "seed": 1, "trainer.lr": 1})]
    lines += [(["case=a", "seed=3", "trainer.lr=2"], {"case": "a", "seed": 3, "trainer.lr": 2})]
    assert columns(*lines) == ["case", "trainer.lr"]


def test_runs_of_several_sweeps_are_told_apart_by_their_sweep(columns):
    """Whose own settings nobody typed."""
    lines = [
        ([f"sweep={sweep}", f"trainer.lr={lr}"], {"trainer.lr": lr, "trainer.clip": clip}, {"sweep": sweep})
        for sweep, clip in (("a", 1), ("b", 2))
        for lr in (1, 2)
    ]
    assert columns(*lines) == ["sweep", "trainer.lr"]


def test_a_case_stands_for_the_settings_that_it_names(columns):
    cases = [
        (
            [f"case={case}", f"data.limit={size}", f"trainer.lr={lr}"],
            {"case": case, "data.limit": size, "trainer.lr": lr},
        )
        for case, size in (("small", 1), ("large", 2))
        for lr in (1, 2)
    ]
    assert columns(*cases) == ["case", "trainer.lr"]


@pytest.mark.parametrize("key", ["data.path", "model.name"])
def test_seeds_of_a_case_that_read_other_text_or_began_with_another_encoder_are_apart(columns, key):
    lines = [
        (["case=a", f"{key}={value}"], {"case": "a", key: value, "seed": seed}) for seed, value in ((1, "x"), (2, "y"))
    ]
    assert columns(*lines, (["case=b"], {"case": "b", "seed": 1})) == ["case", key]


def test_scored_runs_of_one_case_differ_in_their_seed_alone(columns):
    scored = [
        ([f"case={case}", f"checkpoint={case}-{seed}"], {"case": case, "checkpoint": f"{case}-{seed}", "seed": seed})
        for case in ("text", "images")
        for seed in (1, 2)
    ]
    assert columns(*scored) == ["case"]


@pytest.mark.parametrize("more", [[], ["hydra.mode=RUN"]])  # as typed, and as a sweep's process has it
def test_a_case_does_not_hide_what_was_typed_beside_it(columns, more):
    lines = [
        (["sweep=nonling/table3", f"case={case}", *more, f"trainer.lr={lr}"], {"case": case, "trainer.lr": lr})
        for case, lr in (("simcse_bert", 1e-5), ("visual_bert", 5e-4))
    ]
    assert columns(*lines) == ["case", "trainer.lr"]


def test_an_axis_over_what_decides_no_number_is_a_column(columns):
    lines = [
        (["objective=simcse", f"trainer.workers={workers}", f"tracker.wandb.name=job{workers}"],
         {"trainer.workers": workers, "seed": seed})
        for workers in (0, 2)
        for seed in (1, 2)
    ]  # fmt: skip
    assert columns(*lines) == ["trainer.workers"]


def test_values_that_are_dicts_or_lists_are_told_apart(columns):
    lines = [([f"model.thing={value}"], {"model.thing": value, "seed": 1}) for value in ({"a": 1}, {"a": 2}, [1])]
    assert columns(*lines) == ["model.thing"]
