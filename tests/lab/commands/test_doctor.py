"""cse-doctor: it says what this machine has, and exits with 0 whatever it finds."""

import json
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO

import pytest
from typed import exit_code

from cse.lab.commands import doctor


@pytest.fixture(scope="module")
def found(tmp_path_factory, senteval) -> dict:
    """The report without a hub; paths name a folder with data and a missing one."""
    home = tmp_path_factory.mktemp("home")
    (home / "images").mkdir()
    words = [f"paths.images={home}/images", "paths.captions=/no/such/folder"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setenv("HOME", str(home))
        patch.setenv("CSE_SENTEVAL", str(senteval))
        assert exit_code("cse-doctor", "--json", *words, f"paths.cache={home}/cache") == 0
    assert not (home / "cache").exists()  # nothing is written
    return json.loads(shown.getvalue())


def test_the_screen_has_what_is_here_and_what_is_missing(found):
    as_read = {group: {name: doctor.Finding(**one) for name, one in of.items()} for group, of in found.items()}
    shown = list(doctor.summary(as_read))
    words = {" ".join(one.split()).partition(" ")[0]: " ".join(one.split()) for one in shown}
    assert "senteval" in words["paths"]
    assert "captions" not in words["paths"]
    assert "/no/such/folder: there is no such folder" in words["captions"]
    assert "stsb_multi" in words["not"]
    assert all(len(line) <= 100 for one in shown for line in one.splitlines() if "/" not in line)  # no terminal


def test_machine_and_packages(found):
    machine, packages = found["machine"], found["packages"]
    assert machine["python"]["note"].startswith(".".join(map(str, sys.version_info[:3])))
    assert machine["disk, runs"]["note"].partition(" GB free")[0].isdigit()
    assert (machine["hub"]["state"], machine["hub"]["note"][:30]) == ("missing", "is not checked, because HF_HUB")
    assert packages["torch"] == {"state": "ok", "note": version("torch")}
    assert {"transformers", "hydra-core", "gensim", "smac"} <= set(packages)
    assert "pytest" not in packages
    assert packages["mteb"]["state"] == "ok" or "'.[mteb]'" in packages["mteb"]["note"]


def test_every_path_has_its_line(found):
    states = {"senteval": "ok", "images": "ok", "captions": "missing", "stsb_multi": "none"}
    assert {name: found["paths"][name]["state"] for name in states} == states
    assert set(found) == {"machine", "packages", "paths"}


@pytest.mark.parametrize("bad", ["paths.sentevall=x", "--jsn", "paths.cache=null", "objective=barlow"])
def test_a_mistake_is_one_sentence(capsys, bad):
    assert exit_code("cse-doctor", bad) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert bad.partition("=")[0] in said
