"""Readers of SentEval's classification sets, rows in the order in which SentEval cuts its folds.

That order is by length in words, then label (pairs: both lengths, then label): it decides folds and permutations, so
it is part of the protocol. Duplicates and empty sentences stay.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cse.errors import UserError
from cse.eval.senteval.folder import SentEvalFolder, words
from cse.eval.senteval.pairs import Pairs
from cse.sources.senteval import SICK_FILES

BINARY = {  # folder: positive file, negative file, rows of both together
    "MR": ("rt-polarity.pos", "rt-polarity.neg", 10662),
    "CR": ("custrev.pos", "custrev.neg", 3775),
    "SUBJ": ("subj.objective", "subj.subjective", 10000),
    "MPQA": ("mpqa.pos", "mpqa.neg", 10606),
}
SST2_ROWS = {"train": 67349, "dev": 872, "test": 1821}
SST5_ROWS = {"train": 8544, "dev": 1101, "test": 2210}
TREC_FILES = {"train": ("train_5500.label", 5452), "test": ("TREC_10.label", 500)}
TREC_LABELS = {"ABBR": 0, "DESC": 1, "ENTY": 2, "HUM": 3, "LOC": 4, "NUM": 5}
MRPC_ROWS = {"train": 4076, "test": 1725}
SNLI_ROWS = {"train": 549367, "dev": 9842, "test": 9824}
SNLI_LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}
SICK_LABELS = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}


@dataclass(frozen=True)
class Examples:
    """Labelled sentences, or pairs of them; sentences[0][i] (and sentences[1][i]) belong to labels_N[i]."""

    sentences: tuple[list[str], ...]
    labels_N: np.ndarray


Parts = dict[str, Examples]


def in_sentevals_order(rows: list[tuple[Any, ...]]) -> Examples:
    """rows of (sentence, label) or (sentence, sentence, label), sorted (stably) by lengths in words, then label."""
    rows = sorted(rows, key=lambda row: (*(len(text.split()) for text in row[:-1]), row[-1]))
    *sentences, labels = zip(*rows, strict=True)
    return Examples(tuple(list(column) for column in sentences), np.array(labels))


def labelled(folder: SentEvalFolder, name: str, rows: list[tuple[Any, ...]]) -> Examples:
    """The rows in SentEval's order. Raises UserError where all have one label: nothing can be learnt from them."""
    examples = in_sentevals_order(rows)
    if len(set(examples.labels_N)) == 1:
        raise UserError(
            f"{folder.root / name}: all {len(rows)} rows have the label {examples.labels_N[0]}; restore it."
        )
    return examples


def _read(
    folder: SentEvalFolder, name: str, encoding: str, official: int, convert: Callable[[str], tuple], header: int = 0
) -> Examples:
    """convert(line) of every line after the header; a line that does not fit is an error naming file and line."""
    rows = []
    # cut at newlines alone: str.splitlines() also cuts at characters that stand inside sentences
    text = folder.read(name, encoding).removesuffix("\n")
    for number, line in enumerate(text.split("\n")[header:] if text else [], header + 1):
        try:
            rows.append(convert(line.strip()))
        except (ValueError, KeyError, IndexError) as error:
            raise UserError(f"{folder.root / name}, line {number}: {line[:60]!r} is damaged; restore it.") from error
    folder.expect(name, len(rows), official)
    return labelled(folder, name, rows)


def read_binary(folder: SentEvalFolder, task: str) -> Parts:
    """MR, CR, SUBJ, MPQA: a file a class; positive (SUBJ: objective) is 1."""
    positive, negative, official = BINARY[task]
    rows: list[tuple[str, int]] = []
    for name, label in ((positive, 1), (negative, 0)):
        rows += [(words(line), label) for line in folder.read(f"{task}/{name}", "latin-1").splitlines()]
    folder.expect(f"{task}/{positive} + {negative}", len(rows), official)
    return {"all": labelled(folder, f"{task}/{positive} + {negative}", rows)}


