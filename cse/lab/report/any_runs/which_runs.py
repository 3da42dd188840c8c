"""The runs of a report: those that a user asks for, each with the scores of later cse-evals, and all as a frame.

To read: `asked_for` reads the folders or globs (`places`) and keeps the runs that have the settings of `where=`.
`with_evaluations` gives a training the scores of the evaluations of its best/. `runs_frame` has a row for each run.
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.any_runs.commands import repeat_command
from cse.lab.report.any_runs.folder_names import innermost_folder
from cse.lab.report.any_runs.settings_in_words import OWN_COLUMNS, has_value, named_settings, short_names
from cse.lab.report.numbers.keys_that_differ import keys_that_tell_settings_apart
from cse.score import in_short

CHANGING = ("pooling", "max_length", "whitening.kind", "lowercase")
"""The settings of cse-eval that make another encoder of a checkpoint."""

FACTS = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit", "code")
"""Keys of results.json that are columns of runs.csv."""


class Asked(NamedTuple):
    """What a user asked for.

    runs: the runs, or the planned jobs if there is no run. jobs: planned jobs without a run. folders: the folders that
    were searched. first: the places of the first folder if several were named, else [].
    """

    runs: list[Run]
    jobs: list[Run]
    folders: list[Path]
    first: Sequence[Path]


def asked_for(folders: Sequence[Path], where: str | None, seed: str) -> Asked:
    """The runs in these folders or globs. where: KEY=VALUE,... seed: the key of seeds.

    Raises UserError for a folder that does not exist, and if none of the runs has these settings.
    """
    named = {str(folder): places(folder) for folder in folders}
    searched = [place for its_places in named.values() for place in its_places]
    runs = with_evaluations(with_origin(read_runs(searched), named))
    jobs = with_origin(jobs_without_run(searched), named)
    if where and (runs or jobs):
        chosen = runs_having([*runs, *jobs], where, seed)
        runs = [run for run in runs if run in chosen]
        jobs = [job for job in jobs if job in chosen]
    above = list(dict.fromkeys(map(folder_above, folders)))
    first = named[str(folders[0])] if len(named) > 1 else []
    return Asked(runs, jobs, above, first) if runs else Asked(jobs, [], above, first)


def places(folder: Path) -> list[Path]:
    """The folder. If there is no such folder and its name is a glob, every folder that the glob names.

    A glob names files too, such as the jobs.jsonl of a command of several jobs: these are left out.
    """
    paths = [] if folder.exists() else sorted(map(Path, glob.glob(str(folder))))
    return [path for path in paths if path.is_dir()] or [folder]


def folder_above(folder: Path) -> Path:
    """The folder in which a glob searches. A folder that exists is its own."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def with_origin(runs: Sequence[Run], named: Mapping[str, Sequence[Path]]) -> list[Run]:
    """The runs, each with the folder or glob that names it as its setting `origin`.

    So runs of one setting, before and after a change of the code, are two settings. Of several folders that hold a run,
    the innermost is its origin. With one folder, no run has an origin. named: the places of each folder or glob.
    """
    names = {place: name for name, places in named.items() for place in places}
    if len(named) < 2:
        return list(runs)
    return [replace(run, config={"origin": names[innermost_folder(run, names)], **run.config}) for run in runs]


def runs_having(runs: Sequence[Run], where: str, seed: str) -> list[Run]:
    """The runs that have all settings of KEY=VALUE,... A key may have the short name that it has in a table.

    seed: the key of seeds. Raises UserError if there are none.
    """
    names = short_names(keys_that_tell_settings_apart(runs, seed), taken=OWN_COLUMNS)
    key_named = {name: key for key, name in names.items()}
    conditions = [(key_named.get(key, key), values) for key, values in named_settings(where).items()]
    chosen = [run for run in runs if all(has_value(run, key, values) for key, values in conditions)]
    if not chosen:
        differing = ", ".join([*key_named, seed])
        raise UserError(f"where={where}: none of the {len(runs)} runs has this; they differ in {differing}")
    return chosen


def with_evaluations(runs: Sequence[Run]) -> list[Run]:
    """The runs; each takes the scores that it lacks from the finished cse-evals of its best/.

    Such an evaluation has no line of its own: `evaluations` of its run names it. An evaluation that changes the encoder
    stays by itself: whitened, another pooling or dtype, other lengths.
    """
    trained = [run for run in runs if run.is_done and not run.get("checkpoint")]
    at_place: dict[Path, list[Run]] = {}
    with_weights: dict[str, list[Run]] = {}
    for run in trained:
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
    """The run whose best/ an evaluation scored without changing the encoder; None if there is none.

    at_place, with_weights: the trained runs by their resolved folder, and by the checksum of their weights.

    It is the run at the evaluation's path, unless its weights have changed since. Without a run there, it is one with
    the same weights, as a folder may have been moved.
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
    """A run that takes the scores that it lacks from an evaluation, with the data and settings behind them."""
    data = dict(run.data)
    for name, source in evaluation.data.items():
        own_source = data.get(name, source)
        data[name] = source | own_source
        data[name]["files"] = source.get("files", {}) | own_source.get("files", {})
    unlike = []
    for name, value in evaluation.metrics.items():
        ours, evaluated = in_short(run.metrics.get(name, value)), in_short(value)
        if ours != evaluated:
            unlike.append(f"{name} {evaluated} ({ours})")
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
        evaluations=(*run.evaluations, evaluation.folder),
        evaluated_otherwise=(*run.evaluated_otherwise, *unlike),
    )


def runs_frame(runs: Sequence[Run], keys: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """A row for each run: its state, settings, unrounded scores, and the facts and the command behind it.

    `cse.runs` returns it, and runs.csv has it.
    """
    rows = [
        {
            "folder": str(run.folder),
            "state": str(run.state),
            "why": run.why,
            **{key: run.get(key) for key in keys},
            **{metric: run.metrics.get(metric) for metric in metrics},
            "partial": " ".join(sorted(run.modified)),
            "untrained": run.untrained,
            **{fact: run.results.get(fact) for fact in FACTS},
            "evaluations": "; ".join(map(str, run.evaluations)) or None,
            "command": repeat_command(run),
        }
        for run in runs
    ]
    columns = ["folder", "state", "why", *keys, *metrics, "partial", "untrained", *FACTS, "evaluations", "command"]
    return pd.DataFrame(rows, columns=columns, dtype=object)
