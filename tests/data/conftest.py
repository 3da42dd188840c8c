"""Prepared text, and a folder of images."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_images import colour
from PIL import Image

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
def prepared(tmp_path) -> Callable[..., Text]:
    """A function that gives a prepared file of some lines."""

    def text_of(lines: list[str], **options) -> Text:
        path = tmp_path / "a.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        text = Text("text", str(tmp_path / "cache"), str(path), **options)
        text.prepare()
        return text

    return text_of
