"""A file from a plain web server."""

import pytest
from toy_web import serving

from cse.errors import MissingResource
from cse.web import download


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
