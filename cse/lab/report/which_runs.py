"""Which runs a report is of: those in folders, or in what a glob names, with the settings that were asked for.

To read: `asked_for`. A glob is several places (`places`); a later cse-eval of a run's best/ gives the run its scores
(`with_evaluations`); `where=` names settings as the report's tables do (`having`, `has`).
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
from cse.lab.folder.plan import jobs_without_run
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
"""What stands between the commas outside brackets and quotes. A quote within a word is an apostrophe."""


class Asked(NamedTuple):
    """What was asked for. jobs: planned, without a run; of a folder with jobs alone, these are the runs. folders: those
    that were searched; first: the places of the first of several, else []."""

    runs: list[Run]
    jobs: list[Run]
    folders: list[Path]
    first: Sequence[Path]


def asked_for(folders: Sequence[Path], where: str | None, seed: str) -> Asked:
    """The runs in these folders, or in those that they name as globs. where: KEY=VALUE,...; seed: the key of seeds.

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
    """The folder or, if there is none and its name is a glob, all that this names."""
    named = [] if folder.exists() else sorted(glob.glob(str(folder)))
    return list(map(Path, named)) or [folder]


def folder_above(folder: Path) -> Path:
    """The folder in which a glob searches; the folder itself if its name is none."""
    if folder.exists():
        return folder
    return Path(*takewhile(lambda part: not glob.has_magic(part), folder.parts))


def with_origin(runs: Sequence[Run], named: Mapping[str, Sequence[Path]]) -> list[Run]:
    """The runs, of several folders or globs, with the innermost that names each as its setting `origin`, which tells
    the same settings before and after a change of the code apart. named: the places of each."""
    names = {place: name for name, places in named.items() for place in places}
    if len(named) < 2:
        return list(runs)
    return [replace(run, config={"origin": names[innermost_folder(run, names)], **run.config}) for run in runs]


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    return max((one for one in folders if run.folder.is_relative_to(one)), key=lambda folder: len(folder.parts))


def with_evaluations(runs: Sequence[Run]) -> list[Run]:
    """The runs, each with the scores that it lacks and that finished cse-evals of its best/ have. Such an evaluation is
    no line of its own: `evaluations` of its run names it.

    An evaluation stays by itself if it changes the encoder: whitened, another pooling or dtype, other lengths.
    """
    trained = [run for run in runs if run.is_done and not run.get("checkpoint")]
    found: dict[Path, list[Run]] = {}
    for evaluation in runs:
        if run := scored_by(evaluation, trained):
            found.setdefault(run.folder, []).append(evaluation)
    joined = {evaluation.folder for of in found.values() for evaluation in of}
    return [reduce(with_scores, found.get(run.folder, []), run) for run in runs if run.folder not in joined]


def scored_by(evaluation: Run, trained: Sequence[Run]) -> Run | None:
    """The run whose best/ an evaluation scored as it is: that at the path, unless its weights have changed since; else
    one with the same weights, as a folder may have been moved. None if there is none."""
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
    """A run with the scores that it lacks and an evaluation has, and with what is behind these."""
    data = dict(run.data)
    for name, source in evaluation.data.items():
        own = data.get(name, source)
        data[name] = source | own
        data[name]["files"] = source.get("files", {}) | own.get("files", {})
    unlike = [
        f"{name} {texts[1]} ({texts[0]})"
        for name, value in evaluation.metrics.items()
        if len(set(texts := [in_short(run.metrics.get(name, value)), in_short(value)])) > 1
    ]
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
    """The values of each key in KEY=VALUE,OTHER,KEY=VALUE: as in a sweep, OTHER is one more value of the key before it.
    A comma in brackets or quotes separates nothing. Brackets may stand around all."""
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
    """Whether the run has the setting with one of the values, which may be written as in a table: the end of a path,
    text in quotes, [several] in brackets; a path may have a comma."""
    own = run.get(key)
    each = [one for value in values for one in several(value, own)]
    return any(is_written(run, key, own, text) for text in [*each, ",".join(values)])


def several(text: str, own: object) -> list[str]:
    """The values in brackets, if the run's own is not a list itself."""
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
    """The runs with all settings of KEY=VALUE,... A key may be named as a table of the runs names it.

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
