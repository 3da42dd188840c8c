"""The papers' corpora, from a hub of our own, its cache, and copies."""

import csv
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from toy_hub import parquet

from cse.data import corpora
from cse.data.corpora import check_copy
from cse.data.text import Text
from cse.errors import MissingResource, UserError
from cse.lab.run.instantiate import make
from cse.lab.run.needs import fetch_need, look_for
from cse.sources.catalogue import DATASETS

CONF = Path(__file__).parents[2] / "conf/data"
ROWS = {
    "wiki1m": [("A first sentence.",), (" ",), ("A line\u2028with an odd blank.",)],
    "nli": [("A dog, it runs.", 'It "moves".', "It sleeps."), ("a", "b", "c")],
    "wikiauto": [("Normal one.", "One."), ("Normal two.", "Two.")],
    "syncse_partial": [("A dog runs.", "A hound, running.", "It sleeps."), ("d", "e", "f")],
}


def corpus(name, tmp_path, columns=None, **rows):
    """The Text of conf/data/NAME.yaml with some values changed."""
    loaded = OmegaConf.create({"data": OmegaConf.load(CONF / f"{name}.yaml"), "paths": {"cache": str(tmp_path)}})
    changes = {"rows": rows} | ({"columns": columns} if columns else {})
    return make(OmegaConf.merge(loaded, {"data": changes}).data)


def cells_of(text):
    return [tuple(text.text(i, c) for c in range(text.num_columns)) for i in range(len(text))]


def content(name, folder) -> bytes:
    """ROWS in the form of the corpus's file."""
    if name == "wikiauto":
        source, target = zip(*ROWS[name], strict=True)
        return parquet(gem_id=["0", "1"], source=list(source), target=list(target))
    if name == "wiki1m":
        return "".join(f"{line.strip()}\n" for (line,) in ROWS[name]).encode()
    with (folder / "made.csv").open("w", newline="") as file:
        csv.writer(file).writerows([DATASETS[name].columns, *ROWS[name]])
    return (folder / "made.csv").read_bytes()


@pytest.fixture
def hub(toy_hub, tmp_path, monkeypatch):
    """A hub that has small files of as many rows as were published."""
    for name in ROWS:
        if DATASETS[name].rows:
            monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], rows=(1, len(ROWS[name]))))
        repo, file = DATASETS[name].repo, DATASETS[name].files[0]
        toy_hub.repos.setdefault(f"datasets/{repo}", {})[file] = content(name, tmp_path)
    return toy_hub


@pytest.mark.parametrize("name", ROWS)
def test_a_corpus_comes_from_the_hub_its_cache_or_a_local_copy(name, hub, tmp_path, monkeypatch):
    text = corpus(name, tmp_path).read()
    assert cells_of(text) == ROWS[name]
    about, repo, file = text.provenance(), DATASETS[name].repo, DATASETS[name].files[0]
    revision = DATASETS[name].revision or "main"
    assert about["source"] == f"{repo}/{file}@{revision}"
    assert about["sha256"] == hashlib.sha256(hub.repos[f"datasets/{repo}"][file]).hexdigest()
    assert [path.split("/resolve/")[1].split("/")[0] for path in hub.downloads()] == [revision]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    corpora.check_available(name)
    assert cells_of(corpus(name, tmp_path / "other").read()) == ROWS[name]
    copy = tmp_path / f"copy{Path(file).suffix}"
    copy.write_bytes(content(name, tmp_path))
    own = corpus(name, tmp_path / "third", file=str(copy)).read()
    assert cells_of(own) == ROWS[name]
    assert own.provenance()["source"] == str(copy)
    assert len(hub.downloads()) == 1


def test_columns_are_chosen_and_ordered_by_name(hub, tmp_path):
    """The non-contrastive paper's rows "Barlow Twins (NLI)" read two of the three columns."""
    found = cells_of(corpus("nli", tmp_path, ["sent1", "sent0"]).read())
    assert found == [(b, a) for a, b, _ in ROWS["nli"]]
    for name, columns in (("nli", ["sent0", "premise"]), ("wiki1m", ["a", "b"])):
        with pytest.raises(UserError, match="columns"):
            corpus(name, tmp_path, columns).read()


