"""What a run was made of, as facts of some kinds, and what of it is another now.

Two runs, or a run and this machine as it is, are compared by these: a sweep asks whether a job is done, rerun= and
resume= whether code has changed, a report whether its cells were scored alike, and differ= for all of it.

facts       what a finished run records: scores, weights, settings, data, code, machine
scoring     what its scores depend on besides its encoder
trained_on  what it learned from
deciding    the settings that decide a run's numbers
changes     what is not the same in two sets of facts, and `listed` in words
changed_*   what is another now: settings, inputs, files, code
"""

import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from cse.data.readers import files_of
from cse.files import Json, checksum, read_once, sha256
from cse.lab.folder.runs import Run
from cse.lab.folder.score_tables import LIBRARIES, data_digest
from cse.lab.settings.dotted import Config, flattened, format_value
from cse.lab.settings.groups import CONF_DIR, PACKAGE_DIR
from cse.lab.settings.keys import fixed_settings, keys_with, role_of, scoring_settings
from cse.lab.settings.values import plain
from cse.ranges import Mark

Kind = Literal["scores", "weights", "science", "data", "versions", "machine", "logging", "bookkeeping"]
"""Of facts, what changes results first; of settings it is their purpose (cse.lab.settings.keys.Role)."""

Facts = Mapping[tuple[Kind, str], object]
"""{(kind, name): value}, without values that are not known."""


class Change(NamedTuple):
    """A fact that is another now. before, now: its values; None where it is not known."""

    kind: Kind
    name: str
    before: object
    now: object

    def __str__(self) -> str:
        """In the words of every refusal."""
        if self.kind != "data":
            return f"{self.name}={format_value(self.before)} (now {format_value(self.now)})"
        if self.now is None:  # a digest says nothing to a reader
            return f"{self.name}, which is not there now"
        if self.before is None:
            return f"{self.name}, which was not there"
        return f"other content of {self.name}"


def as_facts(kind: Kind, values: Mapping[str, object]) -> dict[tuple[Kind, str], object]:
    """Values by name as facts of one kind."""
    return {(kind, name): value for name, value in values.items()}


def changes(before: Facts, now: Facts) -> list[Change]:
    """Each fact that is not the same, in the order of `before`; then those that only `now` has.

    32 and 32.0 are the same; see cse.lab.settings.values.plain.
    """
    names = dict.fromkeys([*before, *now])
    found = [Change(*fact, before.get(fact), now.get(fact)) for fact in names]
    return [change for change in found if repr(plain(change.before)) != repr(plain(change.now))]


def changes_in_words(changed: Sequence[object], most: int = 3) -> str:
    """Changes in words, the first few of them."""
    named = ", ".join(map(str, changed[:most]))
    return f"{named} and {len(changed) - most} more" if len(changed) > most else named


def facts(run: Run) -> Facts:
    """Everything that a run records, except times."""
    return {(kind, name): value for kind, name, value in _recorded(run) if value is not None}


def _recorded(run: Run) -> Iterator[tuple[Kind, str, object]]:
    """(kind, name, value) of each; None where the run does not say."""
    results = run.results
    for score in run.scored.values():
        yield "scores", score.name, score.value
    yield "scores", "kept step", results.get("best_step")
    yield "weights", "best/model.safetensors", results.get("weights_sum")
    for name in ("encoder", "architecture", "precision", "dtype"):
        yield "science", name, results.get(name)
    settings = {key: value for key, value in run.config.items() if key not in ("choices", "sources")}  # repetitions
    known = {**run.choices, **flattened(settings)}
    known.pop("trainer.devices", None)  # `processes` counts those of torchrun, too
    for key, value in known.items():
        yield role_of(key, run.config).purpose, key, run.get(key) if value is not None else None
    for name, value in scoring(run).items():
        if name.startswith(("data of ", "protocol of ")):
            yield "data", name, value
    trained = results.get("training_data")
    if isinstance(trained, dict):
        for name, value in flattened(trained | {"sha256": content_digests(trained)}).items():
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


def stretches(results: Json) -> list[Json]:
    """What a run's results say of its code: of the steps before each resume by other code, and then of the last."""
    return [*(results.get("earlier_code") or []), results]


def code_of(run: Run) -> str:
    """The digests of the code of a run: cse's and one's own parts', before that those it had until it was resumed; ""
    for a run of an edition that kept none."""
    found = []
    for part in stretches(run.results):
        if part.get("code"):
            own = [f"{name} {digest[:8]}" for name, digest in (part.get("own_code") or {}).items()]
            found.append(" and ".join([part["code"][:8], *own]))
    return ", then ".join(found)


