"""What this machine has now, by checksum: its code, and the files and encoders that settings name.

A run records them when it begins (cse.lab.run.record): code_digest, own_code, named_sums, weights_sum. Later they say
what of the run is another now: changed_settings, changed_inputs of a run that is resumed, changed_files of one that is
finished, changed_code.
"""

import hashlib
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cse.data.readers import files_of
from cse.files import Json, checksum, read_once, sha256
from cse.lab.folder.contents import Results
from cse.lab.folder.facts import Change, as_facts, changes, deciding_settings
from cse.lab.folder.runs import Run
from cse.lab.settings.groups import CONF_DIR, PACKAGE_DIR
from cse.lab.settings.keys import keys_with
from cse.lab.settings.values import Config, flattened
from cse.ranges import Mark


@cache
def code_digest() -> str:
    """16 hex digits of the installed code and of conf/, which differ between versions, also without git. As it is when
    this is first called: a process runs what it has loaded."""
    content = hashlib.sha256()
    for place, ending in ((PACKAGE_DIR, "*.py"), (Path(CONF_DIR), "*.yaml")):
        for file in sorted(place.rglob(ending)):
            content.update(f"{file.relative_to(place)}\0".encode() + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def own_code(config: Config) -> dict[str, str]:
    """16 hex digits of the file of each loaded module that a `_target_` names, without cse's and installed packages."""
    targets = [str(value) for key, value in flattened(config).items() if key.endswith("._target_")]
    elsewhere = (PACKAGE_DIR, Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib")))
    found: dict[str, str] = {}
    for name in sorted(target.rpartition(".")[0] for target in targets):
        module = sys.modules.get(name)
        file = vars(module).get("__file__") if module else None
        if file and not any(Path(file).is_relative_to(place) for place in elsewhere):
            found[name] = sha256(Path(file))[:16]
    return found


def named_sums(config: Config) -> dict[str, str]:
    """The checksum of each file and encoder that the settings name on this machine, by key."""
    found: dict[str, str] = {}
    for key, name in keys_with(Mark.SUMMED, config).items():
        total = None if name is None else weights_sum(name)
        if total is not None:
            found[key] = total
    return found


def weights_sum(name: object) -> str | None:
    """The checksum of the weights in a run's best/ or in a folder, or of a file; None if there are none."""
    place = Path(str(name)).expanduser()
    for folder in (place / "best", place):
        files = sorted([*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*.bin")])
        if files:
            return " ".join(read_once(checksum, file) for file in files)
    return read_once(checksum, place) if place.is_file() else None


def changed_settings(before: Config, now: Config) -> list[Change]:
    """The settings that decide a run's numbers and that both configs have, with other values. "auto" is no other value:
    the machine that ran it decided, as the run records. before, now: resolved."""
    then, here = deciding_settings(before), deciding_settings(now)
    both = [key for key in here if key in then and here[key] != "auto"]
    return changes(*(as_facts("science", {key: of[key] for key in both}) for of in (then, here)))


def changed_inputs(last: Json, inputs: Mapping[str, str], dev_data: Mapping[str, Json]) -> list[Change]:
    """What a run learns from, or chooses its step by, that is not what a run's last/ records, by digest.

    last: what it holds beside tensors. inputs, dev_data: as cse.training.loop.Training has them now. Evaluators that
    last/ and this line both have are compared by the files that last/ names.
    """
    then, now = as_facts("data", last["inputs"]), as_facts("data", inputs)
    for name in sorted(last["dev_data"].keys() & dev_data.keys()):
        for file, digests in sorted(last["dev_data"][name].items()):
            then["data", f"{file} of eval={name}"] = digests
            now["data", f"{file} of eval={name}"] = dev_data[name].get(file)
    return changes(then, now)


def changed_files(run: Run) -> list[Change]:
    """What a finished run read, of encoders, text and pairs of the user's own, that has another content now."""
    return [*changed_encoders(run), *changed_list_of_texts(run), *changed_contents(run)]


def changed_encoders(run: Run) -> list[Change]:
    """The files and encoders that its settings name, with other weights now."""
    then: Mapping[str, str | None] = run.results.get("named") or {"checkpoint": run.results.get("weights_sum")}
    return [
        Change("data", f"{key}={run.get(key)}", then[key], digest)
        for key, digest in named_sums(run.config).items()
        if then.get(key) not in (digest, None)
    ]


def changed_list_of_texts(run: Run) -> list[Change]:
    """Its folder of training text, if other files are in it now."""
    folder, sums = Path(str(run.get("data.path"))).expanduser(), sums_of_texts(run)
    if not sums or not folder.is_dir():
        return []
    files = sorted(map(str, files_of(folder, tell=False)))
    return [Change("data", f"data.path={folder}", sorted(sums), files)] if files != sorted(sums) else []


def changed_contents(run: Run) -> list[Change]:
    """The files of its training text and of its evaluators that are there, with another content now."""
    sums = sums_of_texts(run)
    for source in run.data.values():
        sums |= {name: file.get("sha256") for name, file in source.get("files", {}).items()}
    there = {name: read_once(sha256, Path(name)) for name in sums if Path(name).is_file()}  # a benchmark's are not
    return [Change("data", name, sums[name], digest) for name, digest in there.items() if digest != sums[name]]


def sums_of_texts(run: Run) -> dict[str, object]:
    """The checksum of each file of training text, as the run recorded it."""
    sums = run.training_data.get("sha256")
    return dict(sums) if isinstance(sums, dict) else {}


def changed_code(results: Results, config: Config) -> list[str]:
    """What of the code that made a run is another now: own modules by name, as far as they are loaded, and cse."""
    own, code, commit = own_code(config), results.get("code"), results.get("git_commit")
    changed = [name for name, digest in (results.get("own_code") or {}).items() if own.get(name, digest) != digest]
    if code not in (None, code_digest()):
        changed.append(
            f"cse, which was of commit {commit}" if commit else f"cse, which was of no known commit, code {code}"
        )
    return changed
