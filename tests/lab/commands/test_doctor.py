"""cse-doctor: it reports each state that a choice can be in, and exits with 0 whatever it finds."""

import json
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO

import pytest
from typed import exit_code

from cse.lab.commands import doctor
from cse.lab.settings import groups


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


def test_the_screen_names_what_works_first_and_each_thing_once(found, capsys):
    as_read = {group: {name: doctor.Finding(**one) for name, one in of.items()} for group, of in found.items()}
    shown = list(doctor.summary(as_read))
    here, missing = shown.index("works here"), shown.index("not here, or not set")
    assert here < missing
    joined = ["".join(lines).split() for lines in (shown[here:missing], shown[missing:])]
    assert "bert," in joined[0]
    assert {"bert_large,", "(flickr),", "captions"} <= set(joined[1])
    assert "bert" not in joined[1]
    assert sum("/no/such/folder: there is no such folder" in " ".join(one.split()) for one in shown) == 1
    assert all(len(line) <= 100 for one in shown for line in one.splitlines() if "/" not in line)  # no terminal


def test_machine_and_packages(found):
    machine, packages = found["machine"], found["packages"]
    assert machine["python"]["note"].startswith(".".join(map(str, sys.version_info[:3])))
    assert machine["disk, runs"]["note"].partition(" GB free")[0].isdigit()
    assert (machine["hub"]["state"], machine["hub"]["note"][:30]) == ("missing", "is not asked, as HF_HUB_OFFLIN")
    assert packages["torch"] == {"state": "ok", "note": version("torch")}
    assert {"transformers", "hydra-core", "gensim", "smac"} <= set(packages)
    assert "pytest" not in packages
    assert packages["mteb"]["state"] == "ok" or "'.[mteb]'" in packages["mteb"]["note"]


def test_every_path_and_every_choice_has_its_line(found):
    states = {"senteval": "ok", "captions": "missing", "stsb_multi": "none"}
    assert {name: found["paths"][name]["state"] for name in states} == states
    for group in doctor.GROUPS:
        assert set(found[group]) == set(groups.choices(group))
        assert all(line["state"] in ("ok", "missing") and line["note"] for line in found[group].values())


@pytest.mark.parametrize(("group", "name", "state", "told"), [
    ("model", "bert", "ok", "models--bert-base-uncased"), ("data", "text", "ok", ""),
    ("aux_modality", "none", "ok", ""), ("augmentation", "dropout", "ok", ""),
    ("model", "roberta", "missing", "roberta-base"), ("data", "nli", "missing", "nli"),
    ("eval", "stsb", "ok", "senteval"),
    ("eval", "mteb", "missing", "the hub"), ("eval", "retrieval", "missing", "flickr"),
    ("eval", "declutr", "missing", "probing, coco"),
    ("aux_modality", "visual", "missing", "google/vit-base-patch16-224-in21k"),  # its pictures are here
    ("aux_modality", "audio", "missing", ""),  # its folder is empty
])  # fmt: skip
def test_the_state_of_a_choice_and_what_to_do(found, group, name, state, told):
    assert found[group][name]["state"] == state
    assert told in found[group][name]["note"]


@pytest.mark.parametrize("bad", ["paths.sentevall=x", "--jsn", "paths.cache=null", "objective=barlow"])
def test_a_mistake_is_one_sentence(capsys, bad):
    assert exit_code("cse-doctor", bad) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert bad.partition("=")[0] in said
