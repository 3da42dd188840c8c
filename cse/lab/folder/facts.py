"""What a run was made of, as facts of some kinds, and what of it is another now.

Two runs, or a run and this machine as it is, are compared by these: a sweep asks whether a job is done, rerun= and
resume= whether code has changed, a report whether its cells were scored alike, and differ= for all of it. In the order
of this file:

Kind, Facts, Change        the vocabulary: {(kind, name): value}, and a value that is another now
as_facts, changes          make facts, and compare two sets of them; changes_in_words says the first few
facts                      everything that a run recorded, from the functions below it, a kind each
code_of, scoring           its code in short; what its scores depend on besides its encoder
trained_on                 what it learned from
deciding                   the settings that decide a run's numbers
changed_settings           ... and which of them are others now
changed_inputs             what a resumed run learns from that is another now
changed_files              what a finished run read that is another now
changed_code               what of its code is another now
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from cse.data.readers import files_of
from cse.files import Json, read_once, sha256
from cse.lab.folder.contents import Code, Results, TrainingData
from cse.lab.folder.digests import code_digest, named_sums, own_code
from cse.lab.folder.runs import Run
from cse.lab.folder.score_tables import LIBRARIES, data_digest
from cse.lab.settings.dotted import Config, flattened, format_value
from cse.lab.settings.keys import fixed_settings, role_of, scoring_settings
from cse.lab.settings.values import in_one_form

Kind = Literal["scores", "weights", "science", "data", "versions", "machine", "logging", "bookkeeping"]
"""The kind of a fact: first what changes results; of a setting it is its purpose (cse.lab.settings.keys.Role)."""

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

    32 and 32.0 are the same; see cse.lab.settings.values.in_one_form.
    """
    names = dict.fromkeys([*before, *now])
    found = [Change(*fact, before.get(fact), now.get(fact)) for fact in names]
    return [change for change in found if repr(in_one_form(change.before)) != repr(in_one_form(change.now))]


def changes_in_words(changed: Sequence[object], most: int = 3) -> str:
    """Changes in words, the first few of them."""
    named = ", ".join(map(str, changed[:most]))
    return f"{named} and {len(changed) - most} more" if len(changed) > most else named


def facts(run: Run) -> Facts:
    """Everything that a run records, except times."""
    results = run.results
    encoder = {key: results.get(key) for key in ("encoder", "architecture", "precision", "dtype")}
    found: Facts = {
        **as_facts("scores", {**run.metrics, "kept step": results.get("best_step")}),
        **as_facts("weights", {"best/model.safetensors": results.get("weights_sum")}),
        **as_facts("science", encoder),
        **settings_by_purpose(run),
        **as_facts("data", data_by_name(run)),
        **as_facts("versions", {**code_by_name(results), **run.versions}),
        **as_facts("machine", {"device": results.get("device"), "processes": processes_in_words(results)}),
    }
    return {fact: value for fact, value in found.items() if value is not None}


def settings_by_purpose(run: Run) -> Facts:
    """The choices and settings of a run; the purpose of each is its kind."""
    repeated = ("choices", "sources")  # what the settings say already
    known = {**run.choices, **flattened({key: value for key, value in run.config.items() if key not in repeated})}
    known.pop("trainer.devices", None)  # `processes` counts torchrun's too
    return {(role_of(key, run.config).purpose, key): value for key, value in known.items()}


def data_by_name(run: Run) -> dict[str, object]:
    """What a run was scored on, by evaluator, what it learned from, and the digests of all its inputs."""
    found: dict[str, object] = {}
    for name, value in scoring(run).items():
        if name.startswith(("data of ", "protocol of ")):
            found[name] = value
    if trained := run.training_data:
        for name, value in flattened({**trained, "sha256": content_digests(trained)}).items():
            if value != run.get("data.path"):  # which is a setting, and listed there
                found[f"training data: {name}"] = value
    for name, digest in (run.results.get("inputs") or {}).items():
        found[f"digest of {name}"] = digest
    return found


def code_by_name(results: Results) -> dict[str, object]:
    """The digests of a run's code, by name; of code before a resume with the step until which it ran."""
    found: dict[str, object] = {}
    for part in results.get("earlier_code") or []:
        found |= digests_of_code(part, f" until step {part['until_step']}")
    return found | digests_of_code(results, "")


def digests_of_code(part: Code, until: str) -> dict[str, object]:
    """The digests of some code of a run, by name. until: to be put behind each name."""
    found: dict[str, object] = {f"code{until}": part.get("code"), f"git_commit{until}": part.get("git_commit")}
    for name, digest in (part.get("own_code") or {}).items():
        found[f"code of {name}{until}"] = digest
    return found


def processes_in_words(results: Results) -> str | None:
    """In how many processes a run trained; before that, their numbers until each resume by another number."""
    counts = [*results.get("earlier_processes", []), results.get("processes")]
    return ", then ".join(str(count) for count in counts if count) or None


def code_of(run: Run) -> str:
    """The digests of a run's code, cse's and that of the user's own parts; before that those it had until it was
    resumed. "" for a run of an edition that kept none."""
    stretches: list[Code] = [*(run.results.get("earlier_code") or []), run.results]
    found = []
    for part in stretches:
        if code := part.get("code"):
            own = [f"{name} {digest[:8]}" for name, digest in (part.get("own_code") or {}).items()]
            found.append(" and ".join([code[:8], *own]))
    return ", then ".join(found)


def scoring(run: Run) -> dict[str, str]:
    """Everything that a run's scores depend on besides its encoder, as text."""
    known = {library: str(run.versions[library]) for library in LIBRARIES if library in run.versions}
    if code := code_of(run):
        known["code"] = code
    for key in ("dtype", "trainer.eval_precision"):
        if run.get(key) is not None:
            known[key] = format_value(run.get(key))
    for key, value in flattened(run.config).items():
        if key.startswith("eval.") and not str(value).startswith("/"):  # of a folder the checksums of its files tell
            known[key] = format_value(value)
    for evaluator, source in run.data.items():
        known[f"data of {evaluator}"] = data_digest(source)[:8]
        known[f"protocol of {evaluator}"] = format_value(source.get("protocol"))
    return known


def trained_on(run: Run) -> Iterator[tuple[str, str, str]]:
    """The training data of a run: its name, the settings that name its files, and their checksums."""
    about = run.training_data
    if contents := content_digests(about):
        yield f"data={about.get('name')}", str(run.get("data.path")), contents
    if second := about.get("aux_modality"):
        keys = [key for key in flattened(run.config) if key.startswith("aux_modality.data.")]
        places = [run.get(key) for key in keys if role_of(key, run.config).is_science]
        yield "aux_modality", str(places), str(second.get("digest"))


def content_digests(about: TrainingData) -> str | None:
    """The checksums of training data's files, whatever these are called; None if there are none."""
    sums = about.get("sha256")
    if isinstance(sums, dict):
        sums = ", ".join(sorted(map(str, sums.values())))
    return str(sums) if sums else None


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
