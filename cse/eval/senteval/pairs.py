"""Sentence pairs with human scores, read from SentEval's files: STS12..16, STS-B and SICK-R."""

from dataclasses import dataclass

import numpy as np

from cse.errors import UserError
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.folder import SentEvalFolder, words
from cse.sources.senteval import SICK_FILES, STSB_ROWS, SUBSETS

HIGHEST = 5  # of the human scores of STS, STS-B and SICK


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs and their human scores, duplicates kept."""

    first: list[str]
    second: list[str]
    gold_N: np.ndarray


def read_subset(folder: SentEvalFolder, year: str, subset: str) -> Pairs:
    """One subset of STS12..16: two tab-separated sentences a line, scores in a second file; unscored pairs skipped."""
    base = f"STS/{year}-en-test/STS"
    text_file, gold_file = f"{base}.input.{subset}.txt", f"{base}.gs.{subset}.txt"
    lines = folder.read(text_file, "utf-8").splitlines()
    golds = folder.read(gold_file, "utf-8").splitlines()
    folder.expect(text_file, len(lines), len(golds))
    cells = [(*line.split("\t"), gold) for line, gold in zip(lines, golds, strict=False) if gold.strip()]
    return _pairs(folder, gold_file, [row for row in cells if len(row) == 3], SUBSETS[year][subset])


def read_stsb(folder: SentEvalFolder, split: str) -> Pairs:
    """STS-B train, dev or test: tab-separated columns, score and sentences in columns 5, 6, 7."""
    name = f"STS/STSBenchmark/sts-{split}.csv"
    rows = [line.strip().split("\t") for line in folder.read(name, "utf-8").split("\n")]
    return _pairs(folder, name, [(row[5], row[6], row[4]) for row in rows if len(row) > 6], STSB_ROWS[split])


def read_sickr(folder: SentEvalFolder, split: str) -> Pairs:
    """SICK relatedness: a header, then sentences in columns 2 and 3, the score (1..5) in column 4."""
    stem, official = SICK_FILES[split]
    name = f"SICK/{stem}.txt"
    rows = [line.strip().split("\t") for line in folder.read(name, "utf-8").split("\n")[1:]]
    return _pairs(folder, name, [(row[1], row[2], row[3]) for row in rows if len(row) > 3], official)


def _pairs(folder: SentEvalFolder, name: str, rows: list[tuple[str, ...]], official: int) -> Pairs:
    folder.expect(name, len(rows), official)
    gold_N = golds(folder, name, [gold for _, _, gold in rows])
    return Pairs([words(first) for first, _, _ in rows], [words(second) for _, second, _ in rows], gold_N)


def golds(folder: DataFolder, name: str, cells: list[str]) -> np.ndarray:
    """Human scores (N,). Raises UserError for those that are not numbers from 0 to 5, and where all are one number."""
    try:
        gold_N = np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise UserError(f"{folder.root / name} holds a score that is not a number ({error}): restore it.") from error
    if len(set(gold_N.tolist())) < 2:
        raise UserError(f"{folder.root / name} holds no two different scores, and so nothing to correlate: restore it.")
    outside = np.flatnonzero(~((gold_N >= 0) & (gold_N <= HIGHEST)))  # NaN is outside too
    if len(outside):
        raise UserError(
            f"{folder.root / name} holds {len(outside)} of {len(gold_N)} scores outside 0 to {HIGHEST} (the first: "
            f"{cells[outside[0]]} in row {outside[0] + 1}): restore it."
        )
    return gold_N
