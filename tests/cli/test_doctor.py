"""cse-doctor: what it says is so, for each state that a choice can be in, and it ends well whatever it finds."""

import json
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import pytest
from typed import exit_code

from cse.cli import choices
from cse.config import groups
from cse.errors import MissingResource
from cse.sources.hub import size_of


@pytest.fixture(scope="module")
def found(tmp_path_factory, senteval) -> dict:
    """The report where the hub does not answer: its cache has BERT, and folders hold much, little, nothing."""
    from huggingface_hub import constants

    home = tmp_path_factory.mktemp("home")
    bert = home / "hub" / "models--bert-base-uncased"
    (bert / "snapshots" / "1").mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (bert / "snapshots" / "1" / name).touch()
    (bert / "refs").mkdir()
    (bert / "refs" / "main").write_text("1")
    (home / "images" / "cat").mkdir(parents=True)
    (home / "images" / "dog").mkdir()
    (home / "empty").mkdir()
    words = [f"paths.images={home}/images", f"paths.audio={home}/empty", "paths.captions=/no/such/folder"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr(constants, "HF_HUB_CACHE", f"{home}/hub")
        patch.setenv("HOME", str(home))
        patch.setenv("CSE_SENTEVAL", str(senteval))
        assert exit_code("cse-doctor", "--json", *words, f"paths.cache={home}/cache") == 0
    assert not (home / "cache").exists()  # nothing is written
    return json.loads(shown.getvalue())


def test_the_machine_and_its_packages(found):
    assert found["machine"]["python"]["note"].startswith(".".join(map(str, sys.version_info[:3])))
    assert found["machine"]["disk, runs"]["note"].partition(" GB free")[0].isdigit()
    assert found["machine"]["hub"]["state"] == "missing"
    packages = found["packages"]
    assert packages["torch"]["note"].startswith(version("torch"))
    assert {"transformers", "hydra-core", "mteb", "gensim", "wn", "smac"} <= set(packages)
    assert "pytest" not in packages
    for name, extra in (("mteb", "mteb"), ("gensim", "demo")):
        assert f"extra {extra}" in packages[name]["note"] or f".[{extra}]" in packages[name]["note"]


def test_every_path_and_every_choice_has_its_line(found):
    paths = found["paths"]
    assert paths["senteval"]["state"] == "ok"
    assert paths["captions"] == {"state": "missing", "note": "/no/such/folder: there is no such folder"}
    assert paths["stsb_multi"] == {"state": "none", "note": "paths.stsb_multi=FOLDER or CSE_STSB_MULTI"}
    for group in choices.GROUPS:
        assert set(found[group]) == set(groups.choices(group))
        assert all(line["state"] in choices.STATES and line["note"] for line in found[group].values())


def test_what_is_missing_says_what_to_do(found):
    assert "models--bert-base-uncased" in found["model"]["bert"]["note"]
    assert "2 classes" in found["aux_modality"]["visual"]["note"]  # but ViT's weights are not here
    for group, name in (("model", "bert"), ("data", "text"), ("aux_modality", "none"), ("augmentation", "dropout")):
        assert found[group][name]["state"] == "ok"
    for group, name, told in (
        ("model", "roberta", "model=minilm"),
        ("data", "nli", "data=text data.path=FILE.csv"),
        ("eval", "stsb", "sts-dev.csv holds 40 usable rows, not the official 1500"),
        ("eval", "retrieval", "/no/such/folder"),
        ("aux_modality", "visual", "aux_modality.init=random"),
        ("aux_modality", "audio", "no wav or flac file"),
    ):
        assert found[group][name]["state"] == "missing"
        assert told in found[group][name]["note"]


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
    assert size_of(sum(path.stat().st_size for path in Path(tiny_bert).iterdir())) in found["model", "bert"].note
    for group, name, told in (
        ("eval", "retrieval", ""),
        ("eval", "probing", ""),
        ("eval", "declutr", ""),
        ("eval", "stsb_multi", "stsb-de-dev.csv"),
        ("model", "e5_base", "intfloat/e5-base-v2 does not exist"),
        ("data", "wikipedia", f"{toy_hub.url}/datasets/wikimedia/wikipedia"),
        ("aux_modality", "visual", "google/vit-base-patch16-224-in21k does not exist"),
    ):
        assert found[group, name].state == "missing"
        assert told in found[group, name].note
    assert not toy_hub.downloads()


def test_text_that_was_read_before_needs_no_hub(tmp_path):
    from cse.data.text import Text

    node = choices.composed([f"paths.cache={tmp_path}"]).doctor.data.wiki1m
    (check,) = choices.checks("data", node)
    assert choices.attempt("data", "wiki1m", check).state == "hub"
    rows = [("One sentence.",), ("Another one.",)]
    Text("any", str(tmp_path), rows=lambda: iter(rows), identity=node.identity).prepare()
    assert "read before" in choices.attempt("data", "wiki1m", check).note


@pytest.mark.parametrize(("error", "cause", "state"), [
    (ZeroDivisionError("a file\nof nonsense"), None, "missing"),
    (MissingResource("give a folder"), None, "missing"),
    (MissingResource("give a folder"), ConnectionError(), "hub"),
])  # fmt: skip
def test_a_check_that_breaks_is_a_line_of_its_own(error, cause, state):
    def broken() -> str:
        raise error from cause

    found = choices.attempt("model", "bert", broken)
    assert found.state == state
    assert len(found.note.splitlines()) == 1


@pytest.mark.parametrize("bad", ["paths.sentevall=x", "--jsn", "paths.cache=null", "objective=barlow"])
def test_a_mistake_is_one_sentence(capsys, bad):
    assert exit_code("cse-doctor", bad) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert bad.partition("=")[0] in said


def test_the_table_has_every_line(capsys):
    from cse.cli.doctor import show

    show([choices.Finding("model", "bert", "missing", "a reason"), choices.Finding("data", "nli", "ok", "here")])
    out = capsys.readouterr().out
    assert all(word in out for word in ("bert", "missing", "a reason", "nli", "here"))
