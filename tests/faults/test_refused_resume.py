"""A refused resume leaves the run as it was, byte for byte, and still resumable; reading a run runs no code."""

import json
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import damaged
import pytest
import torch
import yaml
from damaged import unchanged
from run_folders import results_of
from tiny_encoders import change_one_weight
from typed import exit_code

import cse
from cse.errors import UserError
from cse.lab.settings import groups

STATE = "last/state.safetensors"


def state(word: str = "", value: torch.Tensor | None = None, **counters: object) -> dict:
    """Damage the checkpoint's counters, and replace the first tensor whose name contains `word`, or delete it."""

    def edit(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        metadata["about"] = json.dumps(json.loads(metadata["about"]) | counters)
        if word:
            name = next(name for name in tensors if word in name)
            tensors.pop(name)
            tensors |= {} if value is None else {name: value}

    return {STATE: edit}


DAMAGED = {
    "about_step": state(step=-5), "about_far": state(step=10**30), "about_best": state(best_step=9),
    "about_inputs": state(inputs={"a": 1}), "about_dev": state(dev_data={"a": [1]}),
    "about_curve": state(curve=[[1, "x"]]), "about_random": state(python_random="x"),
    "state_cut": {STATE: 0.5}, "state_about": {STATE: lambda _, about: about.update(about="[]")},
    "state_shape": state("encoder/", torch.zeros(1)), "state_less": state("encoder/"),
    "state_moments": state("exp_avg", torch.zeros(1)),
    "state_random": state("random/0/torch", torch.zeros(3, dtype=torch.uint8)),
    "settings_cut": {"run.yaml": 0.5}, "settings_binary": {"run.yaml": damaged.BINARY},
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(small_run_in, cse_train, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert cse_train(small_run_in(folder)) == 0
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def test_a_resume_into_another_folder_is_refused(finished, tmp_path):
    other = tmp_path / "other"
    for words, folder in (([], other), ([f"hydra.run.dir={other}"], None)):
        with unchanged(finished), pytest.raises(UserError, match="other"):
            cse.train(f"resume={finished}", *words, folder=folder)
    assert not other.exists()


@pytest.mark.parametrize("change", DAMAGED)
def test_a_damaged_run_is_not_resumed(finished, tmp_path, change):
    folder = damaged.copy(finished, tmp_path / change, DAMAGED[change])
    with unchanged(tmp_path), pytest.raises(UserError, match=re.escape(str(folder))) as refused:
        cse.train(f"resume={folder}")
    assert len(str(refused.value).splitlines()) == 1
    assert os.listdir(tmp_path) == [change]


@pytest.mark.parametrize("damage", [
    shutil.rmtree, lambda best: (best / "config.json").unlink(),
    lambda best: (best / "model.safetensors").write_bytes((best / "model.safetensors").read_bytes()[:-100]),
], ids=["gone", "no config", "cut short"])  # fmt: skip
def test_a_finished_run_keeps_its_scores_when_best_is_lost(run, cse_train, capsys, damage):
    damage(run / "best")
    with unchanged(run):
        assert cse_train([f"resume={run}"]) == 2
    assert "best" in capsys.readouterr().err


def test_a_foreign_best_is_never_scored_as_this_runs_own(finished, run):
    """A finished run is refused; a longer one chooses its best step anew."""
    change_one_weight(run / "best")
    with unchanged(run), pytest.raises(UserError, match="best"):
        cse.train(f"resume={run}")
    cse.train(f"resume={run}", "trainer.max_steps=8")
    results = results_of(run)
    assert results["best_step"] > results_of(finished)["steps"]


def test_changed_dev_data_is_refused(run, cse_train, capsys, tmp_path, senteval):
    shutil.copytree(senteval, tmp_path / "copy")
    path = tmp_path / "copy" / "STS" / "STSBenchmark" / "sts-dev.csv"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    with unchanged(run):
        assert cse_train([f"resume={run}", "trainer.max_steps=8", f"paths.senteval={tmp_path}/copy"]) == 2
    assert "STS/STSBenchmark/sts-dev.csv" in capsys.readouterr().err


def other_text(tmp_path: Path, _) -> tuple[list[str], Path, str]:
    """Train on two files. Returns (settings, the second file, what the refusal must name)."""
    (tmp_path / "data").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "data" / name).write_text("".join(f"kadan lofel {name} number {i}\n" for i in range(40)))
    return [f"data.path={tmp_path}/data"], tmp_path / "data" / "b.txt", "b.txt"


def other_items(kind: str, tmp_path: Path, request) -> tuple[list[str], Path, str]:
    """The same for a copy of the images or clips; the refusal must name the class."""
    words = request.getfixturevalue(kind)
    key, _, place = next(word for word in words if word.startswith("paths.")).partition("=")
    shutil.copytree(place, tmp_path / "data")
    file = next(path for path in sorted((tmp_path / "data").rglob("*")) if path.is_file())
    return [*words, f"{key}={tmp_path}/data"], file, file.parent.name


@pytest.mark.parametrize("prepare", [other_text, partial(other_items, "images"), partial(other_items, "sounds")],
                         ids=["text", "images", "clips"])  # fmt: skip
def test_changed_training_data_is_refused(small_run_in, tmp_path, request, prepare):
    """One byte differs; sizes and row counts do not."""
    words, file, named = prepare(tmp_path, request)
    cse.train(*small_run_in(tmp_path), *words)
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    with unchanged(tmp_path / "run"), pytest.raises(UserError, match=named) as refused:
        cse.train(f"resume={tmp_path}/run", "trainer.max_steps=8", "allow_partial=true")
    assert f"{tmp_path}/run" in str(refused.value)
    file.write_bytes(whole)
    cse.train(f"resume={tmp_path}/run", "trainer.max_steps=8")
    assert results_of(tmp_path / "run")["steps"] == 8


def other_vocabulary(checkpoint: Path) -> None:
    file = checkpoint / "tokenizer.json"
    rules = json.loads(file.read_text())
    words = rules["model"]["vocab"]
    words["kadan"], words["lofel"] = words["lofel"], words["kadan"]
    file.write_text(json.dumps(rules))


def other_activation(checkpoint: Path) -> None:
    file = checkpoint / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"hidden_act": "relu"}))


