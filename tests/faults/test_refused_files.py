"""A damaged or unfit file is refused by name by the part that reads it.

More of them: tests/data/test_readers.py, tests/model/test_integrity.py, test_vectors.py; score sets: each evaluator's
tests.
"""

import re
from pathlib import Path

import damaged
import pytest

import cse
from cse.data.text import Text
from cse.errors import UserError
from cse.lab.run.instantiate import make

TEXTS = {  # {columns: files, some with the line that has to be named}
    "": "empty folder.txt unreadable.txt loop",
    "a": "bom16.csv nan.jsonl:2 twice.jsonl norows.parquet mixed",
}
PICTURES = ["F/plain.txt", "F/few_images"]
SSAST = ["F/plain.txt", "F/empty.txt", "F/code.pth", "F/list.pth", "F/shapes.pth", "F/text.pth"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """F: the files of damaged.py."""
    folder = tmp_path_factory.mktemp("refused") / "F"
    damaged.write_files(folder)
    return folder


@pytest.mark.parametrize(("columns", "file"), [(columns, one) for columns, all in TEXTS.items() for one in all.split()])
def test_a_text_file_is_named_with_its_line(files, tmp_path, file, columns):
    name, _, line = file.partition(":")
    text = Text("text", str(tmp_path), path=str(files / name), columns=[columns] if columns else None)
    with pytest.raises(UserError, match=rf"(?s){re.escape(name)}{f', line {line}' if line else ''}\b") as refused:
        text.read()
    assert len(str(refused.value).splitlines()) == 1
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize(("modality", "key", "place"),
                         [("visual", "paths.images", place) for place in PICTURES]
                         + [("audio", "paths.audio", place) for place in ("F/plain.txt", "F/broken_sounds")]
                         + [("audio aux_modality.init=ssast", "aux_modality.weights", place) for place in SSAST]
                         + [("visual aux_modality.init=vit", "aux_modality.weights", "F/empty")])  # fmt: skip
def test_unfit_images_sounds_and_their_weights_are_named(request, files, tmp_path, monkeypatch, modality, key, place):
    monkeypatch.chdir(tmp_path)
    name, *more = modality.split()
    whole = request.getfixturevalue("images" if name == "visual" else "sounds")
    place = place.replace("F/", f"{files}/")
    words = [*whole, *more, f"{key}={place}", f"paths.cache={tmp_path}", "aux_modality.data.batch_size=8"]
    with pytest.raises(UserError, match=re.escape(place)):
        make(cse.compose(*words).aux_modality, dim=32)
    assert not (tmp_path / "ran").exists()
