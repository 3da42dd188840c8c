"""The model card: README.md in best/, in the hub's format, so that best/ can be uploaded unchanged.

`model_card` returns the hub's metadata, and then the text of `card_text`. The functions below `card_text` return its
paragraphs, in this order: the program and command, the training data, the hyper-parameters, the scores, the vectors.
cse.lab.sharing.methods has the citations.
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
    (?:^|(?<=[=,[{:'" ]))     # the beginning of a word, or of a value in a word
    (?:~[\w.-]*|\.{1,2})?/    # the root, a home, this folder or the folder above
    (?!/)                     # not the // of a URL
    (?:[^,=\]}'"]*/)?         # the folders below
    """,
    re.VERBOSE,
)
"""The pattern of the folders in a path of this machine: /home/me/ in paths.senteval=/home/me/senteval."""

EXAMPLE = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("best")  # this folder, or its name on the hub
vectors = model.encode(["A sentence.", "Another one."])
```"""

DECIDING = ("objective", "trainer", "augmentation", "masking", "aux_modality", "model")
"""The groups of settings that decide training."""


def model_card(record: Results, scores: Collection[Score]) -> str:
    """Return the text of README.md. record: the content of results.json."""
    config = record["config"]
    start = base_model(config) or Path(config["model"]["name"]).name
    title = f"{title_of_methods(methods_of(config))} from {start}"
    return f"---\n{hub_metadata(record, scores, title)}\n---\n\n{card_text(record, scores, title)}"


def card_text(record: Results, scores: Collection[Score], title: str) -> str:
    """Return the text for people, which is below the hub's metadata."""
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
    """Return a block of code in Markdown."""
    return f"```{language}\n{text.rstrip()}\n```"


def program_in_words(record: Results) -> str:
    """Return the version of cse, and the digests and the commit of its code, if the run recorded them."""
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
    """Return the command without facts about the machine: trackers, schedulers, and the folders in paths."""
    return shell_line(*(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word)))


def training_in_words(record: Results) -> str:
    """Return sentences on the training data, on its texts in evaluation data, and on the encoder's architecture."""
    sentences = [f"Trained on {learned_from(record['config'], record.get('training_data') or {})}."]
    overlap, architecture = record.get("overlap"), record.get("architecture")
    if overlap and overlap["found"]:
        sentences.append(f"{overlap_in_words(overlap)}.")
    if architecture:
        sentences.append(f"The encoder: {architecture}.")
    return " ".join(sentences)


def learned_from(config: PlainConfig, trained: TrainingData) -> str:
    """Return a description of the training data, with a published corpus's licence. trained: the record of the data."""
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
    """Return the files or datasets of a mixture's sources, each once."""
    return list(dict.fromkeys(str(source.get("path")) for source in (config["data"].get("sources") or {}).values()))


def facts_of_own_text(config: PlainConfig, trained: TrainingData) -> list[str]:
    """Return facts about the user's own text: its counts of rows and its digest, if known, and its licence."""
    facts = []
    if "rows" in trained:
        facts.append(f"{trained['rows']:,} rows")
    if trained.get("left_out"):
        facts.append(f"unusable rows left out: {trained['left_out']:,}")
    if "digest" in trained:
        facts.append(f"digest `{trained['digest'][:16]}`")
    return [*facts, f"licence: {(config.get('card') or {}).get('data_licence') or 'not given'}"]


def hyper_parameters(config: PlainConfig) -> PlainConfig:
    """Return the settings that decide training, by dotted key, without nulls and paths.

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
    """Return whether a setting is a hyper-parameter.

    A hyper-parameter has a value, changes the numbers of a table, and is neither a path nor a key of Hydra.
    """
    role = role_of(key, config)
    return value is not None and "._" not in key and role.changes_a_table and not role.is_verbatim


def score_table(scores: Collection[Score]) -> str:
    """Return a table of the finite scores. If a score has the mark of modified data, a note below explains the mark."""
    lines = ["| score | value |", "|---|---|"]
    finite = [score for score in scores if math.isfinite(score.value)]
    lines += [f"| {marked_name(score)} | {in_short(score.value)} |" for score in finite]
    if any(score.modified for score in finite):
        lines += ["", f"{IS_MODIFIED} Such a score is not comparable with published scores."]
    return "\n".join(lines)


def selection_rule(record: Results, scores: Collection[Score]) -> str:
    """Return a sentence on model selection, and on a selected checkpoint no better than the untrained encoder."""
    rule = "Model selection uses only `dev/` scores"
    select = str(record["config"]["trainer"].get("select"))
    if no_better({score.name: score for score in scores}, select, record.get("untrained") or {}):
        return f"{rule}; the checkpoint selected by {select} is no better than the encoder before training."
    return f"{rule}."


def vectors_of_export(encoder: "Encoder", head: "nn.Module | None") -> ExportedVectors:
    """Return the facts about an exported encoder's vectors. head: the objective's head that stays at test time."""
    return {
        "made": encoder.described,
        "kept_head": head is not None,
        "numbers": encoder.vector_length,
        "unit_length": encoder.unit_length and encoder.vector_length == encoder.dim,
        "similarity": encoder.settings.get("similarity_fn_name") or "cosine",
    }


def vectors_in_words(about: ExportedVectors) -> str:
    """Return sentences on how the encoder makes a text's vector, and on how to compare two vectors."""
    sentences = [f"A text's vector has {about['numbers']} dimensions: {about['made']}."]
    if about["kept_head"]:
        sentences.append("After the pooling come a dense layer and tanh (`Dense`), trained with the encoder.")
    sentences.append("All of this is part of the model and needs no setting.")
    sentences.append("Vectors are of length 1." if about["unit_length"] else "Vectors are not of length 1.")
    if about["similarity"] == "cosine":
        sentences.append("The similarity is the cosine.")
    else:
        sentences.append(f"The similarity is the base model's: {about['similarity']}.")
    return " ".join(sentences)
