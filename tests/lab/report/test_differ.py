"""What differs between two runs, as it is printed and written."""

from functools import partial

import pytest
import torch
from run_folders import change_results
from safetensors.torch import save
from typed import exit_code

cse_report = partial(exit_code, "cse-report")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_what_differs_has_headings_that_fit_a_terminal(leave, tmp_path, capsys):
    names = [f"objective_barlow-lr_{lr}-{'x' * 80}" for lr in (1, 2)]
    for lr, name in enumerate(names, 1):
        leave(name, {"seed": 1, "trainer.lr": lr})
    assert cse_report(f"differ=[runs/{names[0]},runs/{names[1]}]") == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.endswith(name) for line, name in zip(shown[1:3], names, strict=True)] == [True, True]
    assert shown[3].split()[2:] == [line.partition(":")[0] for line in shown[1:3]]
    assert max(map(len, shown[3:])) < 80
    (table,) = (tmp_path / "reports").glob("*/differ.csv")
    assert all(name in table.read_text().splitlines()[0] for name in names)


def test_of_a_training_and_an_evaluation_the_settings_of_one_alone_do_not_differ(leave, capsys):
    leave("run", {"trainer.lr": 1e-5, "seed": 1, "batch_size": 8}, {"dev/x": 70.0})
    leave("scored", {"checkpoint": "run", "seed": 2, "batch_size": 8}, {"dev/x": 71.0, "test/y": 1.0})
    assert cse_report("differ=[runs/run,runs/scored]") == 0
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    listed = [line for line in lines if line and line[0] in ("scores", "science", "data", "machine")]
    assert listed == [["scores", "dev/x"], ["scores", "test/y"], ["science", "seed"]]


def test_scores_that_tables_round_to_one_number_are_not_the_same(leave, capsys):
    for name, close, far, one in (("a", 80.121, 70.004, 0.9987), ("b", 80.124, 71.0, 1.0012)):
        leave(name, {"seed": 1}, {"dev/close": close, "dev/far": far, "dev/same": 1.0, "dev/about_one": one})
    assert cse_report("differ=[runs/a,runs/b]") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["scores", "dev/close", "80.121", "80.124"] in lines
    assert ["dev/far", "70.00", "71.00"] in [line[-3:] for line in lines]
    assert ["dev/about_one", "1.00", "1.00"] not in [line[-3:] for line in lines]
    assert ["dev/about_one", "0.9987", "1.0012"] in [line[-3:] for line in lines]
    assert not [line for line in lines if "dev/same" in line]


EVENTS = [{"value": 1.0, "metric": None, "index": 2.0, "level_0": 1.0}, {}, {"value": 2.0, "run": 3, "0": 1}]


@pytest.mark.parametrize(
    "changes",
    [{"config": {"seed": 1, "eval": [1], "trainer": {"lr": 2.0}}}, {"metrics": {f"dev/{'x' * 900}": 1.0}},
     {"metrics": {"dev/stsb/spearman": -1e38, "state": 1.0, "folder": 2.0}}, {"config": {"seed": 1, "case": [1]}}],
)  # fmt: skip
def test_an_odd_run_harms_no_report(leave, changes):
    for number, seed in enumerate((1, 1, 2, 3)):
        score = {"dev/stsb/spearman": 7.0 + number}
        more = changes if number == 1 else {}
        events = [{}, {}] if seed == 3 else EVENTS  # steps without a metric
        change_results(leave(f"{number}", {"seed": seed, "trainer.lr": 1.0}, score, events=events), **more)
    assert cse_report("runs=runs", "out=out") == 0
    assert cse_report("differ=[runs/0,runs/1]", "out=out") == 0
    assert cse_report("differ=[runs/0,runs/../runs/0]") == 2


@pytest.mark.parametrize(
    ("weights", "said"),
    [({"w": [1.0, -4.0]}, "The weights differ by at most 0.5; the largest "), ({"w": [1.0]}, None), (None, None)],
)
def test_weights_are_so_far_apart_if_they_are_of_one_shape_and_whole(leave, capsys, weights, said):
    for name, values in (("a", weights), ("b", {"w": [1.25, -3.5]})):
        best = leave(name, {"seed": 1}, weights_sum=name) / "best"
        best.mkdir()
        content = b"damaged" if values is None else save({key: torch.tensor(one) for key, one in values.items()})
        (best / "model.safetensors").write_bytes(content)
    assert cse_report("differ=[runs/a,runs/b]") == 0
    printed = capsys.readouterr().out
    assert "model.safetensors" in printed
    assert (said in printed) if said else ("The weights" not in printed)
