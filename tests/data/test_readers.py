"""Every format gives the same rows; whatever a library raises is one sentence with the file and the line or row."""

import csv
import gzip
import io
import json
import random
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toy_hub import parquet

from cse.data.readers import files_of, read_rows
from cse.errors import MissingResource, UserError

ROWS = [("kadan lofel", 'mi, "gor"'), ("perzu", "nué stamon"), ("tri ler", "")]
HEADER = "first,second\n"
JSON = '{"first": "a", "second": "b"}\n'
GZIPPED = gzip.compress("\n".join(random.Random(0).randbytes(500).hex() for _ in range(2)).encode(), mtime=0)


def table(delimiter: str) -> str:
    file = io.StringIO()
    rows = [("other", "first", "second"), *[("x", a, b) for a, b in ROWS]]
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


WHOLE = {
    "a.csv": table(","),
    "a.tsv": table("\t"),
    "a.jsonl": "\n\n".join(json.dumps({"second": b, "first": a, "other": 1}) for a, b in ROWS),
    "a.parquet": parquet(first=[a for a, _ in ROWS], second=[b or None for _, b in ROWS]),
    "a.csv.gz": gzip.compress(table(",").encode()),
}


def read(tmp_path, name: str, content: bytes | str, columns: list[str] | None) -> list[tuple[str, ...]]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (file,) = files_of(path)
    return list(read_rows(file, columns, "utf-8"))


@pytest.mark.parametrize("name", WHOLE)
def test_formats_agree(tmp_path, name):
    """The named columns in the asked order; an empty cell is one space, as in SimCSE's code."""
    assert read(tmp_path, name, WHOLE[name], ["second", "first"]) == [(b or " ", a) for a, b in ROWS]


def test_plain_text_skips_blank_lines(tmp_path):
    content = "\ufeffkadan\u2028lofel\r\n\r\n perzu \nnué"
    assert read(tmp_path, "a.txt", content, None) == [("kadan\u2028lofel",), (" perzu ",), ("nué",)]


def test_a_folder_is_its_files_in_order(tmp_path):
    for name in ("b.txt", "a.jsonl.gz", "ignored.md", "c.txt/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [file.relative_to(tmp_path).as_posix() for file in files_of(tmp_path)] == [
        "a.jsonl.gz",
        "b.txt",
        "c.txt/d.csv",
    ]
    with pytest.raises(MissingResource, match="nowhere"):
        files_of(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", HEADER + "one,two\nthree\n", "a.csv, line 3"),
        ("a.csv", HEADER + "one,two\nthree,four,five\n", "a.csv, line 3"),
        ("a.csv", HEADER + 'one,two\nthree,"four\nfive,six\n', "a.csv, line 3"),
        ("a.csv", HEADER + 'one,"two\nthree,four\nfive,"six"\n', "a.csv, line 2"),
        ("a.tsv", 'first\tsecond\none\t"two" three\n', "a.tsv, line 2"),
        ("a.csv", "first,first,second\na,b,c\nd,e,f\n", "a.csv has 2 columns first"),
        ("a.csv", "first\tsecond\none\ttwo\n", r"a.csv has 0 columns first; it has 'first\\tsecond'"),
        ("a.jsonl", JSON + '{"first": }\n', "a.jsonl, line 2"),
        ("a.jsonl", JSON + '{"first": "c"}\n', "a.jsonl, line 2: .* no second"),
        ("a.jsonl", JSON + '["a"]\n', "a.jsonl, line 2"),
        ("a.jsonl", JSON + '{"first": "a", "second": 5}\n', "a.jsonl, line 2: second holds 5"),
        ("a.jsonl", '{"first": "a", "second": "\\ud800b"}\n', "a.jsonl, line 1: second"),
        ("a.jsonl", JSON + '{"first": ' + "[" * 100_000 + "\n", "a.jsonl, line 2"),
        ("a.jsonl", JSON + '{"first": ' + "1" * 5000 + "}\n", "a.jsonl, line 2"),
        ("a.parquet", "no parquet at all", "a.parquet"),
        ("a.parquet", parquet(first=["a", "b"], second=[b"ab", b"c"]), "a.parquet, row 1: second holds b'ab'"),
        ("a.parquet", parquet(first=["a", "b"], second=[None, ["c"]]), r"a.parquet, row 2: second holds \['c'\]"),
        ("a.txt", "one\nGrüße\n".encode("latin-1"), "a.txt, line 2: .*data.encoding"),
        ("a.txt", GZIPPED, "a.txt, line 1: "),
        ("a.txt.gz", b"one\n", "a.txt.gz, line 0"),
        ("a.txt.gz", GZIPPED[:-5], r"a.txt.gz, line \d"),
        ("a.txt.gz", GZIPPED[:500] + bytes([GZIPPED[500] ^ 0xFF]) + GZIPPED[501:], r"a.txt.gz, line \d"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "a.csv.gz"),
        ("a.csv", "", "a.csv"),
        ("a.doc", "one\n", "a.doc"),
    ],
)
def test_broken_files_and_rows_are_named(tmp_path, name, content, place):
    with pytest.raises(UserError, match=place) as error:
        read(tmp_path, name, content, None if ".txt" in name else ["first", "second"])
    assert "\n" not in str(error.value)


