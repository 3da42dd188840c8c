"""`rerun=FOLDER`: a run's own settings with one change, in a new folder, on the same bytes."""

import json
from functools import partial

import pytest
import yaml
from typed import exit_code

LINE = ("objective=simcse", "model=bert", "data=text", "data.path=lines.txt", "eval=[]", "trainer.select=null",
        "tracker=none", "trainer.max_steps=2", "trainer.batch_size=4", "trainer.lr=1e-4",
        "paths.cache=cache")  # fmt: skip


@pytest.fixture
def cse_train(tmp_path, tiny_bert, monkeypatch):
    """cse-train where first/ is a finished run of two steps on lines.txt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("".join(f"kadan lofel {number}\n" for number in range(16)))
    command = partial(exit_code, "cse-train")
    assert command(*LINE, f"model.name={tiny_bert}", "hydra.run.dir=first") == 0
    return command


def test_one_change_in_a_new_folder_on_the_same_bytes(cse_train, tmp_path, capsys):
    assert cse_train("rerun=first", "trainer.lr=2e-4", "hydra.run.dir=second") == 0
    first, second = (
        yaml.safe_load((tmp_path / name / "run.yaml").read_text())["config"] for name in ("first", "second")
    )
    assert second["trainer"] == first["trainer"] | {"lr": 2e-4}
    assert (second["data"], second["resume"], second["rerun"]) == (first["data"], None, "first")
    results = json.loads((tmp_path / "second" / "results.json").read_text())
    assert {"data.path=lines.txt", "trainer.lr=2e-4"} < set(results["command"].split())
    assert not {"rerun=first", "trainer.lr=1e-4"} & set(results["command"].split())
    assert exit_code("cse-report", "differ=[first,second]", "out=out") == 0
    told = (tmp_path / "out" / "differ.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in told if line.startswith("science")] == ["trainer.lr"]
    (tmp_path / "lines.txt").write_text("other\n" * 16)
    capsys.readouterr()
    assert cse_train("rerun=first", "trainer.lr=3e-4", "hydra.run.dir=third") == 2
    assert "lines.txt" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize("words", [
    ["rerun=nowhere"], ["rerun=first", "scale=smoke"], ["rerun=first", "trainer.typo=1"], ["rerun=${x}"],
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(cse_train, words):
    assert cse_train(*words, "hydra.run.dir=other") == 2


@pytest.mark.parametrize("words", [["differ=[first,nowhere]"], ["differ=[first,first]"], ["differ=first"]])
def test_two_runs_are_needed_to_differ(cse_train, words):
    assert exit_code("cse-report", *words) == 2
