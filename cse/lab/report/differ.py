"""What is not the same in two runs: scores, weights, settings, data, versions, machines; what changes results first."""

from collections.abc import Sequence
from typing import get_args

import pandas as pd

from cse.lab.folder.facts import Kind, facts
from cse.lab.folder.runs import Run, plain
from cse.lab.report.markup import format_of
from cse.lab.report.repeat import program_of
from cse.lab.settings.dotted import format_value

ORDER = get_args(Kind)
ABSENT = "-"


def what_differs(runs: Sequence[Run]) -> tuple[pd.DataFrame, list[str]]:
    """A line for each fact that is not the same in two runs, as text: of a training and an evaluation, which have other
    settings, for each that both have, and for each score. And notes: the kinds of facts that are the same, and how far
    apart the weights are."""
    known = [facts(run) for run in runs]
    found, both = known[0].keys() | known[1].keys(), known[0].keys() & known[1].keys()
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
