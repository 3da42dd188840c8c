"""A folder of images, which tests of their views and of their files share."""

from pathlib import Path

import pytest
from made_up_images import colour
from PIL import Image


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
