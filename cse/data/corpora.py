"""The papers' corpora from the Hugging Face hub, as rows of text. Each function is a `rows` of cse.data.text.Text."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from cse.data.readers import files_of, lines_of, read_rows
from cse.dotted import Json
from cse.errors import UserError
from cse.files import sha256
from cse.ranges import Count, Name, Natural
from cse.sources import hub
from cse.sources.catalogue import DATASETS

log = logging.getLogger(__name__)

Rows = Iterator[tuple[str, ...]]


def is_published(name: str) -> bool:
    """Whether the name of training text is that of a corpus that the catalogue has on the hub."""
    return name in DATASETS and DATASETS[name].repo is not None


def repo_of(corpus: str) -> hub.Repo:
    """The repository of a published corpus."""
    columns = DATASETS[corpus].columns
    own = f"FILE.csv data.columns=[{','.join(columns)}]" if len(columns) > 1 else "FILE.txt"
    return DATASETS[corpus].hub_repo(f"data={corpus}", f"use a file of your own, data=text data.path={own}")


def check_available(corpus: str) -> None:
    """Raise MissingResource, with what to use instead, if the hub does not have a published corpus. Takes a second."""
    file = DATASETS[corpus].file
    if not (file and hub.cached(repo_of(corpus), file)):
        hub.paths(repo_of(corpus))


def published(corpus: str) -> dict[str, str | None]:
    """Where the hub's rows of a published corpus come from: the repository and revision; its sha256.

    The checksum is None where no single file is the corpus, or where it is not in the hub's cache any more.
    """
    about = DATASETS[corpus]
    local = hub.cached(repo_of(corpus), about.file) if about.file else None
    source = f"{about.repo}/{about.files[0] if about.files else ''}@{about.revision or 'main'}"
    return {"source": source, "sha256": sha256(local) if local else None}


def wiki1m(file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's million sentences of English Wikipedia, one column; a blank line is " ", as in SimCSE's code.

    file: a local copy; None: the hub's. allow_partial: accept another number of rows than the published one.
    """
    lines = ((line or " ",) for path in _files("wiki1m", file) for _, line in lines_of(path, "utf-8"))
    return _check_count("wiki1m", lines, allow_partial)


def triplets(
    corpus: Name,
    columns: Sequence[str],
    file: str | None = None,
    folder: str | None = None,
    allow_partial: bool = False,
) -> Rows:
    """The catalogue's corpus of that name; see `wiki1m`. columns: which it has, in the order in which a row has them.

    folder: a local copy of one that is many files, each of which is downloaded when it is asked for.
    """
    files = _files(corpus, folder or file)
    return _check_count(
        corpus, (row for path in files for row in read_rows(path, list(columns), "utf-8")), allow_partial
    )


def nli(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's triplets of SNLI and MNLI: premise, an entailed and a contradicted hypothesis; see `triplets`."""
    return triplets("nli", columns, file, allow_partial=allow_partial)


def wikiauto(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """Wiki-Auto's pairs: a sentence of English Wikipedia, and its counterpart in the Simple one; see `triplets`."""
    return triplets("wikiauto", columns, file, allow_partial=allow_partial)


def openwebtext(min_units: Natural, tokenizer: Name | None, limit: Count | None, folder: Name | None = None) -> Rows:
    """OpenWebText's documents of at least min_units units. Short ones are dropped while the hub's files are read.

    A unit is a word (between blanks), or a piece of the named tokenizer's. limit: stop after so many documents: files
    that come after the last one are not fetched. folder: a local copy of the parquet files; None: the hub's.
    """
    columns = DATASETS["openwebtext"].columns
    texts = (text for path in _files("openwebtext", folder) for (text,) in read_rows(path, columns, "utf-8"))
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
    with hub.refusals(repo):  # a connection that breaks off is said as what it is
        yield from hub.stream(repo, config)


def _files(corpus: str, copy: str | None) -> Iterator[Path]:
    """The files of a local copy, or those of the hub, each downloaded when it is asked for."""
    repo, (inside,) = repo_of(corpus), DATASETS[corpus].files
    if copy:
        yield from files_of(Path(copy).expanduser(), "data.rows.file")
    elif inside.endswith("/"):
        yield from (hub.file(repo, path) for path in hub.paths(repo, inside))
    else:
        yield hub.file(repo, inside)


def _check_count(corpus: str, rows: Rows, allow_partial: bool) -> Rows:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 (used below)
        yield row
    published = DATASETS[corpus].rows
    if published and count not in published and not allow_partial:
        raise UserError(
            f"data={corpus} has {count:,} rows, but the published file has {published[0]:,}: delete the copy in "
            "the hub's cache and run again, or set data.rows.allow_partial=true to use it as it is"
        )


def _counter(tokenizer: str | None) -> Callable[[str], int]:
    if tokenizer is None:
        return lambda text: len(text.split())
    from transformers import AutoTokenizer

    asked = f"data.rows.tokenizer={tokenizer}"
    repo = hub.Repo(tokenizer, "model", asked, "name a local folder, or set it to null to count words")
    with hub.refusals(repo):
        pieces = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    return lambda text: len(pieces(" " + text, add_special_tokens=False, verbose=False)["input_ids"])
