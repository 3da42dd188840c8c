"""Compare the inputs of a run with the inputs of the run that it resumes or repeats.

train.py calls `check_resumed` (resume=) or `check_repeated` (rerun=) after all parts are built and before a file is
written. last/ records the inputs of a run as digests.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.changes import Change, changed_code, changed_inputs, changes, changes_in_words
from cse.lab.folder.facts import Facts, as_facts
from cse.lab.folder.runs import read_run
from cse.lab.run.code_in_settings import OBJECTIVE_OF_SOURCE
from cse.lab.run.resume import EarlierRun, recorded_settings
from cse.lab.run.run_log import log_fields
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import PlainConfig, flattened

if TYPE_CHECKING:  # importing torch is slow
    from cse.training.loop import Training

UNSAVED = {"trainer.no_duplicates": False}
"""Settings that runs of an older version of cse do not record, with the values that these runs used."""

NAMING = frozenset({"data", "augmentation", "aux_modality", "model", "objective", "eval"})
"""The groups whose settings name inputs."""


def check_resumed(training: "Training") -> None:
    """Refuse a run with resume= if last/ records other settings or data. The error names the changes."""
    from cse.training.settings import WEIGHTS

    last = undamaged_last(training.folder)
    if not last:
        return  # nothing is saved yet
    # an older version of cse saved no settings of evaluators
    before = {key: value for key, value in training.identity.items() if key.startswith("eval.")}
    before |= UNSAVED | last["identity"]
    then = {key: before.get(key) for key in training.identity}
    changed = changes(as_facts("science", then), as_facts("science", training.identity))
    for change in changed_inputs(last, training.inputs, training.dev_data):
        if change.name != WEIGHTS:  # last/ has the weights
            changed.append(change)
    if changed:
        raise UserError(
            f"{training.folder} was started with other settings or data: {changes_in_words(changed)}; "
            "to continue, restore the old ones. For a new run with your settings, give "
            f"rerun={training.folder} instead of resume="
        )


def check_repeated(folder: Path, plain: PlainConfig, training: "Training") -> None:
    """Refuse a run with rerun=FOLDER if an input has changed and no changed setting explains the change.

    A file of the same name with other content is refused. A file of another name is allowed, because the user named it.
    Logs how many inputs are the same, and warns of changed code or another number of processes. plain: the settings.
    """
    last = undamaged_last(folder)
    if not last:
        told = f"{folder} has no last/, which records the data of a training, so the data are not compared"
        log_fields(logging.WARNING, rerun=told)
        return
    groups = changed_groups(recorded_settings(EarlierRun("rerun", folder)), plain)
    every = changed_inputs(last, training.inputs, training.dev_data)
    if changed := [change for change in every if not is_explained(change, groups)]:
        raise UserError(
            f"rerun={folder}: that run had other data: {changes_in_words(changed)}; restore the old data, name a "
            "copy of it (data.path=COPY), or start a new run"
        )
    log_same_inputs(folder, last["inputs"], training.inputs)
    results = read_run(folder).results
    warn_of_changed_code("rerun", changed_code(results, plain))
    warn_of_changed_processes(results.get("processes"), training)


def undamaged_last(folder: Path) -> Json:
    """Return the content of last/ without tensors; {} if there is no last/. Raises UserError for a damaged file."""
    from cse.training.checkpoint import explain_damage, read_about, read_state

    if about := read_about(folder):
        with explain_damage(folder):
            read_state(about)
    return about


# Whether the settings explain a changed input


def changed_groups(before: PlainConfig, now: PlainConfig) -> set[str]:
    """Return the groups of the settings that differ between two configs and decide training or scores.

    If a mixture's source has its own objective, this objective's settings are in the group "objective".
    """
    keys = [change.name for change in changes(science_in(before), science_in(now))]
    return {"objective" if OBJECTIVE_OF_SOURCE.match(key) else key.partition(".")[0] for key in keys}


def science_in(plain: PlainConfig) -> Facts:
    """Return the settings that decide training or scores, as facts."""
    decisive = {key: value for key, value in flattened(plain).items() if role_of(key, plain).is_science}
    return as_facts("science", decisive)


def is_explained(change: Change, groups: set[str]) -> bool:
    """Return whether changed settings explain a changed input. groups: the groups with changed settings."""
    if change.before is None or change.now is None:  # the input has another name in the other run
        return bool(groups & NAMING)
    return bool(groups & groups_behind(change.name))


def groups_behind(name: str) -> set[str]:
    """Return the groups whose settings change the digest of an input without changing its name."""
    from cse.training.settings import CONFIGURATION, FROZEN_WEIGHTS, VOCABULARY, WEIGHTS
    from cse.training.teacher import TEACHER

    if name == CONFIGURATION:
        return {"model", "augmentation"}  # the configuration has the dropout that augmentation.model_dropout sets
    if name in (VOCABULARY, WEIGHTS, FROZEN_WEIGHTS):
        return {"model"}
    return {"objective"} if name.startswith(TEACHER) else set()  # the digest has the teacher's pooling


# The log lines of a repeated run


def log_same_inputs(folder: Path, before: dict[str, str], now: dict[str, str]) -> None:
    """Log the number of equal inputs, and the names of replaced inputs. before, now: {name of an input: its digest}."""
    digests = set(now.values())
    other = [name for name, digest in before.items() if digest not in digests]
    but = f"; other inputs replace {', '.join(other)}" if other else ""
    log_fields(rerun=f"{folder}: the same {len(before) - len(other)} inputs, by digest{but}")


def warn_of_changed_code(key: str, changed: Sequence[Change]) -> None:
    """Warn if code has changed. key: resume or rerun."""
    if changed:
        names = ", ".join(change.name for change in changed)
        log_fields(logging.WARNING, **{key: f"the code has changed: {names}; the numbers may differ"})


def warn_of_changed_processes(before: int | None, training: "Training") -> None:
    """Warn if the number of processes has changed. before: the earlier number; None if unknown."""
    from cse.training.settings import on_other_processes

    now = training.accelerator.num_processes
    if before not in (None, now):
        why = on_other_processes(training.trainer, training.parts)
        log_fields(logging.WARNING, processes=f"{now} instead of {before}: {why}, so the numbers may differ")
