"""In what the runs of one number, or of one table, are unlike each other: code, training data, scoring.

To read: `unlike_in_one` is about the runs of one number, and `unlike_in_all` about all runs of a table. Both ask which
training files differ (`changed_texts`) and what may have changed the scores (`scored_differently`). `why_unlike` is
about two numbers: it says why their difference tells nothing.
"""

from collections.abc import Collection, Sequence

from cse.lab.folder.facts import code_in_short, scoring_facts, training_facts
from cse.lab.folder.runs import Run
from cse.lab.report.numbers.groups import Group
from cse.lab.report.numbers.keys_that_differ import KeysThatDiffer
from cse.lab.settings.roles import role_of
from cse.score import evaluator_of


def unlike_in_one(runs: Sequence[Run], seed_key: str, also_settings: bool) -> list[str]:
    """In what runs that make one number are unlike: training files under one name, or how they were scored.

    also_settings: also in a setting that decides what is learned.
    """
    if len(runs) < 2:
        return []
    keys = KeysThatDiffer(runs, seed_key).by_group if also_settings else []
    return [*filter(makes_unlike, keys), *changed_texts(runs), *scored_differently(runs)]


def joins_unlike(differences: Sequence[str]) -> list[str]:
    """A line on a number that joins runs which are unlike in these (`unlike_in_one`); [] if there are none."""
    return [f"the mean is over runs that differ in {'; '.join(differences)}"] if differences else []


def unlike_in_all(what: str, runs: Sequence[Run], noted: Collection[str]) -> list[str]:
    """A line on how the runs of all cells, or of all settings, are unlike: in training files or in scoring.

    what: "cells" or "settings". noted: what the notes have already, of a single cell or setting (`unlike_in_one`).
    """
    differing = [*changed_texts(runs, same_file_names_only=True), *scored_differently(runs)]
    further = [difference for difference in differing if difference not in noted]
    if not further:
        return []
    return [f"The runs of different {what} differ in training data or scoring: {'; '.join(further)}."]


def makes_unlike(key: str) -> bool:
    """Whether runs of one number may not differ in a key. `scored_differently` reports the settings of evaluators."""
    is_seed = "seed" in key.rpartition(".")[2]
    return role_of(key).is_science and key.partition(".")[0] != "eval" and not is_seed


def changed_texts(runs: Sequence[Run], same_file_names_only: bool = False) -> list[str]:
    """The training data (text, images, sound) whose files were not the same in all runs, by name.

    same_file_names_only: compare only runs whose settings name the same files. An axis over data.path names others.
    """
    contents_of: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for name, named, contents in training_facts(run):
            contents_of.setdefault((name, named if same_file_names_only else ""), set()).add(contents)
    return list(dict.fromkeys(f"the files of {name}" for (name, _), sums in contents_of.items() if len(sums) > 1))


def scored_differently(runs: Sequence[Run]) -> list[str]:
    """What may have changed the scores and differs between the runs, with its values: code, libraries, an evaluator's
    settings, the checksum of its data."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in scoring_facts(run).items():
            values.setdefault(name, {})[value] = None
    return [f"{name} ({' | '.join(different)})" for name, different in values.items() if len(different) > 1]


def why_unlike(ours: Group, theirs: Group, score: str) -> str:
    """Why no difference of two groups would say anything of their settings; "" if it would."""
    both = [*ours.runs, *theirs.runs]
    if rest_on_other_data(both, score):
        return "they were scored on different data"
    if ours.modified or theirs.modified:
        return "its data are incomplete or modified"
    if any(len(set(map(code_in_short, side.runs))) > 1 for side in (ours, theirs)):
        return "the runs of a setting are of different code"
    if changed_texts(ours.runs) or changed_texts(theirs.runs) or changed_texts(both, same_file_names_only=True):
        return "they were trained on different data of one name"
    return ""


def rest_on_other_data(runs: Sequence[Run], score: str) -> bool:
    """Whether a score of the runs rests on files of one name with other contents, or on other files altogether."""
    evaluator = evaluator_of(score)
    read = [run.data[evaluator].get("files", {}) if evaluator in run.data else {} for run in runs]
    first, *others = [{name: file.get("sha256") for name, file in files.items()} for files in read]
    return any(are_other_data(first, files, is_dev=score.startswith("dev/")) for files in others)


def are_other_data(ours: dict[str, str | None], theirs: dict[str, str | None], *, is_dev: bool) -> bool:
    """Whether two evaluations read other data. ours, theirs: the checksum of each file, by name."""
    shared = ours.keys() & theirs.keys()
    if any(ours[name] != theirs[name] for name in shared):
        return True
    if shared and is_dev:  # a run that scored fewer splits has read fewer files
        return False
    further, of_theirs = ({files[name] for name in files.keys() - shared} for files in (ours, theirs))
    return bool(further and of_theirs) and further.isdisjoint(of_theirs)
