"""Later cse-evals of trained runs. A run gets each score that it lacks from a cse-eval of its checkpoint best/.

Start at `with_evaluations`. `scored_by` finds the run that an evaluation scored. `with_scores` completes the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.score import in_short

CHANGING = ("pooling", "max_length", "whitening.kind", "lowercase")
"""The settings of cse-eval that change the encoder of a checkpoint."""


def with_evaluations(runs: Sequence[Run]) -> list[Run]:
    """Return the runs. A trained run also gets the scores of finished cse-evals of its best/.

    Such an evaluation moves from the list into `evaluations` of the trained run. An evaluation that changes the encoder
    (by whitening, lowercasing, or another pooling, dtype or length) stays in the list.
    """
    if not any(run.get("checkpoint") for run in runs):
        return list(runs)
    at_place: dict[Path, list[Run]] = {}
    with_weights: dict[str, list[Run]] = {}
    for run in runs:
        if run.is_done and not run.get("checkpoint"):
            at_place.setdefault(run.folder.resolve(), []).append(run)
            with_weights.setdefault(str(run.results.get("weights_sum")), []).append(run)
    evaluations: dict[Path, list[Run]] = {}
    joined = set()
    for evaluation in runs:
        scored = scored_by(evaluation, at_place, with_weights)
        if scored:
            evaluations.setdefault(scored.folder, []).append(evaluation)
            joined.add(evaluation.folder)
    others = [run for run in runs if run.folder not in joined]
    return [reduce(with_scores, evaluations.get(run.folder, []), run) for run in others]


def scored_by(
    evaluation: Run, at_place: Mapping[Path, Sequence[Run]], with_weights: Mapping[str, Sequence[Run]]
) -> Run | None:
    """Return the run whose best/ an evaluation scored without changing the encoder; None if there is no such run.

    The evaluation names the folder of the run. If the run's weights have changed since the evaluation, the result is
    None. If the folder has no run, the run may have been moved. The result is then a run with the same weights.
    at_place, with_weights: the trained runs, by their resolved folder and by the checksum of their weights.
    """
    checkpoint, weights = str(evaluation.get("checkpoint") or ""), evaluation.results.get("weights_sum")
    is_unchanged = evaluation.get("dtype") in (None, "fp32") and not any(map(evaluation.get, CHANGING))
    if not (checkpoint and is_unchanged and evaluation.is_done):
        return None
    candidates = at_place.get(Path(checkpoint.removesuffix("/best")).expanduser().resolve(), [])
    if not candidates and weights:
        candidates = with_weights.get(str(weights), [])
    scored = next((run for run in candidates if run.is_smoke == evaluation.is_smoke), None)
    if scored is None or (weights and scored.results.get("weights_sum") not in (None, weights)):
        return None
    return scored


def with_scores(run: Run, evaluation: Run) -> Run:
    """Return a run with the further scores of an evaluation, and with the data and settings behind these scores.

    The run's own scores stay. If several evaluations have a score, the run gets the score of the first evaluation.
    """
    data = dict(run.data)
    for name, source in evaluation.data.items():
        own_source = data.get(name, source)
        data[name] = source | own_source
        data[name]["files"] = source.get("files", {}) | own_source.get("files", {})
    results = run.results.copy()
    results["scores"] = evaluation.results.get("scores", {}) | run.results.get("scores", {})
    results["data"] = data
    config, of_run, of_evaluation = run.config, run.config.get("eval", {}), evaluation.config.get("eval", {})
    if isinstance(of_run, dict) and isinstance(of_evaluation, dict):  # a damaged file may hold anything
        config = config | {"eval": of_evaluation | of_run}
    return replace(
        run,
        config=config,
        metrics=evaluation.metrics | run.metrics,
        results=results,
        evaluations=(*run.evaluations, evaluation),
    )


def notes_on_evaluations(runs: Sequence[Run]) -> list[str]:
    """Return notes: how many runs have scores of evaluations, and which of these scores differ from the tables."""
    joined = [run for run in runs if run.evaluations]
    if not joined:
        return []
    lines = [
        f"{len(joined)} of {len(runs)} runs include scores of later cse-eval runs on their best/. "
        "runs.csv lists these evaluations."
    ]
    unlike = [f"{run.folder.name}: {line}" for run in joined for line in scores_otherwise(run)]
    if unlike:
        more = f"; {len(unlike) - 3} more" if len(unlike) > 3 else ""
        lines.append(
            "These cse-eval scores differ from the scores in the tables (in brackets), which come from the run itself "
            f"or from another cse-eval: {'; '.join(unlike[:3])}{more}."
        )
    return lines


def scores_otherwise(run: Run) -> list[str]:
    """Return `NAME VALUE (VALUE IN TABLES)` for each score of an evaluation that, rounded, differs from the tables."""
    lines = []
    for evaluation in run.evaluations:
        for name, value in evaluation.metrics.items():
            in_tables, evaluated = in_short(run.metrics[name]), in_short(value)
            if in_tables != evaluated:
                lines.append(f"{name} {evaluated} ({in_tables})")
    return lines