def scoring(run: Run) -> dict[str, str]:
    """Everything that a run's scores depend on besides its encoder, as text."""
    versions = run.versions
    known = {library: str(versions[library]) for library in LIBRARIES if library in versions}
    known |= {"code": code} if (code := code_of(run)) else {}
    known |= {
        key: format_value(run.get(key)) for key in ("dtype", "trainer.eval_precision") if run.get(key) is not None
    }
    for key, value in flattened(run.config).items():
        if key.startswith("eval.") and not str(value).startswith("/"):  # a folder, whose files' checksum tells
            known[key] = format_value(value)
    for evaluator, source in (run.results.get("data") or {}).items():
        known[f"data of {evaluator}"] = data_digest(source)[:8]
        known[f"protocol of {evaluator}"] = format_value(source.get("protocol"))
    return known


def trained_on(run: Run) -> Iterator[tuple[str, str, str]]:
    """The training data of a run: its name, the settings that name its files, and their checksums."""
    about = run.results.get("training_data")
    if isinstance(about, dict) and (contents := content_digests(about)):
        yield f"data={about.get('name')}", str(run.get("data.path")), contents
    if isinstance(about, dict) and isinstance(second := about.get("aux_modality"), dict):
        places = [
            run.get(key)
            for key in flattened(run.config)
            if key.startswith("aux_modality.data.") and role_of(key, run.config).is_science
        ]
        yield "aux_modality", str(places), str(second.get("digest"))


def content_digests(about: Json) -> str | None:
    """The checksums of training data's files, whatever these are called; None if there are none."""
    sums = about.get("sha256")
    return (", ".join(sorted(map(str, sums.values()))) if isinstance(sums, dict) else str(sums)) if sums else None


def deciding(config: Config) -> Config:
    """The settings that decide a run's numbers, by dotted key: what tables compare, what a resumed run must share, and
    how it is scored. config: resolved."""
    decisive = {key: value for key, value in flattened(config).items() if role_of(key, config).changes_a_table}
    return decisive | fixed_settings(config) | scoring_settings(config)


def changed_settings(before: Config, now: Config) -> list[Change]:
    """The settings that decide a run's numbers and that both configs have, with other values. "auto" is no other value:
    the machine that ran it decided, as the run records. before, now: resolved."""
    then, here = deciding(before), deciding(now)
    both = [key for key in here if key in then and here[key] != "auto"]
    return changes(*(as_facts("science", {key: of[key] for key in both}) for of in (then, here)))


def changed_inputs(last: Json, inputs: Mapping[str, str], dev_data: Mapping[str, Json]) -> list[Change]:
    """What a run learns from, or chooses its step by, that is not what a run's last/ records, by digest.

    last: what it holds beside tensors. inputs, dev_data: as cse.training.loop.Training has them now. Of evaluators, the
    files that last/ names of those that both have.
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
    then = run.results.get("named") or {"checkpoint": run.results.get("weights_sum")}
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
    for source in (run.results.get("data") or {}).values():
        sums |= {name: file.get("sha256") for name, file in source.get("files", {}).items()}
    there = {name: read_once(sha256, Path(name)) for name in sums if Path(name).is_file()}  # a benchmark's are not
    return [Change("data", name, sums[name], digest) for name, digest in there.items() if digest != sums[name]]


def sums_of_texts(run: Run) -> dict[str, object]:
    """The checksum of each file of training text, as the run recorded it."""
    trained = (run.results.get("training_data") or {}).get("sha256")
    return dict(trained) if isinstance(trained, dict) else {}


def changed_code(results: Json, config: Config) -> list[str]:
    """What of the code that made a run is another now: own modules by name, as far as they are loaded, and cse."""
    own, code, commit = own_code(config), results.get("code"), results.get("git_commit")
    changed = [name for name, digest in (results.get("own_code") or {}).items() if own.get(name, digest) != digest]
    if code not in (None, code_digest()):
        changed.append(
            f"cse, which was of commit {commit}" if commit else f"cse, which was of no known commit, code {code}"
        )
    return changed


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


@cache
def code_digest() -> str:
    """16 hex digits of the installed code and of conf/, which tell versions apart without git. As it is when this is
    first called: a process runs what it has loaded."""
    content = hashlib.sha256()
    for place, ending in ((PACKAGE_DIR, "*.py"), (Path(CONF_DIR), "*.yaml")):
        for file in sorted(place.rglob(ending)):
            content.update(f"{file.relative_to(place)}\0".encode() + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def named_sums(config: Config) -> dict[str, str]:
    """The checksum of each file and encoder that the settings name on this machine, by key."""
    names = {key: name for key, name in keys_with(Mark.SUMMED, config).items() if name is not None}
    return {key: found for key, name in names.items() if (found := weights_sum(name)) is not None}


def weights_sum(name: object) -> str | None:
    """The checksum of the weights in a run's best/ or in a folder, or of a file; None if there are none."""
    place = Path(str(name)).expanduser()
    for folder in (place / "best", place):
        if files := sorted([*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*.bin")]):
            return " ".join(read_once(checksum, file) for file in files)
    return read_once(checksum, place) if place.is_file() else None
