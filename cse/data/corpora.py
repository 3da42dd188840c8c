"""The papers' corpora from the Hugging Face hub, as rows of text.

wiki1m, triplets and openwebtext are each a `rows` of cse.data.text.Text. The functions above them check whether a
corpus is available, and whether a local copy is complete.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from cse.data.columns import Row
from cse.data.listing import ending_of, files_of
from cse.data.readers import lines_of, read_rows, reading
from cse.errors import UserError, naming
from cse.files import sha256
from cse.ranges import Count, File, Folder, Name, Natural
from cse.sources import hub
from cse.sources.catalogue import DATASETS

log = logging.getLogger(__name__)


def is_published(name: str) -> bool:
    """Whether this name is a corpus of the catalogue on the hub."""
    return name in DATASETS and DATASETS[name].repo is not None


def repo_of(corpus: str) -> hub.Repo:
    """The repository of a published corpus."""
    columns = DATASETS[corpus].columns
    own = f"FILE.csv data.columns=[{','.join(columns)}]" if len(columns) > 1 else "FILE.txt"
    return DATASETS[corpus].hub_repo(f"data={corpus}", f"use a file of your own, data=text data.path={own}")


def check_available(corpus: str) -> None:
    """Raise MissingResource unless a published corpus is available. The error says what to use instead. Takes a
    second."""
    file = DATASETS[corpus].file
    if not (file and hub.find_file(repo_of(corpus), file)):
        hub.list_repo(repo_of(corpus))


def published(corpus: str) -> dict[str, str | None]:
    """The source of a published corpus (repository, file, revision), and its SHA-256.

    The checksum is None if the corpus has several files, or is no longer in the hub's cache.
    """
    about = DATASETS[corpus]
    local = hub.find_file(repo_of(corpus), about.file) if about.file else None
    source = f"{about.repo}/{about.files[0] if about.files else ''}@{about.revision or 'main'}"
    return {"source": source, "sha256": sha256(local) if local else None}


def check_copy(corpus: str, copy: str) -> None:
    """Raise UserError unless a local copy has the published number of rows. If that number is unknown, do nothing.

    Text files are read (a million rows take two seconds). Parquet files state their number of rows.
    """
    import pyarrow.parquet as pq

    about, count = DATASETS[corpus], 0
    for path in files_of(Path(copy).expanduser()) if about.rows else ():
        if ending_of(path) == ".parquet":
            with reading(path):
                count += pq.read_metadata(path).num_rows
        elif about.columns:
            count += sum(1 for _ in read_rows(path, list(about.columns), "utf-8"))
        else:
            count += sum(1 for _ in lines_of(path, "utf-8", "\n"))
    if about.rows and count not in about.rows:
        raise UserError(f"{copy} has {count:,} rows, but the published {corpus} has {about.rows[0]:,}")


def wiki1m(file: File | None = None) -> Iterator[Row]:
    """SimCSE's million sentences of English Wikipedia, one column. An empty line becomes " ", as in SimCSE's code.

    file: a local copy; None: the hub's copy.
    """
    return ((line or " ",) for path in _files("wiki1m", file) for _, line in lines_of(path, "utf-8", "\n"))


def triplets(
    corpus: Name, columns: Sequence[str], file: File | None = None, folder: Folder | None = None
) -> Iterator[Row]:
    """The rows of the catalogue's corpus of that name, with two or three columns. file: see `wiki1m`.

    columns: the columns to read, in the order of the cells. folder: a local copy of a corpus with many files; the hub's
    files are downloaded one by one, while they are read.
    """
    return (row for path in _files(corpus, file, folder) for row in read_rows(path, list(columns), "utf-8"))


def openwebtext(
    min_units: Natural, tokenizer: Name | None, limit: Count | None, folder: Folder | None = None
) -> Iterator[Row]:
    """OpenWebText's documents of at least min_units units, with single spaces. Logs how many are kept.

    A unit is a word (text between whitespace), or a piece of the named tokenizer. limit: stop after this many
    documents; later files are not downloaded. folder: a local copy of the parquet files; None: the hub's.
    """
    columns, count_units = DATASETS["openwebtext"].columns, _counter(tokenizer)
    seen = yielded = 0
    rows_of_file = (read_rows(path, columns, "utf-8") for path in _files("openwebtext", None, folder))
    for (text,) in chain.from_iterable(rows_of_file):
        if yielded == limit:
            break
        seen += 1
        text = " ".join(text.split())
        if count_units(text) >= min_units:
            yielded += 1
            yield (text,)
    log.info("kept %d of %d documents: at least %d units", yielded, seen, min_units)


def _files(corpus: str, file: str | None, folder: str | None = None) -> Iterator[Path]:
    """The files of a local copy, or the hub's files. A file of the hub is downloaded when it is needed."""
    repo, (inside,) = repo_of(corpus), DATASETS[corpus].files
    if copy := folder or file:
        with naming(path="rows.folder" if folder else "rows.file"):
            files = files_of(Path(copy).expanduser())
        yield from files
    elif inside.endswith("/"):
        yield from (hub.fetch_file(repo, path) for path in hub.list_repo(repo, inside))
    else:
        yield hub.fetch_file(repo, inside)


def _counter(tokenizer: str | None) -> Callable[[str], int]:
    if tokenizer is None:
        return lambda text: len(text.split())
    from transformers import AutoTokenizer

    asked = f"`rows.tokenizer`={tokenizer}"
    repo = hub.Repo(tokenizer, "model", asked, "name a local folder, or set it to null to count words")
    with hub.refusals(repo):
        pieces = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    return lambda text: len(pieces(" " + text, add_special_tokens=False, verbose=False)["input_ids"])
