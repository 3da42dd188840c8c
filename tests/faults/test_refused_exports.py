"""`cse-export` refuses to replace a user's files, to share what a link points to, and to read damaged results."""

import json
import os
import re
from functools import reduce
from pathlib import Path

import pytest
import yaml
from typed import exit_code

from cse.config.compose import composed
from cse.model.export import save_encoder
from cse.model.load import load_encoder

SECRET = "the user's own"


@pytest.fixture
def run(tmp_path, tiny_bert) -> Path:
    """A finished run."""
    folder = tmp_path / "run"
    save_encoder(load_encoder(tiny_bert, "cls"), folder / "best")
    config = {
        "model": {"name": "lab/tiny", "pooling": "cls"},
        "data": {"name": "wiki1m"},
        "objective": {"_target_": "cse.objective.barlow.BarlowTwins"},
    }
    record = {"status": "done", "config": config, "seed": 3, "git_commit": "abc", "command": "cse-train", "metrics": {}}
    (folder / "results.json").write_text(json.dumps(record))
    return folder


def refused(capfd, *words: object) -> str:
    """Run cse-export, which has to refuse. Returns its one sentence."""
    assert exit_code("cse-export", *words) == 2
    said = capfd.readouterr().err.strip()
    assert len(said.splitlines()) == 1, said
    return said


def content(folder: Path) -> dict[str, bytes | str]:
    """Every file and link below a folder."""
    return {
        str(place): os.readlink(place) if place.is_symlink() else place.read_bytes()
        for place in folder.rglob("*")
        if place.is_symlink() or place.is_file()
    }


def test_folders_beside_the_target_stay(run, tmp_path):
    (tmp_path / "exp" / "share.old").mkdir(parents=True)
    (tmp_path / "exp" / "share.old" / "notes.txt").write_text(SECRET)
    for _ in range(2):
        assert exit_code("cse-export", run, "--to", tmp_path / "exp" / "share") == 0
    assert sorted(os.listdir(tmp_path / "exp")) == ["share", "share.old"]
    assert (tmp_path / "exp" / "share.old" / "notes.txt").read_text() == SECRET


@pytest.mark.parametrize(("use", "named"), [
    (lambda share: (share / "README.md").write_text(SECRET), "README.md"),
    (lambda share: (share / "1_Pooling" / "notes.txt").write_text(SECRET), "1_Pooling/notes.txt"),
    (lambda share: (share / "data").symlink_to("/etc"), "data"),
    (lambda share: (share / ".cse-export.json").unlink(), "1_Pooling"),
    (lambda share: (share / ".cse-export.json").write_text('{"files": ["README.md"]}'), ".cse-export.json"),
])  # fmt: skip
def test_an_export_that_was_edited_is_not_replaced(run, tmp_path, capfd, use, named):
    share = tmp_path / "share"
    assert exit_code("cse-export", run, "--to", share) == 0
    use(share)
    before = content(tmp_path)
    assert named in refused(capfd, run, "--to", share)
    assert content(tmp_path) == before


def test_a_file_that_appears_meanwhile_stays(run, tmp_path, capfd, monkeypatch):
    share = tmp_path / "share"

    def busy(*_: object) -> None:
        share.mkdir()
        (share / "notes.txt").write_text(SECRET)

    monkeypatch.setattr("cse.sharing.export.write_eval_results", busy)
    assert "notes.txt" in refused(capfd, run, "--to", share)
    assert os.listdir(share) == ["notes.txt"]


@pytest.mark.parametrize("place", [
    "run", "run/best", "run/new", "run/export/deeper", "run/../run/last", "model", "a.txt", "link", "link/best",
    "run/export",
])  # fmt: skip
def test_a_target_that_is_not_an_export_is_refused(run, tmp_path, capfd, tiny_bert, place):
    save_encoder(load_encoder(tiny_bert, "cls"), tmp_path / "model")  # another encoder
    (tmp_path / "a.txt").write_text(SECRET)
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "home").mkdir()
    if place == "run/export":
        (run / "export").symlink_to("../home")
    before = content(tmp_path)
    assert str(tmp_path / place) in refused(capfd, run, "--to", tmp_path / place)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["notes.txt", "model.safetensors", "1_Pooling", "adapter/adapter_config.json", ""])
def test_links_and_pipes_in_a_run_are_not_followed(run, tmp_path, capfd, name):
    (tmp_path / "secret.txt").write_text(SECRET)
    place = run / "best" / name
    if place.exists():
        place.rename(tmp_path / "was")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / ("was" if (tmp_path / "was").exists() else "secret.txt"))
    assert str(place) in refused(capfd, run, "--to", tmp_path / "share")
    place.unlink()
    if name == "notes.txt":
        os.mkfifo(place)
        assert str(place) in refused(capfd, run, "--to", tmp_path / "share")
    assert not (tmp_path / "share").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("modeling.py", "import os"), ("model.pkl", "x"), ("config.json", '{"auto_map": {"AutoModel": "m.M"}}')],
)
def test_code_in_a_run_is_not_shared(run, tmp_path, capfd, name, text):
    (run / "best" / name).write_text(text)
    assert str(run / "best" / name) in refused(capfd, run, "--to", tmp_path / "share")
    assert not (tmp_path / "share").exists()


