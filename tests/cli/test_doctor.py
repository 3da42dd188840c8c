"""cse-doctor: what it says is so, for each state that a choice can be in, and it ends well whatever it finds."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from typed import seconds_of_children

from cse.cli import choices, doctor
from cse.errors import MissingResource
from cse.sources.hub import size_of

CSE_DOCTOR = str(Path(sys.executable).parent / "cse-doctor")


@pytest.fixture(scope="module")
def machine(tmp_path_factory, senteval) -> tuple[dict, float]:
    """The command's report, and the seconds that it worked, however busy the machine is.

    There are a hub cache with BERT in it, and folders that hold much, little, nothing.
    """
    home = tmp_path_factory.mktemp("home")
    weights = home / "hub" / "models--bert-base-uncased" / "snapshots" / "1" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"")
    refs = home / "hub" / "models--bert-base-uncased" / "refs"
    refs.mkdir()
    (refs / "main").write_text("1")
    (home / "images" / "cat").mkdir(parents=True)
    (home / "images" / "dog").mkdir()
    (home / "empty").mkdir()
    arguments = [f"paths.images={home}/images", f"paths.audio={home}/empty", "paths.captions=/no/such/folder"]
    keys = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    env = {**keys, "HOME": str(home), "HF_HUB_CACHE": f"{home}/hub", "CSE_SENTEVAL": str(senteval)}
    before = seconds_of_children()
    done = subprocess.run([CSE_DOCTOR, "--json", *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout), seconds_of_children() - before


def test_it_answers_soon(machine):
    assert machine[1] < 60  # six seconds of work, more where two processes share a core


def test_the_machine(machine):
    found = machine[0]["machine"]
    assert found["python"]["note"].startswith(".".join(map(str, sys.version_info[:3])))
    assert found["disk, runs"]["note"].partition(" GB free")[0].isdigit()
    assert found["hub"]["state"] == "missing"
    assert "1 models" in found["hub"]["note"]
    assert found["W&B"] == {"state": "missing", "note": "no API key: `wandb login` stores one"}
    if not torch.cuda.is_available():
        assert found["gpu"]["state"] == "none"


def test_the_packages(machine):
    found = machine[0]["packages"]
    assert found["torch"]["note"].startswith(version("torch"))
    assert {"transformers", "hydra-core", "mteb", "gensim", "wn", "smac"} <= set(found)
    assert "pytest" not in found
    for name, extra in (("mteb", "mteb"), ("gensim", "demo")):
        assert f"extra {extra}" in found[name]["note"] or f".[{extra}]" in found[name]["note"]


def test_the_paths(machine):
    found = machine[0]["paths"]
    assert found["senteval"]["state"] == "ok"
    assert "complete for" not in found["senteval"]["note"]  # 40 made-up rows
    assert "see eval=geometry" in found["senteval"]["note"]
    assert found["captions"] == {"state": "missing", "note": "/no/such/folder: there is no such folder"}
    assert found["stsb_multi"] == {"state": "none", "note": "paths.stsb_multi=FOLDER or CSE_STSB_MULTI"}


def test_every_choice_has_its_line(machine):
    for group in ("model", "data", "augmentation", "aux_modality", "eval"):
        assert set(machine[0][group]) == {path.stem for path in choices.files(group)}
        for line in machine[0][group].values():
            assert line["state"] in choices.STATES
            assert line["note"]


def test_what_is_missing_says_what_to_do(machine):
    found = machine[0]
    assert found["model"]["bert"]["state"] == "ok"
    assert "models--bert-base-uncased" in found["model"]["bert"]["note"]
    assert found["model"]["roberta"]["state"] == "missing"
    assert "model=minilm" in found["model"]["roberta"]["note"]
    assert found["data"]["nli"]["state"] == "missing"
    assert "data=text data.path=FILE.csv" in found["data"]["nli"]["note"]
    assert found["data"]["text"]["state"] == "ok"
    assert "sts-dev.csv holds 40 usable rows, not the official 1500" in found["eval"]["stsb"]["note"]
    assert "/no/such/folder" in found["eval"]["retrieval"]["note"]
    visual, audio = found["aux_modality"]["visual"], found["aux_modality"]["audio"]
    assert visual["state"] == "missing"  # the images are there, ViT's weights are not
    assert "aux_modality.init=random" in visual["note"]
    assert "2 classes" in visual["note"]
    assert audio["state"] == "missing"
    assert "no wav or flac file" in audio["note"]
    assert found["aux_modality"]["none"] == {"state": "ok", "note": "needs nothing"}


def test_the_hub_is_asked_about_each_repository(toy_hub, tiny_bert, tmp_path):
    """What it has is "hub", with a model's size; what it refuses, what no hub has, or what a given folder lacks is
    missing. Nothing is fetched."""
    toy_hub.add("models/roberta-base", Path(tiny_bert))
    toy_hub.moved["bert-base-uncased"] = "google-bert/bert-base-uncased"
    toy_hub.add("models/google-bert/bert-base-uncased", Path(tiny_bert))
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"", "senteval.tar": b""})
    toy_hub.add("datasets/wikimedia/wikipedia", {"README.md": b""})
    toy_hub.gated.add("datasets/wikimedia/wikipedia")
    cfg = choices.composed([f"paths.cache={tmp_path}", f"paths.stsb_multi={tmp_path}"])
    found = {(one.group, one.name): one for one in choices.choices(cfg, online=True)}
    for name in (("model", "roberta"), ("model", "bert"), ("data", "wiki1m"), ("eval", "stsb")):
        assert found[name].state == "hub", found[name]
    size = sum(path.stat().st_size for path in Path(tiny_bert).iterdir())
    assert found["model", "bert"].note == f"bert-base-uncased, {size_of(size)}: downloaded when first used"
    for name in ("retrieval", "probing", "declutr"):
        assert found["eval", name].state == "missing"
    assert "stsb-de-dev.csv" in found["eval", "stsb_multi"].note
    refused = found["model", "e5_base"]
    assert refused.state == "missing"
    assert "the model intfloat/e5-base-v2 does not exist on the hub" in refused.note
    assert found["data", "wikipedia"].state == "missing"
    assert (
        f"is gated: accept its terms at {toy_hub.url}/datasets/wikimedia/wikipedia" in found["data", "wikipedia"].note
    )
    assert found["aux_modality", "visual"].state == "missing"
    assert "google/vit-base-patch16-224-in21k does not exist" in found["aux_modality", "visual"].note
    assert not toy_hub.downloads()


def test_text_that_was_read_before_needs_no_hub(tmp_path):
    from cse.data.text import Text

    node = choices.composed([f"paths.cache={tmp_path}"]).doctor.data.wiki1m
    (check,) = choices.data(node)
    assert choices.attempt(check).state == "hub"
    rows = [("One sentence.",), ("Another one.",)]
    Text("any", str(tmp_path), rows=lambda: iter(rows), identity=node.identity).prepare()
    assert choices.attempt(check) == choices.Availability("ok", f"read before; kept in {tmp_path}")


def test_nothing_is_written(tmp_path):
    choices.choices(choices.composed([f"paths.cache={tmp_path}/cache"]), online=False)
    assert not (tmp_path / "cache").exists()


def test_a_check_that_breaks_is_a_line_of_its_own():
    def broken() -> str:
        raise ZeroDivisionError("a file\nof nonsense")

    def refused() -> str:
        raise MissingResource("give a folder")

    def unreachable() -> str:
        raise MissingResource("give a folder") from ConnectionError()

    assert choices.attempt(broken) == choices.Availability("missing", "ZeroDivisionError: a file")
    assert choices.attempt(refused) == choices.Availability("missing", "give a folder")
    assert choices.attempt(unreachable) == choices.Availability("hub", "give a folder")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("paths.sentevall=x", "there is no key paths.sentevall; did you mean paths.senteval?"),
        ("--jsn", "--jsn is neither paths.KEY=FOLDER nor --json"),
        ("paths.cache=null", "paths.cache=null:"),
        ("objective=barlow", "objective=barlow is neither"),
    ],
)
def test_a_mistake_is_one_sentence(monkeypatch, capsys, bad, told):
    monkeypatch.setattr(sys, "argv", ["cse-doctor", bad])
    monkeypatch.setattr(doctor, "examine", choices.composed)
    with pytest.raises(SystemExit) as ended:
        doctor.main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_the_table_has_every_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    doctor.show([choices.Diagnosis("model", "bert", "missing", "a [bracketed] reason " * 12)])
    out = capsys.readouterr().out
    assert out.count("[bracketed]") == 12
    assert "bert" in out
    assert "missing" in out


def test_help(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cse-doctor", "--help"])
    doctor.main()
    assert "cse-doctor --json" in capsys.readouterr().out
