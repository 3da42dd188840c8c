"""A damaged or unfit file is refused with its name by the part that reads it, whichever command asked for it."""

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
from cse.model.load import load_encoder
from cse.run.build import make

TEXTS: dict[str, list[str]] = {  # {columns: files, with the line that is named}
    "": [
        "nothing", "empty.txt", "empty", "one.txt", "utf16.txt", "latin.txt:3", "binary.txt", "data.doc", "noending",
        "text.zip", "text.txt.bz2", "plain.txt.gz", "cut.txt.gz", "flipped.txt.gz", "garbage_after.txt.gz", "a.csv",
        "a.jsonl", "a.json", "a.parquet", "folder.txt", "unreadable.txt", "dangling.txt", "loop",
    ],
    "z": ["a.csv", "a.jsonl", "a.parquet", "plain.txt", "semicolon.csv"],
    "a": [
        "twice.csv", "ragged.csv:3", "short.csv:4", "quote.csv:3", "quote_inside.csv:2", "header.csv", "huge_cell.csv",
        "a.tsv:2", "bom16.csv", "blank_line.csv", "broken.jsonl:2", "list.jsonl:1", "number.jsonl:2",
        "missing.jsonl:2", "surrogate.jsonl:1", "deep.jsonl:1", "digits.jsonl:1", "nan.jsonl:2", "array.jsonl",
        "twice.jsonl", "not.parquet", "cut.parquet", "flipped.parquet", "numbers.parquet", "nested.parquet",
        "bytes.parquet", "norows.parquet", "mixed",
    ],
}  # fmt: skip
UNUSABLE = {"": ["blank.txt", "blanks.txt", "zero_width.txt", "nul.txt"], "a,b": ["emptycells.csv"],
            "a": ["nul.csv", "nulls.parquet"]}  # fmt: skip
VECTORS = ["empty.vec", "header.vec", "letters.vec", "ragged.vec", "nan.vec", "fewer.vec", "binary.vec", "words.vec",
           "cut.vec.gz", "plain.bin"]  # fmt: skip
SCORED = ["gold_text", "gold_nan", "gold_scale", "gold_equal", "latin", "one"]
PICTURES = ["/no/folder", "F/plain.txt", "F/empty", "F/flat_images", "F/few_images"]
SOUNDS = ["/no/folder", "F/plain.txt", "F/empty", "F/flat_sounds", "F/broken_sounds"]
SSAST = ["/no/file", "F/plain.txt", "F/empty.txt", "F/code.pth", "F/list.pth", "F/other.pth", "F/shapes.pth",
         "F/text.pth"]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """F: what bad_files writes."""
    folder = tmp_path_factory.mktemp("refused") / "F"
    bad_files.write_texts(folder)
    return folder


@pytest.fixture
def read(files, tmp_path):
    """read(file, columns) -> a prepared Text."""

    def prepared(file: str, columns: str) -> Text:
        text = Text("text", str(tmp_path), path=str(files / file), columns=columns.split(",") if columns else None)
        text.find()
        text.prepare()
        return text

    return prepared


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(file, columns) for columns, names in table.items() for file in names]


@pytest.mark.parametrize(("file", "columns"), cases(TEXTS))
def test_a_text_file_is_named_with_its_line(read, tmp_path, file, columns):
    name, _, line = file.partition(":")
    with pytest.raises(UserError, match=rf"(?s){re.escape(name)}{f', line {line}' if line else ''}\b") as refused:
        read(name, columns)
    assert len(str(refused.value).splitlines()) == 1
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize(("file", "columns"), cases(UNUSABLE))
def test_rows_that_hold_no_text_are_refused(read, tmp_path, file, columns):
    with pytest.raises(UserError, match="data=text"):
        read(file, columns)
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize("change", bad_copies.CHECKPOINTS)
def test_a_damaged_checkpoint_is_named(tiny_bert, tmp_path, change):
    bad_copies.write_copies(tmp_path, Path(tiny_bert), {change: bad_copies.CHECKPOINTS[change]})
    with pytest.raises(UserError, match=change) as refused:
        cse.load(tmp_path / change, None if change.startswith("st_") else "cls")
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["/no/model", "no-such-model", "a/b/c", "package://nothing/model", "package://"])
def test_a_checkpoint_that_is_nowhere_is_named(name):
    with pytest.raises(UserError, match=name):
        load_encoder(name, "cls")


@pytest.mark.parametrize("file", VECTORS)
def test_a_damaged_file_of_word_vectors_is_named(files, file):
    with pytest.raises(UserError, match=re.escape(file)):
        cse.load(files / file)


def numbers(sentences: list[str]) -> np.ndarray:
    """Vectors of no meaning, which differ."""
    return np.array(
        [[len(text), WORDS.index(text.split()[0]) if text.split()[0] in WORDS else 0, 1] for text in sentences]
    )


@pytest.mark.parametrize("change", SCORED)
def test_a_damaged_score_set_is_named(senteval, tmp_path, change):
    bad_copies.write_copies(tmp_path, senteval, {change: bad_copies.SCORED[change]})
    with pytest.raises(UserError, match=r"sts-dev\.csv"):
        cse.evaluate(numbers, "stsb", f"paths.senteval={tmp_path}/{change}", "allow_partial=true")


@pytest.mark.parametrize(
    ("eval", "words", "named"),
    [
        ("stsb", "paths.senteval=/no/folder", "/no/folder"),
        ("stsb", "paths.senteval=F/plain.txt", "F/plain.txt"),
        ("sts", "paths.senteval=SENTEVAL", "SENTEVAL"),
        ("transfer", "paths.senteval=SENTEVAL", "SENTEVAL"),
        ("probing", "paths.senteval=SENTEVAL", "probing"),
        ("coco", "paths.senteval=SENTEVAL", "coco"),
        ("coco", "eval.coco.folder=F/coco_text", "F/coco_text"),
        ("coco", "eval.coco.folder=F/coco_code", "F/coco_code"),
        ("retrieval", "paths.captions=/no/folder", "/no/folder"),
        ("retrieval", "paths.captions=F/captions_cut", "F/captions_cut"),
        ("retrieval", "paths.captions=F/captions_columns eval.retrieval.rows={val.tsv.gz:3} eval.retrieval.search=[]",
         "F/captions_columns"),
        ("stsb_multi", "paths.stsb_multi=F/empty", "F/empty"),
        ("mteb", "eval.mteb.tasks=[NoSuchTask]", "NoSuchTask"),
    ],
)  # fmt: skip
def test_a_score_set_that_is_not_whole_is_named(files, senteval, tmp_path, monkeypatch, eval, words, named):
    monkeypatch.chdir(tmp_path)
    told = [text.replace("F/", f"{files}/").replace("SENTEVAL", str(senteval)) for text in (*words.split(), named)]
    with pytest.raises(UserError, match=re.escape(told.pop())):
        cse.evaluate(numbers, eval, *told)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("modality", "key", "place"),
                         [("visual", "paths.images", place) for place in PICTURES]
                         + [("audio", "paths.audio", place) for place in SOUNDS]
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
