"""The model card: README.md of best/, in the hub's format, so that best/ can be shared as it is.

It says what made the encoder, its scores, and whom to cite. In the order of this file:

model_card              the whole card, from results.json: hub_metadata, and card_text for a person
training_in_words       what it learned from
hyper_parameters        the settings that decide what was learned
title_of_methods        the methods as their papers write them
score_table             its scores
program_in_words ...    what made it: code, command, text
vectors_of_export ...   how it makes vectors
cited                   whom to cite
"""

import math
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cse.data.overlap import overlap_in_words
from cse.files import Json
from cse.lab.folder.contents import ExportedVectors, Results, TrainingData
from cse.lab.settings.arguments import shell_line
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import PACKAGE_DIR, choices, file_of
from cse.lab.settings.roles import repeats_a_run, role_of
from cse.lab.settings.values import Config, flattened
from cse.lab.sharing.hub_metadata import base_model, hub_metadata, methods_of
from cse.lab.sharing.score_tables import IS_MODIFIED, marked_name
from cse.score import Score, in_short, no_better
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # importing torch is slow
    from torch import nn

    from cse.model.encoder import Encoder

LOCAL = re.compile(
    r"""
    (?:^|(?<=[=,[{:'" ]))     # where a word begins, or a value in it
    (?:~[\w.-]*|\.{1,2})?/    # the root, a home, this folder or the one above it
    (?!/)                     # a URL is none
    (?:[^,=\]}'"]*/)?         # the folders in it
    """,
    re.VERBOSE,
)
"""The folders of a path of this machine: /home/me/ in paths.senteval=/home/me/senteval."""

