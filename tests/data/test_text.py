"""Text: every format gives the same rows, nothing is read or tokenised twice, memory stays small."""

import csv
import gzip
import json

import numpy as np
import pytest

from cse.data.readers import read_rows
from cse.data.text import Text
from cse.errors import MissingResource, UserError
from cse.model.tokenizer import Tokenizer

ROWS = [("kadan lofel", 'mi, "gor"'), ("perzu", "nu\u00e9 stamon"), ("tri ler", "")]


def write(folder, name: str):
    """ROWS in the format that the name's ending asks for."""
    path = folder / name
    stem = name.removesuffix(".gz")
    if stem.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"first": [a for a, _ in ROWS], "second": [b for _, b in ROWS]}), path)
        return path
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if stem.endswith(".jsonl"):
            file.writelines(json.dumps({"second": b, "first": a, "other": 1}) + "\n" for a, b in ROWS)
        else:
            table = csv.writer(file, delimiter="\t" if stem.endswith(".tsv") else ",")
            table.writerows([("other", "first", "second"), *[("x", a, b) for a, b in ROWS]])
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz"])
def test_formats_agree(tmp_path, name):
    """The named columns in the asked order; an empty cell is one space, as in SimCSE's code."""
    rows = list(read_rows(write(tmp_path, name), ["second", "first"], "utf-8"))
    assert rows == [(b or " ", a) for a, b in ROWS]


def text(tmp_path, path, **more) -> Text:
    return Text("text", str(tmp_path / "cache"), str(path), **more)


def test_plain_text_skips_blank_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffkadan lofel\r\n\r\n perzu \nnu\u00e9".encode())
    lines = text(tmp_path, path)
    lines.prepare()
    assert [lines.text(i) for i in range(len(lines))] == ["kadan lofel", " perzu ", "nu\u00e9"]


def test_a_folder_is_its_files_in_order(tmp_path):
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "b.txt").write_text("three\n")
    (tmp_path / "many" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "many" / "ignored.md").write_text("no\n")
    (tmp_path / "many" / "c.txt").mkdir()
    (tmp_path / "many" / "c.txt" / "d.txt").write_text("four\n")
    lines = text(tmp_path, tmp_path / "many")
    lines.prepare()
    assert [lines.text(i) for i in range(len(lines))] == ["one", "two", "three", "four"]


def test_ids_are_the_tokenizers(tmp_path, tiny_tokenizer):
    path = write(tmp_path, "a.csv")
    pairs = text(tmp_path, path, columns=["first", "second"])
    pairs.prepare()
    tokenizer = Tokenizer(tiny_tokenizer, 64)
    pairs.tokenize(tokenizer, max_length=4)
    for i, row in enumerate(ROWS):
        for column, cell in enumerate(row):
            expected = tiny_tokenizer(cell or " ", truncation=True, max_length=4)["input_ids"]
            assert pairs.ids(i, column).tolist() == expected
    assert isinstance(pairs.token_ids[0].flat, np.memmap)


def test_the_cache_is_keyed_by_content(tmp_path, tiny_tokenizer):
    calls = []

    class Counting(Tokenizer):
        def __call__(self, texts, max_length):
            texts = list(texts)
            calls.append(len(texts))
            return super().__call__(texts, max_length)

    path = tmp_path / "a.txt"
    path.write_text("kadan\nlofel\n")
    for _ in range(2):
        lines = text(tmp_path, path)
        lines.prepare()
        lines.tokenize(Counting(tiny_tokenizer, 64), 16)
    assert sum(calls) == 2
    path.write_text("kadan\nlofel\nmigor\n")
    lines = text(tmp_path, path)
    lines.prepare()
    lines.tokenize(Counting(tiny_tokenizer, 64), 16)
    assert sum(calls) == 5
    lines.tokenize(Counting(tiny_tokenizer, 64), 8)  # another length, other ids
    assert sum(calls) == 8


def test_a_corpus_comes_from_its_function(tmp_path):
    made = []

    def rows():
        made.append(1)
        yield from [("one",), ("two",), ("three",)]

    for _ in range(2):
        corpus = Text("made", str(tmp_path), rows=rows, identity="made-1", limit=2)
        corpus.prepare()
        assert [corpus.text(i) for i in range(len(corpus))] == ["one", "two"]
    assert made == [1]


def test_a_missing_file_and_a_missing_dataset(tmp_path):
    with pytest.raises(MissingResource, match="no such file"):
        text(tmp_path, tmp_path / "no.txt").prepare()
    with pytest.raises(MissingResource, match="some-lab/nothing"):
        text(tmp_path, "some-lab/nothing").prepare()
    with pytest.raises(UserError, match=r"data.path is not set"):
        Text("text", str(tmp_path)).prepare()