def read_sst2(folder: SentEvalFolder) -> Parts:
    """`text TAB label`, 0 or 1."""

    def convert(line: str) -> tuple[str, int]:
        text, label = line.split("\t")[:2]
        return words(text), int(label)

    return {
        split: _read(folder, f"SST/binary/sentiment-{split}", "utf-8", rows, convert)
        for split, rows in SST2_ROWS.items()
    }


def read_sst5(folder: SentEvalFolder) -> Parts:
    """`label text`, 0 to 4."""

    def convert(line: str) -> tuple[str, int]:
        label, text = line.split(" ", 1)
        return words(text), int(label)

    return {
        split: _read(folder, f"SST/fine/sentiment-{split}", "utf-8", rows, convert) for split, rows in SST5_ROWS.items()
    }


def read_trec(folder: SentEvalFolder) -> Parts:
    """`COARSE:fine words`; the six coarse labels count."""

    def convert(line: str) -> tuple[str, int]:
        label, rest = line.split(":", 1)
        return words(rest.split(" ", 1)[1]), TREC_LABELS[label]

    return {
        split: _read(folder, f"TREC/{file}", "latin-1", rows, convert) for split, (file, rows) in TREC_FILES.items()
    }


def read_mrpc(folder: SentEvalFolder) -> Parts:
    """A header; label in column 1, sentences in columns 4 and 5."""

    def convert(line: str) -> tuple[str, str, int]:
        cells = line.split("\t")
        return words(cells[3]), words(cells[4]), int(cells[0])

    return {
        split: _read(folder, f"MRPC/msr_paraphrase_{split}.txt", "utf-8", rows, convert, header=1)
        for split, rows in MRPC_ROWS.items()
    }


def read_sick_entailment(folder: SentEvalFolder) -> Parts:
    """SICK-E: a header; sentences in columns 2 and 3, contradiction, neutral or entailment in column 5."""

    def convert(line: str) -> tuple[str, str, int]:
        cells = line.split("\t")
        return words(cells[1]), words(cells[2]), SICK_LABELS[cells[4]]

    return {
        split: _read(folder, f"SICK/{stem}.txt", "utf-8", rows, convert, header=1)
        for split, (stem, rows) in SICK_FILES.items()
    }


def read_scored(folder: SentEvalFolder, read: Callable[[SentEvalFolder, str], Pairs]) -> Parts:
    """SICK-R (1 to 5) or STS-B (0 to 5) with its train split, for the trained regression. read: of one split."""
    return {split: _scored(read(folder, split)) for split in ("train", "dev", "test")}


def _scored(pairs: Pairs) -> Examples:
    return in_sentevals_order(list(zip(pairs.first, pairs.second, pairs.gold_N.tolist(), strict=True)))


def read_snli(folder: SentEvalFolder) -> Parts:
    """Three files a split. Sorted by the second sentence's length, then the first's, then the label's NAME."""
    parts = {}
    for split, official in SNLI_ROWS.items():
        first, second = (
            [words(line) for line in folder.read(f"SNLI/{side}.{split}", "latin-1").splitlines()]
            for side in ("s1", "s2")
        )
        labels = folder.read(f"SNLI/labels.{split}", "utf-8").splitlines()
        for side, rows in (("s1", first), ("s2", second), ("labels", labels)):
            folder.expect(f"SNLI/{side}.{split}", len(rows), official)
        swapped = in_sentevals_order(list(zip(second, first, labels, strict=False)))
        if unknown := set(swapped.labels_N) - set(SNLI_LABELS):
            raise UserError(f"{folder.root}/SNLI/labels.{split} holds {', '.join(unknown)}, no label; restore it.")
        classes_N = np.array([SNLI_LABELS[name] for name in swapped.labels_N])
        parts[split] = Examples((swapped.sentences[1], swapped.sentences[0]), classes_N)
    return parts
