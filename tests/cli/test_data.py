"""cse-data as it is typed: its lines and exit codes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from typed import exit_code

from cse.sources.catalogue import DATASETS


@pytest.fixture
def cse_data(monkeypatch, tmp_path) -> Callable[..., int]:
    """cse-data in this process. Returns the exit code."""

    def call(*arguments: str) -> int:
        monkeypatch.setenv("CSE_CACHE", str(tmp_path / "cache"))
        return exit_code("cse-data", *arguments)

    return call


def test_list(cse_data, senteval, capsys, monkeypatch):
    monkeypatch.setenv("CSE_SENTEVAL", str(senteval))
    monkeypatch.setenv("COLUMNS", "70")
    assert cse_data("list") == 0
    shown = capsys.readouterr().out
    assert f"here: {senteval}" in shown.replace("\n             ", "")
    assert "gated: only you can" in shown
    assert max(map(len, shown.splitlines())) <= 70 or str(senteval) in shown
    assert cse_data("list", "wordnet") == 0
    assert "noncontrastive/table1" in capsys.readouterr().out


def test_fetch_then_check_then_altered(cse_data, toy_hub, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(DATASETS, "wiki1m", replace(DATASETS["wiki1m"], rows=(2,)))
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"One line.\nAnother.\n"})
    folder = tmp_path / "mine"
    assert cse_data("fetch", "wiki1m", "--to", str(folder)) == 0
    assert f"data.rows.file={folder}/wiki1m/wiki1m_for_simcse.txt" in capsys.readouterr().out
    assert cse_data("check", str(folder)) == 0
    assert f"{folder}: 1 whole" in capsys.readouterr().out
    (folder / "wiki1m" / "wiki1m_for_simcse.txt").write_bytes(b"One line.\nAnother!\n")
    assert cse_data("check", str(folder)) == 1
    assert capsys.readouterr().out.startswith("altered  wiki1m wiki1m_for_simcse.txt")


def test_one_that_cannot_be_had_leaves_the_others(cse_data, toy_hub, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(DATASETS, "wiki1m", replace(DATASETS["wiki1m"], rows=(1,)))
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"One line.\n"})
    assert cse_data("fetch", "demo", "wiki1m") == 1
    said = capsys.readouterr()
    assert "pip install 'gensim" in said.err
    assert "wiki1m is in" in said.out


def test_wrong_usage(cse_data, tmp_path, capsys):
    assert cse_data("check", str(tmp_path / "nowhere")) == 2
    assert cse_data("fetch", "nothing") == 2
    assert cse_data("fetch") == 2
    assert cse_data() == 2
    assert "there is no dataset nothing" in capsys.readouterr().err
