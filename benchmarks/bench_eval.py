"""STS and transfer beside SentEval's published procedure: are the scores the same, and how much faster is ours?

    python -m benchmarks.bench_eval [--all] [--tasks STS-B CR ...] [--fraction 1] [--rounds 1]

The benchmark needs the real data beside the checkout, and the genuine all-MiniLM-L6-v2. SentEval's way follows
SentEval's description. It encodes batches of 128 in SentEval's order, pads each batch to its longest text, and caches
nothing. Then it fits one classifier after the other (tests/eval/senteval/one_fit.py). Both ways use the same number of
threads.

Without options, the benchmark takes 12 minutes on two cores. The transfer tasks are then TREC, MRPC and CR, and
SentEval's way runs only one outer fold of CR. --all takes an hour, and runs all tasks and folds. --fraction 0.1 uses
every tenth row. --rounds repeats STS.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig
from scipy.stats import spearmanr
from torch.nn.functional import normalize

from benchmarks.peers import synchronized
from benchmarks.results import SHARED, spread, table, write_section
from cse.errors import MissingResource
from cse.eval import transfer
from cse.eval.files import DataFolder
from cse.eval.scoring import MemoizedEncode, score
from cse.eval.senteval.data import Examples, Parts, read_subset, read_table
from cse.eval.senteval.suite import combined
from cse.lab.run import this_process
from cse.lab.settings.compose import composed
from cse.model.encoder import Encoder
from cse.model.pooling import mean
from cse.score import values
from cse.sources.senteval import SUBSETS
from cse.types import Encode

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from eval.senteval import one_fit

STS_TASKS = [*SUBSETS, "STS-B", "SICK-R"]
QUICK = ["TREC", "MRPC", "CR"]
TRANSFER_TASKS = [*QUICK, "SICK-E", "SST5", "SST2", "MR", "SUBJ", "MPQA"]
SENTEVAL = SHARED / "senteval"
FOLDS = 10
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def encoder_of(config: DictConfig) -> Encoder:
    """Return the encoder after a warm-up, with an empty cache of texts."""
    encoder = instantiate(config.model).to(DEVICE).eval()
    batcher_of(encoder)(["a warm-up"] * 128)
    return encoder


def batcher_of(encoder: Encoder) -> Encode:
    """Return SentEval's function for a batch: it returns the encoder's vectors, and computes padding in all layers."""

    @torch.no_grad()
    def batcher(texts: list[str]) -> np.ndarray:
        tokens = encoder.tokenizer.hf(texts, padding=True, truncation=False, return_tensors="pt").to(DEVICE)
        pooled_BD = mean(encoder.backbone(**tokens).last_hidden_state, tokens["attention_mask"])
        return (normalize(pooled_BD) if encoder.unit_length else pooled_BD).cpu().numpy()

    return batcher


@dataclass(frozen=True)
class Files:
    """The files that SentEval encodes for a task. scored: the files of the score. beside: train and dev, if any."""

    scored: list[Examples]
    beside: list[Examples]
    by_length: bool  # SentEval sorts the pairs of STS12..16 and leaves the others as they come


def cut(examples: Examples, rows: slice) -> Examples:
    return Examples(tuple(texts[rows] for texts in examples.sentences), examples.labels_N[rows])


def files_of(folder: DataFolder, task: str, rows: slice) -> Files:
    if task in SUBSETS:
        return Files([cut(read_subset(folder, task, name), rows) for name in SUBSETS[task]], [], True)
    test, *beside = (cut(read_table(folder, task, split), rows) for split in ("test", "train", "dev"))
    return Files([test], beside, False)


def published_fits(
    scheme: str, x: dict[str, np.ndarray], y: dict[str, np.ndarray], outer: int
) -> tuple[float, float, list[float]]:
    """Return (dev accuracy, test accuracy, [accuracy of each outer fold]).

    outer: the number of outer folds of a nested scheme, as in one_fit.nested.
    """
    settings = one_fit.TEST | {"device": DEVICE}
    if scheme == "nested":
        return one_fit.nested(x["all"], y["all"], FOLDS, one_fit.GRID, outer, **settings)
    if scheme == "cross":
        return *one_fit.cross(x, y, FOLDS, one_fit.GRID, **settings), []
    return *one_fit.split(x, y, one_fit.GRID, **settings), []


def published_cosines(batcher: Encode, pairs: Examples, by_length: bool) -> np.ndarray:
    """Return (2, N): the cosines and the gold scores of a file's pairs. by_length: whether to sort pairs by length."""
    rows = list(zip(*pairs.sentences, pairs.labels_N.tolist(), strict=True))
    if by_length:
        rows.sort(key=lambda row: (len(row[0].split()), len(row[1].split()), row[2]))
    found = []
    for start in range(0, len(rows), 128):
        first, second, _ = zip(*rows[start : start + 128], strict=True)
        for u, v in zip(batcher(list(first)), batcher(list(second)), strict=True):
            found.append(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)))
    return np.array([found, [row[2] for row in rows]])


