"""The GPU benchmark at toy size on a CPU: every part gives its rows, and a failure loses no others."""

import json

import pytest
import torch

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import page, part
from benchmarks.gpu.check import FAILED, MEASURED, PASSED, SKIPPED, Check, Result, perform, within
from benchmarks.gpu.world import World

ON_A_CPU = {
    "launches": "",
    "correctness": "simcse: |declutr with mlm|barlow, 8192|fp16|waits|STS|sound equals",
    "speed": "peak|bert, batch 64, (ours$|hugging)|DeCLUTR",
    "recipes": "SimCSE-BERT$",
    "modality": "",
    "large": "",
    "evaluation": "",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ON_A_CPU)
def test_a_part_runs_at_toy_size(name, tmp_path):
    rows = part.measure(name, tmp_path, tiny=True, seconds=500, only=ON_A_CPU[name])
    assert json.loads((tmp_path / f"{name}.json").read_text()) == rows
    assert [row["why"] for row in rows if row["status"] == FAILED] == []
    skipped = [row["name"] for row in rows if row["status"] == SKIPPED]
    assert bool(skipped) == (name in ("launches", "correctness") and not torch.cuda.is_available())
    for row in rows:
        if row["status"] == MEASURED:
            assert all(value >= 0 for value in row["figures"].values() if isinstance(value, float | int))


@pytest.mark.nightly
def test_compiling_a_resume_and_the_peers_at_toy_size(tmp_path):
    rows = part.measure("correctness", tmp_path, tiny=True, seconds=500, only="compiled equals|bit-identical")
    assert [row["status"] for row in rows] == [PASSED, PASSED]
    rows = part.measure("speed", tmp_path, tiny=True, seconds=500, only="minilm, batch 64, sentence")
    assert [row["status"] for row in rows] in ([MEASURED], [SKIPPED])


def test_a_failure_loses_no_other_check(tmp_path, monkeypatch):
    def broken(world: World) -> Result:
        raise RuntimeError("the card is gone")

    checks = [
        Check("one", lambda world: within({"loss": 0.5}, {"loss": 1.0})),
        Check("two", broken),
        Check("three", lambda world: within({"loss": float("nan")}, {"loss": 1.0})),
        Check("four", lambda world: Result(MEASURED, {"tokens/s": 3})),
        Check("five", broken, needs_gpu="it has a card"),
    ]
    monkeypatch.setitem(part.PARTS, "speed", lambda: checks)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    rows = part.measure("speed", tmp_path, tiny=True, seconds=60, only="")
    assert [row["status"] for row in rows] == [PASSED, FAILED, FAILED, MEASURED, SKIPPED]
    assert rows[1]["why"] == "RuntimeError: the card is gone"
    assert "loss is nan" in rows[2]["why"]
    assert rows[4]["why"] == "needs a GPU: it has a card"
    late = part.measure("speed", tmp_path, tiny=True, seconds=-1, only="one")
    assert [row["status"] for row in late] == [SKIPPED]


def test_the_page_holds_every_row(tmp_path):
    world = World(tmp_path, tiny=True)
    check = Check("equal", lambda w: within({"loss": 1e-6}, {"loss": 1e-4}))
    result = perform(check, world)
    row = {"part": "correctness", "name": check.name, "status": result.status, "figures": result.figures,
           "why": "a | b", "seconds": 0.5}  # fmt: skip
    (tmp_path / "correctness.json").write_text(json.dumps([row]))
    rows = page.collected(tmp_path, ["correctness", "speed"])
    text = page.section(page.about(), rows)
    assert "1 checks passed, 0 failed, 0 were skipped" in text
    assert "| equal | passed | loss 1e-06; allowed: loss ≤ 0.0001; a / b | 0.5 |" in text


def test_a_part_that_ends_early_is_reported(tmp_path, monkeypatch, capsys):
    """The command runs the other parts, writes both files and exits with 1."""
    monkeypatch.setattr(command, "run_part", lambda name, given: f"{name}: ended with -11" if name == "speed" else "")
    monkeypatch.setattr("sys.argv", ["gpu", "--parts", "speed,large", "--out", str(tmp_path)])
    assert command.main() == 1
    assert "speed: ended with -11" in capsys.readouterr().out
    assert json.loads((tmp_path / "gpu.json").read_text())["about"]["ended early"] == ["speed: ended with -11"]
    assert (tmp_path / "gpu.md").exists()


def test_an_unknown_part_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gpu", "--parts", "sped", "--out", str(tmp_path)])
    with pytest.raises(SystemExit):
        command.main()
