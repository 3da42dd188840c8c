"""Caches: any flipped or missing byte is noticed, and the cache is written again from its source."""

import errno
import logging
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from cse.data import cache
from cse.data.cache import cache_columns, read_once
from cse.errors import RunError, UserError

ROWS = [(np.arange(3),), (np.arange(0),), (np.arange(7),)]


def columns(folder) -> list[list[int]]:
    """The rows of the cache, which is made if need be."""
    (ids,), notes, _ = cache_columns(folder, iter(ROWS), ["ids"], "int32", lambda: {"rows": 3})
    assert notes == {"rows": 3}
    return [ids[i].tolist() for i in range(3)]


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [
    lambda f: flip(f / "ids.flat", 5), lambda f: (f / "ids.flat").write_bytes(b""),
    lambda f: (f / "ids.offsets").unlink(), lambda f: (f / "about.json").write_text("["),
    lambda f: (f / "about.json").write_text("[]"), lambda f: (f / "about.json").write_bytes(b"\xff\xfe"),
])  # fmt: skip
def test_a_damaged_cache_is_written_again(tmp_path, caplog, damage):
    whole = columns(tmp_path / "cache")
    damage(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        assert columns(tmp_path / "cache") == whole == [row.tolist() for (row,) in ROWS]
        assert str(tmp_path / "cache") in caplog.text
        caplog.clear()
        columns(tmp_path / "cache")
    assert not caplog.text


def test_a_whole_cache_reads_nothing_and_keeps_its_notes(tmp_path):
    columns(tmp_path / "cache")
    assert cache_columns(tmp_path / "cache", None, ["ids"], "int32").notes == {"rows": 3}


@pytest.mark.parametrize("gone", [True, False])
def test_what_another_process_does_to_a_damaged_cache_meanwhile(tmp_path, monkeypatch, gone):
    """It has removed it: written here. It has written it again: kept, as it may be reading it."""
    folder, made = tmp_path / "cache", []

    def rows():
        made.append(1)
        yield from ROWS

    @contextmanager
    def other_first(path):
        shutil.rmtree(path) if gone else flip(path / "ids.flat", 5)
        yield

    columns(folder)
    flip(folder / "ids.flat", 5)
    monkeypatch.setattr("cse.data.cache.file_lock", other_first)
    assert cache_columns(folder, rows(), ["ids"], "int32").columns[0][2].tolist() == list(range(7))
    assert len(made) == gone


def no_locks(*_):
    raise OSError(errno.ENOLCK, "No locks available")


def others(*_, **__):
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(("replaced", "by", "kind"), [
    ("fcntl.flock", no_locks, RunError), ("huggingface_hub.utils.WeakFileLock", others, UserError),
    ("shutil.rmtree", others, UserError),
], ids=["a disk without locks", "another's lock", "another's cache"])  # fmt: skip
def test_a_damaged_cache_that_cannot_be_written_again_is_one_sentence(tmp_path, monkeypatch, replaced, by, kind):
    columns(tmp_path / "cache")
    flip(tmp_path / "cache" / "ids.flat", 5)
    with monkeypatch.context() as patch:
        patch.setattr(replaced, by)
        with pytest.raises(kind, match=str(tmp_path)) as refused:
            columns(tmp_path / "cache")
    assert type(refused.value) is kind
    assert columns(tmp_path / "cache")[0] == [0, 1, 2]


def test_a_file_is_read_again_only_after_a_change(tmp_path, monkeypatch):
    read = []

    def content(path) -> str:
        read.append(path.name)
        return path.read_text()

    def found() -> tuple[list[str], list[str]]:
        """What was read of the files, now or before, and the names of the files that were read now."""
        read.clear()
        paths = [tmp_path / "files" / name for name in "abc"]
        return read_once(tmp_path / "cache", tmp_path / "files", paths, content, "file"), sorted(read)

    (tmp_path / "files").mkdir()
    for name in "abc":
        (tmp_path / "files" / name).write_text(name)
    monkeypatch.setattr(cache, "SETTLED", 3600)
    assert found() == found() == (["a", "b", "c"], ["a", "b", "c"])  # new files may change again at the same time
    monkeypatch.setattr(cache, "SETTLED", 0)
    assert [found(), found()] == [(["a", "b", "c"], ["a", "b", "c"]), (["a", "b", "c"], [])]
    before = (tmp_path / "files" / "b").stat()
    (tmp_path / "files" / "b").write_text("x")
    os.utime(tmp_path / "files" / "b", ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and mtime
    (tmp_path / "new").write_text("y")
    (tmp_path / "new").rename(tmp_path / "files" / "c")
    assert [found(), found()] == [(["a", "x", "y"], ["b", "c"]), (["a", "x", "y"], [])]
    (kept,) = (tmp_path / "cache" / "files").iterdir()
    kept.write_text(kept.read_text()[:-9])
    assert found() == (["a", "x", "y"], ["a", "b", "c"])
    monkeypatch.setattr(cache, "READ_VERSION", "newer")
    assert found()[1] == ["a", "b", "c"]
    (tmp_path / "files" / "a").write_text("")  # as for a file that could not be read
    assert [found(), found()] == [(["", "x", "y"], ["a"])] * 2
