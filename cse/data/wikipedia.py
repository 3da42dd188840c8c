"""n sentences of any language's Wikipedia: SimCSE's procedure (a random sample of a dump's sentences), repeatable.

A sentence's place is its hash under the seed, and the n smallest are the sample: uniform over the distinct sentences,
the same whenever it is drawn again, with no more than n sentences in memory.

Sentences are found by Punkt (Kiss & Strunk 2006) in NLTK, which needs no data: it learns a language's abbreviations
("z. B.", "im 19. Jahrhundert") from the first articles it is given. Then come the full stops of Chinese and Japanese,
which no blank follows.
"""

import hashlib
import heapq
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

from annotated_types import Ge

from cse.data.corpora import stream
from cse.errors import UserError, check_loads
from cse.ranges import Count, Name, PositiveShare, Seed

log = logging.getLogger(__name__)

TRAINING_ARTICLES = 1000  # for Punkt: some megabytes, seconds
WIDE_STOP = re.compile("(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])")
ENDS = re.compile(r"""[.!?…。！？]["'“”’»」』)）\]]*$""")  # headings and list items have no such end
Unit = Literal["words", "characters"]
LENGTH: dict[Unit, Callable[[str], int]] = {
    "words": lambda sentence: len(sentence.split()),
    "characters": lambda sentence: sum(not c.isspace() for c in sentence),
}


def wikipedia(
    language: Name,
    dump: Name,
    n: Annotated[int, Ge(2)],
    seed: Seed,
    share: PositiveShare,
    min_units: Count,
    max_units: Count,
    unit: Unit,
) -> Iterator[tuple[str, ...]]:
    """Rows of one sentence each from the hub's wikimedia/wikipedia, dump "20231101" of language "en", "de", ...

    share of the articles is used, chosen by hash: all of a large Wikipedia takes hours. See `sample` for the rest.
    """
    dumped = stream("wikipedia", f"{dump}.{language}")
    articles = (row["text"] for row in dumped if _hash(row["id"], seed) / 2**64 < share)
    for sentence in sample(articles, n, seed, min_units=min_units, max_units=max_units, unit=unit):
        yield (sentence,)


def sample(articles: Iterable[str], n: int, seed: int, min_units: int, max_units: int, unit: Unit) -> list[str]:
    """n distinct sentences of min_units..max_units units (words, or characters without blanks) that end as such.

    In the order of their hashes. The log has the sha256 of all of them, one a line.

    Raises UserError if there are fewer.
    """
    articles = iter(articles)
    first = list(itertools.islice(articles, TRAINING_ARTICLES))
    split = sentence_splitter(first)
    smallest: list[tuple[int, str]] = []  # a heap: its top is the largest hash so far, negated
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
            f"{unit}, fewer than the {n} asked for: lower data.rows.n or raise data.rows.share"
        )
    sentences = [sentence for _, sentence in sorted(smallest, reverse=True)]
    log.info(
        "wikipedia: %d of %d sentences, from %d articles; sha256 %s",
        *(n, candidates, count, hashlib.sha256("\n".join(sentences).encode()).hexdigest()),
    )
    return sentences


def sentence_splitter(texts: list[str]) -> Callable[[str], Iterator[str]]:
    """A function from an article to its sentences, with the abbreviations learnt from texts."""
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