def published_sts(batcher: Encode, files: Files) -> tuple[float, float, float]:
    """Return the score ("all" Spearman x100), the seconds for the scored pairs, and the seconds for the other pairs."""
    started = synchronized()
    cosines = [published_cosines(batcher, pairs, files.by_length) for pairs in files.scored]
    spearman = 100 * float(spearmanr(*np.concatenate(cosines, 1))[0])
    between = synchronized()
    for pairs in files.beside:
        published_cosines(batcher, pairs, files.by_length)
    return spearman, between - started, synchronized() - between if files.beside else 0.0


def bench_sts(given: argparse.Namespace, config: DictConfig, tasks: list[str], command: str) -> None:
    evaluator = instantiate(config.eval.sts)
    files = {task: files_of(evaluator.folder, task, given.kept) for task in tasks}
    evaluator.tasks = {"test": {task: found.scored for task, found in files.items()}}
    theirs: list[dict[str, tuple[float, float, float]]] = []
    ours: list[float] = []
    for _ in range(given.rounds):
        batcher = batcher_of(encoder_of(config))
        theirs.append({task: published_sts(batcher, found) for task, found in files.items()})
        encoder = encoder_of(config)
        started = synchronized()
        scores = score({"sts": evaluator}, MemoizedEncode(encoder.encode), "test")
        ours.append(synchronized() - started)
        print(f"SentEval's way {theirs[-1]}\nours {ours[-1]:.1f} s", flush=True)
    rows = []
    for task, found in files.items():
        spearman, own = theirs[-1][task][0], scores[f"test/sts/{task}/spearman"].value
        pairs = [sum(map(len, sets)) for sets in (found.scored, found.beside)]
        seconds = [[way[task][column] for way in theirs] for column in (1, 2)]
        rows.append([task, *map(str, pairs), *map(spread, seconds), f"{spearman:.4f}", f"{own:.4f}",
                     f"{abs(own - spearman):.4f}"])  # fmt: skip
    body = table(["task", "pairs scored", "pairs beside", "SentEval's way, s: scored", "beside",
                  "Spearman, SentEval's way", "ours", "difference"], rows)  # fmt: skip
    needed = [sum(seconds for _, seconds, _ in way.values()) for way in theirs]
    whole = [sum(scored + beside for _, scored, beside in way.values()) for way in theirs]
    totals = [[name, spread(seconds), spread(ours), spread([a / b for a, b in zip(seconds, ours, strict=True)])]
              for name, seconds in (("as published", whole), ("only the pairs that are scored", needed))]  # fmt: skip
    body += "\n\n" + table(["all tasks together", "s, SentEval's way", "s, ours", "ratio"], totals)
    note = (f"all-MiniLM-L6-v2, its own mean pooling, Spearman x100 (`all`), n = {given.rounds}. SentEval encodes "
            "the scored test pairs, and also train and dev of STS-B and SICK-R (columns \"beside\"). Ours encodes each "
            "distinct sentence of the scored pairs once, for all tasks in one call. So it has no time for "
            "a single task.")  # fmt: skip
    write_section(f"STS beside SentEval's procedure{of(given)}", command, f"{note}\n\n{body}")
    print(body, flush=True)


