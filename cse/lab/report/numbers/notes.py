"""What a reader needs to know beside a table's numbers, in lines of text.

In order: planned jobs without a run; runs that are unlike each other; remarks on the runs of one row; what so many
seeds detect; the runs' data; and captions that were retrieved. Departures have a file of their own.
"""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from cse.files import Json
from cse.lab.folder.facts import scoring_facts, training_facts
from cse.lab.folder.runs import Run, Where, grouped
from cse.lab.folder.status import State, Status
from cse.lab.report.formats import counted_noun
from cse.lab.report.numbers.keys_that_differ import keys_that_vary
from cse.lab.report.numbers.statistics import SeedSpread, seeds_for, smallest_difference
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import format_value
from cse.lab.sharing.score_tables import problems_of
from cse.score import in_short

SINGLY = 12  # jobs, or problems, that are named one by one; of more jobs each group is counted
FURTHEST_FIRST = (State.DONE, State.RUNNING, State.STOPPED, State.FAILED, State.NOT_STARTED)
"""The state of a job with several runs is the first of these."""


def missing_jobs(runs: list[Run], expected: list[Where]) -> list[str]:
    """The planned jobs without a finished run, as "m=5: seeds 1, 2, 3 not started".

    Jobs that differ in their seed alone are together. If these are many, there is a number of jobs for each value of
    the first axis. A running job has its progress. The command of the sweep itself resumes a stopped one.
    """
    planned = [run for run in runs if not run.departures] or runs
    if not expected:
        unfinished = [run for run in planned if run.state != State.DONE]
        return [f"{run.folder.name} {progress_in_words(Status(run.state, run.why))}" for run in unfinished]
    jobs = [(job, furthest_status(job, planned)) for job in expected]
    missing = [(job, status) for job, status in jobs if status.state != State.DONE]
    seeds: dict[tuple[str, str], list[str]] = {}
    for job, status in missing:
        axes = ", ".join(words_of_job({key: value for key, value in job.items() if key != "seed"}))
        seed = [format_value(job["seed"])] if "seed" in job else []
        seeds.setdefault((axes, progress_in_words(status)), []).extend(seed)
    if len(seeds) > SINGLY:
        groups = Counter((words_of_job(job)[0], status.state) for job, status in missing)
        return [f"{first}: {counted_noun(count, 'job')} {state}" for (first, state), count in groups.items()]
    alike: dict[str, list[str]] = {}
    for (axes, progress), of_seeds in seeds.items():
        words = f"seed{'s' if len(of_seeds) > 1 else ''} {', '.join(of_seeds)} " if of_seeds else ""
        alike.setdefault(f"{words}{progress}", []).append(axes)
    return [f"{in_one(axes)}{words}" for words, axes in alike.items()]


def in_one(axes: Sequence[str]) -> str:
    """Jobs of one state by their axes: "m=4, 5: "; "" if there are no axes."""
    key = axes[0].partition("=")[0]
    if all(words.startswith(f"{key}=") and words.count("=") == 1 for words in axes):
        return f"{key}={', '.join(words.removeprefix(f'{key}=') for words in axes)}: "
    return f"{' / '.join(axes)}: " if any(axes) else ""


def progress_in_words(status: Status) -> str:
    """The state of a job; of a running one, also its progress."""
    return f"{status.state} ({status.why})" if status.state == State.RUNNING else str(status.state)


def words_of_job(job: Where) -> list[str]:
    """The axes of a planned job as KEY=VALUE, without the sections of a key."""
    return [f"{key.rpartition('.')[2]}={format_value(value)}" for key, value in job.items()]


def furthest_status(job: Where, runs: list[Run]) -> Status:
    """How far a planned job got."""
    statuses = [Status(run.state, run.why) for run in runs if run.matches(job)]
    return min(statuses, key=lambda status: FURTHEST_FIRST.index(status.state), default=Status(State.NOT_STARTED))


def unlike_in_one(runs: list[Run], seed: str, also_settings: bool) -> list[str]:
    """In what runs that make one number are unlike each other.

    They are, if they were scored differently, or trained on different files under one name. also_settings: also if they
    differ in a key of science besides their seed.
    """
    if len(runs) < 2:
        return []
    keys = [key for key in keys_that_vary(runs, seed) if makes_unlike(key)] if also_settings else []
    return [*keys, *changed_texts(runs), *scored_differently(runs)]


def joins_unlike(differences: list[str]) -> list[str]:
    """A line on a number that joins runs which are unlike in these (`unlike_in_one`); [] if there are none."""
    return [f"the mean is over runs that differ in {'; '.join(differences)}"] if differences else []


def makes_unlike(key: str) -> bool:
    """Whether runs of one number may not differ in a key. `scored_differently` reports the settings of evaluators."""
    is_seed = "seed" in key.rpartition(".")[2]
    return role_of(key).is_science and key.partition(".")[0] != "eval" and not is_seed


def remarks(runs: list[Run], seed: str) -> list[str]:
    """What a reader must know of the included runs of a setting. seed: the key of seeds."""
    seeds = grouped(runs, seed)
    lines = []
    if all(run.get(seed) is not None for run in runs) and len(runs) > len(seeds):
        lines.append(f"{len(runs)} runs of {counted_noun(len(seeds), 'seed')}; each seed counts once")
    return (
        lines
        + joins_unlike(unlike_in_one(runs, seed, also_settings=True))
        + no_better_remarks(runs)
        + seen_in_training(runs)
    )


