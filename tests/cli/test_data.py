"""cse-data: what it prints, and its exit codes."""

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants
from typed import exit_code

from cse.cli.data import parse
from cse.errors import UserError


@pytest.fixture
def cse_data(monkeypatch, tmp_path) -> Callable[..., int]:
    """cse-data in this process. Returns the exit code."""
    monkeypatch.setenv("CSE_CACHE", str(tmp_path / "cache"))
    return lambda *arguments: exit_code("cse-data", *arguments)


def test_list(cse_data, senteval, capsys, monkeypatch):
    monkeypatch.setenv("CSE_SENTEVAL", str(senteval))
    monkeypatch.setenv("COLUMNS", "70")
    assert cse_data("list") == 0
    shown = capsys.readouterr().out
    assert f"here:{senteval}" in "".join(shown.split())  # wherever a line is broken
    assert "gated: only you can" in shown


def test_a_named_dataset_is_listed_without_reading_the_sweeps(cse_data, capsys, monkeypatch):
    monkeypatch.setattr("cse.sweep.jobs.read", None)
    assert cse_data("list", "wordnet") == 0
    assert "augmentation=eda" in capsys.readouterr().out


def test_fetch_then_check_then_altered(cse_data, toy_hub, tmp_path, capsys):
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"One line.\nAnother.\n"})
    file = tmp_path / "mine" / "wiki1m" / "wiki1m_for_simcse.txt"
    assert cse_data("fetch", "wiki1m", "--to", str(tmp_path / "mine")) == 0
    assert f"data.rows.file={file}" in capsys.readouterr().out
    assert cse_data("check", str(tmp_path / "mine")) == 0
    file.write_bytes(b"One line.\nAnother!\n")
    assert cse_data("check", str(tmp_path / "mine")) == 1
    assert f"altered  {file}" in capsys.readouterr().out


def test_what_a_sweep_reads_is_fetched_moved_and_checked(cse_data, toy_hub, tiny_bert, tmp_path, capfd, monkeypatch):
    """Into its own folder, whatever is here already; moved elsewhere, it is found without the hub."""
    content = {"wiki1m_for_simcse.txt": b"One line.\nAnother.\n", "senteval.tar": tar_of("STS/a.txt", b"a")}
    toy_hub.lfs = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", content)
    toy_hub.add("models/bert-base-uncased", Path(tiny_bert))
    monkeypatch.setenv("HF_ENDPOINT", toy_hub.url)
    needed = ["bert-base-uncased", "wiki1m", "senteval"]
    assert cse_data("check", "sweep=whitenedcse/table4") == 1
    assert [line.split()[1] for line in capfd.readouterr().out.splitlines() if line.startswith("missing")] == needed
    assert exit_code("cse-train", "sweep=whitenedcse/table4", "dry_run=true") == 0
    assert "not here: bert-base-uncased, wiki1m, senteval; " in capfd.readouterr().out
    assert cse_data("fetch", "sweep=whitenedcse/table4", f"to={tmp_path}/carried") == 0
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "moved" / "hub"))
    (tmp_path / "carried").rename(tmp_path / "moved")
    toy_hub.status = 500
    assert cse_data("check", "sweep=whitenedcse/table4") == 0
    (file,) = (tmp_path / "moved").rglob("wiki1m_for_simcse.txt")
    file.resolve().write_bytes(b"Another line.\n")
    capfd.readouterr()
    assert cse_data("check", "sweep=whitenedcse/table4") == 1
    assert "altered  wiki1m" in capfd.readouterr().out


@pytest.mark.parametrize("code", [0, 1])
def test_only_a_complete_fetch_prints_how_to_move_it(code, cse_data, tmp_path, capsys, monkeypatch):
    ended = subprocess.CompletedProcess([], code)
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: ended)
    assert cse_data("fetch", "sweep=whitenedcse/table4", f"to={tmp_path}/x") == code
    assert ("HF_HOME" in capsys.readouterr().out) == (code == 0)


def tar_of(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        about = tarfile.TarInfo(name)
        about.size = len(content)
        tar.addfile(about, io.BytesIO(content))
    return packed.getvalue()


def test_a_dataset_that_is_missing_does_not_stop_the_others(cse_data, toy_hub, capsys):
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"One line.\n"})
    toy_hub.add("datasets/ILSVRC/imagenet-1k", {"data/train-0.parquet": b"x"})
    toy_hub.gated.add("datasets/ILSVRC/imagenet-1k")
    assert cse_data("fetch", "demo", "imagenet", "wiki1m") == 1
    said = capsys.readouterr()
    assert "pip install 'gensim" in said.err
    assert "imagenet" in said.err
    assert "paths.images=FOLDER" in said.err
    assert "wiki1m" in said.out
    assert cse_data("check", "nli") == 2
    assert "cse-data fetch nli" in capsys.readouterr().err


def test_a_damaged_archive_does_not_stop_the_others(cse_data, toy_hub, capsys):
    content = {"senteval.tar": tar_of("STS/a.txt", b"a" * 2000)[:600], "wiki1m_for_simcse.txt": b"One line.\n"}
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", content)
    assert cse_data("fetch", "senteval", "demo", "wiki1m") == 2
    said = capsys.readouterr()
    assert "senteval.tar" in said.err
    assert "wiki1m is in" in said.out


def test_wrong_usage(cse_data, tmp_path, capsys):
    assert cse_data("check", str(tmp_path / "nowhere")) == 2
    assert cse_data("fetch", "sentevel") == 2
    assert "senteval" in capsys.readouterr().err
    assert cse_data("fetch", "sweep=whitenedcse/table4", "wiki1m") == 2
    assert cse_data("fetch", "sweep=whitenedcse/tabel4", "to=x") == 2
    assert cse_data("fetch", "sweep=whitenedcse/table4", f"to={__file__}") == 2
    assert cse_data("fetch") == 2
    assert cse_data("fetch", f"to={tmp_path}/x") == 2
    assert cse_data("fetch", "wordnet", "to=") == 2
    assert cse_data() == 2


def test_languages():
    assert parse("wikipedia:de") == ("wikipedia", "de")
    assert parse("stsb_multi:ru") == ("stsb_multi", "ru")
    assert parse("wiki1m") == ("wiki1m", None)
    for word in ("nli:de", "stsb_multi:xx"):
        with pytest.raises(UserError, match=word):
            parse(word)
