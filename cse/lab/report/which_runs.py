"""Which runs a report shows: the runs in folders or globs that have the settings of `where=`.

To read: `asked_for`. A glob names several places (`places`). A later cse-eval of a run's best/ gives the run its scores
(`with_evaluations`). `where=` names settings as the report's tables do (`having`, `has`).
"""

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.frame import OWN, format_setting, short_names
from cse.lab.report.keys_that_differ import keys_that_tell_settings_apart
from cse.lab.settings.grammar import value_in
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import same
from cse.score import in_short

CHANGING = ("pooling", "max_length", "whitening.kind", "lowercase")
"""The settings of cse-eval that make another encoder of a checkpoint."""

OUTSIDE = re.compile(r"(?:\[[^\]]*\]|\{[^}]*\}|(?<![^\[{,=\s])'(?:[^'\\]|\\.)*'|(?<![^\[{,=\s])\"[^\"]*\"|[^,])+")
"""A text between two commas. A comma in brackets or quotes is no such one. A quote within a word is an apostrophe."""


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
    searched = [place for of in named.values() for place in of]
    runs = with_evaluations(with_origin(read_runs(searched), named))
    jobs = with_origin(jobs_without_run(searched), named)
    if where and (runs or jobs):
        chosen = having([*runs, *jobs], where, seed)
        runs = [run for run in runs if run in chosen]
        jobs = [job for job in jobs if job in chosen]
    above = list(dict.fromkeys(map(folder_above, folders)))
    first = named[str(folders[0])] if len(named) > 1 else []
    return Asked(runs, jobs, above, first) if runs else Asked(jobs, [], above, first)


def places(folder: Path) -> list[Path]:
    """The folder. If there is no such folder and its name is a glob, every folder that the glob names.

    A glob names files too, such as the jobs.jsonl of a command of several jobs: these are left out.
    """
    named = [] if folder.exists() else sorted(map(Path, glob.glob(str(folder))))
    return [place for place in named if place.is_dir()] or [folder]


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


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    return max((one for one in folders if run.folder.is_relative_to(one)), key=lambda folder: len(folder.parts))


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


def named_settings(words: str) -> dict[str, list[str]]:
    """The values of each key in KEY=VALUE,OTHER,KEY=VALUE.

    As in a sweep, OTHER is one more value of the key before it. A comma in brackets or quotes separates nothing. The
    whole may stand in brackets.
    """
    found: dict[str, list[str]] = {}
    if words[:1] == "[" and words[-1:] == "]" and "=" in words:
        words = words[1:-1]
    for word in OUTSIDE.findall(words):
        key, equals, value = word.partition("=")
        if equals or not found:
            values = found.setdefault(key.strip(), [])
        values.append((value if equals else word).strip())
    return found


def has(run: Run, key: str, values: Sequence[str]) -> bool:
    """Whether the run has one of the values at the key.

    A value may be written as in a table: the end of a path, text in quotes, [several] in brackets. A path may have a
    comma.
    """
    own = run.get(key)
    each = [one for value in values for one in several(value, own)]
    return any(is_written(run, key, own, text) for text in [*each, ",".join(values)])


def several(text: str, own: object) -> list[str]:
    """The values in the text's brackets. A text stays whole without brackets, or if the run's own value is a list."""
    in_brackets = text[:1] == "[" and text[-1:] == "]" and not isinstance(own, list | tuple)
    return [one.strip() for one in OUTSIDE.findall(text[1:-1])] if in_brackets else [text]


def is_written(run: Run, key: str, own: object, text: str) -> bool:
    """Whether a text writes a run's value."""
    if run.has(key) and format_setting(run, key) == text:
        return True
    quotes = len(text) > 1 and text[0] in ("'", '"') and text[0] == text[-1]
    if isinstance(own, list | tuple | dict):
        return same(own, value_in(text))
    if isinstance(own, bool):
        return str(own).lower() == text.lower()
    plainly = str(value_in(text)) if quotes else text
    if role_of(key).is_verbatim:
        return f"/{'' if own is None else own}".endswith(f"/{plainly}")
    return own == plainly if quotes else same(own, text)


def having(runs: Sequence[Run], where: str, seed: str) -> list[Run]:
    """The runs that have all settings of KEY=VALUE,... A key may have the short name that it has in a table.

    seed: the key of seeds. Raises UserError if there are none.
    """
    keys = {name: key for key, name in short_names(keys_that_tell_settings_apart(runs, seed), taken=OWN).items()}
    asked = {keys.get(key, key): values for key, values in named_settings(where).items()}
    found = [run for run in runs if all(has(run, *one) for one in asked.items())]
    if not found:
        raise UserError(
            f"where={where}: none of the {len(runs)} runs has this; they differ in {', '.join([*keys, seed])}"
        )
    return found
