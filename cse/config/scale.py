"""smoke=true: any run in seconds, on a CPU, with made-up data, to show that all parts fit together.

`scale.replaced` keeps the paper's value of every key that conf/scale/smoke.yaml changes; by it a report finds the row
that the run stands for.
"""

import logging
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.config.groups import CONF_DIR
from cse.files import written_once
from cse.sources import made_up
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

KEPT = ("limit", "limit_seed", "noise", "cache_dir", "preview")  # the settings of a replaced text that stay


def is_smoke(cfg: DictConfig) -> bool:
    """Whether a config is of scale=smoke, under either of its names."""
    return cfg.smoke or cfg.scale.name == "smoke"


def fit(cfg: DictConfig) -> None:
    """Change a composed config of cse-train or cse-eval in place."""
    with open_dict(cfg):
        if is_smoke(cfg):
            cfg.smoke = True
            cfg.scale = OmegaConf.merge(OmegaConf.load(Path(CONF_DIR) / "scale" / "smoke.yaml"), {"replaced": {}})
            shrink(cfg, Path(cfg.paths.cache) / "smoke")


def replace(cfg: DictConfig, group: str, **values: object) -> None:
    """Set values of a group, and keep the old ones in scale.replaced."""
    for name, value in values.items():
        key = f"{group}.{name}"
        before = OmegaConf.select(cfg, key)
        if before != value:
            cfg.scale.replaced[key] = OmegaConf.to_container(before) if OmegaConf.is_config(before) else before
            OmegaConf.update(cfg, key, value, merge=False)


def own_text(cfg: DictConfig, name: str, path: str) -> dict[str, object]:
    """The data node of a file that replaces the text, with the settings that the text had."""
    kept = {key: cfg.data.get(key) for key in ("columns", "empty", "scores", "score_range", *KEPT)}
    return {"_target_": "cse.data.text.Text", "name": name, "path": path, **kept}


def replace_teacher(cfg: DictConfig, name: str, pooling: str | None) -> None:
    """Replace an objective's teachers by this encoder."""
    if "teacher" in cfg.objective:
        replace(cfg, "objective", teacher=name, teacher_pooling=pooling)
    if "second_teacher" in cfg.objective:
        replace(cfg, "objective", second_teacher=None)


def shrink(cfg: DictConfig, world: Path) -> None:
    """smoke: a made-up encoder, text and score sets, and two steps. world: the folder of what is made up."""
    if "name" in cfg.model:
        name, pooling = made_up.encoder(world, cfg.model.name), cfg.model.pooling or "mean"
        # it is bidirectional whatever the real one is, and does not record what the real one records
        replace(cfg, "model", name=name, num_layers=None, bidirectional=False, pooling=pooling)
    if left_out := sorted(set(cfg.eval) - {"stsb", "sts"}):
        log.info("smoke      eval=%s left out", ",".join(left_out))
        cfg.scale.replaced["eval"] = list(cfg.eval)
    score_sets = {"senteval": str(written_once(world / "senteval2", made_up.write_senteval)), "allow_partial": True}
    widths = {name: OmegaConf.select(cfg, f"eval.{name}.widths") or [] for name in ("stsb", "sts")}
    stsb = {"_target_": "cse.eval.sts.Stsb", "with_sickr": False, "widths": widths["stsb"], **score_sets}
    sts = {"_target_": "cse.eval.sts.Sts", "widths": widths["sts"], **score_sets}
    cfg.eval = {**({"stsb": stsb} if cfg.eval else {}), **({"sts": sts} if "sts" in cfg.eval else {})}
    if "trainer" in cfg:
        shrink_text(cfg, world)
        shrink_training(cfg, world)
    elif cfg.whitening.kind:
        replace(cfg, "whitening", fit=str(made_up.text_file(world, ())), components=cfg.scale.components)


def shrink_text(cfg: DictConfig, world: Path) -> None:
    """Replace the text by made-up text. A corpus that is a single file keeps its reader and its columns."""
    corpus = DATASETS.get(cfg.data.name)
    cfg.scale.replaced["data.name"] = cfg.data.name
    if corpus and "file" in cfg.data.rows:
        file = made_up.text_file(world, corpus.columns)
        cfg.data.update(name="smoke", identity=f"smoke/{cfg.data.name}")
        cfg.data.rows.update(file=str(file), allow_partial=True)
    else:
        file = made_up.text_file(world, cfg.data.get("columns") or (), cfg.data.get("scores"))
        cfg.data = {**own_text(cfg, "smoke", str(file)), "score_range": None}


def shrink_training(cfg: DictConfig, world: Path) -> None:
    """Shrink what only cse-train has: trainer, spans, projector, second modality."""
    sizes = cfg.scale
    limits = {key: min(cfg.trainer[key], sizes[key]) for key in ("batch_size", "max_length")}
    select = cfg.trainer.select and "dev/stsb/spearman"
    replace(cfg, "trainer", **{**sizes.trainer, **limits, "select": select})
    replace_teacher(cfg, made_up.encoder(world, "minilm"), "mean")
    if "min_length" in cfg.augmentation:  # DeCLUTR's spans
        replace(cfg, "augmentation", min_length=sizes.span[0], max_length=sizes.span[1])
    if OmegaConf.select(cfg, "objective.head.hidden"):
        replace(cfg, "objective.head", hidden=sizes.projector, out=sizes.projector)
    if "data" in cfg.aux_modality:
        replace(cfg, "aux_modality", init="random", weights=None)
        replace(cfg, "aux_modality.data", batch_size=sizes.aux_batch, workers=0)
        if "size" in cfg.aux_modality.data:
            folder = str(written_once(world / "images", made_up.write_images))
            replace(cfg, "aux_modality.data", folder=folder, size=sizes.image_size, files=None)
        else:
            replace(cfg, "aux_modality.data", folder=str(written_once(world / "audio", made_up.write_audio)))