def test_triplets_in_several_files_are_read_as_one(toy_hub, tmp_path, monkeypatch):
    columns = DATASETS["synli"].columns
    monkeypatch.setitem(DATASETS, "synli", replace(DATASETS["synli"], rows=(4,)))
    rows = [tuple(f"{word} {i}" for word in columns) for i in range(4)]
    files = {
        f"data/train-{i}.parquet": parquet(**dict(zip(columns, map(list, zip(*part, strict=True)), strict=True)))
        for i, part in enumerate((rows[:3], rows[3:]))
    }
    toy_hub.add("datasets/mattymchen/synli", {"README.md": b"x", **files})
    assert cells_of(corpus("synli", tmp_path).read()) == rows
    for name, content in files.items():
        (tmp_path / "copy").mkdir(exist_ok=True)
        (tmp_path / "copy" / name.rpartition("/")[2]).write_bytes(content)
    assert cells_of(corpus("synli", tmp_path / "other", folder=str(tmp_path / "copy")).read()) == rows


@pytest.mark.parametrize("name", [name for name in ROWS if DATASETS[name].rows])
def test_another_number_of_rows_is_refused(name, hub, tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], rows=(9,)))
    copy = tmp_path / f"copy{Path(DATASETS[name].files[0]).suffix}"
    copy.write_bytes(content(name, tmp_path))
    for own in ({}, {"file": str(copy)}):
        with pytest.raises(UserError, match=rf"data={name} has {len(ROWS[name])} rows.*data=text"):
            corpus(name, tmp_path, **own).read()
    assert not list((tmp_path / "text").glob("*"))


def test_documents_are_filtered_while_reading_and_no_file_is_fetched_after_the_last(toy_hub, tmp_path):
    words = {"00000": (3, 5, 4), "00001": (9, 2, 8, 7), "00002": (5,)}
    files = {f"plain_text/{name}.parquet": parquet(text=["  word \n\n" * n for n in ns]) for name, ns in words.items()}
    toy_hub.add("datasets/Skylion007/openwebtext", {"openwebtext.py": b"x = 1\n", **files})
    found = cells_of(corpus("openwebtext", tmp_path, min_units=5, limit=3).read())
    assert found == [(" ".join(["word"] * n),) for n in (5, 9, 8)]
    at = f"/resolve/{DATASETS['openwebtext'].revision}/plain_text/"
    assert [at in path for path in toy_hub.downloads()] == [True, True]


@pytest.mark.nightly
def test_units_can_be_a_tokenizers_pieces(toy_hub, tiny_bert):
    """A word of the made-up tokenizer's vocabulary is one piece; of any other word every letter is."""
    toy_hub.add("models/lab/letters", Path(tiny_bert))
    toy_hub.add("datasets/Skylion007/openwebtext", {"plain_text/train.parquet": parquet(text=["kadan lofel", "abcde"])})
    assert list(corpora.openwebtext(5, "lab/letters", None)) == [("abcde",)]


@pytest.mark.parametrize("name", ["nli", "openwebtext"])
def test_without_a_hub_the_error_names_the_corpus_and_what_to_use_instead(name, toy_hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(MissingResource, match=rf"data={name}: .*data=text data\.path=FILE"):
        corpora.check_available(name)


@pytest.mark.parametrize("name", ["wiki1m", "nli", "wikiauto"])
def test_a_copy_of_another_number_of_rows_is_none(tmp_path, monkeypatch, name):
    """As cse-data asks, before a run reads it."""
    ending = {"wiki1m": ".txt", "nli": ".csv", "wikiauto": ".parquet"}[name]
    copy = tmp_path / f"copy{ending}"
    copy.write_bytes(content(name, tmp_path))
    with pytest.raises(UserError, match=rf"copy{ending} has {len(ROWS[name])} rows, but the published {name} has"):
        check_copy(name, str(copy))
    (need,) = Text.needs({"name": name, "rows": {"file": str(copy)}})
    assert look_for(need)[0] is None
    with pytest.raises(UserError, match="rows, but"):
        fetch_need(need)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], rows=(len(ROWS[name]),)))
    assert look_for(need) == (copy, "")


@pytest.mark.parametrize(("name", "key"), [("wiki1m", "file"), ("nli", "file"), ("openwebtext", "folder")])
def test_a_copy_that_is_not_there_is_named_by_its_own_key(tmp_path, name, key):
    text = corpus(name, tmp_path, **{key: str(tmp_path / "nowhere")})
    for read in (text.find, lambda: list(text.function())):
        with pytest.raises(MissingResource, match=rf"^rows\.{key}=.*nowhere"):
            read()
