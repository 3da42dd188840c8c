"""What best/ has beside the encoder, so that it can be shared as it is: the model card and mteb's own results.

The card, README.md in the hub's format, says what made the encoder, its scores, and whom to cite.
"""

import logging
import math
import re
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cse.data.overlap import in_words
from cse.files import Json
from cse.lab.folder.citation import bibtex, cited
from cse.lab.folder.origin import base_model, data_in_words, languages_of, program_in_words, shareable
from cse.lab.folder.score_tables import ALTERED, shown
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.keys import changes_a_table, is_verbatim
from cse.score import Score, in_short, no_better
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # importing huggingface_hub takes time
    from huggingface_hub import EvalResult
    from torch import nn

    from cse.model.encoder import Encoder

log = logging.getLogger("cse")

TASK = "sentence-similarity"  # as the hub calls it
TASKS = {
    **dict.fromkeys(("accuracy", "f1", "ap"), "text-classification"),
    **dict.fromkeys(("recall", "ndcg", "map", "mrr", "median", "recall_average"), "text-retrieval"),
    "v": "text-clustering",
    **dict.fromkeys(("alignment", "uniformity", "effective", "isotropy", "mean"), "feature-extraction"),
}
"""Other tasks, by the first word of the metric's name."""

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

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("best")  # this folder, or its name on the hub
vectors = model.encode(["A sentence.", "Another one."])
```

{vectors}
{citation}"""

FOOTNOTE = """
†: on incomplete or altered data, or by SentEval's fast settings; not comparable with published scores.
"""

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
        language=languages_of(config, weights.get("language")),
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
        rows=table_of(scores),
        untrained=f", which by {select} is no better than the encoder before training" * in_vain,
        vectors=vectors_in_words(record["vectors"]),
        citation=CITATION.format("\n".join(map(bibtex, works))) if (works := cited(methods)) else "",
    )
    return f"---\n{about.to_yaml()}\n---\n\n{text}"


def table_of(scores: Collection[Score]) -> str:
    """The lines of the card's table, without a score that is no number, and what their mark means, if one has it."""
    finite = [score for score in scores if math.isfinite(score.value)]
    table = "".join(f"| {shown(score)} | {in_short(score.value)} |\n" for score in finite)
    return table + FOOTNOTE * (ALTERED in table)


def vectors_of(encoder: "Encoder", head: "nn.Module | None") -> Json:
    """How an exported encoder makes vectors. head: the one that the objective keeps."""
    return {
        "made": encoder.described,
        "kept_head": head is not None,
        "numbers": encoder.vector_length,
        "unit_length": encoder.unit_length and encoder.vector_length == encoder.dim,
        "similarity": encoder.settings.get("similarity_fn_name") or "cosine",
    }


def vectors_in_words(about: Json) -> str:
    """How a text becomes a vector, and how to compare two. about: what `vectors_of` returns."""
    named = about["similarity"]
    sentences = [
        f"A text's vector has {about['numbers']} numbers: {about['made']}.",
        "After the pooling come a dense layer and tanh (`Dense`), which were trained with it." * about["kept_head"],
        "All of this is part of the model and needs no setting.",
        f"Vectors are {'' if about['unit_length'] else 'not '}of length 1.",
        "The similarity is the cosine." if named == "cosine" else f"The similarity is the base model's: {named}.",
    ]
    return " ".join(filter(None, sentences))


def index_of(scores: Collection[Score]) -> "list[EvalResult]":
    """The scores that leaderboards may show, as the hub's model-index: nothing on altered data, no NaN, and no score by
    which a classifier of a test chose its settings, on rows of training (dev_accuracy)."""
    from huggingface_hub import EvalResult

    results = []
    for score in (score for score in scores if math.isfinite(score.value) and not score.altered):
        split, *scored, metric = score.name.split("/")
        dataset = "/".join(scored)
        if not metric.startswith("dev_"):
            task, value = task_of(score), round(score.value, 4)
            results.append(EvalResult(task, dataset, dataset, metric, value, dataset_split=split))
    return results


def task_of(score: Score) -> str:
    """The hub's task of a score, by its metric; of an average, that of its first score."""
    behind = score.items
    while isinstance(behind, list) and behind:
        behind = behind[0]
    name = behind if isinstance(behind, str) else score.name
    return TASKS.get(re.split(r"[_@]", name.rpartition("/")[2])[0], TASK)


def copy_mteb(best: Path, record: Json) -> None:
    """Copy mteb's own results of the encoder, with run_settings.jsonl, into best/mteb, if mteb scored it."""
    about = record["data"].get("mteb")
    if about is None:
        return
    model, cache = about["model"], Path(record["config"]["eval"]["mteb"]["cache"])
    for file in sorted((cache / "results" / model["name"].replace("/", "__") / model["revision"]).glob("*.json*")):
        (best / "mteb").mkdir(exist_ok=True)
        shutil.copyfile(file, best / "mteb" / file.name)


def hyper_parameters(config: Config) -> Config:
    """The settings that decide what was learned, by dotted key, without nulls and paths."""
    groups = ("objective", "trainer", "augmentation", "masking", "aux_modality", "model")
    flat = flattened({name: config[name] for name in groups if isinstance(config.get(name), dict)})
    return {
        key: value
        for key, value in flat.items()
        if changes_a_table(key) and not is_verbatim(key) and value is not None and "._" not in key
    }


def methods_of(config: Config) -> list[str]:
    """The chosen objective and second modality, if there is one: simcse, visual, ..."""
    chosen = [config["choices"].get(group) for group in ("objective", "aux_modality")]
    return [one for one in chosen if one not in (None, "none")]


def name_of(methods: Sequence[str]) -> str:
    """The methods as their papers write them; SimCSE beside images or sound is what VisualCSE and AudioCSE are."""
    names = [NAMES.get(one, one) for one in methods]
    second = {"VisualCSE", "AudioCSE"} & {*names}
    return " + ".join(one for one in names if not (second and one.endswith(" SimCSE")))
