"""The papers' corpora from the Hugging Face hub, as rows of text. Each function is a `rows` of cse.data.text.Text."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cse import hub
from cse.data.readers import lines_of, read_rows
from cse.errors import UserError
from cse.ranges import Count, Name, Natural
from cse.types import Json

log = logging.getLogger(__name__)

Rows = Iterator[tuple[str, ...]]


class Corpus(NamedTuple):
    """A hub dataset; its file or folder of files where that is the corpus, its columns and the rows it may have.

    revision: the commit that is read; None: the newest, where the file is held to its number of rows. instead: what
    needs no hub.
    """

    repo: str
    file: str = ""
    columns: tuple[str, ...] = ()  # of the file, all of them; (): plain text
    rows: tuple[int, ...] = ()
    instead: str = "use a file of your own, data=text data.path=FILE.txt"
    revision: str | None = None


SIMCSE = "princeton-nlp/datasets-for-simcse"
TRIPLETS = "use a file of your own, data=text data.path=FILE.csv data.columns=[sent0,sent1,hard_neg]"
PAIRS = "use a file of your own, data=text data.path=FILE.csv data.columns=[sent0,sent1]"
HUB = {
    # A million sentences by its name; SimCSE's training log counts 1,000,001 rows.
    "wiki1m": Corpus(SIMCSE, "wiki1m_for_simcse.txt", (), (1_000_000, 1_000_001)),
    "nli": Corpus(SIMCSE, "nli_for_simcse.csv", ("sent0", "sent1", "hard_neg"), (275_601,), TRIPLETS),
    "wikiauto": Corpus(
        "GEM/wiki_auto_asset_turk",
        "wiki_auto_asset_turk/train-00000-of-00001.parquet",
        ("source", "target"),
        (483_801,),
        PAIRS,
        revision="ac2b97468b38cb35fcebe327ac8e1cb6b55b6b99",
    ),
    # its parquet files; its script no client runs any more
    "openwebtext": Corpus(
        "Skylion007/openwebtext", "plain_text/", ("text",), revision="79d93d786212f7344586290adb811d4ae6a1762c"
    ),
    "wikipedia": Corpus("wikimedia/wikipedia", revision="b04c8d1ceb2f5cd4588862100d08de323dccfbaa"),
}


def repo_of(corpus: str) -> hub.Repo:
    """The repository of a corpus of HUB."""
    about = HUB[corpus]
    return hub.Repo(about.repo, "dataset", f"data={corpus}", about.instead, about.revision)


def available(corpus: str) -> None:
    """Ask, in a second, whether a corpus of HUB can be had. Raises MissingResource, with what to use instead."""
    if HUB[corpus].file and hub.cached(repo_of(corpus), HUB[corpus].file) is not None:
        return
    hub.listing(repo_of(corpus))


def provenance(corpus: str, file: str | None) -> dict[str, str | None]:
    """Where the rows of a corpus of HUB come from: the repository and revision, or a local copy; its sha256.

    The checksum is None where no single file is the corpus, or where it is not in the hub's cache any more.
    """
    about = HUB[corpus]
    single = bool(about.file) and not about.file.endswith("/")
    local = Path(file).expanduser() if file else hub.cached(repo_of(corpus), about.file) if single else None
    source = file or f"{about.repo}/{about.file}@{about.revision or 'main'}"
    return {"source": source, "sha256": None if local is None else _sha256(local)}


def _sha256(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def wiki1m(file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's million sentences of English Wikipedia, one column; a blank line is " ", as in SimCSE's code.

    file: a local copy; None: the hub's. allow_partial: accept another number of rows than the published one.
    """
    lines = ((line or " ",) for _, line in lines_of(_file("wiki1m", file), "utf-8"))
    return _counted("wiki1m", lines, allow_partial)


def nli(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's triplets of SNLI and MNLI: premise, an entailed and a contradicted hypothesis; see `wiki1m`.

    columns: which of them, in the order in which a row has them.
    """
    return _counted("nli", read_rows(_file("nli", file), list(columns), "utf-8"), allow_partial)


def wikiauto(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """Wiki-Auto's pairs: a sentence of English Wikipedia, its counterpart in Simple English Wikipedia; see `nli`."""
    return _counted("wikiauto", read_rows(_file("wikiauto", file), list(columns), "utf-8"), allow_partial)


def openwebtext(min_units: Natural, tokenizer: Name | None, limit: Count | None) -> Rows:
    """OpenWebText's documents of at least min_units units. Short ones are dropped while the hub's files are read.

    A unit is a word (between blanks), or a piece of the named tokenizer's. limit: stop after so many documents: files
    that come after the last one are not fetched.
    """
    corpus = HUB["openwebtext"]
    files = [file for file in hub.listing(repo_of("openwebtext")) if file.path.startswith(corpus.file)]
    local = hub.downloaded(repo_of("openwebtext"), files)
    texts = (text for path in local for (text,) in read_rows(path, list(corpus.columns), "utf-8"))
    return ((text,) for text in long_documents(texts, min_units, _counter(tokenizer), limit))


def long_documents(
    texts: Iterable[str], min_units: int, count_units: Callable[[str], int], limit: int | None = None
) -> Iterator[str]:
    """The texts of at least min_units units, blanks of any kind and number made one; logs how many there were."""
    seen = yielded = 0
    for text in texts:
        if yielded == limit:
            break
        seen += 1
        text = " ".join(text.split())
        if count_units(text) >= min_units:
            yielded += 1
            yield text
    log.info("kept %d of %d documents, those of at least %d units", yielded, seen, min_units)


def stream(corpus: str, config: str | None = None) -> Iterator[Json]:
    """The rows of a hub dataset's train split, downloaded while they are read. Raises MissingResource."""
    repo = repo_of(corpus)
    rows = hub.stream(repo, config)
    with hub.refusals(repo):  # a connection that breaks off is said as what it is
        yield from rows


def _file(corpus: str, file: str | None) -> Path:
    return Path(file).expanduser() if file else hub.file(repo_of(corpus), HUB[corpus].file)


def _counted(corpus: str, rows: Rows, allow_partial: bool) -> Rows:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 (used below)
        yield row
    if count not in HUB[corpus].rows and not allow_partial:
        raise UserError(
            f"data={corpus} has {count:,} rows, but the published file has {HUB[corpus].rows[0]:,}: delete the copy in "
            "the hub's cache and run again, or set data.rows.allow_partial=true to use it as it is"
        )


def _counter(tokenizer: str | None) -> Callable[[str], int]:
    if tokenizer is None:
        return lambda text: len(text.split())
    from transformers import AutoTokenizer

    asked = f"data.rows.tokenizer={tokenizer}"
    repo = hub.Repo(tokenizer, "model", asked, "name a local folder, or set it to null to count words")
    with hub.refusals(repo):
        pieces = AutoTokenizer.from_pretrained(tokenizer)
    return lambda text: len(pieces(" " + text, add_special_tokens=False, verbose=False)["input_ids"])
