"""The model card: README.md of best/, in the hub's format, so that best/ can be shared as it is.

It says what made the encoder, its scores, and whom to cite. In the order of this file:

model_card              the whole card, from results.json: hub_metadata, and card_text for a person
hyper_parameters        the settings that decide what was learned
method_name             the methods as their papers write them
score_lines             its scores, as a table
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
from cse.lab.settings.groups import PACKAGE_DIR
from cse.lab.settings.roles import repeats_a_run, role_of
from cse.lab.settings.values import Config, flattened
from cse.lab.settings.words import shell_line
from cse.lab.sharing.hub_metadata import base_model, hub_metadata, methods_of
from cse.lab.sharing.score_tables import ALTERED, IS_ALTERED, marked_name
from cse.score import Score, in_short, no_better
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # importing torch is slow
    from torch import nn

    from cse.model.encoder import Encoder

NAMES = {
    "adnce": "ADNCE",
    "angle": "AnglE",
    "arccon": "ArcCon",
    "audio": "AudioCSE",
    "barlow": "Barlow Twins",
    "cosent": "CoSENT",
    "cosine": "Regression of cosines",
    "dcl": "DCL",
    "declutr": "DeCLUTR",
    "esimcse": "ESimCSE",
    "gist": "GISTEmbed",
    "mlm": "Masked language model",
    "rankcse": "RankCSE",
    "simcse": "Unsupervised SimCSE",
    "simcse_sup": "Supervised SimCSE",
    "vicreg": "VICReg",
    "visual": "VisualCSE",
    "whitenedcse": "WhitenedCSE",
}
"""Objectives and second modalities as their papers write them."""

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

BODY = """\
# {title}

Trained by {program}: seed {seed}, step {step} of {steps}. To reproduce (paths shortened):

```sh
{command}
```

Trained on {data}.{overlap}{architecture}

<details><summary>Hyper-parameters</summary>

```yaml
{settings}
```

</details>

| score | value |
|---|---|
{rows}
Model selection uses scores that begin with `dev/`{untrained}.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("best")  # this folder, or its name on the hub
vectors = model.encode(["A sentence.", "Another one."])
```

{vectors}
{citation}"""

FOOTNOTE = f"""
{IS_ALTERED} Such a score is not comparable with published ones.
"""

CITATION = """
Please cite:

```bibtex
{}
```
"""


def model_card(record: Results, scores: Collection[Score]) -> str:
    """The text of README.md. record: results.json."""
    config = record["config"]
    start = base_model(config) or Path(config["model"]["name"]).name
    title = f"{method_name(methods_of(config))} from {start}"
    return f"---\n{hub_metadata(record, scores, title)}\n---\n\n{card_text(record, scores, title)}"


def card_text(record: Results, scores: Collection[Score], title: str) -> str:
    """What a person reads below that."""
    config, overlap, works = record["config"], record.get("overlap"), cited(methods_of(record["config"]))
    return BODY.format(
        title=title,
        program=program_in_words(record),
        seed=record["seed"],
        step=record.get("best_step"),
        steps=record["total_steps"],
        command=shareable(record["command"]),
        data=trained_on_in_words(config, record.get("training_data") or {}),
        overlap=f" {overlap_in_words(overlap)}." if overlap and overlap["found"] else "",
        architecture=f" The encoder: {record['architecture']}." if record.get("architecture") else "",
        settings=yaml.safe_dump(hyper_parameters(config), sort_keys=False, allow_unicode=True).rstrip(),
        rows=score_lines(scores),
        untrained=doubt_about_selection(record, scores),
        vectors=vectors_in_words(record["vectors"]),
        citation=CITATION.format("\n".join(map(bibtex, works))) if works else "",
    )


def doubt_about_selection(record: Results, scores: Collection[Score]) -> str:
    """That training did not improve the score that selects; "" if it did."""
    select = str(record["config"]["trainer"].get("select"))
    if no_better({score.name: score for score in scores}, select, record.get("untrained") or {}):
        return f"; the step selected by {select} is no better than the encoder before training"
    return ""


def hyper_parameters(config: Config) -> Config:
    """The settings that decide what was learned, by dotted key, without nulls and paths."""
    groups = ["objective", "trainer", "augmentation", "masking", "aux_modality", "model"]
    sources = config["data"].get("sources") or {}
    if sources and all(source.get("objective") for source in sources.values()):
        groups.remove("objective")  # from which no source learns
    settings = {name: config[name] for name in groups if isinstance(config.get(name), dict)}
    if sources:
        objectives = {name: {"objective": source.get("objective")} for name, source in sources.items()}
        settings["data"] = {"weights": config["data"].get("weights"), "sources": objectives}
    deciding: Config = {}
    for key, value in flattened(settings).items():
        role, is_plain = role_of(key, config), value is not None and "._" not in key
        if role.changes_a_table and not role.is_verbatim and is_plain:
            deciding[key] = value
    return deciding


def method_name(methods: Sequence[str]) -> str:
    """The methods as their papers write them; SimCSE beside images or sound is what VisualCSE and AudioCSE are."""
    names = [NAMES.get(name, name) for name in methods]
    second = {"VisualCSE", "AudioCSE"} & {*names}
    return " + ".join(name for name in names if not (second and name.endswith(" SimCSE")))


def score_lines(scores: Collection[Score]) -> str:
    """The lines of the card's table, without a score that is no number, and what their mark means, if one has it."""
    finite = [score for score in scores if math.isfinite(score.value)]
    table = "".join(f"| {marked_name(score)} | {in_short(score.value)} |\n" for score in finite)
    return f"{table}{FOOTNOTE}" if ALTERED in table else table


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


def trained_on_in_words(config: Config, trained: TrainingData) -> str:
    """What it was trained on, with the licence if that is a published corpus. trained: what the run recorded of it."""
    name = config["data"]["name"]
    if name in DATASETS:
        text = f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    else:
        path = config["data"].get("path") or sources_named(config) or name
        paths = [path] if isinstance(path, str) else path
        files = ", ".join(f"`{Path(str(place)).name}`" for place in paths)
        licence = (config.get("card") or {}).get("data_licence") or "not given"
        rows, digest = trained["rows"], trained["digest"][:16]
        text = f"{files}, the user's own text ({rows:,} rows, digest `{digest}`, licence: {licence})"
    if second := trained.get("aux_modality"):
        text += f"; and on {second['items']:,} {second['kind']} of {second['classes']} classes, "
        text += f"with {second['labels']} labels, from `{second['source']}` (digest `{second['digest']}`), "
        text += f"by the loss `{second['loss']}`"
    return text


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
