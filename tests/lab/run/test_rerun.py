"""`rerun=FOLDER`: a run's own settings with one change, in a new folder, on the same bytes."""

import json
import shlex
import shutil
from functools import partial
from pathlib import Path

import pytest
import yaml
from damaged import change
from run_folders import results_of
from safetensors.torch import load_file
from tiny_encoders import change_one_weight
from typed import exit_code

LINE = ("objective=simcse", "model=bert", "data=text", "data.path=lines.txt", "eval=[]", "trainer.select=null",
        "tracker=none", "trainer.max_steps=2", "trainer.batch_size=4", "trainer.lr=1e-4",
        "paths.cache=cache")  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny_bert):
    """A folder of lines.txt, and of first/, a finished run of two steps on it."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "lines.txt").write_text("".join(f"kadan lofel {number}\n" for number in range(16)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert exit_code("cse-train", *LINE, f"model.name={tiny_bert}", "hydra.run.dir=first") == 0
    return folder


@pytest.fixture
def cse_train(finished, tmp_path, monkeypatch):
    """cse-train in tmp_path, a copy of `finished`."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return partial(exit_code, "cse-train")


def test_one_change_in_a_new_folder_on_the_same_bytes(cse_train, tmp_path, capsys):
    assert cse_train("rerun=first", "trainer.lr=2e-4", "hydra.run.dir=second") == 0
    first, second = (
        yaml.safe_load((tmp_path / name / "run.yaml").read_text())["config"] for name in ("first", "second")
    )
    assert second["trainer"] == first["trainer"] | {"lr": 2e-4}
    assert (second["data"], second["resume"], second["rerun"]) == (first["data"], None, "first")
    results = results_of(tmp_path / "second")
    assert {"data.path=lines.txt", "trainer.lr=2e-4"} < set(results["command"].split())
    assert not {"rerun=first", "trainer.lr=1e-4"} & set(results["command"].split())
    assert exit_code("cse-report", "differ=[first,second]", "out=out") == 0
    told = (tmp_path / "out" / "differ.csv").read_text().splitlines()
    told = [line.split(",")[:2] for line in told]
    assert [name for kind, name in told if kind == "science"] == ["trainer.lr"]
    assert ["weights", "best/model.safetensors"] in told
    weights = [load_file(tmp_path / name / "best" / "model.safetensors") for name in ("first", "second")]
    apart = max(float((one - two).abs().max()) for one, two in zip(*(of.values() for of in weights), strict=True))
    assert f"The weights differ by at most {apart:.2g}" in capsys.readouterr().out
    (tmp_path / "lines.txt").write_text("other\n" * 16)
    capsys.readouterr()
    assert cse_train("rerun=first", "trainer.lr=3e-4", "hydra.run.dir=third") == 2
    assert "lines.txt" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("added", "said"),
    [("", "the same 4 inputs, by digest\n"), ("x\n", "the same 3 inputs, by digest; other inputs replace lines.txt")],
)
def test_text_of_another_name_is_named_unless_it_is_a_copy(cse_train, tmp_path, capsys, added, said):
    (tmp_path / "moved.txt").write_text((tmp_path / "lines.txt").read_text() + added)
    assert cse_train("rerun=first", "data.path=moved.txt", "trainer.max_steps=1", "hydra.run.dir=second") == 0
    assert said in capsys.readouterr().out


def test_changes_of_the_code_are_kept_and_other_code_is_warned_of(cse_train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("cse.lab.run.commit.git", lambda *words: "a patch\n" if words[0] == "diff" else "")
    monkeypatch.setattr("cse.lab.folder.changes.code_digest", lambda: "another")
    assert cse_train("rerun=first", "hydra.run.dir=second") == 0
    assert (tmp_path / "second" / "code.patch").read_text() == "a patch\n"
    assert "the code has changed: cse" in "".join(capsys.readouterr())


def test_a_resumed_run_keeps_the_words_of_its_first_line(cse_train, tmp_path):
    """By which a report names its setting, and advises the line that trains more seeds of it."""
    (tmp_path / "lines.txt").rename(tmp_path / "my lines.txt")
    assert cse_train("rerun=first", "data.path=my lines.txt", "trainer.keep_last=true", "hydra.run.dir=own") == 0
    assert cse_train("resume=own", "trainer.max_steps=3") == 0
    words = shlex.split(results_of(tmp_path / "own")["command"])
    assert {"objective=simcse", "data.path=my lines.txt", "trainer.max_steps=3"} < set(words)
    assert not {"resume=own", "rerun=first", "trainer.max_steps=2"} & set(words)


def test_a_run_that_other_code_resumes_keeps_which_code_made_its_first_steps(cse_train, tmp_path, monkeypatch, capsys):
    assert cse_train("rerun=first", "trainer.keep_last=true", "hydra.run.dir=own") == 0
    results = tmp_path / "own" / "results.json"
    made = json.loads(results.read_text())
    assert cse_train("resume=own", "trainer.max_steps=3") == 0
    assert json.loads(results.read_text())["earlier_code"] == []
    results.write_text(json.dumps(made | {"code": "another"}))
    assert cse_train("resume=own", "trainer.max_steps=4") == 0
    assert "resume     the code has changed: cse" in "".join(capsys.readouterr())
    now = json.loads(results.read_text())
    assert [(part["until_step"], part["code"]) for part in now["earlier_code"]] == [(3, "another")]
    assert now["code"] == made["code"]
    assert "; until step 3 code `another`" in (tmp_path / "own" / "best" / "README.md").read_text()
    assert exit_code("cse-report", "differ=[first,own]", "out=out") == 0
    assert "code until step 3,-,another" in (tmp_path / "out" / "differ.csv").read_text()


def test_the_weights_that_it_starts_from_must_be_the_same(cse_train, tmp_path, tiny_bert, capsys):
    model = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    assert cse_train(*LINE, f"model.name={model}", "hydra.run.dir=own") == 0
    assert cse_train("rerun=own", "seed=7", "objective.temperature=0.1", "hydra.run.dir=second") == 0
    change_one_weight(model)
    capsys.readouterr()
    assert cse_train("rerun=own", "hydra.run.dir=third") == 2
    assert "model.name" in capsys.readouterr().err
    assert cse_train("rerun=own", f"model.name={tiny_bert}", "hydra.run.dir=third") == 0


def test_a_damaged_checkpoint_is_one_sentence(cse_train, tmp_path, capsys):
    """Other damage: faults/test_refused_resume.py."""
    change(tmp_path / "first" / "last" / "state.safetensors", lambda _, about: about.update(about='{"inputs": [1]}'))
    capsys.readouterr()
    assert cse_train("rerun=first", "seed=7", "hydra.run.dir=second") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "second").exists()


def test_a_teacher_may_be_pooled_otherwise_if_that_is_typed(cse_train, tiny_bert):
    words = ["objective=rankcse", f"objective.teacher={tiny_bert}", "objective.second_teacher=null",
             "objective.teacher_pooling=mean", f"model.name={tiny_bert}"]  # fmt: skip
    assert cse_train(*LINE, *words, "hydra.run.dir=second") == 0
    words = ["model.pooling=mean", "objective.teacher_pooling=cls", "augmentation.p=0.2"]
    assert cse_train("rerun=second", *words, "hydra.run.dir=third") == 0
