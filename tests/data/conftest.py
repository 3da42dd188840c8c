"""Prepared text, and a folder of images."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_images import colour
from PIL import Image

from cse.data.rows import TextRows
from cse.data.text import Text


@pytest.fixture(scope="module")
def image_folder(tmp_path_factory) -> Path:
    """Four classes of five images, each of one colour of its own, in sizes and file formats of many kinds."""
    root = tmp_path_factory.mktemp("images")
    for label, name in enumerate(["ant", "bee", "cat", "dog"]):
        (root / name).mkdir()
        for number in range(5):
            image = Image.new("RGB", (30 + 20 * number, 90 - 10 * label), colour(label, number))
            image.save(root / name / f"{number}{'.png' if number else '.bmp'}")
    return root


@pytest.fixture
def prepared(tmp_path) -> Callable[..., TextRows]:
    """A function that gives the rows of a file of some lines."""

    def text_of(lines: list[str], **options) -> TextRows:
        path = tmp_path / "a.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return Text("text", str(tmp_path / "cache"), str(path), **options).read()

    return text_of
