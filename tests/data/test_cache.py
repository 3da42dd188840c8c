"""Caches: any flipped or missing byte is noticed, and the cache is written again from its source."""

import json
import logging
import shutil

import numpy as np
import pytest

from cse.data.cache import cached_folder
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
    lambda f: (f / "about.json").write_text("[]"),
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


def test_a_whole_cache_reads_nothing_and_keeps_its_notes(tmp_path):
    cached(tmp_path / "cache", iter(ROWS), ["ids"], "int32", lambda: {"rows": 3})

    def rows():
        raise AssertionError("read again")
        yield

    assert cached(tmp_path / "cache", rows(), ["ids"], "int32").notes == {"rows": 3}


def test_a_cache_of_an_earlier_version_is_read(tmp_path):
    """Its about.json had the checksums before the notes; nothing else changed."""
    cached(tmp_path / "cache", iter(ROWS), ["ids"], "int32", lambda: {"rows": 3})
    about = json.loads((tmp_path / "cache" / "about.json").read_text())
    old = {key: about[key] for key in ("dtype", "checksums", "notes")}
    (tmp_path / "cache" / "about.json").write_text(json.dumps(old))
    again = cached(tmp_path / "cache", iter([]), ["ids"], "int32")
    assert again.columns[0][2].tolist() == list(range(7))


@pytest.mark.parametrize("gone", [True, False])
def test_what_another_process_does_to_a_damaged_cache_meanwhile(tmp_path, gone):
    """It has removed it: written here. It has written it again: kept, as it may be reading it."""
    folder, made, looks = tmp_path / "cache", [], []

    def write(temporary):
        made.append(temporary)
        (temporary / "content").write_text("whole")
        return {}

    def read(folder, about):
        looks.append(folder)
        if len(looks) == 1:
            if gone:
                shutil.rmtree(folder)
            raise ValueError("cut short")
        return (folder / "content").read_text()

    cached_folder(folder, write, lambda *_: None)
    assert cached_folder(folder, write, read) == "whole"
    assert len(made) == 1 + gone
