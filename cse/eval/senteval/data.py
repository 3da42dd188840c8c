"""Readers of SentEval's files: sentence pairs with human scores, and the classification sets.

For a trained classifier or regression, rows are sorted by length in words (pairs by both lengths), then by label. Folds
and permutations depend on this order, so the order is part of the protocol. No duplicate or empty sentence is removed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.score import digest_of
from cse.sources.senteval import SICK_FILES, STSB_ROWS, SUBSETS

HIGHEST = 5  # human score of STS, STS-B and SICK
BINARY = {  # folder: positive file, negative file, rows of both together
    "MR": ("rt-polarity.pos", "rt-polarity.neg", 10662),
    "CR": ("custrev.pos", "custrev.neg", 3775),
    "SUBJ": ("subj.objective", "subj.subjective", 10000),
    "MPQA": ("mpqa.pos", "mpqa.neg", 10606),
}
SNLI_ROWS = {"train": 549367, "dev": 9842, "test": 9824}
SNLI_NAMES = ["entailment", "neutral", "contradiction"]  # by label
SICK_LABELS = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
TREC_LABELS = {"ABBR": 0, "DESC": 1, "ENTY": 2, "HUM": 3, "LOC": 4, "NUM": 5}

Row = tuple[Any, ...]
"""(sentence, label) or (sentence, sentence, label)."""


@dataclass(frozen=True)
class Examples:
    """N labelled sentences or sentence pairs. Example i is sentences[0][i], for pairs also sentences[1][i].

    labels_N: classes or human scores. units_UN: for pairs that share texts, see cse.score.Items.
    """

    sentences: tuple[list[str], ...]
    labels_N: np.ndarray
    units_UN: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels_N)

    def texts(self) -> list[str]:
        """Return all first sentences, then all second sentences."""
        return [text for side in self.sentences for text in side]

    def digest(self) -> str:
        """Return a digest of the sentences and units; see cse.score.Items."""
        return digest_of(self.texts(), self.units_UN)


Parts = dict[str, Examples]
"""{split: examples}; {"all": examples} for a data set without splits."""


def words(line: str) -> str:
    """Return a sentence with its words joined by single spaces, as in every SentEval task."""
    return " ".join(line.split())


def in_columns(rows: list[Row]) -> Examples:
    """Return the rows as examples, in the same order."""
    *sentences, labels = zip(*rows, strict=True)
    return Examples(tuple(list(side) for side in sentences), np.array(labels))


def labelled(folder: DataFolder, name: str, rows: list[Row]) -> Examples:
    """Return the rows as examples. Raises UserError if all rows have the same label: then no score is possible."""
    if len({row[-1] for row in rows}) == 1:
        same = f"all {len(rows)} rows have the label {rows[0][-1]}"
        raise UserError(f"{folder.root / name}: {same}, but a score needs two labels")
    return in_columns(rows)


def in_sentevals_order(examples: Examples) -> Examples:
    """Sort the examples (stably) by the lengths of their sentences in words, then by label."""
    rows = zip(*examples.sentences, examples.labels_N.tolist(), strict=True)
    return in_columns(sorted(rows, key=lambda row: (*(len(text.split()) for text in row[:-1]), row[-1])))


def human_score(cell: str | float) -> float:
    """Return the human score in a cell. Raises ValueError unless the cell is a number from 0 to 5."""
    score = float(cell)
    if not 0 <= score <= HIGHEST:  # so NaN is refused too
        raise ValueError(f"{cell} is not from 0 to {HIGHEST}")
    return score


def cells(line: str) -> list[str]:
    """Split a line into its cells, at tabs."""
    return line.split("\t")


@dataclass(frozen=True)
class Table:
    """A data set with one file per split.

    files: {split: (name, official number of rows)}. cut: splits a line into cells. texts: the indices of the cells with
    sentences. label: the index of the cell with the label. value: turns this cell into the label.
    """

    files: dict[str, tuple[str, int]]
    texts: tuple[int, ...]
    label: int
    value: Callable[[str], float] = int
    cut: Callable[[str], Sequence[str]] = cells
    header: int = 0
    encoding: str = "utf-8"


def by_split(name: str, **rows: int) -> dict[str, tuple[str, int]]:
    """Return the `files` of a Table.

    name: the name of each split's file, with {} for the split. rows: the official number of rows of each split.
    """
    return {split: (name.format(split), count) for split, count in rows.items()}


SICK = {split: (f"SICK/{stem}.txt", rows) for split, (stem, rows) in SICK_FILES.items()}
TABLES = {
    "STS-B": Table(by_split("STS/STSBenchmark/sts-{}.csv", **STSB_ROWS), texts=(5, 6), label=4, value=human_score),
    "SICK-R": Table(SICK, texts=(1, 2), label=3, value=human_score, header=1),
    "SICK-E": Table(SICK, texts=(1, 2), label=4, value=SICK_LABELS.__getitem__, header=1),
    "MRPC": Table(by_split("MRPC/msr_paraphrase_{}.txt", train=4076, test=1725), texts=(3, 4), label=0, header=1),
    "SST2": Table(by_split("SST/binary/sentiment-{}", train=67349, dev=872, test=1821), texts=(0,), label=1),
    "SST5": Table(  # `label text`, 0 to 4
        by_split("SST/fine/sentiment-{}", train=8544, dev=1101, test=2210),
        texts=(1,),
        label=0,
        cut=lambda line: line.split(" ", 1),
    ),
    "TREC": Table(  # `COARSE:fine words`; the label is the coarse class
        {"train": ("TREC/train_5500.label", 5452), "test": ("TREC/TREC_10.label", 500)},
        texts=(2,),
        label=0,
        value=TREC_LABELS.__getitem__,
        cut=lambda line: re.split("[: ]", line, maxsplit=2),
        encoding="latin-1",
    ),
}


def read_table(folder: DataFolder, task: str, split: str) -> Examples:
    """Return one split of a task of TABLES, in the file's order."""
    table = TABLES[task]
    name, official = table.files[split]

    def convert(line: str) -> Row:
        found = table.cut(line.strip())
        return *(words(found[place]) for place in table.texts), table.value(found[table.label])

    return labelled(folder, name, folder.rows(name, table.encoding, convert, official, table.header))


