"""Prepared text, its batches, and a folder of images."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_up_images import colour
from PIL import Image

from cse.augmentation.dropout import Dropout
from cse.augmentation.masking import Masking
from cse.data.loader import Batches
from cse.data.rows import TextRows
from cse.data.text import Text
from cse.data.views import Views
from cse.model.tokenizer import Tokenizer
from cse.types import Document

WORDS = ["kadan", "lofel", "migor", "nuler", "permon", "stazu", "tridan"]


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


@pytest.fixture
def batches_of(tmp_path, tiny_tokenizer):
    """A function that makes the batches of a synthetic text of so many rows and columns."""

    def build(rows: int = 30, columns: int = 1, augmentation=None, num_views: int = 2, masking: str = "none", **more):
        def sentences():
            rng = np.random.default_rng(0)
            for i in range(rows):
                words = list(rng.choice(WORDS, rng.integers(1, 9)))
                yield tuple(" ".join([f"{i}", *words, "abc"[column]]) for column in range(columns))

        names = [f"c{i}" for i in range(columns)] if columns > 1 else None
        text = Text("made", str(tmp_path), rows=sentences, identity=f"{rows}x{columns}", columns=names).read()
        query, document = more.pop("prefixes", (more.pop("prefix", ""), None))
        tokenizer = Tokenizer(tiny_tokenizer, 64, query)
        if document is not None:
            tokenizer.prefixes, tokenizer.documents_follow = {Document: document}, True
        mask = Masking(0.3, 0.8, 0.1)
        mask.bind(tiny_tokenizer)
        views = {"max_length": more.pop("max_length", 32), "seed": more.pop("seed", 1)}
        views = Views(text, tokenizer, augmentation or Dropout(None), num_views=num_views, masking=masking,
                      mask=mask.masked, **views)  # fmt: skip
        return Batches(views, **{"batch_size": 4, "drop_last": False, "rank": 0, "world": 1} | more)

    return build
