"""Score an encoder with every evaluator, and check what evaluators and encoders return."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError

from cse.errors import UserError, class_name, first_line
from cse.progress import showing
from cse.score import Score, Scores, Source
from cse.types import Document, Encode, Evaluator, Query

log = logging.getLogger("cse")

MAX_MEMOIZED = 200_000  # texts: the seven STS tasks have 29,469, all SentEval transfer tasks about 130,000


class MemoizedEncode:
    """An `encode` that encodes each distinct text once, for an encoder whose weights do not change.

    limit: the largest number of kept vectors; None: no limit. If a call would exceed the limit (MTEB, probing), its
    vectors are not kept. full: returns, for each text of the last call of `encode`, whether the text reaches the
    encoder's maximum length; None: unknown. The attributes `encoded` and `zeros` count encoded texts and zero vectors;
    `constant` says whether all vectors were equal. `rows` has the kept vectors by text, and `long` the texts in
    `rows` that reach the maximum length.
    """

    def __init__(
        self, encode: Encode, limit: int | None = MAX_MEMOIZED, full: Callable[[], Iterable[bool]] | None = None
    ):
        self.encode, self.limit, self.full = encode, limit, full
        self.rows: dict[str, np.ndarray] = {}
        self.long: set[str] = set()
        self.start_count()
        self.encoded = self.zeros = 0
        self.constant, self.first_D = True, np.empty(0)

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        """Return the vectors of n texts, (n, D), also for n = 0. Raises UserError for a single str."""
        if isinstance(texts, str):
            raise UserError(f"an evaluator called encode({texts!r:.60}): encode needs a list of texts")
        texts = [*texts]
        if not texts:
            return np.stack([*self.rows.values()][:1])[:0] if self.rows else self.encode([])
        distinct = set(texts)
        new = sum(text not in self.rows for text in distinct)
        if self.limit is not None and len(self.rows) + new > self.limit:
            rows_nD = self._encode(texts)
            self.not_kept += np.array([len(texts), len(self._long_of(texts))])
            return rows_nD
        self.add(texts)
        self.asked |= distinct
        return np.stack([self.rows[text] for text in texts])

    def add(self, texts: Iterable[str]) -> None:
        """In one call, encode the texts that have no kept vector. Keep their vectors."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self.rows]
        if unknown:
            self.rows.update(zip(unknown, self._encode(unknown), strict=True))
            self.long.update(self._long_of(unknown))

    def start_count(self) -> None:
        """Start a new `count`."""
        self.asked: set[str] = set()  # texts with a kept vector
        self.not_kept = np.zeros(2, np.int64)  # the counts of texts without a kept vector

    def count(self) -> dict[str, int]:
        """Return the numbers of texts since `start_count`: all texts, and the texts that reach the maximum length.

        A text with a kept vector counts once. Any other text counts in each call.
        """
        texts, full = self.not_kept.tolist()
        return {"texts": texts + len(self.asked), "reach_max_length": full + len(self.asked & self.long)}

    def _long_of(self, texts: list[str]) -> list[str]:
        """Return the texts of the last call of `encode` that reach the maximum length."""
        return [text for text, full in zip(texts, self.full(), strict=True) if full] if self.full else []

    def _encode(self, texts: list[str]) -> np.ndarray:
        rows_nD = np.asarray(self.encode(texts))
        self.first_D = self.first_D if self.encoded else rows_nD[0]
        if rows_nD.shape[1:] != self.first_D.shape:
            widths = f"{self.first_D.shape}, then of {rows_nD.shape[1:]}"
            raise UserError(f"the encoder returned vectors of shape {widths}: all must have the same width")
        self.constant = self.constant and bool((rows_nD == self.first_D).all())
        self.encoded += len(texts)
        self.zeros += len(rows_nD) - int(np.count_nonzero(rows_nD.any(axis=1)))
        return rows_nD

    def warn_of_zeros(self) -> None:
        """Log the number of texts with a vector of zeros. Word vectors give zeros for a text without a known word."""
        if self.zeros:
            of = f"{self.zeros:,} of {self.encoded:,}"
            log.warning("%s texts have a vector of zeros; the cosine of zeros with any vector counts as 0", of)

    def check_varied(self) -> None:
        """Raise UserError if two or more texts were encoded, and all had the same vector."""
        if self.constant and self.encoded > 1:
            raise UserError(
                f"the encoder returned the same vector for each of {self.encoded:,} texts: nothing can be scored"
            )


def refuse_nan(encode: Encode) -> Encode:
    """Return an `encode` that raises UserError for vectors with NaN or infinity, which have no score.

    A training run does not use `refuse_nan`, because it has its own error for divergence.
    """

    def vectors_of(texts: list[str]) -> np.ndarray:
        vectors_nD = encode(texts)
        if count := int(np.count_nonzero(~np.isfinite(vectors_nD).all(axis=1))):
            raise UserError(f"the encoder returned NaN or infinity for {count:,} of {len(texts):,} texts")
        return vectors_nD

    return vectors_of


