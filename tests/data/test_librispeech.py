"""LibriSpeech's archive from a server of our own: broken off, continued, damaged, unpacked, and then at hand."""

import hashlib
import io
import logging
import random
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from toy_web import serving

from cse.data.librispeech import archives, librispeech
from cse.errors import MissingResource, UserError

LONG = random.Random(0).randbytes(5_000_000)
CLIPS = {"84/121123/84-121123-0000.flac": b"one", "174/50561/174-50561-0000.flac": LONG}


@pytest.fixture
def served(monkeypatch):
    """A split `small` of two clips, whose archive also holds the corpus's own LICENSE.TXT."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        named = {f"LibriSpeech/small/{name}": content for name, content in CLIPS.items()}
        for name, content in ({"LibriSpeech/LICENSE.TXT": b"CC BY 4.0"} | named).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    content = packed.getvalue()
    with serving("/12/small.tar.gz", content) as web:
        sums = {web.url: hashlib.sha256(content).hexdigest()}
        monkeypatch.setattr("torchaudio.datasets.librispeech._CHECKSUMS", sums)
        yield web


def test_it_is_fetched_with_its_progress_continued_and_unpacked_once(served, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with pytest.raises(MissingResource, match=r"LibriSpeech small is not in .*run it again to go on.*paths\.audio"):
        librispeech(tmp_path, "small")
    folder = librispeech(tmp_path, "small")
    assert folder == tmp_path / "LibriSpeech" / "small"
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.flac")} == CLIPS
    assert "small.tar.gz: fetching the rest" in caplog.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LibriSpeech"]
    asked = len(served.asked)
    assert librispeech(tmp_path, "small") == folder
    assert len(served.asked) == asked


def test_jobs_that_start_at_the_same_time_fetch_it_once(served, tmp_path):
    served.asked.append(None)  # the first answer breaks off
    together = Barrier(3)

    def fetched(split: str) -> Path:
        together.wait(600)
        return librispeech(tmp_path, split)

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(fetched, ["small"] * 3)) == {tmp_path / "LibriSpeech" / "small"}
    assert len(served.asked) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["LibriSpeech"]


def test_a_damaged_archive_is_not_unpacked(served, tmp_path, monkeypatch):
    served.asked.append(None)  # no answer breaks off
    monkeypatch.setattr("torchaudio.datasets.librispeech._CHECKSUMS", {served.url: "0" * 64})
    with pytest.raises(MissingResource, match="sha256"):
        librispeech(tmp_path, "small")
    assert not list(tmp_path.iterdir())


def test_an_unknown_split_is_refused_with_those_that_exist(tmp_path):
    with pytest.raises(UserError, match=r"split=train-clean: LibriSpeech has dev-clean, .*train-clean-100"):
        librispeech(tmp_path, "train-clean")
    url, sha256 = archives()["train-clean-100"]
    assert url == "http://www.openslr.org/resources/12/train-clean-100.tar.gz"
    assert len(sha256) == 64
