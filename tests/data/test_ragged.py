"""Caches: any flipped or missing byte is noticed, and the cache is written again from its source."""

import json
import logging
import shutil

import numpy as np
import pytest

from cse.data import ragged
from cse.data.ragged import cached

ROWS = [(np.arange(3),), (np.arange(0),), (np.arange(7),)]


def columns(folder):
    return [cached(folder, iter(ROWS), ["ids"], "int32", lambda: {"rows": 3})[0][0][i].tolist() for i in range(3)]


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [
    lambda f: flip(f / "ids.flat", 5), lambda f: flip(f / "ids.offsets", 8),
    lambda f: (f / "ids.flat").write_bytes(b""),
    lambda f: (f / "ids.offsets").unlink(), lambda f: (f / "about.json").write_text("{"),
    lambda f: (f / "about.json").write_text("[]"), lambda f: (f / "about.json").write_text('{"rows": 3}'),
    lambda f: (f / "about.json").write_text(json.dumps(json.loads((f / "about.json").read_text()) | {"dtype": "no"})),
    lambda f: (f / "about.json").write_bytes(b"\xff\xfe"),
])  # fmt: skip
def test_a_damaged_cache_is_written_again(tmp_path, caplog, damage):
    whole = columns(tmp_path / "cache")
    damage(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        assert columns(tmp_path / "cache") == whole == [row.tolist() for (row,) in ROWS]
    assert "is damaged" in caplog.text
    caplog.clear()
    columns(tmp_path / "cache")
    assert not caplog.text


def test_a_damaged_cache_that_another_process_removes_first_is_written_again(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    whole = columns(folder)
    monkeypatch.setattr(ragged, "damage", lambda place, names: shutil.rmtree(place) or "cut short")
    assert columns(folder) == whole


def test_a_damaged_cache_that_another_process_has_written_again_is_kept(tmp_path, monkeypatch):
    """Removed once more, it would be gone from under the process that reads it."""
    folder = tmp_path / "cache"
    cached(folder, iter(ROWS), ["ids"], "int32")
    found = iter(["cut short", None])
    monkeypatch.setattr(ragged, "damage", lambda place, names: next(found))
    assert len(cached(folder, iter(ROWS[:1]), ["ids"], "int32").columns[0]) == len(ROWS)


def test_a_whole_cache_reads_nothing_and_keeps_its_notes(tmp_path):
    cached(tmp_path / "cache", iter(ROWS), ["ids"], "int32", lambda: {"rows": 3})

    def rows():
        raise AssertionError("read again")
        yield

    assert cached(tmp_path / "cache", rows(), ["ids"], "int32").notes == {"rows": 3}
