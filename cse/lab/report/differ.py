"""What is not the same in two runs: scores, weights, settings, data, versions, machines; what changes results first."""

from collections.abc import Iterator, Sequence

import pandas as pd

from cse.files import Json
from cse.lab.folder.runs import Run, plain
from cse.lab.report.frame import format_value
from cse.lab.report.markup import format_of
from cse.lab.report.notes import contents_of, scoring, stretches
from cse.lab.report.repeat import program_of
from cse.lab.settings.dotted import flattened
from cse.lab.settings.keys import entry

ORDER = ("scores", "weights", "science", "data", "versions", "machine", "logging", "bookkeeping")
ABSENT = "-"


def facts(run: Run) -> Iterator[tuple[str, str, object]]:
    """(kind, name, value) of everything that a run records, except times."""
    results = run.results
    for score in run.scores.values():
        yield "scores", score.name, score.value
    yield "scores", "kept step", results.get("best_step")
    yield "weights", "best/model.safetensors", results.get("weights_sum")
    for name in ("encoder", "architecture", "precision", "dtype"):
        yield "science", name, results.get(name)
    settings = {key: value for key, value in run.config.items() if key not in ("choices", "sources")}  # repetitions
    known = {**run.choices, **flattened(settings)}
    known.pop("trainer.devices", None)  # `processes` counts those of torchrun, too
    for key, value in known.items():
        yield entry(key).role, key, run.get(key) if value is not None else None
    for name, value in scoring(run).items():
        if name.startswith(("data of ", "protocol of ")):
            yield "data", name, value
    trained = results.get("training_data")
    if isinstance(trained, dict):
        for name, value in flattened(trained | {"sha256": contents_of(trained)}).items():
            if value != run.get("data.path"):  # which is a setting, and listed there
                yield "data", f"training data: {name}", value
    for name, digest in (results.get("inputs") or {}).items():
        yield "data", f"digest of {name}", digest
    for name, value in {**code_by_name(results), **run.versions}.items():
        yield "versions", name, value
    yield "machine", "device", results.get("device")
    processes = [*results.get("earlier_processes", []), *filter(None, [results.get("processes")])]
    yield "machine", "processes", ", then ".join(map(str, processes)) or None


def code_by_name(results: Json) -> dict[str, object]:
    """The digests of the code of a run, of that which it was resumed with, and of that before, by name."""
    found: dict[str, object] = {}
    for part in stretches(results):
        until = f" until step {part['until_step']}" if "until_step" in part else ""
        found |= {f"{key}{until}": part.get(key) for key in ("code", "git_commit")}
        found |= {f"code of {name}{until}": digest for name, digest in (part.get("own_code") or {}).items()}
    return found


def what_differs(runs: Sequence[Run]) -> tuple[pd.DataFrame, list[str]]:
    """A line for each fact that is not the same in two runs, as text: of a training and an evaluation, which have other
    settings, for each that both have, and for each score. And notes: the kinds of facts that are the same, and how far
    apart the weights are."""
    known = [{(kind, name): value for kind, name, value in facts(run) if value is not None} for run in runs]
    found, both = set().union(*known), known[0].keys() & known[1].keys()
    if len(set(map(program_of, runs))) > 1:
        found = {(kind, name) for kind, name in found if kind == "scores" or (kind, name) in both}
    names = sorted(found, key=lambda fact: (ORDER.index(fact[0]), fact[1]))
    lines = [
        (*name, *as_text(name[0], [of.get(name, ABSENT) for of in known]))
        for name in names
        if repr(plain(known[0].get(name))) != repr(plain(known[1].get(name)))
    ]
    kinds, unlike = {kind for kind, _ in both}, {kind for kind, *_ in lines}
    same = ", ".join(kind for kind in ORDER if kind in kinds - unlike)
    notes = [f"The same: {same}."] * bool(same) + (weights_apart(runs) if "weights" in unlike else [])
    return pd.DataFrame(lines, columns=["kind", "what", *(str(run.folder) for run in runs)]), notes


def as_text(kind: str, values: Sequence[object]) -> list[str]:
    """The values of two runs; scores as tables show them, if that tells them apart."""
    form = format_of(one for one in values if isinstance(one, float))
    short = [f"{one:{form}}" if kind == "scores" and isinstance(one, float) else format_value(one) for one in values]
    return short if len(set(short)) > 1 else [format_value(one) for one in values]


def weights_apart(runs: Sequence[Run]) -> list[str]:
    """A line with the largest difference between the weights of two runs' best/; none if a best/ is missing or cannot
    be read, or they have other shapes."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        one, two = (load_file(run.folder / "best" / "model.safetensors") for run in runs)
    except (OSError, SafetensorError):
        return []
    if {name: weight.shape for name, weight in one.items()} != {name: weight.shape for name, weight in two.items()}:
        return []
    apart = max(float((one[name].double() - two[name].double()).abs().max()) for name in one)
    largest = max(float(weight.abs().max()) for weight in one.values())
    return [f"The weights: {apart:.2g} apart at most; the largest is {largest:.2g}."]
