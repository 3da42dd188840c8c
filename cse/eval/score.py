"""Score an encoder with all evaluators: each text is encoded once, each score is named by its split and evaluator."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pydantic import TypeAdapter, ValidationError

from cse.errors import UserError
from cse.progress import showing
from cse.provenance import Provenance
from cse.types import Encode, Evaluator

log = logging.getLogger("cse")

MAX_MEMOIZED = 200_000  # texts: the seven STS tasks have 29,469, all SentEval transfer tasks about 130,000


class MemoizedEncode:
    """An `encode` that encodes each distinct text once. For an encoder whose weights do not change.

    limit: how many texts are kept; larger sets (MTEB, probing) are encoded as they come. None: no limit.
    """

    def __init__(self, encode: Encode, limit: int | None = MAX_MEMOIZED):
        self.encode, self.limit = encode, limit
        self.rows: dict[str, np.ndarray] = {}

    def __call__(self, texts: list[str]) -> np.ndarray:
        """n texts -> (n, D), as `encode` gives them."""
        if self.limit is not None and len(self.rows) + len(texts) > self.limit:
            return self.encode(texts)
        self.add(texts)
        return np.stack([self.rows[text] for text in texts])

    def add(self, texts: Iterable[str]) -> None:
        """Encode those of the texts that are not yet known, in one call."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self.rows]
        if unknown:
            self.rows.update(zip(unknown, self.encode(unknown), strict=True))


def check_class(name: str, evaluator: object) -> None:
    """Raise UserError for an object that is not an Evaluator."""
    if not isinstance(evaluator, Evaluator):
        raise UserError(f"eval.{name}: {class_of(evaluator)} must inherit cse.types.Evaluator")


def class_of(evaluator: object) -> str:
    """Its class, as an import finds it."""
    return f"{type(evaluator).__module__}.{type(evaluator).__qualname__}"


def check_provenance(name: str, evaluator: Evaluator) -> None:
    """Raise UserError, before anything is scored, if a prepared evaluator's provenance is not as cse.types says."""
    cls = class_of(evaluator)
    provenance = evaluator.provenance()
    try:
        TypeAdapter(Provenance).validate_python(provenance)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(["provenance()", *(str(key) for key in first["loc"] if key != "int" and "[" not in str(key))])
        given = "" if first["type"] == "missing" else f"={first['input']!r}"
        message = f"eval.{name}: {cls}: {place}{given}: {first['msg']}; see cse.types.Provenance"
        raise UserError(message) from error
    if not {"rows", "parts"} & set(provenance):
        raise UserError(f"eval.{name}: {cls}: provenance() names neither rows nor parts; see cse.types.Provenance")


def score(
    evaluators: Mapping[str, Evaluator],
    splits: Mapping[str, Sequence[str]],
    encode: Encode,
    level: int = logging.INFO,
    into: dict[str, float] | None = None,
) -> dict[str, float]:
    """Every score of every evaluator on its chosen splits, `<split>/<evaluator>/<score>`.

    How far each has come is shown. level: of a line for each when it is done. into: filled and returned, so that a
    failure leaves what was scored before it.
    """
    metrics = {} if into is None else into
    for name, chosen in splits.items():
        for split in chosen:
            started = time.perf_counter()
            with showing(f"{name} {split}"):
                scores = evaluators[name](encode, split)
            metrics |= {f"{split}/{name}/{key}": float(value) for key, value in scores.items()}
            log.log(level, "%-10s %s, %.1f s", name, split, time.perf_counter() - started)
    return metrics
