"""The facts that describe a run, by kind. cse.lab.folder.changes compares these facts. In the order of this file:

Kind, Facts, as_facts    the types, {(kind, name): value}, and a function that makes facts
facts                    returns all facts that a run recorded; the functions below `facts` return some of these facts
scoring_facts            returns all facts that a run's scores depend on, except its encoder
training_facts           returns the training data of a run
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Literal

from cse.lab.folder.contents import EarlierCode, Results, TrainingData
from cse.lab.folder.runs import Run
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import flattened, format_value
from cse.score import Source

Kind = Literal["scores", "weights", "science", "data", "versions", "machine", "logging", "bookkeeping"]
"""The kind of a fact: first the results, then their possible causes. A setting's kind is its purpose (roles.Role)."""

Facts = Mapping[tuple[Kind, str], object]
"""{(kind, name): value}, without unknown values."""

LIBRARIES = ("torch", "transformers", "numpy", "scipy", "scikit-learn", "mteb")
"""The libraries whose versions may change a score."""


def as_facts(kind: Kind, values: Mapping[str, object]) -> dict[tuple[Kind, str], object]:
    """Return {name: value} as facts of one kind."""
    return {(kind, name): value for name, value in values.items()}


def facts(run: Run) -> Facts:
    """Return all facts that a run recorded, except times."""
    results = run.results
    encoder = {key: results.get(key) for key in ("encoder", "architecture", "precision", "dtype")}
    recorded: Facts = {
        **as_facts("scores", {**run.metrics, "best step": results.get("best_step")}),
        **as_facts("weights", {"best/model.safetensors": results.get("weights_sum")}),
        **as_facts("science", encoder),
        **settings_by_purpose(run),
        **as_facts("data", data_by_name(run)),
        **as_facts("versions", {**code_by_name(results), **run.versions}),
        **as_facts("machine", {"device": results.get("device"), "processes": processes_in_words(results)}),
    }
    return {fact: value for fact, value in recorded.items() if value is not None}


def settings_by_purpose(run: Run) -> Facts:
    """Return the choices and settings of a run as facts. The kind of each setting is the setting's purpose."""
    repeated = ("choices", "sources")  # other keys have these facts
    known = {**run.choices, **flattened({key: value for key, value in run.config.items() if key not in repeated})}
    known.pop("trainer.devices", None)  # the fact `processes` also covers torchrun
    return {(role_of(key, run.config).purpose, key): value for key, value in known.items()}


def data_by_name(run: Run) -> dict[str, object]:
    """Return the facts about a run's evaluation data and training data, and the digests of all its inputs, by name."""
    data: dict[str, object] = {**evaluator_data(run)}
    if trained := run.training_data:
        for name, value in flattened({**trained, "sha256": content_digests(trained)}).items():
            if value != run.get("data.path"):  # data.path is already among the settings
                data[f"training data: {name}"] = value
    for name, digest in (run.results.get("inputs") or {}).items():
        data[f"digest of {name}"] = digest
    return data


def code_by_name(results: Results) -> dict[str, object]:
    """Return the digests and commits of a run's code, by name.

    If a resume changed the code, each name for the earlier code ends with " until step N".
    """
    digests: dict[str, object] = {}
    for until, code in stretches_of_code(results):
        digests |= {f"code{until}": code.get("code"), f"git_commit{until}": code.get("git_commit")}
        for name, digest in (code.get("own_code") or {}).items():
            digests[f"code of {name}{until}"] = digest
    return digests


def code_in_short(run: Run) -> str:
    """Return digests of cse and of the user's modules, truncated to 8 digits, for each code that the run used.

    Return "" if the run recorded no digest.
    """
    stretches = []
    for _, code in stretches_of_code(run.results):
        if digest := code.get("code"):
            own = [f"{name} {own_digest[:8]}" for name, own_digest in (code.get("own_code") or {}).items()]
            stretches.append(" and ".join([digest[:8], *own]))
    return ", then ".join(stretches)


def stretches_of_code(results: Results) -> list[tuple[str, EarlierCode | Results]]:
    """Return (" until step N", code) for each code that a run used, in order; ("", code) for the last code.

    Each resume with changed code adds one pair to the list.
    """
    earlier = [(f" until step {part['until_step']}", part) for part in results.get("earlier_code") or []]
    return [*earlier, ("", results)]


def processes_in_words(results: Results) -> str | None:
    """Return the number of a run's processes; if a resume changed the number, all numbers: "1, then 2"."""
    counts = [*results.get("earlier_processes", []), results.get("processes")]
    return ", then ".join(str(count) for count in counts if count) or None


def scoring_facts(run: Run) -> dict[str, str]:
    """Return {name: text} of all facts that a run's scores depend on, except the run's encoder."""
    known = {library: str(run.versions[library]) for library in LIBRARIES if library in run.versions}
    if code := code_in_short(run):
        known["code"] = code
    for key in ("dtype", "trainer.eval_precision"):
        if run.get(key) is not None:
            known[key] = format_value(run.get(key))
    for key, value in flattened({"eval": run.config.get("eval")}).items():
        if key.startswith("eval.") and not str(value).startswith("/"):  # for a folder, evaluator_data has its files
            known[key] = format_value(value)
    return known | evaluator_data(run)


def evaluator_data(run: Run) -> dict[str, str]:
    """Return {"data of E": digest, "protocol of E": protocol} of each evaluator E that scored a run."""
    data: dict[str, str] = {}
    for evaluator, source in run.data.items():
        data[f"data of {evaluator}"] = data_digest(source)[:8]
        data[f"protocol of {evaluator}"] = format_value(source.get("protocol"))
    return data


def data_digest(source: Source) -> str:
    """Return the SHA-256 of the sorted lines "<sha256>  <name>" that `sha256sum` would write for an evaluator's files.

    A dataset without file checksums has the line "<revision>  <name>". Return "" if there is no line.
    """
    lines = [f"{file['sha256']}  {name}\n" for name, file in source.get("files", {}).items() if "sha256" in file]
    lines += [f"{revision}  {name}\n" for name, revision in source.get("revisions", {}).items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() if lines else ""


def training_facts(run: Run) -> Iterator[tuple[str, str, str]]:
    """Yield (name, path in the settings, checksums) for each training text and for the second modality of a run."""
    for key, text in trained_texts(run).items():
        if contents := content_digests(text):
            name = f"data={text.get('name')}" if key == "data" else key
            yield name, str(run.get(f"{key}.path")), contents
    if second := run.training_data.get("aux_modality"):
        keys = [key for key in flattened(run.config) if key.startswith("aux_modality.data.")]
        places = [run.get(key) for key in keys if role_of(key, run.config).is_science]
        yield "aux_modality", str(places), str(second.get("digest"))


def trained_texts(run: Run) -> dict[str, TrainingData]:
    """Return {key: recorded facts} of each training text of a run. A key is data, or data.sources.NAME."""
    if sources := run.training_data.get("sources"):
        return {f"data.sources.{name}": text for name, text in sources.items()}
    return {"data": run.training_data}


def file_sums(text: TrainingData) -> dict[str, str]:
    """Return {file's name: checksum} of a text's local files; {} for a published file, or without checksums."""
    sums = text.get("sha256")
    return sums if isinstance(sums, dict) else {}


def content_digests(text: TrainingData) -> str | None:
    """Return the sorted checksums of a text's files as one string, without names of files; None without a checksum."""
    digests = ", ".join(sorted(map(str, file_sums(text).values()))) or text.get("sha256")
    return str(digests) if digests else None
