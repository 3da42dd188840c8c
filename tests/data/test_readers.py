"""Every format gives the same rows; any library's error becomes one sentence with the file and the line or row.

More broken files are in tests/faults/test_refused_files.py.
"""

import csv
import gzip
import io
import json
import random

import pytest
from toy_hub import parquet

from cse.data.columns import ScoreColumn
from cse.data.listing import files_of, is_on_hub
from cse.data.readers import lines_of, read_rows
from cse.errors import MissingResource, UserError

ROWS = [("kadan lofel", 'mi, "gor"'), ("perzu", "nué stamon"), ("tri ler", "")]
HEADER = "first,second\n"
JSON = '{"first": "a", "second": "b"}\n'
GZIPPED = gzip.compress("\n".join(random.Random(0).randbytes(500).hex() for _ in range(2)).encode(), mtime=0)
NOISE = random.Random(0)
DAMAGED = bytearray(parquet(**{name: [NOISE.randbytes(8).hex() for _ in range(1000)] for name in ("first", "second")}))
DAMAGED[200:4000] = NOISE.randbytes(3800)  # behind the header, before the schema


def table(delimiter: str) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([("other", "first", "second"), *[("x", a, b) for a, b in ROWS]])
    return file.getvalue()


def read(tmp_path, name: str, content: bytes | str, columns: list[str] | None) -> list[tuple[str, ...]]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (file,) = files_of(path)
    return list(read_rows(file, columns, "utf-8"))


@pytest.mark.parametrize(("name", "content"), {
    "a.csv": table(",") + "\n", "a.tsv": table("\t"), "a.csv.gz": gzip.compress(table(",").encode(), mtime=0),
    "a.jsonl": "\n\n".join(json.dumps({"second": b, "first": a, "other": 1}) for a, b in ROWS),
    "a.parquet": parquet(first=[a for a, _ in ROWS], second=[b or None for _, b in ROWS]),
}.items())  # fmt: skip
def test_every_format_gives_the_same_rows(tmp_path, name, content):
    """The named columns in the given order; an empty cell is one space, as in SimCSE's code, an empty line no row."""
    assert read(tmp_path, name, content, ["second", "first"]) == [(b or " ", a) for a, b in ROWS]


def test_plain_text_skips_blank_lines(tmp_path):
    content = "\ufeffkadan\u2028lofel\r\n\r\n perzu \nnué"
    assert read(tmp_path, "a.txt", content, None) == [("kadan\u2028lofel",), (" perzu ",), ("nué",)]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\r\r\n"])
@pytest.mark.parametrize("squeeze", [bytes, gzip.compress])
def test_each_kind_of_line_end_ends_a_line(tmp_path, end, squeeze):
    """As 'CSV (Macintosh)' of Excel has them."""
    zipped = ".gz" * (squeeze is gzip.compress)
    texts, pairs = ["kadan", "lo\u2028fel\u0085 \v\f", "nué"], [("kadan", "lofel"), ("a\u2028b", "nué")]
    content = squeeze(end.join(texts).encode())
    assert read(tmp_path, f"a.txt{zipped}", content, None) == [(text,) for text in texts]
    content = squeeze(end.join(["first,second", *map(",".join, pairs), '"a, b",c']).encode())
    assert read(tmp_path, f"a.csv{zipped}", content, ["first", "second"]) == [*pairs, ("a, b", "c")]
    content = squeeze(end.join(json.dumps({"first": a, "second": b}) for a, b in pairs).encode())
    assert read(tmp_path, f"a.jsonl{zipped}", content, ["first", "second"]) == pairs


