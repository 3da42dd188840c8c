"""Notes that a reader needs with a table's numbers: missing jobs, other settings, altered data, retrieved captions."""

from collections import Counter
from typing import cast

from cse.files import Json
from cse.lab.folder.facts import scoring, trained_on
from cse.lab.folder.runs import Run, Where, grouped
from cse.lab.folder.score_tables import problems_of
from cse.lab.folder.status import State, Status
from cse.lab.report.keys_that_differ import keys_that_vary
from cse.lab.settings.dotted import format_value
from cse.lab.settings.keys import role_of
from cse.score import in_short

SINGLY = 12  # jobs, or problems, that are named one by one; of more jobs each group is counted
FURTHEST_FIRST = (State.DONE, State.RUNNING, State.STOPPED, State.FAILED, State.NOT_STARTED)
"""The state of a job with several runs is the first of these."""


def missing_jobs(runs: list[Run], expected: list[Where]) -> list[str]:
    """A line for each planned job without a finished run or, if they are many, for each value of the first axis.

    A running one has its progress. (What resumes a stopped one is its sweep's own command.)
    """
    own = [run for run in runs if not run.departures] or runs
    known = [([run.folder.name], Status(run.state, run.why)) for run in own]
    if expected:
        texts = [[f"{key}={format_value(value)}" for key, value in job.items()] for job in expected]
        known = list(zip(texts, (furthest_status(job, own) for job in expected), strict=True))
    missing = [(settings, status) for settings, status in known if status.state != State.DONE]
    if expected and len(missing) > SINGLY:
        groups = Counter((settings[0], status.state) for settings, status in missing)
        return [f"{setting}: {count} jobs {state}" for (setting, state), count in groups.items()]
    lines = []
    for settings, status in missing:
        progress = f", {status.why}" if status.state == State.RUNNING else ""
        lines.append(f"{', '.join(settings)}: {status.state}{progress}")
    return lines


def furthest_status(job: Where, runs: list[Run]) -> Status:
    """How far a planned job got."""
    statuses = [Status(run.state, run.why) for run in runs if run.matches(job)]
    return min(statuses, key=lambda status: FURTHEST_FIRST.index(status.state), default=Status(State.NOT_STARTED))


def unlike_in_one(runs: list[Run], seed: str, settings: bool) -> list[str]:
    """A line if runs of one cell were scored differently, trained on different files under one name or, if `settings`
    count, differ in more than their seed."""
    if len(runs) < 2:
        return []
    keys = [
        key
        for key in (keys_that_vary(runs, seed) if settings else [])
        if role_of(key).is_science
        and key.partition(".")[0] != "eval"  # scored_differently reports it, with its data
        and "seed" not in key.rpartition(".")[2]
    ]
    differing = [*keys, *changed_texts(runs), *scored_differently(runs)]
    return [f"joins runs that differ in {'; '.join(differing)}"] if differing else []


def remarks(runs: list[Run], seed: str) -> list[str]:
    """What a reader must know of the runs that one setting's scores are means of. seed: the key of seeds."""
    seeds = grouped(runs, seed)
    found = []
    if all(run.get(seed) is not None for run in runs) and len(runs) > len(seeds):
        many = "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
        found.append(f"{len(runs)} runs of {many}, each of which counts once")
    return found + unlike_in_one(runs, seed, settings=True) + no_better_remarks(runs) + seen_in_training(runs)


def no_better_remarks(runs: list[Run]) -> list[str]:
    """A line if runs kept a step that is no better than their encoder before training."""
    found = [in_short(run.untrained) for run in runs if run.no_better and run.untrained is not None]
    said = f"{len(found)} of {len(runs)} runs are no better than untrained"
    return [f"{said} ({', '.join(dict.fromkeys(found))}), by the score that selects"] if found else []


def evaluated(runs: list[Run]) -> list[str]:
    """Lines on the evaluations whose scores runs have (see which_runs.with_evaluations): how many, and where a score
    that a run has too was not the same."""
    found = [run for run in runs if run.evaluations]
    if not found:
        return []
    said = [f"{len(found)} of {len(runs)} runs have the scores of cse-evals of their best/ too, which runs.csv names."]
    if unlike := [f"{run.folder.name}: {line}" for run in found for line in run.evaluated_otherwise]:
        more = f"; {len(unlike) - 3} more" if len(unlike) > 3 else ""
        said.append(f"Such a cse-eval found other numbers than its run's, in brackets: {'; '.join(unlike[:3])}{more}.")
    return said


