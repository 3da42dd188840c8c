"""A damaged or unfit file is refused with its name by the part that reads it, whichever command asked for it.

More of them, with what each sentence says: tests/data/test_readers.py, tests/model/test_integrity.py, test_vectors.py,
and the tests of each evaluator.
"""

import re
from pathlib import Path

import bad_copies
import bad_files
import numpy as np
import pytest
from made_up import WORDS

import cse
from cse.data.text import Text
from cse.errors import UserError
from cse.run.build import make

TEXTS = {  # {columns: files, with the line that is named}
    "": "empty one.txt binary.txt data.doc noending text.zip text.txt.bz2 garbage_after.txt.gz a.json folder.txt"
    " unreadable.txt loop",
    "z": "a.csv a.jsonl a.parquet plain.txt",
    "a": "ragged.csv:3 header.csv bom16.csv nan.jsonl:2 array.jsonl twice.jsonl cut.parquet norows.parquet mixed",
}
SCORED = ["gold_text", "gold_nan", "gold_scale", "gold_equal", "latin", "one"]
PICTURES = ["F/plain.txt", "F/few_images"]
SSAST = ["F/plain.txt", "F/empty.txt", "F/code.pth", "F/list.pth", "F/shapes.pth", "F/text.pth"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """F: what bad_files writes."""
    folder = tmp_path_factory.mktemp("refused") / "F"
    bad_files.write_texts(folder)
    return folder


@pytest.mark.parametrize(("columns", "file"), [(columns, one) for columns, all in TEXTS.items() for one in all.split()])
def test_a_text_file_is_named_with_its_line(files, tmp_path, file, columns):
    name, _, line = file.partition(":")

    def read() -> None:
        text = Text("text", str(tmp_path), path=str(files / name), columns=[columns] if columns else None)
        text.find()
        text.prepare()

    with pytest.raises(UserError, match=rf"(?s){re.escape(name)}{f', line {line}' if line else ''}\b") as refused:
        read()
    assert len(str(refused.value).splitlines()) == 1
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize("change", bad_copies.CHECKPOINTS)
def test_a_damaged_checkpoint_is_named(tiny_bert, tmp_path, change):
    bad_copies.write_copies(tmp_path, Path(tiny_bert), {change: bad_copies.CHECKPOINTS[change]})
    with pytest.raises(UserError, match=change) as refused:
        cse.load(tmp_path / change, None if change.startswith("st_") else "cls")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["/no/model", "no-such-model", "a/b/c", "F/binary.vec", "F/plain.bin"])
def test_an_encoder_that_is_none_is_named(files, name):
    name = name.replace("F/", f"{files}/")
    with pytest.raises(UserError, match=re.escape(name)):
        cse.load(name, "cls" if "F" not in name else None)


def numbers(sentences: list[str]) -> np.ndarray:
    """Vectors of no meaning, which differ."""
    first = [text.split()[0] for text in sentences]
    places = [WORDS.index(word) if word in WORDS else 0 for word in first]
    return np.array([[len(text), place, 1] for text, place in zip(sentences, places, strict=True)])


@pytest.mark.parametrize("change", SCORED)
def test_a_damaged_score_set_is_named(senteval, tmp_path, change):
    bad_copies.write_copies(tmp_path, senteval, {change: bad_copies.SCORED[change]})
    with pytest.raises(UserError, match=r"sts-dev\.csv"):
        cse.evaluate(numbers, "stsb", f"paths.senteval={tmp_path}/{change}", "allow_partial=true")


@pytest.mark.parametrize(
    ("eval", "word", "named"),
    [
        ("stsb", "paths.senteval=F/plain.txt", "F/plain.txt"),
        *((name, "paths.senteval=SENTEVAL", "SENTEVAL") for name in ("sts", "transfer")),
        *((name, "paths.senteval=SENTEVAL", name) for name in ("probing", "coco")),
        ("retrieval", "paths.captions=/no/folder", "/no/folder"),
        ("stsb_multi", "paths.stsb_multi=F/empty", "F/empty"),
        ("mteb", "eval.mteb.tasks=[NoSuchTask]", "NoSuchTask"),
    ],
)
def test_a_score_set_that_is_not_whole_is_named(files, senteval, eval, word, named):
    word, named = (text.replace("F/", f"{files}/").replace("SENTEVAL", str(senteval)) for text in (word, named))
    with pytest.raises(UserError, match=re.escape(named)):
        cse.evaluate(numbers, eval, word)


@pytest.mark.parametrize(("modality", "key", "place"),
                         [("visual", "paths.images", place) for place in PICTURES]
                         + [("audio", "paths.audio", place) for place in ("F/plain.txt", "F/broken_sounds")]
                         + [("audio aux_modality.init=ssast", "aux_modality.weights", place) for place in SSAST]
                         + [("visual aux_modality.init=vit", "aux_modality.weights", "F/empty")])  # fmt: skip
def test_images_sounds_and_their_weights_are_named(request, files, tmp_path, monkeypatch, modality, key, place):
    monkeypatch.chdir(tmp_path)
    name, *more = modality.split()
    whole = request.getfixturevalue("images" if name == "visual" else "sounds")
    place = place.replace("F/", f"{files}/")
    words = [*whole, *more, f"{key}={place}", f"paths.cache={tmp_path}", "aux_modality.data.batch_size=8"]
    with pytest.raises(UserError, match=re.escape(place)):
        make(cse.compose(*words).aux_modality, dim=32)
    assert not (tmp_path / "ran").exists()
