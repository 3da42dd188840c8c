"""Files and folders: replaced whole or not at all, and what JSON and CSV can hold."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from cse.errors import RunError
from cse.files import (
    add_json_lines,
    json_line,
    json_lines,
    not_found,
    replaced_file,
    replaced_folder,
    url_in,
    write_json,
    write_text,
    written_once,
)


def test_json_is_read_back_with_null_for_nan_and_infinity(tmp_path):
    path = tmp_path / "deep" / "results.json"
    write_json(path, {"a": 1, 2: (True, None), "np": np.float32(0.5), "t": torch.arange(2), "p": tmp_path, "é": "ü",
                      "loss": float("nan"), "max": np.inf, "low": torch.tensor(float("-inf"))})  # fmt: skip
    assert json.loads(path.read_text()) == {
        "a": 1, "2": [True, None], "np": 0.5, "t": [0, 1], "p": str(tmp_path), "é": "ü",
        "loss": None, "max": None, "low": None,
    }  # fmt: skip
    with pytest.raises((TypeError, AttributeError)):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text())["a"] == 1


def test_json_lines_are_read_back_with_none_for_a_truncated_one(tmp_path):
    values = [{"why": "a line end of other scripts: \u2028, \u0085"}, {"why": "two\nlines"}]
    with open(tmp_path / "x.jsonl", "w", encoding="utf-8") as file:
        file.write("".join(map(json_line, values)) + 'half\n{"c": 1}\n{"why": "cut')
    assert list(json_lines(tmp_path / "x.jsonl")) == [*values, None, {"c": 1}, None]
    assert list(json_lines(tmp_path / "none.jsonl")) == []


def test_a_line_that_is_added_after_an_incomplete_one_is_a_line_of_its_own(tmp_path):
    file = tmp_path / "x.jsonl"
    add_json_lines(file, [{"a": 1}, {"b": 2}])
    assert file.read_text() == '{"a": 1}\n{"b": 2}\n'
    file.write_text('{"a": 1}\n{"b"')
    add_json_lines(file, [{"c": 3}])
    assert list(json_lines(file)) == [{"a": 1}, None, {"c": 3}]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    with replaced_file(tmp_path / "deep" / "a.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"old")
        assert not (tmp_path / "deep" / "a.png").exists()
    with pytest.raises(RunError, match="no room"), replaced_file(tmp_path / "b"):
        raise SafetensorError("no room")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"a\.png"):
        write_text(tmp_path / "deep" / "a.png", "new")
    assert (tmp_path / "deep" / "a.png").read_text() == "old"
    assert (os.listdir(tmp_path), os.listdir(tmp_path / "deep")) == (["deep"], ["a.png"])


def test_a_replaced_folder_is_the_old_one_until_the_block_ends(tmp_path):
    best = tmp_path / "best"
    for content in ("first", "second"):
        with replaced_folder(best) as temporary:
            (temporary / "weights").write_text(content)
            assert not best.exists() or (best / "weights").read_text() == "first"

    def fail():
        with replaced_folder(best) as temporary:
            (temporary / "weights").write_text("third")
            raise ValueError("NaN")

    with pytest.raises(ValueError, match="NaN"):
        fail()
    assert (best / "weights").read_text() == "second"
    assert os.listdir(tmp_path) == ["best"]


def test_a_cache_is_written_once_and_never_half(tmp_path):
    def fail(folder):
        (folder / "half").write_text("")
        raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        written_once(tmp_path / "cache" / "a", fail)
    assert os.listdir(tmp_path / "cache") == []
    written_once(tmp_path / "cache" / "a", lambda folder: (folder / "whole").write_text("first"))
    written_once(tmp_path / "cache" / "a", fail)
    assert (tmp_path / "cache" / "a" / "whole").read_text() == "first"


def test_two_writes_of_one_path_at_a_time_do_not_disturb_each_other(tmp_path):
    """Not even of processes with the same number, as in containers that share a cache."""
    with replaced_file(tmp_path / "state") as one, replaced_file(tmp_path / "state") as other:
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "state").read_text() == "one"  # the last to end

    def inside_another(folder):
        (folder / "whole").write_text("first")
        written_once(tmp_path / "cache", lambda inner: (inner / "whole").write_text("second"))

    assert (written_once(tmp_path / "cache", inside_another) / "whole").read_text() == "second"
    assert sorted(os.listdir(tmp_path)) == ["cache", "state"]


def test_a_file_in_a_replaced_folder_is_readable_as_the_umask_says(tmp_path):
    before = os.umask(0o022)
    try:
        with replaced_folder(tmp_path / "best") as temporary:
            (temporary / "weights").touch(mode=0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "best" / "weights").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("given", "meant"),
    [("sentence.txt", "sentences.txt"), ("tst.csv", "test.csv"), ("dev.csv", None), ("test.tsv", "test.csv")],
)
def test_a_path_that_does_not_exist_is_answered_with_the_name_that_is_spelled_alike(tmp_path, given, meant):
    """A name with the same ending alone is not alike."""
    for name in ("sentences.txt", "test.csv"):
        (tmp_path / name).touch()
    assert not_found(tmp_path / given).endswith(f"(did you mean {tmp_path / meant}?)" if meant else "folder")
    assert not_found(tmp_path / "none" / given).endswith("folder")
    assert not_found(tmp_path / ("x" * 300)).endswith("folder")


@pytest.mark.parametrize(
    ("url", "dataset"),
    [
        ("https://example.org/x/s.txt", "OWNER/NAME"),
        ("https://huggingface.co/datasets/a/b.c", "a/b.c"),
        ("https://hf.co/datasets/a/b/tree/main", "a/b"),
    ],
)
def test_a_url_in_place_of_a_path_is_answered_with_a_dataset_on_the_hub(url, dataset):
    """A Path has one slash less."""
    assert not_found(Path(url)).endswith(f"data.path={dataset}")
    assert url_in(Path(url)) == url
