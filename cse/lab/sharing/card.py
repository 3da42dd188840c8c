"""The model card: README.md of best/, in the hub's format, so that best/ can be shared as it is.

`model_card` writes the hub's metadata, and then `card_text`. The functions below `card_text` make its paragraphs, in
this order: the program and command, the training data, the hyper-parameters, the scores, the vectors. The citations are
in cse.lab.sharing.methods.
"""

import math
import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cse.data.overlap import overlap_in_words
from cse.lab.folder.contents import ExportedVectors, Results, TrainingData
from cse.lab.settings.arguments import shell_line
from cse.lab.settings.roles import repeats_a_run, role_of
from cse.lab.settings.values import PlainConfig, flattened
from cse.lab.sharing.hub_metadata import base_model, hub_metadata
from cse.lab.sharing.methods import bibtex, cited, methods_of, title_of_methods
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
        selection_rule(record, scores),
        EXAMPLE,
        vectors_in_words(record["vectors"]),
    ]
    if works := cited(methods_of(config)):
        paragraphs += ["Please cite:", fenced("bibtex", "\n".join(map(bibtex, works)))]
    return "\n\n".join(paragraphs) + "\n"


def fenced(language: str, text: str) -> str:
    """A block of code in Markdown."""
    return f"```{language}\n{text.rstrip()}\n```"


def program_in_words(record: Results) -> str:
    """The version of cse, the digest of its code and its commit, if the run recorded them."""
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
    """The command without arguments about the machine: trackers, schedulers, and the folders of paths."""
    return shell_line(*(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word)))


def training_in_words(record: Results) -> str:
    """The training data, how many of its texts are also scored, and the encoder's architecture."""
    sentences = [f"Trained on {learned_from(record['config'], record.get('training_data') or {})}."]
    overlap, architecture = record.get("overlap"), record.get("architecture")
    if overlap and overlap["found"]:
        sentences.append(f"{overlap_in_words(overlap)}.")
    if architecture:
        sentences.append(f"The encoder: {architecture}.")
    return " ".join(sentences)


def learned_from(config: PlainConfig, trained: TrainingData) -> str:
    """The name of the training data, with the licence of a published corpus. trained: the record of the run."""
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


def sources_named(config: PlainConfig) -> list[str]:
    """The files or datasets of the sources of a mixture, without repetition."""
    return list(dict.fromkeys(str(source.get("path")) for source in (config["data"].get("sources") or {}).values()))


def facts_of_own_text(config: PlainConfig, trained: TrainingData) -> list[str]:
    """The rows, the digest and the licence of the user's own text, if known."""
    facts = []
    if "rows" in trained:
        facts.append(f"{trained['rows']:,} rows")
    if "digest" in trained:
        facts.append(f"digest `{trained['digest'][:16]}`")
    return [*facts, f"licence: {(config.get('card') or {}).get('data_licence') or 'not given'}"]


def hyper_parameters(config: PlainConfig) -> PlainConfig:
    """The settings that decide what was learned, by dotted key, without nulls and paths.

    If each source of a mixture has its own objective, the run's objective is left out, because no source uses it.
    """
    settings = {group: config[group] for group in DECIDING if isinstance(config.get(group), dict)}
    sources = config["data"].get("sources") or {}
    if sources:
        objectives = {name: source.get("objective") for name, source in sources.items()}
        if all(objectives.values()):
            settings.pop("objective", None)
        own = {name: {"objective": objective} for name, objective in objectives.items()}
        settings["data"] = {"weights": config["data"].get("weights"), "sources": own}
    return {key: value for key, value in flattened(settings).items() if is_hyper_parameter(key, value, config)}


def is_hyper_parameter(key: str, value: object, config: PlainConfig) -> bool:
    """Whether a setting is a hyper-parameter: it has a value, is neither a path nor a key of Hydra, and decides what
    was learned.
    """
    role = role_of(key, config)
    return value is not None and "._" not in key and role.changes_a_table and not role.is_verbatim


def score_table(scores: Collection[Score]) -> str:
    """The scores that are numbers, as a table. A note below it explains the mark of modified data."""
    lines = ["| score | value |", "|---|---|"]
    finite = [score for score in scores if math.isfinite(score.value)]
    lines += [f"| {marked_name(score)} | {in_short(score.value)} |" for score in finite]
    if any(score.modified for score in finite):
        lines += ["", f"{IS_MODIFIED} Such a score is not comparable with published scores."]
    return "\n".join(lines)


def selection_rule(record: Results, scores: Collection[Score]) -> str:
    """The score that selects the checkpoint, and whether training improved this score."""
    rule = "Model selection uses scores that begin with `dev/`"
    select = str(record["config"]["trainer"].get("select"))
    if no_better({score.name: score for score in scores}, select, record.get("untrained") or {}):
        return f"{rule}; the step selected by {select} is no better than the encoder before training."
    return f"{rule}."


def vectors_of_export(encoder: "Encoder", head: "nn.Module | None") -> ExportedVectors:
    """How an exported encoder makes vectors, for results.json. head: the objective's head that stays at test time."""
    return {
        "made": encoder.described,
        "kept_head": head is not None,
        "numbers": encoder.vector_length,
        "unit_length": encoder.unit_length and encoder.vector_length == encoder.dim,
        "similarity": encoder.settings.get("similarity_fn_name") or "cosine",
    }


def vectors_in_words(about: ExportedVectors) -> str:
    """How the encoder makes a vector of a text, and how to compare two vectors."""
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
