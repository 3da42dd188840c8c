"""All evaluators of a finished encoder: each text is encoded once, each score named by its split and evaluator."""

import logging
import time
from typing import Any

import numpy as np

from cse.types import Encode

log = logging.getLogger("cse")

REMEMBERED = 200_000  # texts: the seven STS tasks have 29,469, all SentEval transfer tasks about 130,000


def remembering(encode: Encode) -> Encode:
    """The same function of an encoder that stays as it is, which encodes a text once for all evaluators and pictures.

    Large sets (MTEB, probing) are encoded as they come and not kept.
    """
    rows: dict[str, np.ndarray] = {}

    def encode_new(texts: list[str]) -> np.ndarray:
        if len(rows) + len(texts) > REMEMBERED:
            return encode(texts)
        new = [text for text in dict.fromkeys(texts) if text not in rows]
        if new:
            rows.update(zip(new, encode(new), strict=True))
        return np.stack([rows[text] for text in texts])

    return encode_new


def score(
    evaluators: dict[str, Any],
    splits: dict[str, list[str]],
    encode: Encode,
    level: int = logging.INFO,
    into: dict[str, float] | None = None,
) -> dict[str, float]:
    """Every score of every evaluator on its chosen splits, `<split>/<evaluator>/<score>`.

    level: of a line for each. into: filled and returned, so that a failure leaves what was scored before it.
    """
    metrics = {} if into is None else into
    for name, chosen in splits.items():
        for split in chosen:
            started = time.perf_counter()
            found = evaluators[name](encode, split)
            metrics |= {f"{split}/{name}/{key}": float(value) for key, value in found.items()}
            log.log(level, "%-10s %s, %.1f s", name, split, time.perf_counter() - started)
    return metrics
