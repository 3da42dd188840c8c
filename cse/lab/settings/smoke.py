"""smoke=true: any run in seconds, on a CPU, with made-up data, to show that all parts fit together.

Every key that nobody typed gets a small value, and a typed key keeps its own, but for those that need real weights or
data, which a log line names. `replaced` keeps the line's own value of every key that conf/smoke.yaml changes; by it a
report finds the row that the run stands for.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.files import written_once
from cse.lab.settings.compose import is_group
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.keys import is_encoder
from cse.lab.settings.words import spell_value
from cse.sources import made_up
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

KEPT = ("limit", "limit_seed", "noise", "cache_dir", "preview")  # the settings of a replaced text that stay
OWN_TEXT = {"data.path", "data.rows.file", "data.rows.folder"}
OWN_IMAGES_OR_SOUND = {"paths.images", "paths.audio", "aux_modality.data.folder"}


def fit(cfg: DictConfig, typed: Iterable[str] = ()) -> None:
    """Shrink a composed config of cse-train or cse-eval in place, if it has smoke=true. typed: the line's keys."""
    if not cfg.smoke:
        return
    asked = {key: value_at(cfg, key) for key in typed if not is_group(key)}
    usable = {key: value for key, value in asked.items() if not is_encoder(key, cfg) or is_here(value)}
    with open_dict(cfg):
        cfg.replaced = {}
        shrink(cfg, OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), usable)
        for key, value in usable.items():
            part = key.rpartition(".")[0]
            if not part or OmegaConf.select(cfg, part) is not None:  # else what it belongs to is left out
                OmegaConf.update(cfg, key, possible(cfg, key, value), merge=False)
        for key, value in asked.items():
            if (now := value_at(cfg, key)) == value:
                cfg.replaced.pop(key, None)
            else:
                said = (key, *(spell_value(one, quotes=False) for one in (value, now)))
                log.info("smoke      %s=%s needs real weights or data; with what is made up it is %s", *said)


def value_at(cfg: DictConfig, key: str) -> Any:
    """The plain value at a dotted key; None if there is none."""
    found = OmegaConf.select(cfg, key)
    return OmegaConf.to_container(found) if OmegaConf.is_config(found) else found


def is_here(name: object) -> bool:
    """Whether weights of that name lie on this machine, in a folder or a package; null needs none."""
    return name is None or str(name).startswith("package://") or Path(str(name)).expanduser().exists()


def possible(cfg: DictConfig, key: str, value: Any) -> Any:
    """A typed value, or what comes next to it in a shrunk config."""
    match key:
        case "trainer.batch_size" if "data.name" in cfg.replaced:
            return min(value, made_up.ROWS)
        case "augmentation.min_length" | "augmentation.max_length" if "data.name" in cfg.replaced:
            return min(value, cfg.augmentation.max_length)  # a made-up row has no room for longer spans
        case "aux_modality.data.batch_size" if "aux_modality.data.folder" in cfg.replaced:
            return min(value, made_up.FILES)
        case "model.num_layers" | "model.bidirectional" if "model.name" in cfg.replaced:
            return value_at(cfg, key)
        case "aux_modality.init" if cfg.aux_modality.weights is None:
            return "random"
        case "trainer.select" if value and not {*value.split("/")[1:2]} <= {*cfg.eval}:
            return cfg.trainer.select
        case "trainer.watch":
            return [name for name in value if name in cfg.eval]
    return value


def replace(cfg: DictConfig, group: str, **values: object) -> None:
    """Set values of a group, or at the top for "", and keep the old ones in `replaced`."""
    for name, value in values.items():
        key = f"{group}.{name}" if group else name
        before = value_at(cfg, key)
        if before != value:
            cfg.replaced[key] = before
            OmegaConf.update(cfg, key, value, merge=False)


def shrink(cfg: DictConfig, sizes: Any, typed: Mapping[str, Any]) -> None:
    """A made-up encoder, text and score sets, and two steps. sizes: conf/smoke.yaml. typed: what the line has."""
    world = Path(cfg.paths.cache) / "smoke"
    if "name" in cfg.model and "model.name" not in typed:
        name, pooling = made_up.encoder(world, cfg.model.name), cfg.model.pooling
        if "trainer" not in cfg:  # cse-eval takes no pooling for granted
            pooling = pooling or "mean"
        # it is bidirectional whatever the real one is, does not record what that records, and has a token for each byte
        replace(cfg, "model", name=name, num_layers=None, bidirectional=False, pooling=pooling, prefix=None)
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
        if not is_here(cfg.checkpoint):  # a run of another smoke test is
            replace(cfg, "", checkpoint=made_up.encoder(world, cfg.checkpoint), pooling=cfg.pooling or "mean")
        if cfg.whitening.kind:
            replace(cfg, "whitening", fit=str(made_up.text_file(world, ())), components=sizes.components)
        return
    if OWN_TEXT & typed.keys():
        rows = max(sizes.rows, typed.get("trainer.batch_size", 0))
        replace(cfg, "data", limit=min(limit, rows) if isinstance(limit := cfg.data.limit, int) else rows)
    else:
        shrink_text(cfg, world)
    shrink_training(cfg, sizes, world, typed)
    if "data" in cfg.aux_modality:
        shrink_aux(cfg, sizes, world, typed)


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


def shrink_training(cfg: DictConfig, sizes: Any, world: Path, typed: Mapping[str, Any]) -> None:
    """Shrink the trainer, an objective's teachers and projector, and spans."""
    limits = {key: min(cfg.trainer[key], sizes[key]) for key in ("batch_size", "max_length")}
    select = cfg.trainer.select and "dev/stsb/spearman"
    replace(cfg, "trainer", **{**sizes.trainer, **limits, "select": select})
    if isinstance(steps := typed.get("trainer.max_steps"), int):
        replace(cfg, "trainer", epochs=max(1, steps))  # of a step or more each: enough for what is typed
    if "teacher" in cfg.objective and "objective.teacher" not in typed:
        replace(cfg, "objective", teacher=made_up.encoder(world, "minilm"), teacher_pooling="mean")
    if "second_teacher" in cfg.objective:
        replace(cfg, "objective", second_teacher=None)
    if "min_length" in cfg.augmentation:  # DeCLUTR's spans
        replace(cfg, "augmentation", min_length=sizes.span[0], max_length=sizes.span[1])
    if OmegaConf.select(cfg, "objective.head.hidden"):
        replace(cfg, "objective.head", hidden=sizes.projector, out=sizes.projector)


def shrink_aux(cfg: DictConfig, sizes: Any, world: Path, typed: Mapping[str, Any]) -> None:
    """Shrink images or sound, which are made up unless their folder is the user's own."""
    if typed.get("aux_modality.weights") is None:
        replace(cfg, "aux_modality", init="random", weights=None)
    data, is_own = cfg.aux_modality.data, bool(OWN_IMAGES_OR_SOUND & typed.keys())
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