def of(given: argparse.Namespace) -> str:
    """Return the end of a partial run's title, so that this run does not replace the section of the full run."""
    fraction = f", one row in {given.kept.step}" if given.fraction < 1 else ""
    return (f": {', '.join(given.tasks)}" if given.tasks else "") + fraction


@dataclass(frozen=True)
class Way:
    """The seconds of one way to do a task, and its scores: dev, test, and each outer fold of a nested scheme."""

    embedding: float
    fits: float
    scores: tuple[float, float, list[float]]


@dataclass(frozen=True)
class Beside:
    """A task in both ways. SentEval's way did `ran` of its `total` fits. Our way always does all fits."""

    task: str
    rows: int
    ran: int
    total: int
    theirs: Way
    ours: Way

    def compared(self) -> tuple[float, float, bool]:
        """Return both accuracies, and whether all scores are equal. A partial task has only outer folds to compare."""
        (_, theirs, folds), (_, ours, all_folds) = self.theirs.scores, self.ours.scores
        if self.ran == self.total:
            return theirs, ours, self.theirs.scores == self.ours.scores
        own = all_folds[: len(folds)]
        return float(np.mean(folds)), float(np.mean(own)), folds == own

    def row(self) -> list[str]:
        theirs, ours, same = self.compared()
        times = together([self])
        if self.ran < self.total:
            times[1], times[4:] = f"{self.theirs.fits:.1f}", ["-", "-"]
        return [self.task, str(self.rows), f"{self.ran} of {self.total}", *times,
                f"{theirs:.2f}", f"{ours:.2f}", "yes" if same else "NO"]  # fmt: skip


def together(tasks: list[Beside]) -> list[str]:
    """Return the sums of seconds, and ratios. For a partial task, SentEval's time is extrapolated to all fits."""
    theirs, fits = sum(t.theirs.embedding for t in tasks), sum(t.theirs.fits * t.total / t.ran for t in tasks)
    ours, our_fits = sum(t.ours.embedding for t in tasks), sum(t.ours.fits for t in tasks)
    return [f"{value:.1f}" for value in (theirs, fits, ours, our_fits, (theirs + fits) / (ours + our_fits),
                                         fits / our_fits)]  # fmt: skip


def published_transfer(batcher: Encode, parts: Parts, scheme: str, outer: int) -> Way:
    """Embed batch after batch, then fit one classifier after the other. outer: the outer folds of a nested scheme."""

    def embed(texts: list[str]) -> np.ndarray:
        return np.concatenate([batcher(texts[start : start + 128]) for start in range(0, len(texts), 128)])

    started = synchronized()
    x = {part: combined([embed(texts) for texts in e.sentences], scheme) for part, e in parts.items()}
    between = synchronized()
    y = {part: e.labels_N for part, e in parts.items()}
    scores = published_fits(scheme, x, y, outer)
    return Way(between - started, synchronized() - between, scores)


def our_transfer(encode: Encode, suite: transfer.Transfer) -> Way:
    """Measure our way. `encode` caches vectors, so the suite's own call of `encode` only reads the cache."""
    (task,) = suite.data
    started = synchronized()
    encode([text for e in suite.data[task].values() for texts in e.sentences for text in texts])
    between = synchronized()
    scores = values(suite(encode, "test"))
    found = scores[f"{task}/dev_accuracy"], scores[f"{task}/accuracy"], suite.folds.get(task, [])
    return Way(between - started, synchronized() - between, found)