def test_another_configuration_of_the_first_checkpoint_is_refused(small_run_in, tmp_path, tiny_bert):
    model = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    cse.train(*small_run_in(tmp_path), f"model.name={model}")
    change_one_weight(model)  # harmless: last/ holds them
    cse.train(f"resume={tmp_path}/run", "trainer.max_steps=8")
    other_activation(model)
    with pytest.raises(UserError, match=r"configuration of model\.name"):
        cse.train(f"resume={tmp_path}/run", "trainer.max_steps=9")


@pytest.mark.parametrize(("change", "named"), [(change_one_weight, "weights of model.name"),
                                               (other_vocabulary, "vocabulary of model.name")])  # fmt: skip
def test_what_a_resume_reads_of_the_first_checkpoint_may_not_change(small_run_in, tmp_path, tiny_bert, change, named):
    """Under an adapter, last/ holds only the adapter."""
    pytest.importorskip("peft", reason="needs peft (pip install .[lora])")
    model = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    cse.train(*small_run_in(tmp_path), f"model.name={model}", "model.lora={r:4,alpha:8,dropout:0.1}")
    change(model)
    with pytest.raises(UserError, match=named):
        cse.train(f"resume={tmp_path}/run", "trainer.max_steps=8")


def test_a_refused_run_whose_best_was_being_renamed_resumes(run, cse_train):
    assert cse_train([f"resume={run}", "trainer.lr=1e-5"]) == 2
    place = run / ".cse-0123456789abcdef.best"
    (place / "new.best").mkdir(parents=True)
    (run / "best").rename(place / "old")
    assert cse_train([f"resume={run}", "trainer.max_steps=8"]) == 0
    assert results_of(run)["steps"] == 8
    assert (run / "best" / "config.json").exists()
    assert not place.exists()


def test_reading_a_run_runs_no_code(run, cse_train, senteval, tmp_path, monkeypatch):
    """Neither what Hydra, transformers or torch would execute, whether a command succeeds or refuses."""
    ran, hydra, own = tmp_path / "ran", run / ".hydra", run / "conf" / "objective"
    monkeypatch.chdir(tmp_path)
    own.mkdir(parents=True)
    (own / "evil.yaml").write_text("_target_: evil.Evil\n")
    (run / "evil.py").write_text(f"open({str(ran)!r}, 'w')\n")
    log = {"class": "logging.FileHandler", "filename": str(ran)}
    callback = {"_target_": "pathlib.Path.touch", "_args_": [str(ran)]}
    words = [f"+hydra.callbacks.x._target_=evil.Evil hydra.job.name=../../ran --config-dir {run}/conf objective=evil"]
    (hydra / "overrides.yaml").write_text(json.dumps(words[0].split()))
    results = results_of(run)
    (run / "results.json").write_text(json.dumps(results | {"command": f"cse-train {words[0]}"}))
    node = {"callbacks": {"x": callback}, "job": {"name": "../../ran"}, "job_logging": {"handlers": {"x": log}}}
    settings = yaml.safe_load((run / "run.yaml").read_text())
    settings["config"]["hydra"] = node
    settings["words"] = words[0].split()
    settings["config"]["choices"] |= {str(run / "conf" / "objective"): "evil", "../objective": "evil", "hydra/x": "y"}
    (run / "run.yaml").write_text(yaml.safe_dump(settings))
    assert cse_train([f"resume={run}", "trainer.max_steps=8"]) == 0
    config = json.loads((run / "best" / "config.json").read_text())
    own_code = {"auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}, "model_type": "evil"}
    (run / "best" / "config.json").write_text(json.dumps(config | own_code))
    (run / "best" / "evil.py").write_text(f"open({str(ran)!r}, 'w')\n")
    (run / "best" / "model.safetensors").unlink()
    torch.save({"x": damaged.Payload()}, run / "best" / "pytorch_model.bin")
    torch.save({"x": damaged.Payload()}, run / "last" / "state.pt")
    scored = ["eval=stsb", "allow_partial=true", f"paths.senteval={senteval}", "hydra.run.dir=scored"]
    assert cse_train([f"resume={run}", "trainer.max_steps=8"]) == 2
    assert exit_code("cse-eval", f"checkpoint={run}", *scored) == 2
    assert exit_code("cse-report", f"runs={run}") == 0
    assert not list(tmp_path.rglob("ran*"))
    assert "evil" not in sys.modules
    assert os.environ.get(groups.FOLDERS_VARIABLE, "") == ""