@runtime_checkable
class EncodesSides(Protocol):
    """An encoder that encodes queries and documents differently, such as a sentence-transformers model."""

    def encode(self, sentences: list[str]) -> np.ndarray:
        """Return the vectors of n texts, (n, D)."""

    def encode_query(self, sentences: list[str]) -> np.ndarray:
        """Return the vectors of n queries, (n, D)."""

    def encode_document(self, sentences: list[str]) -> np.ndarray:
        """Return the vectors of n documents, (n, D)."""


def by_side(encoder: EncodesSides) -> Encode:
    """Return an Encode: encode_query for Queries, encode_document for Documents, and encode for other texts."""

    def vectors_of(texts: list[str]) -> np.ndarray:
        ways = {Query: encoder.encode_query, Document: encoder.encode_document}
        sides = {type(text) for text in texts}
        if not sides & ways.keys():
            return encoder.encode(texts)
        rows = {
            side: iter(ways.get(side, encoder.encode)([str(text) for text in texts if type(text) is side]))
            for side in sides
        }
        return np.stack([np.asarray(next(rows[type(text)])) for text in texts])

    return vectors_of


def check_encode(encode: Callable[[list[str]], Any]) -> Encode:
    """Return the user's own `encode` with checks.

    The checks raise UserError unless each text gets a vector of finite numbers. For an empty list, one call with one
    text gives the width of the result.
    """
    if not callable(encode):
        raise UserError(f"{encode!r} is not an encoder: give a name, an object with encode, or a function of texts")

    def vectors_of(texts: list[str]) -> np.ndarray:
        if not texts:
            return vectors_of(["."])[:0]
        found = encode(texts)
        if isinstance(found, torch.Tensor):  # numpy has no bf16
            found = found.detach().to("cpu", torch.float32 if found.dtype == torch.bfloat16 else None)
        try:
            rows = np.asarray(found)
        except ValueError as error:
            raise UserError(f"the encoder returned no array ({first_line(error)})") from error
        of_numbers = rows.ndim == 2 and len(rows) == len(texts) and rows.dtype.kind in "iuf"
        if not of_numbers:
            what = f"an array of shape {rows.shape}, {rows.dtype}"
            raise UserError(f"the encoder returned {what}, for {len(texts)} texts: each text needs a vector of numbers")
        return rows

    return refuse_nan(vectors_of)


def check_source(name: str, evaluator: Evaluator) -> None:
    """Raise UserError if a prepared evaluator's source is not a cse.score.Source."""
    try:
        TypeAdapter(Source).validate_python(evaluator.source())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the returned value"
        raise UserError(
            f"eval.{name}: {class_name(type(evaluator))}.source() must return a cse.score.Source; {place} is wrong: "
            f"{first['msg']} (found {first['input']!r:.80})"
        ) from error


def check_returned(evaluator: str, found: object) -> None:
    """Raise UserError unless an evaluator returned a list of scores with numbers and different names."""
    if not isinstance(found, list):
        raise UserError(f"{evaluator} must return a list of cse.score.Score, not {type(found).__name__}")
    for one in found:
        if not isinstance(one, Score):
            raise UserError(f"{evaluator} must return a list of cse.score.Score, not of {type(one).__name__}")
        if not isinstance(one.value, Real):
            raise UserError(f"{evaluator}: the value of {one.name} must be a number, not {type(one.value).__name__}")
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{evaluator} returned several scores named {twice[0]}")


def score(
    evaluators: Mapping[str, Evaluator],
    encode: Encode,
    only: str | None = None,
    *,
    level: int = logging.INFO,
    into: Scores | None = None,
) -> Scores:
    """Return every score of every evaluator, by name: `<split>/<evaluator>/<score>`. Show the progress.

    only: the split to score; None: all splits. level: the level of the log line after each evaluator. into: the dict to
    fill and return. After a failure this dict has the scores from before the failure.
    """
    scores = {} if into is None else into
    for name, evaluator in evaluators.items():
        for split in evaluator.splits if only is None else [only]:
            started = time.perf_counter()
            try:
                with showing(f"{name} {split}"):
                    found = evaluator(encode, split)
            except Exception as error:
                error.add_note(f"(raised while eval.{name} scored {split})")
                raise
            check_returned(f"eval.{name}: {class_name(type(evaluator))}", found)
            scores |= {one.name: one for one in (one.within(f"{split}/{name}/") for one in found)}
            if undefined := [one.name for one in found if not math.isfinite(one.value)]:
                log.warning("%-10s %s: not a finite number: %s", name, split, ", ".join(undefined))
            log.log(level, "%-10s %s, %.1f s", name, split, time.perf_counter() - started)
    return scores


def mean_of(name: str, scores: Sequence[Score]) -> Score:
    """Return the mean of several scores, as a score."""
    return Score(
        name,
        float(np.mean([one.value for one in scores])),
        rows=sum(one.rows for one in scores),
        unit="average of scores, points of 100",
        modified=any(one.modified for one in scores),
        items=[one.name for one in scores],
    )
