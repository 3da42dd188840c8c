"""Runs as a frame, a row a run: `cse.runs` returns it, and runs.csv has it.

To read: `runs_frame`; the settings in which runs differ (`differing`), their short names (`short_names`) and values as
text (`format_settings`); the command that repeats a run elsewhere (`repeat_command`).
"""

import re
import shlex
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run, number_in, plain
from cse.lab.settings.compose import is_group
from cse.lab.settings.dotted import flattened, format_value
from cse.lab.settings.groups import choices
from cse.lab.settings.keys import is_science, is_verbatim, purpose_of, repeats_a_run
from cse.lab.settings.words import RUN_ALONE, key_of, quoted, shell_line, texts_of, typed_keys, values_of
from cse.lab.sweep.jobs import load_sweep

SPLITS = re.compile(r"[,=\[\]{}]|^['\"]")
LONG = 40  # characters of a name
NAMES = ("case", "sweep", "label")
"""The keys that name runs."""

OWN = ("done", "runs", "folder", "partial", "remarks", "difference", "p", "alike", "of")
"""Columns of a comparison's tables, whose names no key may have there."""

FACTS = ("best_step", "steps", "wall_seconds", "tokens_per_second", "device", "git_commit", "code", "evaluations")
"""Keys of results.json that are columns of runs.csv."""


def varying(runs: Sequence[Run], seed: str) -> list[str]:
    """The keys in which the runs differ, except the seed; a group that differs stands for all its values."""
    known = dict.fromkeys(key for run in runs for key in (*flattened(run.config), *run.choices))
    keys = [key for key in known if key != seed and differ_in(runs, key, [])]
    groups = tuple(f"{key}." for key in keys if any(key in run.choices for run in runs))
    return [key for key in keys if not key.startswith(groups)]


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The settings that tell runs apart: those that were typed for any of them, decide what is learned or scored and
    vary, except the seed, and the axes of their lines. A case stands for all that it sets, but not for what was typed
    beside it; `origin` is the folder, where several are compared.

    What varies though nobody typed it follows from these and the seed, or is another edition's (notes.mixed tells).
    """
    named = dict.fromkeys(["origin", *NAMES, *(word.key for run in runs for word in run.words)])
    axes, by_hand = other_axes(runs), typed_beside_cases(runs)
    within = ["case"] if differ_in(runs, "case", []) and seed != "case" else []
    if within and differ_in(runs, "sweep", [] if "sweep" in by_hand else within):
        within.append("sweep")  # cases of two sweeps may have one name

    def tells(key: str) -> bool:
        if not within or key in by_hand or key in ("origin", "case"):
            return differ_in(runs, key, [])
        if key == "checkpoint":  # which names the run of each seed
            return differ_in(runs, key, [*within, seed])
        return differ_in(runs, key, [one for one in within if one != key])

    return [key for key in named if key != seed and (is_science(key) or key in (*NAMES, *axes)) and tells(key)]


def differ_in(runs: Sequence[Run], key: str, within: Sequence[str]) -> bool:
    """Whether runs that are alike in the keys `within` have several values of a key."""
    values: dict[tuple[str, ...], set[str]] = {}
    for run in runs:
        values.setdefault(tuple(value_in_words(run, one) for one in within), set()).add(value_in_words(run, key))
    return any(len(found) > 1 for found in values.values())


def value_in_words(run: Run, key: str) -> str:
    """A run's value in one form, by which it is compared with others."""
    return repr(plain(run.get(key)))


def typed_beside_cases(runs: Sequence[Run]) -> set[str]:
    """The keys that were typed for runs of a sweep's cases, which their case does not set."""
    found: set[str] = set()
    words_of, known = cache(words_of_case), choices("sweep")
    for run in runs:
        given = values_of(run.words)
        if RUN_ALONE in run.words:
            found |= {*typed_keys(run.words)}
        elif given.get("sweep") in known:
            found |= given.keys() - map(key_of, words_of(given["sweep"], given.get("case", "")))
    return found


def other_axes(runs: Sequence[Run]) -> set[str]:
    """The keys of which no number depends (workers, a tracker) and that were an axis all the same: they were typed for
    all runs of a folder, with several values. What a tracker calls each run is none."""
    folders: dict[Path, list[dict[str, str]]] = {}
    for run in runs:
        folders.setdefault(run.folder.parent, []).append(values_of(run.words))
    return {
        key
        for lines in folders.values()
        for key in set(lines[0]).intersection(*lines)
        if purpose_of(key) in ("machine", "logging") and not key.startswith(("hydra", "tracker.", "note"))
        if len({line[key] for line in lines}) > 1
    }


