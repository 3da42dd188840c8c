"""Synonyms from WordNet 3.0, read by NLTK from a folder or NLTK's wordnet.zip. Nothing is downloaded."""

import functools
import hashlib
import os
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import MissingResource, check_loads
from cse.sources.catalogue import packages_of_nltk

if TYPE_CHECKING:  # imported when the first synonym is looked up
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import PathPointer

FILES = [f"{kind}.{pos}" for kind in ("data", "index") for pos in ("noun", "verb", "adj", "adv")]
FILES += [f"{pos}.exc" for pos in ("noun", "verb", "adj", "adv")]
DAMAGED = (OSError, EOFError, KeyError, IndexError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error)
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz ")


def find_wordnet(wordnet_dir: str | None, cache: Path) -> Path:
    """Return the folder or zip with WordNet's files. Raises MissingResource if neither exists.

    wordnet_dir: this folder or zip. None: the download of `cse-data fetch wordnet` in `cache`, or else corpora/wordnet
    or corpora/wordnet.zip in NLTK's data folders."""
    check_loads("nltk.data", "nltk")
    own = Path(wordnet_dir).expanduser() if wordnet_dir else None
    place = next(packages_of_nltk("wordnet", cache), None) if own is None else own
    if place is not None and place.exists():
        return place.absolute()
    raise MissingResource(
        f"no WordNet for augmentation=eda (looked in {wordnet_dir or 'the folders of NLTK'}): run `cse-data fetch "
        "wordnet`, set `wordnet_dir` to a folder with data.noun or to NLTK's wordnet.zip, or use augmentation=shuffle"
    )


def digest_wordnet(place: Path) -> str:
    """Return a digest of WordNet's files. Raises MissingResource if a file is missing or damaged."""
    from nltk.corpus.reader.wordnet import WordNetError

    content = hashlib.sha256()
    try:
        for name in FILES:
            content.update(f"{name}\0".encode() + _pointer(place).join(name).open().read() + b"\0")
        _reader(place, os.getpid()).synsets("dog")
    except (*DAMAGED, WordNetError) as error:
        raise MissingResource(f"{place} is not a complete WordNet ({error}): it needs {', '.join(FILES)}") from error
    return content.hexdigest()


def synonyms(place: Path, word: str) -> tuple[str, ...]:
    """Return the sorted lemmas of all synsets of the word's base forms, in lower-case letters, except the word itself.

    `_` and `-` become spaces, so a synonym may have several words. The first look-up reads WordNet (a second or two). A
    forked process reads WordNet again, because it shares its open files, and their positions, with its parent.
    """
    return _synonyms(place, os.getpid(), word)


@functools.cache
def _synonyms(place: Path, process: int, word: str) -> tuple[str, ...]:
    found = _reader(place, process).synsets(word)
    names = {lemma.name().lower() for synset in found for lemma in synset.lemmas()}
    spelled = {"".join(c for c in name.replace("_", " ").replace("-", " ") if c in LETTERS) for name in names}
    spelled = {" ".join(name.split()) for name in spelled}
    # EDA's code keeps the empty string that remains of a numeral ("one" has the lemma "1"). We do not, because
    # replacing a word by nothing is a deletion, another of the four operations.
    return tuple(sorted(name for name in spelled if name and name != word))


@functools.cache
def _reader(place: Path, process: int) -> "WordNetCorpusReader":
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class EnglishReader(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map between WordNet's versions.

            The map needs NLTK's own copy of WordNet, and only languages other than English use the map.
            """

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The multilingual functions are not available")
        return EnglishReader(_pointer(place), None)


def _pointer(place: Path) -> "PathPointer":
    import nltk.data

    if str(place.parent) not in nltk.data.path:  # NLTK refuses to read anywhere else
        nltk.data.path.append(str(place.parent))
    if place.is_file():
        return nltk.data.ZipFilePathPointer(str(place), "wordnet/")
    return nltk.data.FileSystemPathPointer(str(place))
