"""The changes between two runs, or between a run and this machine, as facts (cse.lab.folder.facts).

A report compares two runs. A sweep compares a finished job with the same job as it would run now. resume= and rerun=
compare the earlier run with the new run. The functions, in the order of this file:

    changes             compares any facts; changes_in_words describes the first few changes
    changed_settings    compares two configs in the settings that decide a run's numbers
    changed_inputs      compares the training data and dev data of a resumed or repeated run with the earlier data
    changed_files       compares the files that a finished run read with the same files now
    changed_code        compares the code that a run used with the code now
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cse.data.listing import files_of
from cse.errors import UserError
from cse.files import Json, read_once, sha256
from cse.lab.folder.contents import Results
from cse.lab.folder.digests import code_digest, named_sums, own_code
from cse.lab.folder.facts import Facts, Kind, as_facts, file_sums, trained_texts
from cse.lab.folder.runs import Run
from cse.lab.settings.roles import fixed_settings, role_of, scoring_settings
from cse.lab.settings.values import PlainConfig, flattened, format_value, in_one_form


class Change(NamedTuple):
    """A fact that has changed. before, now: the values of the fact; None for an unknown or missing value."""

    kind: Kind
    name: str
    before: object
    now: object

    def __str__(self) -> str:
        """Return the change as text for an error."""
        if self.kind != "data":
            return f"{self.name}={format_value(self.before)} (now {format_value(self.now)})"
        if self.now is None:  # a person cannot read a digest
            return f"{self.name} (now missing)"
        if self.before is None:
            return f"{self.name} (new)"
        return f"{self.name} (other content)"


def changes(before: Facts, now: Facts) -> list[Change]:
    """Return the facts whose values differ: first in the order of `before`, then the facts that only `now` has."""
    names = dict.fromkeys([*before, *now])
    every = [Change(*fact, before.get(fact), now.get(fact)) for fact in names]
    return [change for change in every if not is_same(change.before, change.now)]


def is_same(before: object, now: object) -> bool:
    """Return whether two values are equal, as 32 and 32.0 are. See cse.lab.settings.values.in_one_form."""
    return repr(in_one_form(before)) == repr(in_one_form(now))


def changes_in_words(changed: Sequence[object], most: int = 3) -> str:
    """Return the first `most` changes as text, and the number of remaining changes."""
    named = ", ".join(map(str, changed[:most]))
    return f"{named} and {len(changed) - most} more" if len(changed) > most else named


def changed_settings(before: PlainConfig, now: PlainConfig) -> list[Change]:
    """Return the settings that are in both configs, decide a run's numbers, and have changed.

    before, now: resolved configs. "auto" in `now` counts as unchanged, because `before` has the machine's value.
    """
    then, changed = deciding_settings(before), []
    for key, value in deciding_settings(now).items():
        if key in then and value != "auto" and not is_same(then[key], value):
            changed.append(Change("science", key, then[key], value))
    return changed


def deciding_settings(config: PlainConfig) -> PlainConfig:
    """Return {dotted key: value} of the settings that decide a run's numbers.

    These are settings that change a table's numbers, settings that a resumed run must not change, and settings that
    decide how a run is scored. config: a resolved config.
    """
    decisive = {key: value for key, value in flattened(config).items() if role_of(key, config).changes_a_table}
    return decisive | fixed_settings(config) | scoring_settings(config)


def changed_inputs(last: Json, inputs: Mapping[str, str], dev_data: Mapping[str, Json]) -> list[Change]:
    """Return a run's inputs whose digests differ from the digests in the checkpoint last/.

    The inputs are the training data, and the dev data that selects the checkpoint. last: the content of last/ without
    tensors. inputs, dev_data: the attributes of the new run's cse.training.loop.Training. Dev data is compared only for
    evaluators in both `last` and `dev_data`, and only in the files that `last` names.
    """
    then, now = as_facts("data", last["inputs"]), as_facts("data", inputs)
    for name in sorted(last["dev_data"].keys() & dev_data.keys()):
        for file, digests in sorted(last["dev_data"][name].items()):
            then["data", f"{file} of eval={name}"] = digests
            now["data", f"{file} of eval={name}"] = dev_data[name].get(file)
    return changes(then, now)


def changed_files(run: Run) -> list[Change]:
    """Return the encoders and the user's files that a finished run read and that have changed since."""
    return [*changed_encoders(run), *changed_list_of_texts(run), *changed_contents(run)]


def changed_encoders(run: Run) -> list[Change]:
    """Return the files and encoders that a run's settings name and whose checksums have changed."""
    then: Mapping[str, str | None] = run.results.get("named") or {"checkpoint": run.results.get("weights_sum")}
    return [
        Change("data", f"{key}={run.get(key)}", then[key], digest)
        for key, digest in named_sums(run.config).items()
        if then.get(key) not in (digest, None)
    ]


def changed_list_of_texts(run: Run) -> list[Change]:
    """Return the run's folders of training text that now contain a different list of files."""
    changed = []
    for key, text in trained_texts(run).items():
        place, then = run.get(f"{key}.path"), sorted(file_sums(text))
        folder = Path(str(place)).expanduser()
        if not then or not folder.is_dir():
            continue
        try:
            files = sorted(map(str, files_of(folder, tell=False)))
        except UserError:  # the folder has no file of text now, or an empty file
            files = []
        if files != then:
            changed.append(Change("data", f"{key}.path={folder}", then, files))
    return changed


def changed_contents(run: Run) -> list[Change]:
    """Return the files of a run's training text and evaluators that still exist but have other content now."""
    sums: dict[str, object] = {**file_sums(run.training_data)}
    for source in run.data.values():
        sums |= {name: file.get("sha256") for name, file in source.get("files", {}).items()}
    there = {name: read_once(sha256, Path(name)) for name in sums if Path(name).is_file()}  # a benchmark has no paths
    return [Change("data", name, sums[name], digest) for name, digest in there.items() if digest != sums[name]]


def changed_code(results: Results, config: PlainConfig) -> list[Change]:
    """Return the changes in the code of a run: in cse, and in the user's loaded modules.

    A change in cse names the run's commit, because a person cannot read a digest.
    """
    own, changed = own_code(config), []
    for name, digest in (results.get("own_code") or {}).items():
        if own.get(name, digest) != digest:
            changed.append(Change("versions", name, digest, own[name]))
    code, commit = results.get("code"), results.get("git_commit")
    if code not in (None, code_digest()):
        was = f"commit {commit}" if commit else f"no known commit, code {code}"
        changed.append(Change("versions", f"cse (before: {was})", code, code_digest()))
    return changed
