"""Averaged word vectors from a text file (GloVe, fastText, word2vec): the weak baseline of the papers' STS tables.

A sentence is the mean of its words' vectors. As in SentEval's bag-of-words example, words are separated by blanks, an
empty sentence is "." (DeCLUTR too), words without a vector are left out, and a sentence of only such words is zero.
N sentences, D numbers per vector.
"""

import gzip
import logging
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cse.errors import MissingResource, UserError
from cse.progress import track

log = logging.getLogger(__name__)

MAX_LINE = 2**20  # bytes
COUNTS = rb"\d{1,18} [1-9]\d{0,5}"  # fastText's first line: words, and the length of their vectors
ENDINGS = (".txt", ".vec", ".txt.gz", ".vec.gz")


class WordVectors:
    """path: a word and its D numbers a line, separated by single blanks; fastText's first line is "<words> <D>".

    Each call of `encode` that has new words reads the file once and keeps only the vectors of these, so memory grows
    with the sentences, not with the file. lowercase: look words up in lower case, for vectors of lower-case words
    (glove.6B). Raises MissingResource for no file, and UserError, naming the line, for a bad one.
    """

    def __init__(self, path: Path, lowercase: bool):
        if not path.is_file():
            raise MissingResource(f"checkpoint={path}: there is no such file of word vectors")
        self.path = path
        self.lowercase = lowercase
        self.known: dict[str, np.ndarray | None] = {}  # words already looked up; None: not in the file
        self.announced, self.dim = self._shape()

    def encode(self, texts: list[str]) -> np.ndarray:
        """n texts -> (n, D) float32."""
        sentences = [(text.lower() if self.lowercase else text).split() or ["."] for text in texts]
        new = {word for sentence in sentences for word in sentence} - self.known.keys()
        if new:
            vectors = self._read(new)
            self.known |= dict.fromkeys(new) | vectors
            log.info("%s of %s new words have a vector in %s", f"{len(vectors):,}", f"{len(new):,}", self.path)
            if not any(vector_D is not None for vector_D in self.known.values()):
                raise UserError(f"{self.path} has no vector for any word of these texts: is it the right language?")
        rows_ND = np.zeros((len(texts), self.dim), np.float32)
        for row_D, sentence in zip(rows_ND, sentences, strict=True):
            vectors_D = [vector_D for word in sentence if (vector_D := self.known[word]) is not None]
            if vectors_D:
                row_D[:] = np.mean(vectors_D, axis=0)
        return rows_ND

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """(line number, line without its end). In bytes: some of GloVe's words contain what Unicode counts as a line
        end."""
        number = 0
        try:
            with gzip.open(self.path) if self.path.suffix == ".gz" else open(self.path, "rb") as lines:
                while line := lines.readline(MAX_LINE):
                    number += 1
                    if len(line) == MAX_LINE:
                        raise UserError(f"{self.path}, line {number}: too long for a word and its numbers")
                    yield number, line.rstrip(b" \r\n")  # fastText ends every line with a blank
        except PermissionError as error:
            raise UserError(f"checkpoint={self.path} cannot be read: {error.strerror}") from error
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{self.path}, after line {number}: the gzip file is damaged ({error})") from error

    def _shape(self) -> tuple[int | None, int]:
        """(number of words or None where the first line does not say, D)."""
        line = next(self._lines(), (0, b""))[1]
        if re.fullmatch(COUNTS, line):
            count, width = map(int, line.split())
            return count, width
        first_D = numbers(line.split(b" ")[1:])
        if first_D is None or re.fullmatch(rb"\d+ \d+", line):
            raise UserError(f"{self.path}, line 1: not a word and its numbers, so these are no word vectors")
        return None, len(first_D)

    def _read(self, words: set[str]) -> dict[str, np.ndarray]:
        """The vectors of these words, as far as the file has them; of a repeated word, the first. Checks their
        lines."""
        by_bytes = {word.encode(): word for word in words}
        vectors: dict[str, np.ndarray] = {}
        count = 0
        for number, line in track(self._lines(), "line", self.announced):
            if not line or (number == 1 and self.announced is not None):
                continue
            count += 1
            word = by_bytes.get(line.partition(b" ")[0])
            if word is None or word in vectors:
                continue
            fields = line.split(b" ")[1:]
            if len(fields) > self.dim and fields[-self.dim - 1] and numbers([fields[-self.dim - 1]]) is None:
                continue  # some of GloVe's words contain blanks (". . ."): no text has such a word
            vector_D = numbers(fields)
            if vector_D is None or len(vector_D) != self.dim:
                raise UserError(f"{self.path}, line {number}: not a word and {self.dim} finite numbers")
            vectors[word] = vector_D
        if self.announced not in (None, count):
            raise UserError(f"{self.path}: {count:,} words, but line 1 promises {self.announced:,}; copy it again")
        return vectors


def numbers(fields: list[bytes]) -> np.ndarray | None:
    """The numbers of a line; None if there are none, or one is not finite."""
    try:
        values = np.array([*map(float, fields)], np.float32)
    except ValueError:
        return None
    return values if len(values) and np.isfinite(values).all() else None