MISSING = object()
MTEB = {"model": {"name": "lab/x", "revision": "abc"}, "tasks": {}, "protocol": "mteb 2"}
TASK = {"metric": "cosine_spearman", "dataset": "mteb/sts12-sts", "revision": None}


@pytest.mark.parametrize(("key", "value", "named"), [  # the key, its bad value, and what has to be named
    ("config", [], "config"), ("config.model.name", 3, "config.model.name"), ("seed", MISSING, "seed"),
    ("config.data.name", ["wiki1m"], "config.data.name"), ("config.objective", {}, "config.objective._target_"),
    ("config.objective._target_", "X", "objective._target_"), ("config.aux_modality", ["visual"], "aux_modality"),
    ("command", 'cse-train "', "command"), ("git_commit", {}, "git_commit"), ("best_step", "12", "best_step"),
    ("metrics", MISSING, "metrics"), ("metrics", {"test/a/b": 10**400}, "metrics"),
    ("metrics", {"loss": 1.0}, "metrics"),
    ("data", {"mteb": MTEB | {"model": {"name": "..", "revision": "x"}}}, "data.mteb.model.name"),
    ("data", {"mteb": MTEB | {"model": {"name": "lab/x", "revision": "../.."}}}, "data.mteb.model.revision"),
    ("data", {"mteb": MTEB | {"tasks": {"../../out": TASK}}}, "data.mteb.tasks"),
    ("config.model.name", "\ud800", "results.json"), ("status", "running", "running"),
])  # fmt: skip
def test_damaged_results_are_named(run, tmp_path, capfd, key, value, named):
    record = json.loads((run / "results.json").read_text())
    *groups, last = key.split(".")
    reduce(dict.__getitem__, groups, record)[last] = value
    if value is MISSING:
        del reduce(dict.__getitem__, groups, record)[last]
    (run / "results.json").write_text(json.dumps(record))
    before = content(tmp_path)
    assert named in refused(capfd, run)
    assert content(tmp_path) == before


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"status": "done", "seed": 1e999}'])
def test_unreadable_results_are_named(run, capfd, text):
    (run / "results.json").write_text(text)
    assert "results.json" in refused(capfd, run)


def test_a_score_that_was_nan_is_left_out(run):
    record = json.loads((run / "results.json").read_text())
    scores = {"test/sts/STS14/spearman": None, "test/sts/STS15/spearman": 71.5}
    (run / "results.json").write_text(json.dumps(record | {"metrics": scores}))
    assert exit_code("cse-export", run) == 0
    assert os.listdir(run / "export" / ".eval_results") == ["STS15.yaml"]
    assert "STS14" not in (run / "export" / "README.md").read_text()


def test_mteb_files_come_only_from_this_machines_cache(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CSE_CACHE", str(tmp_path / "cache"))
    record = json.loads((run / "results.json").read_text())
    record["config"]["eval"] = {"mteb": {"cache": str(tmp_path / "home")}}
    kept = tmp_path / "home" / "results" / "lab__x" / "abc"
    kept.mkdir(parents=True)
    (kept / "credentials.json").write_text(SECRET)
    (run / "results.json").write_text(json.dumps(record | {"data": {"mteb": MTEB}}))
    assert exit_code("cse-export", run) == 0
    assert not (run / "export" / "mteb").exists()
    assert composed("evaluate", []).paths.cache == str(tmp_path / "cache")


def test_a_damaged_adapter_is_named(run, capfd):
    (run / "best" / "adapter").mkdir()
    (run / "best" / "adapter" / "adapter_config.json").write_text("{")
    assert "adapter_config.json" in refused(capfd, run)
    assert not (run / "export").exists()


def test_no_value_of_a_run_breaks_out_of_its_place_in_the_card(run, tmp_path):
    record = json.loads((run / "results.json").read_text())
    evil = "a\n\n```\n\n# Evil\n---\n| x |"
    record["config"]["model"]["pooling"] = evil
    record["config"]["objective"]["note"] = evil
    record |= {"git_commit": evil, "architecture": evil, "weights": {"license": evil, "language": [evil]}}
    (run / "results.json").write_text(json.dumps(record))
    assert exit_code("cse-export", run, "--to", tmp_path / "share") == 0
    text = (tmp_path / "share" / "README.md").read_text()
    front, body = re.fullmatch(r"---\n(.*?)\n---\n\n(# .*)", text, re.DOTALL).groups()
    assert yaml.safe_load(front)["license"] == evil
    fence, inside = re.search(r"^(`{4,})yaml\n(.*?)\n\1\n\n</details>", body, re.DOTALL | re.MULTILINE).groups()
    assert yaml.safe_load(inside)["objective.note"] == evil
    assert fence not in inside
    assert "# Evil" not in [line.strip() for line in body.replace(inside, "").splitlines()]
