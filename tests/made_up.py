"""Sentences of nonsense words, for tests that need text without meaning."""

import random
from pathlib import Path

STARTS, ENDS = ("ka", "lo", "mi", "nu", "per", "sta", "tri"), ("dan", "fel", "gor", "ler", "mon", "zu")
WORDS = [start + end for start in STARTS for end in ENDS]


def made_up_sentences(n: int, seed: int = 0) -> list[str]:
    """Return sentences of 4 to 12 nonsense words. The order of words is fixed, so that a model can learn it."""
    rng = random.Random(seed)
    starts = [(rng.randrange(len(WORDS)), rng.randint(4, 12)) for _ in range(n)]
    return [" ".join(WORDS[(start + 2 * i) % len(WORDS)] for i in range(length)) for start, length in starts]


Rows = list[tuple[str, str, float]]


def pairs(senteval: Path, split: str) -> Rows:
    """Return (first, second, gold) of each pair of the fixture `senteval`, read without cse."""
    lines = (senteval / "STS" / "STSBenchmark" / f"sts-{split}.csv").read_text().splitlines()
    return [(cells[5], cells[6], float(cells[4])) for cells in (line.split("\t") for line in lines)]
