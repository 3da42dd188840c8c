"""n sentences of any language's Wikipedia. As in SimCSE's procedure, they are a random sample of a dump's sentences.

The hash of a sentence under the seed is its rank. The n lowest ranks are the sample. It is uniform over the distinct
sentences, and always the same for a seed. Never more than n sentences are in memory.

NLTK's Punkt (Kiss & Strunk 2006) finds the sentences. It needs no data: it learns the abbreviations of a language ("z.
B.", "im 19. Jahrhundert") from the first articles. Then the parts are split at the full stops of Chinese and Japanese,
because no space follows these.
"""

import hashlib
import heapq
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from cse.data.columns import Row
from cse.data.corpora import repo_of
from cse.errors import UserError, check_loads
from cse.files import Json
from cse.ranges import Count, Name, PositiveShare, Seed, Several
from cse.sources import hub

log = logging.getLogger(__name__)

TRAINING_ARTICLES = 1000  # for Punkt: a few megabytes and seconds
WIDE_STOP = re.compile("(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])")
SENTENCE_END = re.compile(r"""[.!?…。！？]["'“”’»」』)）\]]*$""")  # headings and list items do not end like this
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
) -> Iterator[Row]:
    """Rows of one sentence each from the hub's wikimedia/wikipedia: dump "20231101", language "en", "de", ...

    share: the share of the articles to use, because it takes hours to read all of a large Wikipedia. A hash chooses
    the articles. `sample` explains the other arguments.
    """
    articles = (row["text"] for row in _rows(f"{dump}.{language}") if _hash(row["id"], seed) / 2**64 < share)
    for sentence in sample(articles, n, seed, min_units=min_units, max_units=max_units, unit=unit):
        yield (sentence,)


def _rows(config: str) -> Iterator[Json]:
    """The rows of a dump, downloaded while they are read. Raises MissingResource, also if the connection fails."""
    repo = repo_of("wikipedia")
    with hub.refusals(repo):
        yield from hub.stream_split(repo, config)


def sample(articles: Iterable[str], n: int, seed: int, min_units: int, max_units: int, unit: Unit) -> list[str]:
    """n distinct sentences of min_units..max_units units that end like a sentence. unit: words, or characters except
    spaces.

    They are in the order of their hashes. The log has the SHA-256 of all sentences, one per line. Raises UserError if
    there are fewer than n.
    """
    articles = iter(articles)
    first = list(itertools.islice(articles, TRAINING_ARTICLES))
    split = sentence_splitter(first)
    smallest: list[tuple[int, str]] = []  # a heap whose top is the largest hash so far, negated
    ranks: set[int] = set()
    count = candidates = 0
    for count, article in enumerate(itertools.chain(first, articles), 1):  # noqa: B007 (used below)
        for sentence in split(article):
            if not (min_units <= LENGTH[unit](sentence) <= max_units and SENTENCE_END.search(sentence)):
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
    """A function that splits an article into its sentences. texts: it learns abbreviations from these."""
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
