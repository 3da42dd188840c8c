"""cse-doctor: it reports each state that a choice can be in, and exits with 0 whatever it finds."""

import json
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO

import pytest
from omegaconf import OmegaConf
from typed import exit_code

from cse.cli import doctor
from cse.config import groups
from cse.errors import MissingResource


@pytest.fixture(scope="module")
def found(tmp_path_factory, senteval) -> dict:
    """The report without a hub. Its cache has BERT; paths name a folder with data, an empty and a missing one."""
    from huggingface_hub import constants

    home = tmp_path_factory.mktemp("home")
    bert = home / "hub" / "models--bert-base-uncased"
    (bert / "snapshots" / "1").mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (bert / "snapshots" / "1" / name).touch()
    (bert / "refs").mkdir()
    (bert / "refs" / "main").write_text("1")
    for name in ("images/cat", "images/dog", "empty"):
        (home / name).mkdir(parents=True)
    words = [f"paths.images={home}/images", f"paths.audio={home}/empty", "paths.captions=/no/such/folder"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr(constants, "HF_HUB_CACHE", f"{home}/hub")
        patch.setenv("HOME", str(home))
        patch.setenv("CSE_SENTEVAL", str(senteval))
        assert exit_code("cse-doctor", "--json", *words, f"paths.cache={home}/cache") == 0
    assert not (home / "cache").exists()  # nothing is written
    return json.loads(shown.getvalue())


def test_the_table_has_a_line_for_each(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "composed", lambda words: OmegaConf.create({"paths": {"cache": "/"}, "doctor": {}}))
    monkeypatch.setattr(doctor, "GROUPS", ())
    assert exit_code("cse-doctor") == 0
    shown = capsys.readouterr().out.splitlines()
    assert {"machine", "packages", "paths"} <= set(shown)
    assert any("torch" in line for line in shown[shown.index("packages") :])
    assert all(len(line) <= 80 for line in shown if "/" not in line)  # no terminal


def test_machine_and_packages(found):
    machine, packages = found["machine"], found["packages"]
    assert machine["python"]["note"].startswith(".".join(map(str, sys.version_info[:3])))
    assert machine["disk, runs"]["note"].partition(" GB free")[0].isdigit()
    assert machine["hub"]["state"] == "missing"
    assert packages["torch"] == {"state": "ok", "note": version("torch")}
    assert {"transformers", "hydra-core", "gensim", "smac"} <= set(packages)
    assert "pytest" not in packages
    assert packages["mteb"]["state"] == "ok" or "'.[mteb]'" in packages["mteb"]["note"]


def test_every_path_and_every_choice_has_its_line(found):
    states = {"senteval": "ok", "captions": "missing", "stsb_multi": "none"}
    assert {name: found["paths"][name]["state"] for name in states} == states
    for group in doctor.GROUPS:
        assert set(found[group]) == set(groups.choices(group))
        assert all(line["state"] in doctor.STATES and line["note"] for line in found[group].values())


@pytest.mark.parametrize(("group", "name", "state", "told"), [
    ("model", "bert", "ok", "models--bert-base-uncased"), ("data", "text", "ok", ""),
    ("aux_modality", "none", "ok", ""), ("augmentation", "dropout", "ok", ""),
    ("model", "roberta", "hub", "model=minilm"),
    ("data", "nli", "hub", "data=text data.path=FILE.csv"), ("eval", "stsb", "missing", "sts-dev.csv"),
    ("eval", "retrieval", "missing", "/no/such/folder"), ("aux_modality", "audio", "missing", "no wav or flac file"),
    ("aux_modality", "visual", "hub", "2 classes"),  # ViT's weights are not here
])  # fmt: skip
def test_the_state_of_a_choice_and_what_to_do(found, group, name, state, told):
    assert found[group][name]["state"] == state
    assert told in found[group][name]["note"]


def test_text_that_was_read_before_needs_no_hub(tmp_path):
    from cse.data.text import Text
    from cse.sources.hub import cache_only

    node = doctor.composed([f"paths.cache={tmp_path}"]).doctor.data.wiki1m
    (needed,) = doctor.needs("data", node)
    with cache_only():
        assert doctor.attempt(needed).state == "hub"
    rows = [("One sentence.",), ("Another one.",)]
    Text("any", str(tmp_path), rows=lambda: iter(rows), identity=node.identity).prepare()
    assert "read before" in doctor.attempt(needed).note


@pytest.mark.parametrize("error", [ZeroDivisionError("a file\nof nonsense"), MissingResource("give a folder")])
def test_a_check_that_fails_is_one_line(error):
    def broken() -> str:
        raise error

    found = doctor.attempt(broken)
    assert found.state == "missing"
    assert len(found.note.splitlines()) == 1


@pytest.mark.parametrize("bad", ["paths.sentevall=x", "--jsn", "paths.cache=null", "objective=barlow"])
def test_a_mistake_is_one_sentence(capsys, bad):
    assert exit_code("cse-doctor", bad) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert bad.partition("=")[0] in said
