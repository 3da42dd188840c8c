"""The papers' corpora from the Hugging Face hub, as rows of text. Each function is a `rows` of cse.data.text.Text."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cse.data.readers import lines_of, read_rows
from cse.errors import MissingResource, UserError
from cse.ranges import Count, Name, Natural

log = logging.getLogger(__name__)

Rows = Iterator[tuple[str, ...]]


class Hub(NamedTuple):
    """A hub dataset; its file where that is the corpus, its columns and the rows it may have; what needs no hub."""

    repo: str
    file: str = ""
    columns: tuple[str, ...] = ()  # of the file, all of them; (): plain text
    rows: tuple[int, ...] = ()
    instead: str = "data=text data.path=FILE.txt"


SIMCSE = "princeton-nlp/datasets-for-simcse"
TRIPLETS = "data=text data.path=FILE.csv data.columns=[sent0,sent1,hard_neg]"
PAIRS = "data=text data.path=FILE.csv data.columns=[sent0,sent1]"
HUB = {
    # A million sentences by its name; SimCSE's training log counts 1,000,001 rows.
    "wiki1m": Hub(SIMCSE, "wiki1m_for_simcse.txt", (), (1_000_000, 1_000_001)),
    "nli": Hub(SIMCSE, "nli_for_simcse.csv", ("sent0", "sent1", "hard_neg"), (275_601,), TRIPLETS),
    "wikiauto": Hub(
        "GEM/wiki_auto_asset_turk",
        "wiki_auto_asset_turk/train-00000-of-00001.parquet",
        ("source", "target"),
        (483_801,),
        PAIRS,
    ),
    "openwebtext": Hub("Skylion007/openwebtext"),
    "wikipedia": Hub("wikimedia/wikipedia"),
}


def available(corpus: str) -> None:
    """Ask, in a second, whether a corpus of HUB can be had. Raises MissingResource, with what to use instead."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    hub = HUB[corpus]
    if hub.file and isinstance(try_to_load_from_cache(hub.repo, hub.file, repo_type="dataset"), str):
        return
    try:
        HfApi().dataset_info(hub.repo, timeout=10)
    except Exception as error:  # the hub's client raises its own, its HTTP library's and builtin errors alike
        raise _missing(corpus, error) from error


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
    """OpenWebText's documents of at least min_units units, streamed, so that no short one is ever stored.

    A unit is a word (between blanks), or a piece of the named tokenizer's. limit: stop after so many documents.
    """
    texts = (row["text"] for row in stream("openwebtext"))
    return ((text,) for text in long_documents(texts, min_units, _counter(tokenizer), limit))


def long_documents(
    texts: Iterable[str], min_units: int, count_units: Callable[[str], int], limit: int | None = None
) -> Iterator[str]:
    """The texts of at least min_units units, blanks of any kind and number made one; logs how many there were."""
    seen = kept = 0
    for text in texts:
        if kept == limit:
            break
        seen += 1
        text = " ".join(text.split())
        if count_units(text) >= min_units:
            kept += 1
            yield text
    log.info("kept %d of %d documents, those of at least %d units", kept, seen, min_units)


def stream(corpus: str, config: str | None = None) -> Iterable[dict[str, Any]]:
    """The rows of a hub dataset's train split, downloaded while they are read."""
    from datasets import load_dataset

    available(corpus)
    try:
        rows = load_dataset(HUB[corpus].repo, config, split="train", streaming=True)
    except ValueError as error:  # no such config; the message lists those that there are
        raise UserError(f"data={corpus}: {HUB[corpus].repo} has no {config} ({str(error).splitlines()[0]})") from error
    except Exception as error:
        raise _missing(corpus, error) from error
    return _to_the_end(corpus, rows)


def _to_the_end(corpus: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows; a connection that breaks off is said as what it is, and not as a cache that cannot be written."""
    try:
        yield from rows
    except Exception as error:  # the hub's client, its HTTP library and the file format each raise their own
        raise _missing(corpus, error) from error


def _file(corpus: str, file: str | None) -> Path:
    return Path(file).expanduser() if file else _download(corpus)


def _download(corpus: str) -> Path:
    from huggingface_hub import hf_hub_download

    available(corpus)
    hub = HUB[corpus]
    try:
        return Path(hf_hub_download(hub.repo, hub.file, repo_type="dataset"))
    except Exception as error:
        raise _missing(corpus, error) from error


def _missing(corpus: str, error: Exception) -> MissingResource:
    return MissingResource(
        f"data={corpus} is {HUB[corpus].repo} on the Hugging Face hub, which cannot be reached "
        f"({type(error).__name__}): use a file of your own, {HUB[corpus].instead}"
    )


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

    try:
        pieces = AutoTokenizer.from_pretrained(tokenizer)
    except Exception as error:
        raise MissingResource(
            f"data.rows.tokenizer={tokenizer} cannot be loaded ({str(error).splitlines()[0]}): name a local folder, or "
            "set it to null to count words"
        ) from error
    return lambda text: len(pieces(" " + text, add_special_tokens=False, verbose=False)["input_ids"])
