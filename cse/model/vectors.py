"""Averaged word vectors from a text file (GloVe, fastText, word2vec): the weak baseline of the papers' STS tables.

The vector of a sentence is the mean of its words' vectors. As in SentEval's bag-of-words example, words are separated
by white space, and words without a vector are left out. An empty sentence becomes ".", as in DeCLUTR. If no word has a
vector, the vector of the sentence is zero. N is the number of sentences, D the width of a vector.
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


class WordVectors:
    """An encoder that averages word vectors.

    path: each line has a word and its D numbers, separated by single blanks. fastText's first line is "<words> <D>".
    A call of `encode` with new words reads the file once, and keeps only the vectors of these words. So memory grows
    with the sentences, not with the file. lowercase: whether to look words up in lower case, for vectors of lower-case
    words (glove.6B). Raises MissingResource if the file does not exist, and UserError for a damaged file or a bad line.
    """

    def __init__(self, path: Path, lowercase: bool):
        if not path.is_file():
            raise MissingResource(f"checkpoint={path}: there is no such file of word vectors")
        self.path, self.lowercase = path, lowercase
        self.known: dict[str, np.ndarray | None] = {}  # words already looked up; None: not in the file
        first = next(self._lines(), b"")
        counts = re.fullmatch(rb"(\d+) (\d+)", first)
        self.announced = int(counts[1]) if counts else None
        self.dim = int(counts[2]) if counts else first.count(b" ")
        if not counts:
            self._vector(1, first)

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of N texts, (N, D) float32."""
        sentences = [(text.lower() if self.lowercase else text).split() or ["."] for text in texts]
        new = {word for sentence in sentences for word in sentence} - self.known.keys()
        if new:
            vectors = self._read({word.encode(): word for word in new})
            self.known |= dict.fromkeys(new) | vectors
            log.info("%s of %s new words have a vector in %s", f"{len(vectors):,}", f"{len(new):,}", self.path)
            if not any(vector_D is not None for vector_D in self.known.values()):
                raise UserError(f"{self.path} has no vector for any word of these texts: are both in one language?")
        rows_ND = np.zeros((len(texts), self.dim), np.float32)
        for row_D, sentence in zip(rows_ND, sentences, strict=True):
            vectors_D = [vector_D for word in sentence if (vector_D := self.known[word]) is not None]
            if vectors_D:
                row_D[:] = np.mean(vectors_D, axis=0)
        return rows_ND

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines without their ends, as bytes, because some of GloVe's words contain a Unicode line end."""
        try:
            with gzip.open(self.path) if self.path.suffix == ".gz" else open(self.path, "rb") as lines:
                for line in lines:
                    yield line.rstrip(b" \r\n")  # fastText ends every line with a blank
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"checkpoint={self.path} is damaged or cannot be read: {error}") from error

    def _read(self, words: dict[bytes, str]) -> dict[str, np.ndarray]:
        """Return {word: vector} for the words in the file. If a word is repeated, the word's first vector is used."""
        vectors: dict[str, np.ndarray] = {}
        number = 0
        for number, line in enumerate(track(self._lines(), "line", self.announced), 1):
            word = words.get(line.rsplit(b" ", self.dim)[0])  # some of GloVe's words contain blanks (". . .")
            if word is not None and word not in vectors and (number > 1 or self.announced is None):
                vectors[word] = self._vector(number, line)
        if self.announced not in (None, number - 1):
            raise UserError(f"{self.path}: {number - 1:,} words, but line 1 says {self.announced:,}: copy it again")
        return vectors

    def _vector(self, number: int, line: bytes) -> np.ndarray:
        """Return the D numbers after the word of a line. Raises UserError with the line's number unless they are D
        finite numbers."""
        try:
            vector_D = np.array([float(field) for field in line.rsplit(b" ", self.dim)[1:]], np.float32)
        except ValueError:
            vector_D = np.empty(0, np.float32)
        if not 0 < len(vector_D) == self.dim or not np.isfinite(vector_D).all():
            why = f"{self.path}, line {number}: must be a word and {self.dim or 'its'} finite numbers"
            is_text = number == 1 and ".txt" in self.path.suffixes
            other = "a .txt file is read as word vectors: any other encoder is a folder, or a name on the hub"
            raise UserError(why, instead=other if is_text else "")
        return vector_D
