"""LibriSpeech's archive from a server of our own: interrupted, continued, damaged, unpacked, and found again."""

import hashlib
import io
import random
import tarfile
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from toy_web import serving

from cse.data.librispeech import archives, librispeech
from cse.errors import MissingResource, UserError

CLIPS = {"84/121123/0000.flac": b"one", "174/50561/0000.flac": random.Random(0).randbytes(5_000_000)}


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


def test_jobs_that_start_together_continue_the_download_and_unpack_it_once(served, tmp_path):
    with pytest.raises(MissingResource, match=r"paths\.audio"):  # the first answer breaks off
        librispeech(tmp_path, "small")
    together = Barrier(3)

    def fetched(_: int):
        together.wait(600)
        return librispeech(tmp_path, "small")

    with ThreadPoolExecutor(3) as pool:
        (folder,) = set(pool.map(fetched, range(3)))
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")} == CLIPS
    assert [path.name for path in tmp_path.iterdir()] == ["LibriSpeech"]
    first, second = served.asked
    assert first is None
    assert second.startswith("bytes=")
    assert librispeech(tmp_path, "small") == folder
    assert len(served.asked) == 2


def test_a_damaged_archive_is_not_unpacked(served, tmp_path, monkeypatch):
    served.asked.append(None)  # no answer breaks off
    monkeypatch.setattr("torchaudio.datasets.librispeech._CHECKSUMS", {served.url: "0" * 64})
    with pytest.raises(MissingResource, match="sha256"):
        librispeech(tmp_path, "small")
    assert not list(tmp_path.iterdir())


def test_an_unknown_split_is_refused_with_those_that_exist(tmp_path):
    with pytest.raises(UserError, match=r"split=train-clean: .*train-clean-100"):
        librispeech(tmp_path, "train-clean")
    assert archives()["train-clean-100"][0] == "http://www.openslr.org/resources/12/train-clean-100.tar.gz"