EXAMPLE = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("best")  # this folder, or its name on the hub
vectors = model.encode(["A sentence.", "Another one."])
```"""

DECIDING = ("objective", "trainer", "augmentation", "masking", "aux_modality", "model")
"""The groups of the settings that decide what was learned."""


def model_card(record: Results, scores: Collection[Score]) -> str:
    """The text of README.md. record: results.json."""
    config = record["config"]
    start = base_model(config) or Path(config["model"]["name"]).name
    title = f"{title_of_methods(methods_of(config))} from {start}"
    return f"---\n{hub_metadata(record, scores, title)}\n---\n\n{card_text(record, scores, title)}"


def card_text(record: Results, scores: Collection[Score], title: str) -> str:
    """The text below the hub's metadata, for a person."""
    config = record["config"]
    paragraphs = [
        f"# {title}",
        f"Trained by {program_in_words(record)}: seed {record['seed']}, step {record.get('best_step')} of "
        f"{record['total_steps']}. To reproduce (paths shortened):",
        fenced("sh", shareable(record["command"])),
        training_in_words(record),
        "<details><summary>Hyper-parameters</summary>",
        fenced("yaml", yaml.safe_dump(hyper_parameters(config), sort_keys=False, allow_unicode=True)),
        "</details>",
        score_table(scores),
        selection_in_words(record, scores),
        EXAMPLE,
        vectors_in_words(record["vectors"]),
    ]
    if works := cited(methods_of(config)):
        paragraphs += ["Please cite:", fenced("bibtex", "\n".join(map(bibtex, works)))]
    return "\n\n".join(paragraphs) + "\n"


def fenced(language: str, text: str) -> str:
    """A block of code in Markdown."""
    return f"```{language}\n{text.rstrip()}\n```"


def training_in_words(record: Results) -> str:
    """The text that it was trained on, how much of it is scored too, and the encoder's architecture."""
    sentences = [f"Trained on {data_in_words(record['config'], record.get('training_data') or {})}."]
    overlap, architecture = record.get("overlap"), record.get("architecture")
    if overlap and overlap["found"]:
        sentences.append(f"{overlap_in_words(overlap)}.")
    if architecture:
        sentences.append(f"The encoder: {architecture}.")
    return " ".join(sentences)


def selection_in_words(record: Results, scores: Collection[Score]) -> str:
    """The scores that select the step, and whether training improved the one that did."""
    rule = "Model selection uses scores that begin with `dev/`"
    select = str(record["config"]["trainer"].get("select"))
    if no_better({score.name: score for score in scores}, select, record.get("untrained") or {}):
        return f"{rule}; the step selected by {select} is no better than the encoder before training."
    return f"{rule}."


def hyper_parameters(config: Config) -> Config:
    """The settings that decide what was learned, by dotted key, without nulls and paths."""
    settings = {group: config[group] for group in DECIDING if isinstance(config.get(group), dict)}
    sources = config["data"].get("sources") or {}
    if sources:
        objectives = {name: source.get("objective") for name, source in sources.items()}
        if all(objectives.values()):  # no source learns from the run's own
            settings.pop("objective", None)
        own = {name: {"objective": objective} for name, objective in objectives.items()}
        settings["data"] = {"weights": config["data"].get("weights"), "sources": own}
    return {key: value for key, value in flattened(settings).items() if is_hyper_parameter(key, value, config)}


def is_hyper_parameter(key: str, value: object, config: Config) -> bool:
    """Whether a setting is shown: it is set, it is no path and no key of Hydra's, and it decides what was learned."""
    role = role_of(key, config)
    return value is not None and "._" not in key and role.changes_a_table and not role.is_verbatim


def title_of_methods(methods: Sequence[str]) -> str:
    """The methods' names. SimCSE beside images or sound has no name: VisualCSE and AudioCSE include it."""
    names = [name_of_method(method) for method in methods]
    if {"VisualCSE", "AudioCSE"} & {*names}:
        names = [name for name in names if not name.endswith(" SimCSE")]
    return " + ".join(names)


def name_of_method(choice: str) -> str:
    """The name of an objective or a second modality, as its paper writes it.

    It is the beginning of its file's first comment, up to a bracket, comma or colon; without one, the choice itself.
    """
    for group in ("objective", "aux_modality"):
        if choice in choices(group):
            return re.split(r" \(|[,:]", first_sentence(file_of(group, choice)))[0] or choice
    return choice


def score_table(scores: Collection[Score]) -> str:
    """The scores that are numbers, as a table. A note below explains the mark, if one has it."""
    lines = ["| score | value |", "|---|---|"]
    finite = [score for score in scores if math.isfinite(score.value)]
    lines += [f"| {marked_name(score)} | {in_short(score.value)} |" for score in finite]
    if any(score.modified for score in finite):
        lines += ["", f"{IS_MODIFIED} Such a score is not comparable with published ones."]
    return "\n".join(lines)


def program_in_words(record: Results) -> str:
    """cse with its version, its code's digest and its commit, as far as the run recorded them."""
    named = {"code": record.get("code"), "commit": record.get("git_commit")}
    parts = [", ".join(f"{name} `{value}`" for name, value in named.items() if value)]
    for earlier in record.get("earlier_code") or []:
        digest = earlier.get("code")
        code = f"code `{digest}`" if digest else "unknown code"
        parts.append(f"until step {earlier['until_step']} {code}")
    known = "; ".join(part for part in parts if part)
    version = (record.get("versions") or {}).get("cse-lab", "")
    return f"cse {version}".rstrip() + (f" ({known})" if known else "")


def shareable(command: str) -> str:
    """The command without the folders, trackers and schedulers of the machine that ran it; paths are shortened."""
    return shell_line(*(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word)))


def sources_named(config: Config) -> list[str]:
    """The files or datasets of a mixture's sources, each once."""
    return list(dict.fromkeys(str(source.get("path")) for source in (config["data"].get("sources") or {}).values()))


def data_in_words(config: Config, trained: TrainingData) -> str:
    """What it was trained on, with the licence if that is a published corpus. trained: what the run recorded of it."""
    name = config["data"]["name"]
    if name in DATASETS:
        text = f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    else:
        path = config["data"].get("path") or sources_named(config) or name
        paths = [path] if isinstance(path, str) else path
        files = ", ".join(f"`{Path(str(place)).name}`" for place in paths)
        text = f"{files}, the user's own text ({', '.join(facts_of_own_text(config, trained))})"
    if second := trained.get("aux_modality"):
        text += f"; and on {second['items']:,} {second['kind']} of {second['classes']} classes, "
        text += f"with {second['labels']} labels, from `{second['source']}` (digest `{second['digest']}`), "
        text += f"by the loss `{second['loss']}`"
    return text


def facts_of_own_text(config: Config, trained: TrainingData) -> list[str]:
    """The rows, the digest and the licence of the user's text, as far as the run recorded them."""
    facts = []
    if "rows" in trained:
        facts.append(f"{trained['rows']:,} rows")
    if "digest" in trained:
        facts.append(f"digest `{trained['digest'][:16]}`")
    return [*facts, f"licence: {(config.get('card') or {}).get('data_licence') or 'not given'}"]


def vectors_of_export(encoder: "Encoder", head: "nn.Module | None") -> ExportedVectors:
    """How an exported encoder makes vectors. head: the one that the objective keeps."""
    return {
        "made": encoder.described,
        "kept_head": head is not None,
        "numbers": encoder.vector_length,
        "unit_length": encoder.unit_length and encoder.vector_length == encoder.dim,
        "similarity": encoder.settings.get("similarity_fn_name") or "cosine",
    }


def vectors_in_words(about: ExportedVectors) -> str:
    """How a text becomes a vector, and how to compare two. about: what `vectors_of_export` returns."""
    sentences = [f"A text's vector has {about['numbers']} numbers: {about['made']}."]
    if about["kept_head"]:
        sentences.append("After the pooling come a dense layer and tanh (`Dense`), which were trained with it.")
    sentences.append("All of this is part of the model and needs no setting.")
    sentences.append("Vectors are of length 1." if about["unit_length"] else "Vectors are not of length 1.")
    if about["similarity"] == "cosine":
        sentences.append("The similarity is the cosine.")
    else:
        sentences.append(f"The similarity is the base model's: {about['similarity']}.")
    return " ".join(sentences)


def cited(methods: Sequence[str]) -> Sequence[Json]:
    """The works in CITATION.cff that describe the methods."""
    return [entry for entry in known_works() if set(methods) & set(entry.get("keywords", []))]


def known_works() -> Sequence[Json]:
    """The references in CITATION.cff, which is in the package or, in a checkout, beside it."""
    inside, beside = PACKAGE_DIR / "CITATION.cff", PACKAGE_DIR.parent / "CITATION.cff"
    return yaml.safe_load((inside if inside.is_file() else beside).read_text(encoding="utf-8"))["references"]


def bibtex(entry: Json) -> str:
    """A reference from CITATION.cff as BibTeX."""
    people = entry["authors"]
    authors = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in people)
    key = f"{people[0]['family-names'].lower()}{entry['year']}{entry['keywords'][0]}"
    return (
        f"@inproceedings{{{key},\n  title = {{{entry['title']}}},\n  author = {{{authors}}},\n"
        f"  booktitle = {{{entry['collection-title']}}},\n  year = {{{entry['year']}}}\n}}"
    )
