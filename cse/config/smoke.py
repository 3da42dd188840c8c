"""smoke=true: any run in seconds, on a CPU, with made-up data, to show that all parts fit together.

`replaced` keeps the line's own value of every key that conf/smoke.yaml changes; by it a report finds the row that the
run stands for. Text, images, sound, score sets and trainer.devices that are typed are used.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.config.groups import CONF_DIR
from cse.files import written_once
from cse.sources import made_up
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

KEPT = ("limit", "limit_seed", "noise", "cache_dir", "preview")  # the settings of a replaced text that stay
OWN_TEXT = {"data.path", "data.rows.file", "data.rows.folder"}
OWN_IMAGES_OR_SOUND = {"paths.images", "paths.audio", "aux_modality.data.folder"}


def fit(cfg: DictConfig, typed: Collection[str] = ()) -> None:
    """Shrink a composed config of cse-train or cse-eval in place, if it has smoke=true. typed: the line's keys."""
    if cfg.smoke:
        with open_dict(cfg):
            cfg.replaced = {}
            shrink(cfg, OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), set(typed))


def replace(cfg: DictConfig, group: str, **values: object) -> None:
    """Set values of a group, or at the top for "", and keep the old ones in `replaced`."""
    for name, value in values.items():
        key = f"{group}.{name}" if group else name
        before = OmegaConf.select(cfg, key)
        if before != value:
            cfg.replaced[key] = OmegaConf.to_container(before) if OmegaConf.is_config(before) else before
            OmegaConf.update(cfg, key, value, merge=False)


def shrink(cfg: DictConfig, sizes: Any, typed: set[str]) -> None:
    """A made-up encoder, text and score sets, and two steps. sizes: conf/smoke.yaml."""
    world = Path(cfg.paths.cache) / "smoke"
    if "name" in cfg.model:
        name, pooling = made_up.encoder(world, cfg.model.name), cfg.model.pooling or "mean"
        # it is bidirectional whatever the real one is, and does not record what the real one records
        replace(cfg, "model", name=name, num_layers=None, bidirectional=False, pooling=pooling)
    if left_out := sorted(set(cfg.eval) - {"stsb", "sts"}):
        log.info("smoke      eval=%s left out", ",".join(left_out))
        cfg.replaced["eval"] = list(cfg.eval)
    senteval = cfg.paths.senteval
    if "paths.senteval" not in typed:
        senteval = str(written_once(world / "senteval2", made_up.write_senteval))
    score_sets = {"senteval": senteval, "allow_partial": True}
    widths = {name: OmegaConf.select(cfg, f"eval.{name}.widths") or [] for name in ("stsb", "sts")}
    stsb = {"_target_": "cse.eval.sts.Stsb", "with_sickr": False, "widths": widths["stsb"], **score_sets}
    sts = {"_target_": "cse.eval.sts.Sts", "widths": widths["sts"], **score_sets}
    cfg.eval = {**({"stsb": stsb} if cfg.eval else {}), **({"sts": sts} if "sts" in cfg.eval else {})}
    if "trainer" not in cfg:
        if cfg.checkpoint and not Path(cfg.checkpoint).expanduser().exists():  # and no run of another smoke test
            replace(cfg, "", checkpoint=made_up.encoder(world, cfg.checkpoint), pooling=cfg.pooling or "mean")
        if cfg.whitening.kind:
            replace(cfg, "whitening", fit=str(made_up.text_file(world, ())), components=sizes.components)
        return
    if typed & OWN_TEXT:
        replace(cfg, "data", limit=min(limit, sizes.rows) if isinstance(limit := cfg.data.limit, int) else sizes.rows)
    else:
        shrink_text(cfg, world)
    if "trainer.devices" in typed:
        sizes.trainer.devices = cfg.trainer.devices
    shrink_training(cfg, sizes, world)
    if "data" in cfg.aux_modality:
        shrink_aux(cfg, sizes, world, is_own=bool(typed & OWN_IMAGES_OR_SOUND))


def shrink_text(cfg: DictConfig, world: Path) -> None:
    """Replace the text by made-up text. A corpus that is a single file keeps its reader and its columns."""
    corpus = DATASETS.get(cfg.data.name)
    cfg.replaced["data.name"] = cfg.data.name
    if corpus and "file" in cfg.data.rows:
        file = made_up.text_file(world, corpus.columns)
        cfg.data.update(name="smoke", identity=f"smoke/{cfg.data.name}")
        cfg.data.rows.file = str(file)
    else:
        file = made_up.text_file(world, cfg.data.get("columns") or (), cfg.data.get("scores"))
        kept = {key: cfg.data.get(key) for key in ("columns", "empty", "scores", *KEPT)}
        cfg.data = {"_target_": "cse.data.text.Text", "name": "smoke", "path": str(file), **kept, "score_range": None}


def shrink_training(cfg: DictConfig, sizes: Any, world: Path) -> None:
    """Shrink the trainer, an objective's teachers and projector, and spans."""
    limits = {key: min(cfg.trainer[key], sizes[key]) for key in ("batch_size", "max_length")}
    select = cfg.trainer.select and "dev/stsb/spearman"
    replace(cfg, "trainer", **{**sizes.trainer, **limits, "select": select})
    if "teacher" in cfg.objective:
        replace(cfg, "objective", teacher=made_up.encoder(world, "minilm"), teacher_pooling="mean")
    if "second_teacher" in cfg.objective:
        replace(cfg, "objective", second_teacher=None)
    if "min_length" in cfg.augmentation:  # DeCLUTR's spans
        replace(cfg, "augmentation", min_length=sizes.span[0], max_length=sizes.span[1])
    if OmegaConf.select(cfg, "objective.head.hidden"):
        replace(cfg, "objective.head", hidden=sizes.projector, out=sizes.projector)


def shrink_aux(cfg: DictConfig, sizes: Any, world: Path, *, is_own: bool) -> None:
    """Shrink images or sound, which are made up unless their folder is the user's own."""
    replace(cfg, "aux_modality", init="random", weights=None)
    data = cfg.aux_modality.data
    replace(cfg, "aux_modality.data", batch_size=sizes.aux_batch, workers=0)
    if is_own:
        limits = {key: min(data[key] or limit, limit) for key, limit in sizes.aux_limits.items() if key in data}
        replace(cfg, "aux_modality.data", **limits)
    if "size" in data:
        replace(cfg, "aux_modality.data", size=sizes.image_size)
        if not is_own:
            folder = str(written_once(world / "images", made_up.write_images))
            replace(cfg, "aux_modality.data", folder=folder, files=None)
    elif not is_own:
        replace(cfg, "aux_modality.data", folder=str(written_once(world / "audio", made_up.write_audio)))
