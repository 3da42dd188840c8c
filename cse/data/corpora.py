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
    if file and hub.cached(repo_of(corpus), file) is not None:
        return
    hub.listing(repo_of(corpus))


def provenance(corpus: str, file: str | None) -> dict[str, str | None]:
    """Where the rows of a published corpus come from: the repository and revision, or a local copy; its sha256.

    The checksum is None where no single file is the corpus, or where it is not in the hub's cache any more.
    """
    about = DATASETS[corpus]
    local = Path(file).expanduser() if file else about.file and hub.cached(repo_of(corpus), about.file)
    source = file or f"{about.repo}/{about.files[0] if about.files else ''}@{about.revision or 'main'}"
    return {"source": source, "sha256": sha256(local) if local else None}


def wiki1m(file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's million sentences of English Wikipedia, one column; a blank line is " ", as in SimCSE's code.

    file: a local copy; None: the hub's. allow_partial: accept another number of rows than the published one.
    """
    lines = ((line or " ",) for _, line in lines_of(_file("wiki1m", file), "utf-8"))
    return _check_count("wiki1m", lines, allow_partial)


def nli(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """SimCSE's triplets of SNLI and MNLI: premise, an entailed and a contradicted hypothesis; see `wiki1m`.

    columns: which of them, in the order in which a row has them.
    """
    return _check_count("nli", read_rows(_file("nli", file), list(columns), "utf-8"), allow_partial)


def wikiauto(columns: Sequence[str], file: str | None = None, allow_partial: bool = False) -> Rows:
    """Wiki-Auto's pairs: a sentence of English Wikipedia, its counterpart in Simple English Wikipedia; see `nli`."""
    return _check_count("wikiauto", read_rows(_file("wikiauto", file), list(columns), "utf-8"), allow_partial)


def triplets(
    corpus: Name,
    columns: Sequence[str],
    file: str | None = None,
    folder: str | None = None,
    allow_partial: bool = False,
) -> Rows:
    """The catalogue's corpus of that name, a text with a paraphrase and a contradiction of it; see `nli`.

    folder: a local copy of one that is many files, each of which is downloaded when it is asked for.
    """
    repo, (inside,) = repo_of(corpus), DATASETS[corpus].files
    files: Iterable[Path]
    if folder is not None:
        files = files_of(Path(folder).expanduser(), "data.rows.folder")
    elif inside.endswith("/"):
        files = (hub.file(repo, path) for path in hub.paths(repo, inside))
    else:
        files = [_file(corpus, file)]
    rows = (row for one in files for row in read_rows(one, list(columns), "utf-8"))
    return _check_count(corpus, rows, allow_partial)


def openwebtext(min_units: Natural, tokenizer: Name | None, limit: Count | None, folder: Name | None = None) -> Rows:
    """OpenWebText's documents of at least min_units units. Short ones are dropped while the hub's files are read.

    A unit is a word (between blanks), or a piece of the named tokenizer's. limit: stop after so many documents: files
    that come after the last one are not fetched. folder: a local copy of the parquet files; None: the hub's.
    """
    (column,) = DATASETS["openwebtext"].columns
    files: Iterable[Path]
    if folder is None:
        repo, (inside,) = repo_of("openwebtext"), DATASETS["openwebtext"].files
        files = (hub.file(repo, path) for path in hub.paths(repo, inside))  # each is downloaded when it is asked for
    else:
        files = sorted(Path(folder).expanduser().glob("*.parquet"))
        if not files:
            raise UserError(f"data.rows.folder={folder} holds no parquet file: cse-data fetch openwebtext --to FOLDER")
    texts = (text for path in files for (text,) in read_rows(path, [column], "utf-8"))
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


def _file(corpus: str, file: str | None) -> Path:
    return (
        files_of(Path(file).expanduser(), "data.rows.file")[0]
        if file
        else hub.file(repo_of(corpus), DATASETS[corpus].files[0])
    )


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
        pieces = AutoTokenizer.from_pretrained(tokenizer)
    return lambda text: len(pieces(" " + text, add_special_tokens=False, verbose=False)["input_ids"])
