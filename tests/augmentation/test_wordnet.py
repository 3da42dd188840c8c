"""WordNet: where it is found, its synonyms, and copies that are incomplete or damaged."""

import multiprocessing
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

import nltk.data
import pytest

from cse.augmentation import wordnet
from cse.augmentation.wordnet import digest_wordnet, find_wordnet, synonyms
from cse.errors import MissingResource

SHARED = Path(__file__).parents[3] / "shared/data/nltk_data/corpora/wordnet.zip"


def test_synonyms_of_the_small_wordnet(wordnet_folder):
    # Both senses; `_` and `-` become spaces, "1" has no letters, the word itself is left out.
    assert synonyms(wordnet_folder, "dog") == ("blackguard", "cad", "domestic dog", "hound dog")
    assert synonyms(wordnet_folder, "dogs") == ("blackguard", "cad", "dog", "domestic dog", "hound dog")  # morphy
    assert synonyms(wordnet_folder, "chased") == ("chase", "go after")
    assert synonyms(wordnet_folder, "better") == ("full", "good")  # an exception
    assert synonyms(wordnet_folder, "cow") == ()


def test_places_are_searched_in_their_order(wordnet_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    cache = tmp_path / "cache"
    with pytest.raises(MissingResource, match=r"wordnet_dir"):
        find_wordnet(None, cache)
    archive = tmp_path / "nltk_data/corpora/wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for path in wordnet_folder.iterdir():
            file.write(path, f"wordnet/{path.name}")
    assert find_wordnet(None, cache) == archive
    assert synonyms(archive, "house") == ("family",)
    assert digest_wordnet(archive) == digest_wordnet(wordnet_folder)
    fetched = cache / "datasets/wordnet/corpora/wordnet"
    fetched.mkdir(parents=True)
    assert find_wordnet(None, cache) == fetched
    assert find_wordnet(str(wordnet_folder), cache) == wordnet_folder  # the setting wins


@pytest.mark.parametrize("name", ["empty", "half", "broken.zip"])
def test_a_given_place_without_a_whole_wordnet_is_named(name, tmp_path):
    (tmp_path / "half").mkdir()
    (tmp_path / "half/data.noun").touch()
    (tmp_path / "broken.zip").write_bytes(b"PK")
    with pytest.raises(MissingResource, match=name):
        digest_wordnet(find_wordnet(str(tmp_path / name), tmp_path))


@pytest.mark.parametrize("name", ["index.noun", "data.noun"])
@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_wordnet_is_refused_before_any_work(name, packed, wordnet_folder, tmp_path):
    place = tmp_path / "wordnet"
    shutil.copytree(wordnet_folder, place)
    (place / name).write_bytes((place / name).read_bytes()[:-200] + bytes(range(150, 256)))
    if packed:
        shutil.make_archive(str(tmp_path / "damaged"), "zip", tmp_path, "wordnet")
        place = tmp_path / "damaged.zip"
    with pytest.raises(MissingResource, match=place.name):
        digest_wordnet(place)


def test_an_archive_of_damaged_bytes_is_refused(wordnet_folder, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(wordnet_folder, whole / "wordnet")
    archive = Path(shutil.make_archive(str(tmp_path / "wordnet"), "zip", whole, "wordnet"))
    content = archive.read_bytes()
    for at in range(200, len(content), len(content) // 12):
        archive.write_bytes(content[:at] + bytes(40) + content[at + 40 :])
        with suppress(MissingResource):
            digest_wordnet(archive)


def test_a_forked_worker_opens_wordnet_itself(wordnet_folder):
    expected = synonyms(wordnet_folder, "dog")
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    read = lambda: results.put((synonyms(wordnet_folder, "dog"), wordnet._reader.cache_info().currsize))  # noqa: E731
    before = wordnet._reader.cache_info().currsize
    child = fork.Process(target=read)
    child.start()
    assert results.get() == (expected, before + 1)
    child.join()


@pytest.mark.skipif(not SHARED.exists(), reason=f"needs the real WordNet 3.0 at {SHARED}")
def test_synonyms_of_the_real_wordnet():
    assert {"hound", "domestic dog", "cad", "frankfurter", "chase after"} < set(synonyms(SHARED, "dog"))
    assert {*synonyms(SHARED, "geese"), "geese"} == {*synonyms(SHARED, "goose"), "goose", "geese"}
    assert synonyms(SHARED, "zzzz") == ()
