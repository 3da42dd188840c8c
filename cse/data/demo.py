"""Real text without a hub: the English Wikipedia articles in gensim's wheel, which are there for its own tests."""

import re
from collections.abc import Iterator

from cse.sources import fetch

ARTICLES = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
END = re.compile(r"(?<=[a-z0-9)\]\"'”’][.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")  # not after J. or U.S.
NOT_PROSE = re.compile(r"^\s*([*#:;|!{}=]|\||File:|Image:|Category:|thumb\|)|[|{}=]{1}\s*\w*\s*=|\b(px|align|style)\b")
MIN_WORDS, MAX_WORDS = 5, 60
DOCUMENT = 256  # words at least: room for four short anchors


def wikipedia_sentences() -> Iterator[tuple[str]]:
    """Sentences of 5 to 60 words, in the articles' order, each once. Raises MissingResource without gensim."""
    for article in articles():
        yield from ((sentence,) for sentence in article)


def wikipedia_documents() -> Iterator[tuple[str]]:
    """The same sentences joined to passages of at least 256 words, each from one article; see above."""
    for article in articles():
        passage: list[str] = []
        for sentence in article:
            passage += sentence.split()
            if len(passage) >= DOCUMENT:
                yield (" ".join(passage),)
                passage = []


def articles() -> Iterator[list[str]]:
    """The sentences of each article that did not occur in an earlier one. Raises MissingResource without gensim."""
    place = fetch.demo("data=demo") / ARTICLES
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki
    from gensim.utils import open as open_compressed

    seen: set[str] = set()
    with open_compressed(place, "rb") as dump:
        for _, markup, _ in extract_pages(dump, filter_namespaces=("0",)):
            if markup.lstrip().upper().startswith("#REDIRECT"):
                continue
            plain = filter_wiki(markup, promote_remaining=True, simplify_links=True)
            paragraphs = plain.replace("'''", "").replace("''", "").splitlines()
            prose = (paragraph for paragraph in paragraphs if not NOT_PROSE.search(paragraph))
            new = []
            for words in (part.split() for paragraph in prose for part in END.split(paragraph.strip())):
                sentence = " ".join(words)
                if MIN_WORDS <= len(words) <= MAX_WORDS and sentence[-1] in ".!?\"'" and sentence not in seen:
                    seen.add(sentence)
                    new.append(sentence)
            yield new
