"""scale=laptop: any run of a paper's table in minutes on a CPU, with what travels in packages or is given.

The method stays: objective, augmentation, second modality, optimizer and rate are the paper's. The encoder, the text,
the judgements and the sizes are replaced (conf/scale/laptop.yaml). What the paper's size says of every key that is
changed goes to `scale.replaced`, by which a report finds the row that the run stands for.
"""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.config.groups import CONF_DIR
from cse.errors import MissingResource
from cse.sources.catalogue import DATASETS

WIDTH = 384  # of the embedded encoder
JUDGED_FROM = {name: "senteval" for name in ("stsb", "sts", "transfer", "geometry")} | {"stsb_multi": "stsb_multi"}


def fit(cfg: DictConfig) -> None:
    """Change a composed config of cse-train or cse-eval in place. Raises MissingResource for text that is not given."""
    if cfg.scale.name == "paper":
        return
    with open_dict(cfg):
        if "name" in cfg.model:
            width = 1024 if "large" in str(cfg.model.name) else 768
            replace(cfg, "model.name", cfg.scale.model)
            fit_groups(cfg, width)
        fit_judgements(cfg)
        if "trainer" in cfg:
            fit_text(cfg)
            fit_training(cfg)
        elif cfg.whitening.kind and cfg.whitening.fit is None:
            replace(cfg, "whitening.fit", cfg.scale.sentences)


def replace(cfg: DictConfig, key: str, value: object) -> None:
    """Set a value and keep the one that stood there."""
    before = OmegaConf.select(cfg, key)
    if before != value:
        cfg.scale.replaced[key] = OmegaConf.to_container(before) if OmegaConf.is_config(before) else before
        OmegaConf.update(cfg, key, value, merge=False)


def fit_groups(cfg: DictConfig, width: int) -> None:
    """As many channels a group as in the paper's encoder, or the nearest number that divides the width here."""
    groups = OmegaConf.select(cfg, "objective.whitening.num_groups")
    if groups is not None and groups > 1:
        size = width / groups
        divisors = [k for k in range(1, WIDTH + 1) if WIDTH % k == 0]
        replace(cfg, "objective.whitening.num_groups", min(divisors, key=lambda k: abs(WIDTH / k - size)))


def fit_judgements(cfg: DictConfig) -> None:
    """Those whose folder is given in `paths`, else the human judgements in gensim's wheel; MTEB and others never."""
    folders = {name: cfg.paths[JUDGED_FROM[name]] for name in cfg.eval if name in JUDGED_FROM}
    evaluators = {name: cfg.eval[name] for name, folder in folders.items() if folder}
    if not evaluators:
        evaluators = {"demo": OmegaConf.load(Path(CONF_DIR) / "eval" / "demo.yaml")}
    if list(evaluators) != list(cfg.eval):
        cfg.scale.replaced["eval"] = list(cfg.eval)
    cfg.eval = evaluators
    if "trainer" not in cfg:
        return
    select, watch = cfg.trainer.select, cfg.trainer.watch
    cfg.trainer.watch = [name for name in ([watch] if isinstance(watch, str) else watch) if name in evaluators]
    if select is not None and select.split("/")[1] not in evaluators:
        ours = {"stsb": "dev/stsb/spearman", "demo": "dev/demo/average"}
        replace(cfg, "trainer.select", next((ours[name] for name in ours if name in evaluators), None))


def fit_text(cfg: DictConfig) -> None:
    """Sentences, rows with the corpus's columns, or documents; a number of rows becomes a share of the paper's."""
    rows = next(iter(DATASETS[cfg.data.name].rows), None) if cfg.data.name in DATASETS else None
    if rows and isinstance(cfg.data.limit, int):
        replace(cfg, "data.limit", min(1.0, cfg.data.limit / rows))
    columns, spans = cfg.data.get("columns"), "anchors" in cfg.augmentation
    kind = "documents" if spans else "pairs" if columns else "sentences"
    file = cfg.scale[kind]
    if file is None and kind != "sentences":
        raise MissingResource(
            f"scale={cfg.scale.name} has no {kind} of its own for data={cfg.data.name}: scale.{kind}=FILE"
            + (f" with the columns {', '.join(columns)}" if columns else ", one document of 128 words or more a line")
        )
    keys = ("limit", "limit_seed", "noise", "cache_dir", "preview")
    shared = {key: cfg.data.get(key) for key in keys}
    cfg.scale.replaced["data.name"] = cfg.data.name
    if file is None:
        cfg.data = OmegaConf.merge(OmegaConf.load(Path(CONF_DIR) / "data" / "demo.yaml"), shared)
    else:
        cfg.data = {"_target_": "cse.data.text.Text", "name": "text", "path": file, "columns": columns, **shared}
    if spans:
        for key, value in (("min_length", cfg.scale.span[0]), ("max_length", cfg.scale.span[1]), ("on_short", "skip")):
            replace(cfg, f"augmentation.{key}", value)


def fit_training(cfg: DictConfig) -> None:
    """Few steps of a small batch, schedules as long as these; small images' batches and projectors."""
    for key, value in cfg.scale.trainer.items():
        replace(cfg, f"trainer.{key}", value)
    fixed = {
        "schedule_steps": cfg.scale.trainer.max_steps,
        "save_every": None,
        "devices": 1,
        "max_length": min(cfg.trainer.max_length, 2 * cfg.scale.span[1]),
    }
    for key, value in fixed.items():
        replace(cfg, f"trainer.{key}", value)
    for key in ("hidden", "out"):
        if (OmegaConf.select(cfg, f"objective.head.{key}") or 0) > cfg.scale.projector:
            replace(cfg, f"objective.head.{key}", cfg.scale.projector)
    if "data" in cfg.aux_modality:
        replace(cfg, "aux_modality.data.batch_size", cfg.scale.aux_batch)
        replace(cfg, "aux_modality.init", "random")