def test_columns_must_be_chosen_where_there_are_some(tmp_path):
    for name, content, columns in (("a.csv", HEADER + "one,two\n", None), ("a.txt", "one\n", ["first"])):
        with pytest.raises(UserError, match=r"data\.columns"):
            read(tmp_path, name, content, columns)


def test_parquet_whose_body_is_damaged(tmp_path):
    noise = random.Random(0)
    content = bytearray(parquet(text=[f"row {i} {noise.randbytes(8).hex()}" for i in range(1000)]))
    content[200:4000] = noise.randbytes(3800)
    with pytest.raises(UserError, match=r"a.parquet, after row 0"):
        read(tmp_path, "a.parquet", bytes(content), ["text"])


def test_a_long_cell_is_read_and_one_without_end_is_not(tmp_path, monkeypatch):
    content = HEADER + f"one,{'two ' * 50_000}\n"  # 200,000 characters: over csv's own limit
    assert len(read(tmp_path, "a.csv", content, ["second"])[0][0]) == 200_000
    monkeypatch.setattr("cse.data.readers.MAX_CELL_CHARACTERS", 1000)
    with pytest.raises(UserError, match=r"a.csv, line 2"):
        read(tmp_path, "a.csv", content, ["second"])


def test_a_file_that_the_system_refuses(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("cse.data.readers.open", refuse, raising=False)
    with pytest.raises(UserError, match=r"a.txt.*Permission denied"):
        read(tmp_path, "a.txt", "one\n", None)


LONG = "a" * (2**20 + 1)


@pytest.mark.parametrize(("name", "content"), [
    ("a.txt", f"one\n{LONG}\ntwo\n"), ("a.txt.gz", gzip.compress(f"one\r\n{LONG * 20}\r\ntwo".encode())),
    ("a.csv", f"first\none\n{LONG}\ntwo\n"),
    ("a.jsonl", f'{{"first": "one"}}\n{{"first": "{LONG}"}}\n{{"first": "two"}}'),
    ("a.jsonl", f'{{"first": "one"}}\n{{"first": "{LONG * 20}"}}\n{{"first": "two"}}'),
    ("a.parquet", parquet(first=["one", LONG, "two"])),
], ids=lambda value: value if len(value) < 20 else "")  # fmt: skip
def test_a_text_of_more_than_a_mebibyte_is_an_empty_one(tmp_path, name, content):
    """Which is unusable, see cse.data.usable; one of a mebibyte is as it is."""
    columns = None if "txt" in name else ["first"]
    assert read(tmp_path, name, content, columns) == [("one",), (" ",), ("two",)]
    if name == "a.txt":
        assert read(tmp_path, name, f"one\r\n{LONG[1:]}\r\ntwo\r\n", columns) == [("one",), (LONG[1:],), ("two",)]


def test_a_line_of_gigabytes_is_read_without_being_held(tmp_path):
    with gzip.open(tmp_path / "a.txt.gz", "wb", compresslevel=1) as file:
        file.write(b"one\n")
        for _ in range(64):
            file.write(b"a" * 2**20)
        file.write(b"\ntwo\n")
    tracemalloc.start()
    try:
        assert list(read_rows(tmp_path / "a.txt.gz", None, "utf-8")) == [("one",), (" ",), ("two",)]
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


def test_a_table_without_lines_and_a_parquet_file_of_texts_without_end_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"a.csv.gz, line 3"):
        read(tmp_path, "a.csv.gz", gzip.compress(f"first\none\n{LONG * 10}\ntwo\n".encode()), ["first"])
    file = tmp_path / "b.parquet"
    pq.write_table(pa.table({"first": ["one", LONG * 8]}), file, compression="zstd", use_dictionary=False)
    assert file.stat().st_size < 10_000
    with pytest.raises(UserError, match=r"b.parquet: the 2 texts of first"):
        list(read_rows(file, ["first"], "utf-8"))
