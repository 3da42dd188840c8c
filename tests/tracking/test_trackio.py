"""trackio's database, read back by trackio."""

import matplotlib.pyplot as plt
import pytest

from cse.tracking.about import About
from cse.tracking.trackio import Trackio

ABOUT = About("train", {"seed": 3, "choices": {"objective": "simcse", "model": "bert"}}, "cse-train", None, {})


def test_a_run_and_its_resume_are_read_back_without_a_network(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "db"))
    trackio = pytest.importorskip("trackio", reason="needs trackio (pip install 'cse-lab[trackio]')")
    plt.imsave(tmp_path / "loss.png", [[0.0, 1.0], [1.0, 0.0]])
    run = Trackio(tmp_path / "run", ABOUT, project="cse")
    run.log({"train/loss": 0.5}, 1)
    run.image("loss", tmp_path / "loss.png", 1)
    run.table("scores", ["task", "score"], [["STS12", 70.1]])
    run.finish(1, {"test/sts/average": 76.25, "note": "text is no score"})
    run = Trackio(tmp_path / "run", ABOUT, project="cse", resume_step=1)
    run.log({"train/loss": 0.25}, 2)
    run.finish(0, {})
    assert capfd.readouterr().out == ""
    (kept,) = trackio.Api().runs("cse")
    assert kept.name == "simcse-bert-s3-run"
    assert kept.config["seed"] == 3
    logs = trackio.sqlite_storage.SQLiteStorage.get_logs("cse", kept.name)
    assert [(one["step"], one["train/loss"]) for one in logs if "train/loss" in one] == [(1, 0.5), (2, 0.25)]
    assert any(one.get("test/sts/average") == 76.25 for one in logs)
    assert {one["_type"] for log in logs for one in log.values() if isinstance(one, dict)} == {
        "trackio.image", "trackio.table",
    }  # fmt: skip
