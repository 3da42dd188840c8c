"""Damaged files: whatever a library raises is one sentence with the file, the line or row, and what to do."""

import gzip
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cse.data.readers import read_rows
from cse.data.text import Text, text_encoding
from cse.errors import MissingResource, UserError

HEADER = "first,second\n"
GZIPPED = gzip.compress("\n".join(random.Random(0).randbytes(500).hex() for _ in range(2)).encode(), mtime=0)
FLIPPED = GZIPPED[:500] + bytes([GZIPPED[500] ^ 0xFF]) + GZIPPED[501:]


def prepared(tmp_path, path, columns=("first", "second"), **more) -> Text:
    text = Text("text", str(tmp_path / "cache"), str(path), columns and list(columns), **more)
    text.prepare()
    return text


def test_the_columns_to_choose_from_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("first,second\none,two\n")
    with pytest.raises(UserError, match=r"data\.columns is not set.*has columns first, second"):
        prepared(tmp_path, tmp_path / "a.csv", None)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", HEADER + "one,two\nthree\n", "a.csv, line 3: 1 fields, but the header has 2"),
        ("a.csv", HEADER + 'one,two\nthree,"four\nfive,six\n', "a.csv, line 3: unexpected end of data.*must be closed"),
        ("a.csv", HEADER + 'one,"two\nthree,four\nfive,"six"\n', "a.csv, line 2: .*a quoted cell must be closed"),
        ("a.tsv", 'first\tsecond\none\t"two" three\n', "a.tsv, line 2: .*a quote inside it doubled"),
        ("a.csv", "first,first,second\na,b,c\nd,e,f\n", "more than one column first"),
        ("a.jsonl", '{"first": "a", "second": "b"}\n{"first": }\n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"first": "a", "second": "b"}\n{"first": "c"}\n', "a.jsonl, line 2: the object has no second"),
        ("a.jsonl", '["a"]\n', "a.jsonl, line 1: not a JSON object"),
        ("a.jsonl", '{"first": "a", "second": 5}\n', "a.jsonl, line 1: second holds 5, not text"),
        ("a.jsonl", '{"first": "a", "second": "\\ud800b"}\n', r"line 1: second holds half a character \(\\ud800\)"),
        ("a.jsonl", '{"first": ' + "[" * 100_000 + "\n", "line 1: not JSON that can be read"),
        ("a.jsonl", '{"first": ' + "1" * 5000 + "}\n", "line 1: not JSON that can be read"),
        ("a.parquet", "no parquet at all", "a.parquet is not a whole Parquet file .its header"),
        ("a.txt", "one\n".encode("utf-16"), "a.txt, line 1: byte 0xff is not utf-8"),
        ("a.txt", "one\nGrüße\n".encode("latin-1"), "line 2: byte 0xfc is not utf-8.*data.encoding"),
        ("a.txt", GZIPPED, r"line 1: .*\.gz"),
        ("a.txt.gz", b"one\n", "a.txt.gz, after line 0"),
        ("a.txt.gz", GZIPPED[:40], r"a.txt.gz, after line \d: the gzip file is damaged"),
        ("a.txt.gz", GZIPPED[:-5], r"a.txt.gz, after line \d: the gzip file is damaged"),
        ("a.txt.gz", FLIPPED, r"a.txt.gz.* (the gzip file is damaged|is not utf-8)"),
        ("a.csv.gz", gzip.compress(b""), r"a\.csv\.gz is empty"),
        ("a.csv", b"first\tsecond\none\ttwo\n", r"no column first, second; it has 'first\\tsecond'"),
    ],
)
def test_broken_files_and_rows_are_named(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=told):
        prepared(tmp_path, path, None if ".txt" in name else ("first", "second"))
    assert not list((tmp_path / "cache").rglob("*.flat"))


def test_a_long_cell_is_read_and_one_without_end_is_not(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + f"one,{'two ' * 50_000}\nthree,four\n")  # 200,000 characters: over csv's own limit
    assert len(prepared(tmp_path, path).text(0, 1)) == 200_000
    monkeypatch.setattr("cse.data.readers.MAX_CELL_CHARACTERS", 1000)
    with pytest.raises(UserError, match="line 2: field larger than field limit"):
        list(read_rows(path, ["first", "second"], "utf-8"))


@pytest.mark.parametrize("encoding", ["utf-9", "base64", "utf-16", "idna"])
def test_encodings_that_will_not_do(encoding):
    assert text_encoding("latin-1") == "latin-1"
    with pytest.raises(ValueError, match="utf-8"):
        text_encoding(encoding)


def test_parquet_whose_body_is_damaged_or_holds_no_text(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"row {i} {random.randbytes(8).hex()}" for i in range(1000)]}), path)
    content = bytearray(path.read_bytes())
    content[200:4000] = random.randbytes(3800)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a.parquet is not a whole Parquet file \(after row 0"):
        prepared(tmp_path, path, columns=["text"])
    for values, shown in (([1, 2], "1"), ([b"ab", b"c"], "b'ab'"), ([["a"], ["b"]], r"\['a'\]")):
        pq.write_table(pa.table({"text": values}), path)
        with pytest.raises(UserError, match=f"a.parquet, row 1: text holds {shown}, not text"):
            prepared(tmp_path, path, columns=["text"])


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")

    def refuse(*arguments, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("cse.data.readers.open", refuse, raising=False)
    with pytest.raises(UserError, match=r"a.txt cannot be read: Permission denied"):
        prepared(tmp_path, path, columns=None)
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MissingResource, match="no such file"):
        prepared(tmp_path, tmp_path / "dangling.txt", columns=None)
