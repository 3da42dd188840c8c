"""n sentences of any language's Wikipedia: SimCSE's procedure (a random sample of a dump's sentences), repeatable.

Each sentence is ranked by its hash under the seed, and the n lowest ranks are the sample: uniform over the distinct
sentences, the same each time it is drawn, with never more than n sentences in memory.

NLTK's Punkt (Kiss & Strunk 2006) finds the sentences. It needs no data: it learns a language's abbreviations ("z. B.",
"im 19. Jahrhundert") from the first articles. Then the parts are split at the full stops of Chinese and Japanese, which
no space follows.
"""

import hashlib
import heapq
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from cse.data.corpora import repo_of
from cse.errors import UserError, check_loads
from cse.files import Json
from cse.ranges import Count, Name, PositiveShare, Seed, Several
from cse.sources import hub

log = logging.getLogger(__name__)

TRAINING_ARTICLES = 1000  # for Punkt: a few megabytes and seconds
WIDE_STOP = re.compile("(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])")
ENDS = re.compile(r"""[.!?…。！？]["'“”’»」』)）\]]*$""")  # headings and list items do not end like this
Unit = Literal["words", "characters"]
LENGTH: dict[Unit, Callable[[str], int]] = {
    "words": lambda sentence: len(sentence.split()),
    "characters": lambda sentence: sum(not c.isspace() for c in sentence),
}


def wikipedia(
    language: Name,
    dump: Name,
    n: Several,
    seed: Seed,
    share: PositiveShare,
    min_units: Count,
    max_units: Count,
    unit: Unit,
) -> Iterator[tuple[str, ...]]:
    """Rows of one sentence each from the hub's wikimedia/wikipedia, dump "20231101" of language "en", "de", ...

    share: the share of the articles to use, chosen by hash, for all of a large Wikipedia takes hours. See `sample` for
    the rest.
    """
    articles = (row["text"] for row in _rows(f"{dump}.{language}") if _hash(row["id"], seed) / 2**64 < share)
    for sentence in sample(articles, n, seed, min_units=min_units, max_units=max_units, unit=unit):
        yield (sentence,)


def _rows(config: str) -> Iterator[Json]:
    """The rows of a dump, downloaded while they are read. Raises MissingResource, also if the connection breaks."""
    repo = repo_of("wikipedia")
    with hub.refusals(repo):
        yield from hub.stream_split(repo, config)


def sample(articles: Iterable[str], n: int, seed: int, min_units: int, max_units: int, unit: Unit) -> list[str]:
    """n distinct sentences of min_units..max_units units (words, or characters but spaces) that end like a sentence.

    They come in the order of their hashes; the log has the SHA-256 of all of them, one per line. Raises UserError if
    there are fewer.
    """
    articles = iter(articles)
    first = list(itertools.islice(articles, TRAINING_ARTICLES))
    split = sentence_splitter(first)
    smallest: list[tuple[int, str]] = []  # a heap whose top is the largest hash so far, negated
    ranks: set[int] = set()
    count = candidates = 0
    for count, article in enumerate(itertools.chain(first, articles), 1):  # noqa: B007 (used below)
        for sentence in split(article):
            if not (min_units <= LENGTH[unit](sentence) <= max_units and ENDS.search(sentence)):
                continue
            candidates += 1
            rank = _hash(sentence, seed)
            if rank in ranks or (len(smallest) == n and rank > -smallest[0][0]):
                continue
            ranks.add(rank)
            heapq.heappush(smallest, (-rank, sentence))
            if len(smallest) > n:
                ranks.remove(-heapq.heappop(smallest)[0])
    if len(smallest) < n:
        raise UserError(
            f"data=wikipedia: {count} articles have {len(smallest)} distinct sentences of {min_units} to {max_units} "
            f"{unit}, fewer than the {n} asked for: lower `rows.n` or raise `rows.share`"
        )
    sentences = [sentence for _, sentence in sorted(smallest, reverse=True)]
    log.info(
        "wikipedia: %d of %d sentences, from %d articles; sha256 %s",
        *(n, candidates, count, hashlib.sha256("\n".join(sentences).encode()).hexdigest()),
    )
    return sentences


def sentence_splitter(texts: list[str]) -> Callable[[str], Iterator[str]]:
    """A function that splits an article into its sentences; texts: what it learns abbreviations from."""
    check_loads("nltk.tokenize.punkt")
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    punkt = PunktSentenceTokenizer(PunktTrainer("\n".join(texts)).get_params())

    def split(article: str) -> Iterator[str]:
        for line in article.splitlines():  # a paragraph, a heading or a list item
            for part in punkt.tokenize(line):
                yield from (" ".join(sentence.split()) for sentence in WIDE_STOP.split(part) if sentence)

    return split


def _hash(text: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest())
