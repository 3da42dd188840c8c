"""Training text: read once for the same content, and its source recorded."""

import hashlib
import json
import re
import sys
from dataclasses import replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest
from toy_hub import parquet

from cse.data import corpora, readers
from cse.data import text as text_module
from cse.data.corpora import openwebtext, triplets, wiki1m
from cse.data.rows import compact
from cse.data.text import Text, chosen_rows
from cse.errors import MissingResource, UserError
from cse.ranges import text_encoding
from cse.sources.catalogue import DATASETS


def test_rows_and_source_of_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("first,second\nkadan lofel,migor\nperzu,\n")
    text = Text("text", str(tmp_path / "cache"), str(tmp_path / "a.csv"), columns=["second", "first"]).read()
    for row, cells in enumerate([("migor", "kadan lofel"), (" ", "perzu")]):
        for column, cell in enumerate(cells):
            assert text.text(row, column) == cell
    assert isinstance(text.texts[0].flat, np.memmap)
    digest = hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    assert text.provenance()["sha256"] == {str(tmp_path / "a.csv"): digest}


@pytest.mark.parametrize(("limit", "names_limit"), [(None, False), (1, True)])
def test_one_row_is_refused_and_a_limit_is_named_only_if_it_is_set(tmp_path, limit, names_limit):
    (tmp_path / "a.txt").write_text("kadan lofel\n" + "migor\n" * (limit or 0))
    with pytest.raises(UserError, match=r"a\.txt.* 1 usable row,? ") as refused:
        Text("text", str(tmp_path / "cache"), str(tmp_path / "a.txt"), limit=limit).read()
    assert ("limit" in str(refused.value)) == names_limit


def test_a_number_of_each_text_is_computed_once_for_each_content_limit_and_key(prepared):
    calls = []

    def length(text: str) -> int:
        calls.append(text)
        return len(text)

    def measured(lines: list[str], key: str = "length", **options) -> tuple[list[int], int]:
        """The numbers, and how many texts were measured for them."""
        calls.clear()
        return prepared(lines, **options).measured(length, key).tolist(), len(calls)

    lines = ["kadan", "", "lo", "mig", ""]
    assert [measured(lines), measured(lines)] == [([5, 2, 3], 3), ([5, 2, 3], 0)]
    assert measured(lines, limit=2) == ([5, 2], 2)
    assert measured([*lines, "x"]) == ([5, 2, 3, 1], 4)
    assert measured(lines, key="other") == ([5, 2, 3], 3)


def test_row_numbers_take_four_bytes_and_the_keys_of_caches_do_not_depend_on_that(prepared):
    rows = prepared(["kadan", "lofel", "migor"])
    wide = replace(rows, chosen=rows.chosen.astype(np.int64))
    assert rows.chosen.dtype == np.int32
    assert rows.chosen_bytes() == wide.chosen_bytes()
    assert compact(np.array([1, 2**31 - 1])).dtype == np.int64


def test_an_older_version_of_the_readers_leaves_no_cache_to_serve(prepared, monkeypatch, tmp_path):
    def folders() -> int:
        prepared(["kadan", "lofel"]).measured(len, "length")
        return len([*(tmp_path / "cache" / "text").iterdir()])

    assert [folders(), folders()] == [2, 2]
    monkeypatch.setattr(text_module, "CACHE_VERSION", "older")
    assert folders() == 4


@pytest.mark.parametrize("name", ["lab/table", "lab/table-2.5"])
def test_text_of_a_hub_dataset(toy_hub, tmp_path, name):
    toy_hub.add(f"datasets/{name}", {"data/train-0.parquet": parquet(a=["one", "two"], n=[1, 2])})
    text = Text("text", str(tmp_path), name, ["a"]).read()
    assert [text.text(i) for i in range(len(text))] == ["one", "two"]
    for column, told in (("n", f"{name}, row 1: n"), ("z", "a, n")):
        with pytest.raises(UserError, match=told):
            Text("text", str(tmp_path), name, [column]).read()


CARD = b"""---
dataset_info:
  features:
  - name: query
    dtype: string
  - name: negatives
    list: string
  - name: document
    struct:
    - name: text
      dtype: string
---
"""