def read_parts(folder: DataFolder, task: str) -> Parts:
    """Return all splits of a task of TABLES, in SentEval's order."""
    return {split: in_sentevals_order(read_table(folder, task, split)) for split in TABLES[task].files}


def read_subset(folder: DataFolder, year: str, subset: str) -> Examples:
    """Return one subset of STS12..16, without unscored pairs. One file has the pairs, a second file has the scores."""
    base = f"STS/{year}-en-test/STS"
    text_file, gold_file = f"{base}.input.{subset}.txt", f"{base}.gs.{subset}.txt"
    lines = folder.read(text_file, "utf-8").splitlines()
    golds = folder.read(gold_file, "utf-8").splitlines()
    folder.expect(text_file, len(lines), len(golds))

    def convert(row: tuple[str, str]) -> Row:
        first, second = cells(row[0])
        return words(first), words(second), human_score(row[1])

    scored = [(line, gold) for line, gold in zip(lines, golds, strict=False) if gold.strip()]
    return labelled(folder, gold_file, folder.converted(gold_file, scored, convert, SUBSETS[year][subset]))


def read_binary(folder: DataFolder, task: str) -> Parts:
    """Return MR, CR, SUBJ or MPQA. Each class has one file. Label 1 means positive, or, for SUBJ, objective."""
    positive, negative, official = BINARY[task]
    rows: list[Row] = []
    for name, label in ((positive, 1), (negative, 0)):
        rows += [(words(line), label) for line in folder.read(f"{task}/{name}", "latin-1").splitlines()]
    both = f"{task}/{positive} + {negative}"
    folder.expect(both, len(rows), official)
    return {"all": in_sentevals_order(labelled(folder, both, rows))}


def read_snli(folder: DataFolder) -> Parts:
    """Return SNLI's splits. Each split has three files.

    Rows are sorted by the length of the second sentence, then of the first sentence, then by the label's name.
    """

    def convert(row: tuple[str, ...]) -> Row:
        first, second, label = row
        return words(first), words(second), SNLI_NAMES.index(label)

    parts = {}
    for split, official in SNLI_ROWS.items():
        names = [f"SNLI/{side}.{split}" for side in ("s1", "s2", "labels")]
        columns = [folder.read(name, "latin-1").splitlines() for name in names]
        for name, column in zip(names, columns, strict=True):
            folder.expect(name, len(column), official)
        rows = folder.converted(names[2], zip(*columns, strict=False), convert, None)
        rows.sort(key=lambda row: (len(row[1].split()), len(row[0].split()), SNLI_NAMES[row[2]]))
        parts[split] = in_columns(rows)
    return parts