def telling_apart(values: pd.DataFrame) -> list[str]:
    """Columns that tell the rows apart and of which each has a value, without any of which this would not be so;
    choices of groups and what was typed first are kept before others. values: a row for each setting, by key."""
    kept = list(values)
    for key in sorted(reversed(kept), key=lambda key: (key != "origin", is_group(key))):
        rest = values[[one for one in kept if one != key]]
        if not rest.duplicated().any() and (rest != "").any(axis=1).all():
            kept = list(rest)
    return kept


def short_names(keys: Sequence[str], dot: str = ".", taken: Collection[str] = ()) -> dict[str, str]:
    """{key: the shortest ending that no other key has}: trainer.lr is lr. dot: what separates its words; taken: endings
    that stand for something else."""
    names = {}
    for key in keys:
        words = key.split(dot)
        ends = (dot.join(words[-count:]) for count in range(1, len(words) + 1))
        known = [*keys, *taken]
        names[key] = next((end for end in ends if sum((dot + one).endswith(dot + end) for one in known) == 1), key)
    return names


def format_setting(run: Run, key: str) -> str:
    """A run's value in a table; "" if it has no such setting. Text that would read as null or a number is in quotes."""
    form, value = format_value if key in NAMES else format_short, run.get(key)  # figure3 is one of several
    if isinstance(value, str) and not (is_verbatim(key) or key in NAMES or key in run.choices) and misread(value):
        return quoted(value)
    return form(value) if run.has(key) else ""


def misread(text: str) -> bool:
    """Whether a text looks like null, a switch or a number, but is none."""
    return text.lower() in ("null", "true", "false") or (number_in(text) is not None and plain(text) == text)


def in_label(value: object, text: str) -> str:
    """A value's text, in quotes where what reads a label would split it."""
    return quoted(text) if isinstance(value, str) and SPLITS.search(text) and text != quoted(value) else text


def format_settings(runs: Sequence[Run], key: str) -> list[str]:
    """`format_setting` of each run; of paths that have the same last part, as much as tells them apart."""
    texts = [format_setting(run, key) for run in runs]
    whole = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) >= len(set(whole)):
        return texts
    ends = short_names(list(dict.fromkeys(whole)), "/")
    return [ends[one] for one in whole]


def format_short(value: object) -> str:
    """A value as the command line writes it; a path is cut to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def folded(text: str) -> str:
    """A long name without its middle."""
    return text if len(text) <= LONG else f"{text[: LONG // 2 - 1]}…{text[-LONG // 2 :]}"


def runs_frame(runs: Sequence[Run], keys: list[str], metrics: list[str]) -> pd.DataFrame:
    """A row for each run: its state, settings, unrounded scores, and the facts and the command behind it."""
    rows = [
        {
            "folder": str(run.folder),
            "state": run.state,
            "why": run.why,
            **{key: run.get(key) for key in keys},
            **{metric: run.metrics.get(metric) for metric in metrics},
            "partial": " ".join(sorted(run.altered)),
            "untrained": run.untrained,
            **{fact: run.results.get(fact) for fact in FACTS},
            "command": repeat_command(run),
        }
        for run in runs
    ]
    columns = ["folder", "state", "why", *keys, *metrics, "partial", "untrained", *FACTS, "command"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def program_of(run: Run) -> str:
    """The program that made the run: cse-train or cse-eval."""
    return "cse-train" if "trainer" in run.config else "cse-eval"


def typed_words(run: Run, kept: Collection[str] = ()) -> list[str]:
    """The words of a run's command line, without those that only matter where it ran, but for the keys `kept`."""
    return texts_of(word for word in run.words if repeats_a_run(word.text) or word.key in kept)


def words_of_case(sweep: str, case: str) -> list[str]:
    """The words that a case of a sweep sets; [] if there is no such sweep or case."""
    if sweep not in choices("sweep"):
        return []
    found = load_sweep(sweep).cases.get(case)
    return found.set if found else []


def repeat_command(run: Run) -> str:
    """The command that repeats the run elsewhere, quoted for a shell."""
    return shell_line(program_of(run), *own_choices(run), *typed_words(run))


def own_choices(run: Run) -> list[str]:
    """The --config-dir FOLDERs that the run was started with."""
    line = pairwise(shlex.split(run.results.get("command") or ""))
    return [word for flag, folder in line if flag == "--config-dir" for word in (flag, folder)]