@pytest.mark.parametrize("card", [{"README.md": CARD}, {}])
def test_a_list_in_a_hub_dataset_is_refused_before_its_rows_are_read(toy_hub, tmp_path, card):
    """If the dataset's card lists the columns, the list is refused before the download."""
    rows = parquet(query=["a", "b"], negatives=[["c", "d"], ["e"]], document=[{"text": "f"}, {"text": "g"}])
    toy_hub.add("datasets/lab/table", {"data/train-0.parquet": rows} | card)
    for column, said in (
        ("negatives", r"\[query,negatives_1\]"), ("document", r"\[query,document.text\]"), ("query_1", "query_1"),
        ("negative", "no column negative"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=f"lab/table.*{said}"):
            Text("text", str(tmp_path), "lab/table", ["query", column]).find()
    assert bool(card) == (not [one for one in toy_hub.downloads() if ".parquet" in one])
    text = Text("text", str(tmp_path), "lab/table", ["query", "negatives_2", "document.text"]).read()
    assert [text.text(0, column) for column in range(3)] == ["a", "d", "f"]


@pytest.mark.parametrize(("name", "content"), [
    ("a.csv", "a,b,score\none,two,2.5\nthree,four,5\nfive,six,0\n"),
    ("a.jsonl", "\n".join(json.dumps({"a": "x", "b": "y", "score": score}) for score in (2.5, 5, 0))),
    ("a.parquet", parquet(a=["x"] * 3, b=["y"] * 3, score=[2.5, 5.0, 0.0])),
])  # fmt: skip
def test_scores_beside_the_text(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def read(score_range, **more):
        words = {"columns": ["a", "b"], "scores": "score"} | more
        return Text("text", str(tmp_path / "cache"), str(tmp_path / name), score_range=score_range, **words).read()

    noise = {"delete": 0.9, "insert": 3, "swap": 1, "seed": 0}
    for more in ({}, {"noise": noise}):
        text = read([0, 5], **more)
        assert (text.targets_N.tolist(), text.num_columns) == ([0.5, 1, 0], 2)
        assert len(list(text.cells())) == 6
    assert read(None).targets_N.tolist() == [2.5, 5, 0]
    assert len(read(None, limit=2).targets_N) == 2
    for words, named in (
        ({"score_range": (0, 4)}, "score_range=[0,4]"),
        ({"columns": ["a"], "scores": "b"}, "scores=b"), ({"scores": "z"}, "scores=z"),
        ({"columns": None}, "columns"), ({"columns": ["a", "score"]}, "columns"),
        ({"columns": ["a", "a"]}, "names a twice"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=re.escape(named)):
            read(**{"score_range": (0, 5)} | words)


def test_a_column_of_numbers_that_is_read_as_text_seems_to_be_a_score(tmp_path, caplog):
    (tmp_path / "a.csv").write_text("a,b,s\none,2,2.5\n3,four,5\nfive,six,0\n")
    Text("text", str(tmp_path / "cache"), str(tmp_path / "a.csv"), ["a", "b", "s"]).read()
    (warning,) = caplog.messages
    assert "scores=s" in warning
    caplog.clear()
    Text("text", str(tmp_path / "cache"), str(tmp_path / "a.csv"), ["a", "b"], "s", (0, 5)).read()
    Text("text", str(tmp_path / "cache"), str(tmp_path / "a.csv"), ["s"]).read()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_columns_that_are_not_read_are_named_and_one_of_numbers_may_score_pairs(tmp_path, caplog, ending):
    caplog.set_level("INFO")
    rows = [{"a": "one", "b": "two", "c": "x", "s": "0.5"}, {"a": "three", "b": "four", "c": "y", "s": "0"}]
    lines = [",".join(cells) for cells in ("abcs", *(row.values() for row in rows))]
    file = tmp_path / f"a.{ending}"
    file.write_text("\n".join(lines if ending == "csv" else map(json.dumps, rows)))
    read = partial(Text, "text", str(tmp_path / "cache"), str(file))
    for columns, scores, named in (
        (["a", "b"], None, "c, s; .*cosent.*scores=s"),
        (["a", "b"], "s", "c"),
        (["a", "b", "c"], None, "s"),
        (["a"], None, "b, c, s"),
    ):
        caplog.clear()
        read(columns, scores).read()
        assert re.fullmatch(f"data=text: columns not read: {named}", caplog.messages[-1])
    caplog.clear()
    read(["a", "b", "c"], "s").read()
    assert caplog.messages == []


@pytest.mark.parametrize("score", ['"1_0"', "1e39", "1" + 400 * "0", "true", '"1e400"', "null", "[1]"])
def test_what_is_no_score_is_refused_with_its_line(tmp_path, score):
    (tmp_path / "a.jsonl").write_text(
        '{"a": "x", "b": "y", "score": 1}\n{"a": "x", "b": "y", "score": ' + score + "}\n"
    )
    text = Text("text", str(tmp_path), str(tmp_path / "a.jsonl"), ["a", "b"], "score", None)
    with pytest.raises(UserError, match=r"a\.jsonl, line 2\b"):
        text.read()


def test_equal_scores_of_all_rows_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,score\nx,y,2\nz,w,2.0\n")
    text = Text("text", str(tmp_path), str(tmp_path / "a.csv"), ["a", "b"], "score", (0, 4))
    with pytest.raises(UserError, match=r"every row has score 2, scaled to 0\.5"):
        text.read()


def test_a_limit_takes_the_first_rows_or_a_random_subset_that_grows_with_it():
    assert list(chosen_rows(10, None, None)) == list(range(10))
    assert list(chosen_rows(10, 4, None)) == list(chosen_rows(10, 0.4, None)) == [0, 1, 2, 3]
    assert len(chosen_rows(10, 40, None)) == len(chosen_rows(10, 1.0, 3)) == 10
    some, more, others = chosen_rows(1000, 100, 1), chosen_rows(1000, 300, 1), chosen_rows(1000, 100, 2)
    assert set(some) < set(more)
    assert len(set(some) & set(others)) < 30
    assert list(some) == sorted(set(some))


@pytest.mark.parametrize("level", [0.0, 0.4])
def test_noise_is_applied_to_all_rows_before_some_are_chosen(prepared, level):
    words = " ".join(f"w{i}" for i in range(200))
    lines = [f"row{i} {words}" for i in range(20)]
    chosen = {"limit": 5, "limit_seed": 7}
    plain, noisy, again = (
        prepared(lines, **chosen, noise={"delete": share, "insert": 0, "swap": 0, "seed": 0})
        for share in (0.0, level, level)
    )
    assert [plain.text(i) for i in range(5)] == [lines[i] for i in chosen_rows(20, 5, 7)]
    assert [noisy.text(i) for i in range(5)] == [again.text(i) for i in range(5)]
    assert [noisy.text(i) == plain.text(i) for i in range(5)] == [level == 0] * 5


@pytest.mark.parametrize("encoding", ["utf-9", "base64", "utf-16", "idna"])
def test_an_encoding_that_changes_ascii_is_refused(encoding):
    assert text_encoding("latin-1") == "latin-1"
    with pytest.raises(ValueError, match="utf-8"):
        text_encoding(encoding)


def test_a_source_that_is_missing_or_too_short_is_named(tmp_path, prepared):
    for path in (str(tmp_path / "no.txt"), "some-lab/nothing"):
        with pytest.raises(MissingResource, match=path):
            Text("text", str(tmp_path), path).read()
    with pytest.raises(UserError, match="path"):
        Text("text", str(tmp_path)).read()
    with pytest.raises(UserError, match=r"a\.txt"):
        prepared(["one row"])
    for part in ({"split": "validation"}, {"subset": "all"}):
        with pytest.raises(UserError, match="for a dataset on the hub"):
            Text("text", str(tmp_path), str(tmp_path / "a.txt"), **part).find()


def test_a_function_that_yields_a_wrong_row_or_fails_is_named_with_the_row(tmp_path):
    def rows(last):
        yield "x", "y"
        yield last.split(",")

    for last, said in (("a", r"row 2: .*columns=\[a,b\]"), (None, "after row 1: .*rows raised AttributeError")):
        text = Text("mine", str(tmp_path), columns=["a", "b"], rows=partial(rows, last), identity="1")
        with pytest.raises(UserError, match=f"^data=mine, {said}"):
            text.read()


def test_several_columns_of_a_corpus_that_has_one_are_refused_at_once(tmp_path):
    with pytest.raises(UserError, match=r"columns=\[a,b\]: data=demo has one column"):
        Text("demo", str(tmp_path), columns=["a", "b"], rows=lambda: iter([]), identity="1")


def test_another_function_or_setting_or_code_is_not_read_from_the_cache(tmp_path, monkeypatch):
    """One edits a reader, and looks at a preview of what it reads now."""

    def rows_of(**settings):
        spec = spec_from_file_location("readers_of_mine", tmp_path / "readers_of_mine.py")
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "readers_of_mine", module)
        spec.loader.exec_module(module)
        text = Text("mine", str(tmp_path), rows=partial(module.read, **settings)).read()
        return text.text(0)

    source = "def read(word='a'):\n    yield from [(word + '{}',)] * 2\n"
    (tmp_path / "readers_of_mine.py").write_text(source.format(1))
    assert [rows_of(), rows_of(word="b"), rows_of()] == ["a1", "b1", "a1"]
    (tmp_path / "readers_of_mine.py").write_text(source.format("22"))
    assert rows_of() == "a22"


@pytest.mark.parametrize("kind", ["file", "corpus"])
def test_a_file_that_changes_while_it_is_read_is_refused_and_leaves_no_cache(tmp_path, monkeypatch, kind):
    """Its rows would be kept under the digest of what it was."""
    path = tmp_path / "a.txt"
    path.write_text("kadan\nlofel\n")
    monkeypatch.setitem(DATASETS, "wiki1m", replace(DATASETS["wiki1m"], rows=(2,)))

    def text() -> Text:
        if kind == "file":
            return Text("text", str(tmp_path / "cache"), str(path))
        rows = partial(wiki1m, file=str(path))
        return Text("wiki1m", str(tmp_path / "cache"), rows=rows, identity="wiki1m")

    read = readers.lines_of

    def then_changed(*given):
        yield from read(*given)
        path.write_text("kadan\nmigor\n")

    with monkeypatch.context() as patch:
        patch.setattr(readers, "lines_of", then_changed)
        patch.setattr(corpora, "lines_of", then_changed)
        with pytest.raises(UserError, match=r"a\.txt.* changed"):
            text().read()
    assert not list((tmp_path / "cache" / "text").iterdir())
    again = text().read()
    assert again.text(1) == "migor"


@pytest.mark.parametrize("key", ["file", "folder"])
def test_a_local_copy_that_cannot_be_read_is_named_by_its_setting(tmp_path, key):
    (tmp_path / "empty").mkdir()
    rows = partial(triplets, "nli", ["sent0"], **{key: str(tmp_path / "empty")})
    with pytest.raises(UserError, match=rf"^rows\.{key}="):
        Text("mine", str(tmp_path), rows=rows, identity="1").find()


def test_a_local_copy_of_a_corpus_is_identified_by_its_content(tmp_path, monkeypatch):
    """Of two copies with as many rows, each run trains on the one that it names, a file or a folder."""
    monkeypatch.setitem(DATASETS, "wiki1m", replace(DATASETS["wiki1m"], rows=(2,)))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.txt").write_text(f"kadan {name}\nlofel {name}\n")
        (tmp_path / name / "train.parquet").write_bytes(parquet(text=[f"kadan {name}", f"lofel {name}"]))
        file = partial(wiki1m, file=str(tmp_path / f"{name}.txt"))
        folder = partial(openwebtext, min_units=1, tokenizer=None, limit=None, folder=str(tmp_path / name))
        for corpus, rows in (("wiki1m", file), ("openwebtext", folder)):
            text = Text(corpus, str(tmp_path / "cache"), rows=rows, identity=corpus).read()
            assert (text.text(0), len(text.inputs())) == (f"kadan {name}", 1)
            assert next(iter(text.inputs())).startswith(str(tmp_path / name))
            assert text.provenance()["sha256"] in text.inputs().values()
