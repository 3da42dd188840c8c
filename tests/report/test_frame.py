"""Columns of a comparison: what somebody typed and what differs, in few words, and nothing that follows from it."""

import pytest
import yaml

from cse.record.runs import read_runs
from cse.report.frame import differing


@pytest.fixture
def typed(leave):
    """typed(name, overrides, {dotted key: value}, choices): a run with a command line."""

    def make(name, overrides, config, **more):
        folder = leave(name, config, {"test/x": 1.0}, **more)
        (folder / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(overrides))

    return make


def test_only_what_was_typed_and_differs_is_a_column(typed, tmp_path):
    for number, (lr, seed) in enumerate([(1e-5, 1), (1e-5, 2), (3e-5, 1)]):
        overrides = [f"trainer.lr={lr}", f"seed={seed}", "model=bert", f"tracker.wandb.name=job{number}",
                     "jobs.parallel=2", "resume=auto", "~cases"]  # fmt: skip
        config = {"trainer.lr": lr, "seed": seed, "data.seed": seed, "trainer.warmup": 10 if lr == 1e-5 else 20,
                  "tracker.wandb.name": f"job{number}", "note": f"{number}"}  # fmt: skip
        typed(f"{number}", overrides, config, choices={"model": "bert", "recipe@_global_": f"r{number}"})
    assert differing(read_runs([tmp_path / "runs"]), "seed") == ["trainer.lr"]


def test_what_nobody_typed_is_a_column_where_it_alone_tells_runs_apart(typed, tmp_path):
    typed("a", ["trainer.lr=1"], {"trainer.lr": 1, "trainer.clip": 1.0, "seed": 1})
    typed("b", ["trainer.lr=1"], {"trainer.lr": 1, "trainer.clip": 2.0, "seed": 1})
    assert differing(read_runs([tmp_path / "runs"]), "seed") == ["trainer.clip"]


def test_a_case_stands_for_the_settings_that_it_names(typed, tmp_path):
    for case, size in (("small", 1), ("large", 2)):
        for lr in (1, 2):
            typed(f"{case}{lr}", [f"case={case}", f"data.limit={size}", f"trainer.lr={lr}"],
                  {"case": case, "data.limit": size, "trainer.lr": lr})  # fmt: skip
    assert differing(read_runs([tmp_path / "runs"]), "seed") == ["case", "trainer.lr"]


def test_scored_runs_of_one_case_differ_in_their_seed_alone(typed, tmp_path):
    for case in ("text", "images"):
        for seed in (1, 2):
            checkpoint = f"runs/{case}-seed_{seed}"
            typed(f"{case}{seed}", [f"case={case}", f"checkpoint={checkpoint}"],
                  {"case": case, "checkpoint": checkpoint, "seed": seed})  # fmt: skip
    assert differing(read_runs([tmp_path / "runs"]), "seed") == ["case"]