def test_joined_files_of_several_line_ends_and_byte_order_marks(tmp_path):
    mark = "\ufeff"
    content = f"{mark}kadan\r\nlofel\r\n{mark}migor\rperzu\r{mark}stamon\n{mark}nué"
    texts = ["kadan", "lofel", "migor", "perzu", "stamon", "nué"]
    assert read(tmp_path, "a.txt", content, None) == [(text,) for text in texts]
    assert read(tmp_path, "a.csv", f"{mark}first\na\n{mark}b\n", ["first"]) == [("a",), ("b",)]
    (tmp_path / "jp.txt").write_bytes("一行\r二行\n".encode("iso2022_jp"))
    assert [*read_rows(tmp_path / "jp.txt", None, "iso2022_jp")] == [("一行",), ("二行",)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_within_quotes_is_of_the_text(tmp_path, end):
    """As pandas and csv read it: code with Windows line ends is other tokens to a byte-level encoder."""
    rows = [("def f():\r\n  return 1", "x"), ("two\nlines", "y"), ("old\rmac", "z")]
    cells = end.join(["a,b", *(f'"{one}",{other}' for one, other in rows), ""])
    file = tmp_path / "code.csv"
    file.write_bytes(cells.encode())
    assert list(read_rows(file, ["a", "b"], "utf-8")) == rows


def test_a_published_corpus_is_cut_at_line_feeds_alone(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\rtwo\n\xef\xbb\xbfthree\n")
    assert [*lines_of(tmp_path / "a.txt", "utf-8", "\n")] == [(1, "one\rtwo"), (2, "\ufeffthree")]


def test_only_the_columns_of_a_table_are_named_by_its_first_line(tmp_path):
    for name, content, count in [("a.jsonl", JSON, 0), ("a.csv", HEADER, 1), ("a.tsv", "first\tsecond\n", 1)]:
        with pytest.raises(UserError, match=r"columns.* is not set: .* first, second") as refused:
            read(tmp_path, name, content, None)
        assert str(refused.value).count("first line") == count
    with pytest.raises(UserError, match=r"columns.*=\[first\].* second column"):
        read(tmp_path, "a.csv", "first\n", None)


def test_a_folder_is_its_files_in_order(tmp_path):
    names = ("b.txt", "a.jsonl.gz", "ignored.md", "c.txt/d.csv", ".ipynb_checkpoints/b-checkpoint.txt", "c.txt/.d.csv")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [file.relative_to(tmp_path).as_posix() for file in files_of(tmp_path)]
    assert found == ["a.jsonl.gz", "b.txt", "c.txt/d.csv"]
    with pytest.raises(MissingResource):
        files_of(tmp_path / "nowhere")


@pytest.mark.parametrize(("name", "content", "place"), [
    ("a.csv", HEADER + "one,two\nthree\n", "line 3"), ("a.csv", "", ""), ("a.doc", "one\n", ""),
    ("a.csv", HEADER + 'one,two\nthree,"four\nfive,six\n', "line 3.*quote"),
    ("a.csv", HEADER + 'one,"two\nthree,four\nfive,"six"\n', "line 2"),
    ("a.tsv", 'first\tsecond\n"one\ttwo\t3\nthree"\tfour\n', "line 2: a quote .* line 3"),
    ("a.tsv", 'first\tsecond\none\t"two" three\n', "line 2"), ("a.csv", "first,first,second\na,b,c\n", "first"),
    ("a.csv", "first; or\none\n", "no column second; it has first, ' or'.*first line"),
    ("a.tsv.gz", gzip.compress(b"one\ttwo\n", mtime=0), "it has one, two .*first line"),
    ("a.csv", "first\x07\none\n", r"it has 'first\\x07'"),
    ("a.jsonl", JSON + '{"first": }\n', "line 2"), ("a.jsonl", JSON + '{"first": "c"}\n', "line 2 .*second"),
    ("a.jsonl", JSON + '"first, second"\n', "line 2"),
    ("a.jsonl", JSON + '{"first": "a", "second": 5}\n', "line 2: second"),
    ("a.jsonl", '{"first": "a", "second": "\\ud800b"}\n', "line 1: second"),
    ("a.jsonl", JSON + '{"first": ' + "[" * 100_000 + "\n", "line 2"),
    ("a.jsonl", JSON + '{"first": ' + "1" * 5000 + "}\n", "line 2"), ("a.parquet", bytes(DAMAGED), "after row 0"),
    ("a.parquet", parquet(first=["a", "b"], second=[None, ["c"]]), "row 2: second"),
    ("a.txt", "one\nGrüße\n".encode("latin-1"), "line 2: .*encoding"), ("a.txt", GZIPPED, "line 1"),
    ("a.txt.gz", b"one\n", "line 1:"), ("a.txt.gz", GZIPPED[:-5], r"line \d"),
    ("a.txt.gz", GZIPPED[:500] + bytes([GZIPPED[500] ^ 0xFF]) + GZIPPED[501:], r"line \d"),
    ("a.csv.gz", gzip.compress(b"", mtime=0), ""), ("a.csv", "first,second\na,b\n\ufefffirst,second\n", "line 3"),
    ("a.csv", "first,second\na,b\n".encode("utf-16"), "UTF-16"), ("a.txt", "one\n".encode("utf-16"), "UTF-16"),
    ("a.csv", "first,second\na,b\n".encode("utf-16-le"), "UTF-16"), ("a.txt", "one\n".encode("utf-16-be"), "UTF-16"),
    ("a.jsonl", JSON.encode("utf-16"), "UTF-16"),
    ("a.txt.gz", gzip.compress("one".encode("utf-16"), mtime=0), "UTF-16"),
])  # fmt: skip
def test_a_broken_file_is_named_with_its_line_or_row(tmp_path, name, content, place):
    with pytest.raises(UserError, match=rf"{name}.*{place}") as error:
        read(tmp_path, name, content, None if ".txt" in name else ["first", "second"])
    assert "\n" not in str(error.value)


NESTED = [
    {
        "query": {"text": "a", "id": 1},
        "pos": ["b"],
        "neg": ["c", "d", "e"],
        "passages": [{"text": "f"}, {"text": None}],
    },
    {"query": {"text": "g", "id": 2}, "pos": ["h"], "neg": ["i"], "passages": [{"text": "j"}]},
    {"query": {"text": "k", "id": 3}, "pos": ["l"], "neg": None, "passages": []},
]


@pytest.mark.parametrize(("name", "content"), {
    "a.jsonl": "\n".join(map(json.dumps, NESTED)),
    "a.parquet": parquet(**{key: [row[key] for row in NESTED] for key in NESTED[0]}),
}.items())  # fmt: skip
def test_an_item_of_a_list_and_a_key_of_an_object_are_columns(tmp_path, name, content):
    """A row with a shorter list has an empty cell."""
    rows = read(tmp_path, name, content, ["query.text", "pos_1", "neg_1", "neg_2"])
    assert rows == [("a", "b", "c", "d"), ("g", "h", "i", " "), ("k", "l", " ", " ")]
    assert read(tmp_path, name, content, ["passages_1.text", "passages_2.text"]) == [("f", " "), ("j", " "), (" ", " ")]
    scored = list(read_rows(tmp_path / name, ["pos_1", ScoreColumn("query.id", None)], "utf-8"))
    assert scored == [("b", "1.0"), ("h", "2.0"), ("l", "3.0")]
    for wrong, said in (
        ("neg", "neg_1"),
        ("query", r"query\.(text|id)"),
        ("query_1", "line 1|row 1"),
        ("negs_1", "it has"),
    ):
        with pytest.raises(UserError, match=said):
            read(tmp_path, name, content, [wrong])
    with pytest.raises(UserError, match=r"\[query.text,passages_1.text,passages_2.text,pos_1\]"):
        read(tmp_path, name, content, ["query.text", "passages", "pos_1"])
    with pytest.raises(UserError, match=r"pos and neg.*\[pos_1,neg_1\].*\[pos_1,neg_1,neg_2,neg_3\]"):
        read(tmp_path, name, content, ["pos", "neg"])


def test_a_column_with_the_name_of_an_item_or_key_is_itself(tmp_path):
    row = {"neg_1": "a", "neg": ["b"], "doc.text": "c", "doc": {"text": "d"}}
    assert read(tmp_path, "a.jsonl", json.dumps(row), ["neg_1", "doc.text"]) == [("a", "c")]
    with pytest.raises(UserError, match="no column first_1; it has"):
        read(tmp_path, "a.csv", HEADER + "a,b\n", ["first_1"])


def test_columns_must_be_named_if_and_only_if_the_file_has_some(tmp_path):
    for name, content, columns, said in (
        ("a.csv", HEADER + "one,two\n", None, r"columns=\[A\] .*\[A,B\]"),
        ("a.txt", "one\n", ["first"], "columns"),
    ):
        with pytest.raises(UserError, match=said):
            read(tmp_path, name, content, columns)


@pytest.mark.parametrize(("name", "sign"), [("a.csv", "\t"), ("a.csv", ";"), ("a.tsv", ",")])
def test_the_header_says_what_is_between_the_cells(tmp_path, name, sign):
    content = f'first{sign}second\n"one, or; more"{sign}two\n'
    assert read(tmp_path, name, content, ["second", "first"]) == [("two", "one, or; more")]


@pytest.mark.parametrize(("name", "sign"), [("a.csv", ";"), ("a.tsv", ","), ("a.csv", "\t")])
def test_empty_lines_before_the_header_do_not_change_the_delimiter(tmp_path, name, sign):
    content = f"\n\r\nfirst{sign}second\none{sign}two\n"
    assert read(tmp_path, name, content, ["second", "first"]) == [("two", "one")]
    with pytest.raises(UserError, match="line 5: the number of fields is 1,"):
        read(tmp_path, name, f"{content}three\n", ["second", "first"])


@pytest.mark.parametrize("path", ["lab/table", "lab/table-2.5", "lab/v1.en", "lab-1.0/table"])
def test_a_name_of_the_hub_may_have_a_dot(path):
    assert is_on_hub(path)


@pytest.mark.parametrize("path", ["lab/a.txt", "lab/a.CSV.gz", "./table", "~/table", "table", "a/b/c", "lab/a.parquet"])
def test_a_file_that_is_not_there_is_no_name_of_the_hub(path):
    assert not is_on_hub(path)


@pytest.mark.parametrize(
    ("name", "content", "second", "remedy"),
    [
        ("a.csv", HEADER + "a,b\nc\n", "second", "line 3.* add the missing fields"),
        ("a.jsonl", JSON + '{"first": "c"}\n', "second", "line 2 .* add it"),
        ("a.csv", HEADER + "a,good\n", ScoreColumn("second", None), "line 2.* a column of numbers"),
    ],
)
def test_a_row_that_cannot_be_read_is_answered_with_its_remedy(tmp_path, name, content, second, remedy):
    with pytest.raises(UserError, match=remedy):
        read(tmp_path, name, content, ["first", second])