def no_better_remarks(runs: list[Run]) -> list[str]:
    """A line if runs kept a step that is no better than their encoder before training."""
    scores = [in_short(run.untrained) for run in runs if run.no_better and run.untrained is not None]
    counted = f"{len(scores)} of {len(runs)} runs score no better than the untrained encoder"
    return [f"{counted} ({', '.join(dict.fromkeys(scores))}) on the selection metric"] if scores else []


def detectable_difference(spread: SeedSpread, level: float, sides: int = 2) -> str:
    """What difference so many seeds detect, and how many seeds half of it needs; "" if the scores do not vary.

    level: of the test. sides: how many sides of a comparison have seeds.
    """
    if not spread.sd:
        return ""
    least = smallest_difference(spread.sd, spread.seeds, level, sides)
    needed = seeds_for(least / 2, spread.sd, level, sides)
    each = " per setting" if sides == 2 else ""
    pooled = f" (pooled; {min(spread.each):.2g} to {max(spread.each):.2g})" if len(spread.each) > 1 else ""
    return (
        f"SD over seeds {spread.sd:.2g}{pooled}. With {spread.seeds} seeds{each}, the smallest detectable difference "
        f"(80% power) is {least:.2g}; {least / 2:.2g} needs {needed} seeds."
    )


def seen_in_training(runs: list[Run]) -> list[str]:
    """A line if a hundredth of the texts that runs learned from, or more, are texts that they are scored on."""
    counts = [run.results.get("overlap") for run in runs]
    overlaps = [
        overlap for overlap in counts if isinstance(overlap, dict) and {"found", "texts"} <= overlap.keys()
    ]  # older editions' not
    large = [overlap for overlap in overlaps if overlap["found"] * 100 >= max(1, overlap["texts"])]
    shares = dict.fromkeys(f"{overlap['found']:,} of {overlap['texts']:,}" for overlap in large)
    return [f"{', '.join(shares)} training texts occur in the evaluation sets"] if shares else []


def changed_texts(runs: list[Run], same_file_names_only: bool = False) -> list[str]:
    """The training data (text, images, sound) whose files were not the same in all runs, by name.

    same_file_names_only: compare only runs whose settings name the same files. An axis over data.path names others.
    """
    contents_of: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for name, named, contents in training_facts(run):
            contents_of.setdefault((name, named if same_file_names_only else ""), set()).add(contents)
    return list(dict.fromkeys(f"the files of {name}" for (name, _), sums in contents_of.items() if len(sums) > 1))


def data_problems(runs: list[Run]) -> list[str]:
    """What is wrong with the data of marked scores."""
    marked = [run for run in runs if run.modified]
    problems = list(dict.fromkeys(line for run in marked for line in problems_of(run.data)))
    more = [f"partial: {len(problems) - SINGLY} more problems"] if len(problems) > SINGLY else []
    return problems[:SINGLY] + more


def unlike_in_all(what: str, runs: list[Run], noted: set[str]) -> list[str]:
    """A line for how the runs of all cells, or of all settings, are unlike: in training files or in scoring.

    what: "cells" or "settings". noted: what the notes have already, of a single cell or setting (`unlike_in_one`).
    """
    differing = [*changed_texts(runs, same_file_names_only=True), *scored_differently(runs)]
    further = [difference for difference in differing if difference not in noted]
    return (
        [f"The runs of different {what} differ in training data or scoring: {'; '.join(further)}."] if further else []
    )


def selected_otherwise(runs: list[Run], ranking: str | None) -> list[str]:
    """A line if some runs selected their step by another score than the one that ranks them (None: there is none)."""
    selecting = [run.get("trainer.select") for run in runs]
    counts = Counter(str(name) for name in selecting if name not in (None, ranking))
    if not (ranking and counts):
        return []
    others = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    return [f"Settings are ranked by {ranking}. Some runs selected their checkpoint by another score: {others}."]


def scored_differently(runs: list[Run]) -> list[str]:
    """What may have changed the scores and differs between the runs, with its values: code, libraries, an evaluator's
    settings, the checksum of its data."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in scoring_facts(run).items():
            values.setdefault(name, {})[value] = None
    return [f"{name} ({' | '.join(different)})" for name, different in values.items() if len(different) > 1]


def retrieved(runs: dict[str, Run]) -> list[str]:
    """The nearest captions of each query, one model beside the other, as in NonLing-CSE's Table C.1."""
    tops = {row: cast("Json", run.data.get("retrieval", {})).get("top", {}) for row, run in runs.items()}
    lines = []
    for query in dict.fromkeys(query for top in tops.values() for query in top):
        captions = {row: [caption for _, caption in top[query]] for row, top in tops.items() if query in top}
        for place in range(max(map(len, captions.values()))):
            beside = " | ".join(f"{row}: {texts[place]}" for row, texts in captions.items() if len(texts) > place)
            lines.append(f"{query}, nearest #{place + 1}: {beside}")
    return lines