def seen_in_training(runs: list[Run]) -> list[str]:
    """A line if a hundredth of the texts that runs learned from, or more, are texts that they are scored on."""
    counts = [run.results.get("overlap") for run in runs]
    known = [one for one in counts if isinstance(one, dict) and {"found", "texts"} <= one.keys()]  # older editions' not
    found = [one for one in known if one["found"] * 100 >= max(1, one["texts"])]
    said = dict.fromkeys(f"{one['found']:,} of {one['texts']:,}" for one in found)
    return [f"{', '.join(said)} training texts occur in the evaluation sets"] if said else []


def changed_texts(runs: list[Run], settings: bool = False) -> list[str]:
    """The training data (text, images, sound) whose files were not the same in all runs, by name. settings: only in
    runs whose settings name the same files, as an axis over data.path does not."""
    found: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for name, named, contents in trained_on(run):
            found.setdefault((name, named if settings else ""), set()).add(contents)
    return list(dict.fromkeys(f"the files of {name}" for (name, _), sums in found.items() if len(sums) > 1))


def data_problems(runs: list[Run]) -> list[str]:
    """What is wrong with the data of marked scores."""
    marked = [run for run in runs if run.altered]
    problems = list(dict.fromkeys(line for run in marked for line in problems_of(run.data)))
    more = [f"partial: {len(problems) - SINGLY} more problems"] if len(problems) > SINGLY else []
    return problems[:SINGLY] + more


def rest_on_other_data(runs: list[Run], score: str) -> bool:
    """Whether a score of the runs rests on files of one name with other contents, or on other files altogether."""
    evaluator = score.split("/")[1]
    read = [run.data[evaluator].get("files", {}) if evaluator in run.data else {} for run in runs]
    first, *others = [{name: file.get("sha256") for name, file in files.items()} for files in read]

    def differs(files: dict[str, str | None]) -> bool:
        shared = first.keys() & files.keys()
        if any(first[name] != files[name] for name in shared):
            return True
        if shared and score.startswith("dev/"):  # a run that scored fewer splits has read fewer files
            return False
        ours, theirs = (
            {one[name] for name in one.keys() - other.keys()} for one, other in ((first, files), (files, first))
        )
        return bool(ours and theirs) and ours.isdisjoint(theirs)

    return any(map(differs, others))


def unlike_in_all(what: str, runs: list[Run], said: list[str]) -> list[str]:
    """A line for what differs in the training files, and in the scoring, of all cells or settings, but for what the
    lines on each say already."""
    found = [*changed_texts(runs, settings=True), *scored_differently(runs)]
    differing = [one for one in found if not any(one in line for line in said)]
    return [f"Not all {what} were trained and scored alike: {'; '.join(differing)}."] if differing else []


def selected_otherwise(runs: list[Run], ranking: str | None) -> list[str]:
    """A line if some runs selected their step by another score than the one that ranks them (None: there is none)."""
    counts = Counter(str(select) for run in runs if (select := run.get("trainer.select")) not in (None, ranking))
    others = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    found = f"All are ranked by {ranking}, though not all runs selected their step by it: {others}."
    return [found] if ranking and others else []


def scored_differently(runs: list[Run]) -> list[str]:
    """What may have changed scores and is not the same in all runs, with its values: code, libraries, an evaluator's
    settings, the checksum of its data."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in scoring(run).items():
            values.setdefault(name, {})[value] = None
    return [f"{name} ({' | '.join(found)})" for name, found in values.items() if len(found) > 1]


def retrieved(runs: dict[str, Run]) -> list[str]:
    """The nearest captions of each query, one model beside the other, as NonLing-CSE's Table C.1 has them."""
    tops = {row: cast("Json", run.data.get("retrieval", {})).get("top", {}) for row, run in runs.items()}
    lines = []
    for query in dict.fromkeys(query for top in tops.values() for query in top):
        captions = {row: [caption for _, caption in top[query]] for row, top in tops.items() if query in top}
        for place in range(max(map(len, captions.values()))):
            beside = " | ".join(f"{row}: {texts[place]}" for row, texts in captions.items() if len(texts) > place)
            lines.append(f"{query}, nearest #{place + 1}: {beside}")
    return lines
