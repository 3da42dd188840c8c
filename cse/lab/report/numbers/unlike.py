"""How the runs behind one number, or behind one table, differ in code, training data or scoring.

`differences_in_number` compares the runs behind one number, and `remarks_on_number` makes a remark of the differences.
`notes_on_unlike_runs` compares all runs of a table. These functions use `changed_training_data` and
`scoring_differences`. `why_not_comparable` returns why the difference of two numbers has no meaning.
"""

from collections.abc import Collection, Sequence

from cse.lab.folder.facts import code_in_short, scoring_facts, training_facts
from cse.lab.folder.runs import Run
from cse.lab.report.numbers.groups import Group
from cse.lab.report.numbers.keys_that_differ import keys_by_group
from cse.lab.settings.roles import role_of
from cse.score import evaluator_of


def differences_in_number(runs: Sequence[Run], seed_key: str, also_settings: bool) -> list[str]:
    """Return the differences of the runs behind one number, in training data and in scoring.

    also_settings: whether to compare also the settings that decide what a run learns.
    """
    if len(runs) < 2:
        return []
    keys = keys_by_group(runs, seed_key) if also_settings else []
    return [*filter(may_not_differ, keys), *changed_training_data(runs), *scoring_differences(runs)]


def remarks_on_number(differences: Sequence[str]) -> list[str]:
    """Return a remark on a number whose runs have these differences (`differences_in_number`); [] for no difference."""
    return [f"the mean is over runs that differ in {'; '.join(differences)}"] if differences else []


def notes_on_unlike_runs(what: str, runs: Sequence[Run], noted: Collection[str]) -> list[str]:
    """Return [a note on how training files and scoring differ between all runs of a table]; [] if nothing differs.

    what: "cells" or "settings". noted: the differences that are already in a remark on one number.
    """
    differing = [*changed_training_data(runs, same_file_names_only=True), *scoring_differences(runs)]
    further = [difference for difference in differing if difference not in noted]
    if not further:
        return []
    return [f"The runs of different {what} differ in training data or scoring: {'; '.join(further)}."]


def may_not_differ(key: str) -> bool:
    """Return whether a key must have the same value in all runs behind one number.

    Such a key decides what a run learns, and is no seed. `scoring_differences` reports the settings of evaluators.
    """
    is_seed = "seed" in key.rpartition(".")[2]
    return role_of(key).is_science and key.partition(".")[0] != "eval" and not is_seed


def changed_training_data(runs: Sequence[Run], same_file_names_only: bool = False) -> list[str]:
    """Return the training data (text, images, sound) whose files were not the same in all runs: "the files of NAME".

    same_file_names_only: compare only runs whose settings name the same files. The runs of an axis over data.path name
    different files.
    """
    contents_of: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for name, named, contents in training_facts(run):
            contents_of.setdefault((name, named if same_file_names_only else ""), set()).add(contents)
    return list(dict.fromkeys(f"the files of {name}" for (name, _), sums in contents_of.items() if len(sums) > 1))


def scoring_differences(runs: Sequence[Run]) -> list[str]:
    """Return the facts about scoring that differ between runs, with all values: "torch (2.11.0 | 2.10.0)".

    These are facts about code, libraries, an evaluator's settings, and the checksum of an evaluator's data.
    """
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in scoring_facts(run).items():
            values.setdefault(name, {})[value] = None
    return [f"{name} ({' | '.join(different)})" for name, different in values.items() if len(different) > 1]


def why_not_comparable(ours: Group, theirs: Group, score: str) -> str:
    """Return why the difference of two groups may not come from their settings alone; "" if there is no such reason."""
    both = [*ours.runs, *theirs.runs]
    if are_scored_on_other_data(both, score):
        return "the settings were scored on different data"
    if ours.modified or theirs.modified:
        return "the score is on incomplete or modified data"
    if any(len(set(map(code_in_short, side.runs))) > 1 for side in (ours, theirs)):
        return "the runs of a setting have different code"
    changed = [*changed_training_data(ours.runs), *changed_training_data(theirs.runs)]
    if changed or changed_training_data(both, same_file_names_only=True):
        return "the settings were trained on different data with the same name"
    return ""


def are_scored_on_other_data(runs: Sequence[Run], score: str) -> bool:
    """Return whether runs have a score on different data: other files, or files of one name with different contents."""
    evaluator = evaluator_of(score)
    read = [run.data[evaluator].get("files", {}) if evaluator in run.data else {} for run in runs]
    first, *others = [{name: file.get("sha256") for name, file in files.items()} for files in read]
    return any(are_other_data(first, files, is_dev=score.startswith("dev/")) for files in others)


def are_other_data(ours: dict[str, str | None], theirs: dict[str, str | None], *, is_dev: bool) -> bool:
    """Return whether two evaluations read different data. ours, theirs: {name of a file: its checksum}."""
    shared = ours.keys() & theirs.keys()
    if any(ours[name] != theirs[name] for name in shared):
        return True
    if shared and is_dev:  # a run that scored fewer splits has read fewer files
        return False
    further, of_theirs = ({files[name] for name in files.keys() - shared} for files in (ours, theirs))
    return bool(further and of_theirs) and further.isdisjoint(of_theirs)
