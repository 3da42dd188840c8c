"""Runs with the scores of later cse-evals of their best/.

To read: `with_evaluations`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.score import in_short

CHANGING = ("pooling", "max_length", "whitening.kind", "lowercase")
"""The settings of cse-eval that make another encoder of a checkpoint."""


def with_evaluations(runs: Sequence[Run]) -> list[Run]:
    """The runs; each takes the scores that it lacks from the finished cse-evals of its best/.

    Such an evaluation has no line of its own: `evaluations` of its run names it. An evaluation that changes the encoder
    stays by itself: whitened, another pooling or dtype, other lengths.
    """
    trained = [run for run in runs if run.is_done and not run.get("checkpoint")]
    evaluations: dict[Path, list[Run]] = {}
    joined = set()
    for evaluation in runs:
        scored = scored_by(evaluation, trained)
        if scored:
            evaluations.setdefault(scored.folder, []).append(evaluation)
            joined.add(evaluation.folder)
    rest = [run for run in runs if run.folder not in joined]
    return [reduce(with_scores, evaluations.get(run.folder, []), run) for run in rest]


def scored_by(evaluation: Run, trained: Sequence[Run]) -> Run | None:
    """The run whose best/ an evaluation scored without changing the encoder; None if there is none.

    It is the run at the evaluation's path, unless its weights have changed since. Without a run there, it is one with
    the same weights, as a folder may have been moved.
    """
    name, weights = str(evaluation.get("checkpoint") or ""), evaluation.results.get("weights_sum")
    as_it_is = evaluation.get("dtype") in (None, "fp32") and not any(map(evaluation.get, CHANGING))
    if not (name and as_it_is and evaluation.is_done):
        return None
    sums = {run.folder: run.results.get("weights_sum") for run in trained}
    place = Path(name.removesuffix("/best")).expanduser().resolve()
    there = [run for run in trained if run.folder.resolve() == place]
    known = there or [run for run in trained if weights and sums[run.folder] == weights]
    one = next((run for run in known if run.is_smoke == evaluation.is_smoke), None)
    return one if one and (not weights or sums[one.folder] in (None, weights)) else None


def with_scores(run: Run, evaluation: Run) -> Run:
    """A run that takes the scores that it lacks from an evaluation, with the data and settings behind them."""
    data = dict(run.data)
    for name, source in evaluation.data.items():
        own = data.get(name, source)
        data[name] = source | own
        data[name]["files"] = source.get("files", {}) | own.get("files", {})
    unlike = []
    for name, value in evaluation.metrics.items():
        ours, theirs = in_short(run.metrics.get(name, value)), in_short(value)
        if ours != theirs:
            unlike.append(f"{name} {theirs} ({ours})")
    results = run.results.copy()
    results["scores"] = evaluation.results.get("scores", {}) | run.results.get("scores", {})
    results["data"] = data
    own, more = run.config.get("eval", {}), evaluation.config.get("eval", {})
    known = isinstance(own, dict) and isinstance(more, dict)  # a damaged file may hold anything
    config = run.config | ({"eval": more | own} if known else {})
    return replace(
        run,
        config=config,
        metrics=evaluation.metrics | run.metrics,
        results=results,
        evaluations=(*run.evaluations, evaluation.folder),
        evaluated_otherwise=(*run.evaluated_otherwise, *unlike),
    )
