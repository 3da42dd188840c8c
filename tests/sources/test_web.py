"""A file from a plain web server."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from toy_web import serving

from cse.errors import MissingResource
from cse.sources.web import download


def test_a_download_that_broke_off_is_continued(tmp_path):
    content = bytes(range(256)) * 20_000
    target = tmp_path / "file.bin"
    with serving("/file.bin", content) as web:
        with pytest.raises(MissingResource, match="run it again to go on"):
            download(web.url, target)
        assert not target.exists()
        assert download(web.url, target).read_bytes() == content
        first, second = web.asked
        assert first is None
        assert second is not None
        with pytest.raises(MissingResource, match="404"):
            download(web.url.replace("file", "other"), tmp_path / "other.bin")


def test_who_wants_the_same_at_the_same_time_waits_and_has_it(tmp_path):
    content = bytes(range(256)) * 40_000
    together = Barrier(4)

    def fetched(target) -> bytes:
        together.wait(600)
        return download(web.url, target).read_bytes()

    with serving("/file.bin", content) as web, ThreadPoolExecutor(4) as pool:
        web.asked.append(None)  # the first answer breaks off
        assert list(pool.map(fetched, [tmp_path / "file.bin"] * 4)) == [content] * 4
        assert len(web.asked) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]