def bench_transfer(given: argparse.Namespace, config: DictConfig, tasks: list[str], command: str) -> None:
    suites, absent = {}, []
    for task in tasks:
        suite = instantiate(config.eval.transfer, tasks=[task])
        try:
            suite.prepare()
        except MissingResource:
            absent.append(task)
            continue
        suite.data[task] = {part: cut(examples, given.kept) for part, examples in suite.data[task].items()}
        suites[task] = suite
    title = f"Transfer beside SentEval's procedure{', every fit' if given.all else ''}{of(given)}"
    lacking = f" No data here: {', '.join(absent)}." if absent else ""
    batcher, encode = batcher_of(encoder_of(config)), MemoizedEncode(encoder_of(config).encode)
    outer, grid = FOLDS if given.all else 1, len(one_fit.GRID)
    done: list[Beside] = []
    for task, suite in suites.items():
        scheme, parts = transfer.TASKS[task].scheme, suite.data[task]
        once = grid + 1 if scheme == "split" else FOLDS * grid + 1
        ran, total = (once * outer, once * FOLDS) if scheme == "nested" else (once, once)
        ways = published_transfer(batcher, parts, scheme, outer), our_transfer(encode, suite)
        done.append(Beside(task, sum(len(e) for e in parts.values()), ran, total, *ways))
        print(" | ".join(done[-1].row()), flush=True)
        stopped = f" Stopped after {task}, of {', '.join(suites)}." if len(done) < len(suites) else ""
        write_section(title, command, transfer_body(done, lacking + stopped))


def transfer_body(done: list[Beside], note: str) -> str:
    """Return a table of the tasks, the sums of the measured tasks, and a separate table with extrapolated times."""
    times = ["SentEval's way, s: embedding", "fits", "ours, s: embedding", "fits", "ratio", "of the fits alone"]
    head = ["task", "rows", "fits, SentEval's way", *times, "accuracy, SentEval's way", "ours", "same"]
    measured, partial = [t for t in done if t.ran == t.total], [t for t in done if t.ran < t.total]
    body = ("SentEval's classifier (mode test) on all-MiniLM-L6-v2, mean pooling, n = 1; ours runs all folds. Same: "
            "dev and test accuracy, and every outer fold that both sides ran, equal to the last decimal. The ratio "
            f"counts embedding and fits.{note}\n\n{table(head, [t.row() for t in done])}")  # fmt: skip
    if measured:
        names = ", ".join(t.task for t in measured)
        body += "\n\n" + table(["measured", *times], [[names, *together(measured)]])
    if partial:
        rows = [[t.task, *together([t])] for t in partial]
        rows += [[f"{', '.join(t.task for t in partial)} and the measured tasks", *together(done)]] if measured else []
        body += ("\n\nThe next table is extrapolated, not measured. It has SentEval's way in all outer "
                 "folds, with the measured seconds per fit."
                 f"\n\n{table(['extrapolated', *times], rows)}")  # fmt: skip
    return body


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--tasks", nargs="+", choices=[*STS_TASKS, *TRANSFER_TASKS])
    arguments.add_argument("--fraction", type=float, default=1)
    arguments.add_argument("--rounds", type=int, default=1)
    given = arguments.parse_args()
    given.kept = slice(None, None, round(1 / given.fraction))
    if not SENTEVAL.is_dir():
        sys.exit(f"{SENTEVAL} is not there: this benchmark needs the real data")
    this_process.quiet()
    config = composed("train", ["model=minilm", "eval=[sts,transfer]", f"paths.senteval={SENTEVAL}"])
    chosen = given.tasks or [*STS_TASKS, *(TRANSFER_TASKS if given.all else QUICK)]
    for bench, known in ((bench_sts, STS_TASKS), (bench_transfer, TRANSFER_TASKS)):
        if tasks := [task for task in known if task in chosen]:
            bench(given, config, tasks, " ".join(["python -m benchmarks.bench_eval", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
