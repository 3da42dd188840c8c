"""scale=laptop and scale=smoke: any run in minutes or seconds, on a CPU, with data from packages or made-up data.

laptop keeps the method: objective, augmentation, second modality, optimizer and rate are the paper's; the encoder, the
text, the judgements and the sizes are replaced (conf/scale/laptop.yaml). smoke, or smoke=true, shows that all parts
fit together (conf/scale/smoke.yaml). `scale.replaced` keeps the paper's value of every key that is changed, by which a
report finds the row that the run stands for.
"""

import logging
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.config.groups import CONF_DIR
from cse.errors import MissingResource
from cse.files import written_once
from cse.sources import made_up
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

WIDTH = 384  # of laptop's encoder
JUDGED_FROM = {name: "senteval" for name in ("stsb", "sts", "transfer", "geometry")} | {"stsb_multi": "stsb_multi"}
KEPT = ("limit", "limit_seed", "noise", "cache_dir", "preview")  # the settings of a replaced text that stay


def is_smoke(cfg: DictConfig) -> bool:
    """Whether a config is of scale=smoke, under either of its names."""
    return cfg.smoke or cfg.scale.name == "smoke"


def fit(cfg: DictConfig) -> None:
    """Change a composed config of cse-train or cse-eval in place. Raises MissingResource if text must be given."""
    with open_dict(cfg):
        if is_smoke(cfg):
            cfg.smoke = True
            cfg.scale = OmegaConf.merge(OmegaConf.load(Path(CONF_DIR) / "scale" / "smoke.yaml"), {"replaced": {}})
            shrink(cfg, Path(cfg.paths.cache) / "smoke")
        elif cfg.scale.name == "laptop":
            cfg.scale.replaced = {}
            fit_laptop(cfg)


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


def fit_laptop(cfg: DictConfig) -> None:
    """laptop: an encoder from a package, text and judgements that are given or from packages, and few steps."""
    if "name" in cfg.model:
        width = 1024 if "large" in str(cfg.model.name) else 768
        replace(cfg, "model", name=cfg.scale.model)
        groups = OmegaConf.select(cfg, "objective.whitening.num_groups") or 1
        if groups > 1:  # the divisor of the width with nearly as many channels a group as in the paper's encoder
            divisors = [k for k in range(1, WIDTH + 1) if WIDTH % k == 0]
            nearest = min(divisors, key=lambda k: abs(WIDTH / k - width / groups))
            replace(cfg, "objective.whitening", num_groups=nearest)
    fit_judgements(cfg)
    if "trainer" in cfg:
        fit_text(cfg)
        fit_training(cfg)
    elif cfg.whitening.kind and cfg.whitening.fit is None:
        replace(cfg, "whitening", fit=cfg.scale.sentences)


def fit_judgements(cfg: DictConfig) -> None:
    """Keep the evaluators whose folder `paths` gives, or else use gensim's human judgements; never MTEB and others."""
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
        replace(cfg, "trainer", select=next((ours[name] for name in ours if name in evaluators), None))


def fit_text(cfg: DictConfig) -> None:
    """Replace the text by sentences, by rows with the same columns, or by documents; a limit becomes a share of rows.

    Text from the judgements' own folder is small, and stays.
    """
    if cfg.data.get("senteval"):
        return
    rows = next(iter(DATASETS[cfg.data.name].rows), None) if cfg.data.name in DATASETS else None
    if rows and isinstance(cfg.data.limit, int):
        replace(cfg, "data", limit=min(1.0, cfg.data.limit / rows))
    columns, spans = cfg.data.get("columns"), "anchors" in cfg.augmentation
    kind = "documents" if spans else "pairs" if columns else "sentences"
    file = cfg.scale[kind]
    if file is None and kind == "pairs":
        needed = ", ".join([*columns, *filter(None, [cfg.data.get("scores")])])
        raise MissingResource(
            f"scale={cfg.scale.name} has no pairs of its own for data={cfg.data.name}: scale.pairs=FILE "
            f"with the columns {needed}"
        )
    cfg.scale.replaced["data.name"] = cfg.data.name
    if file is None:
        demo = OmegaConf.load(Path(CONF_DIR) / "data" / ("demo_documents.yaml" if spans else "demo.yaml"))
        cfg.data = OmegaConf.merge(demo, {key: cfg.data.get(key) for key in KEPT})
    else:
        cfg.data = own_text(cfg, "text", file)
    if spans:
        replace(cfg, "augmentation", min_length=cfg.scale.span[0], max_length=cfg.scale.span[1], on_short="skip")


def replace_teacher(cfg: DictConfig, name: str, pooling: str | None) -> None:
    """Replace an objective's teachers by this encoder."""
    if "teacher" in cfg.objective:
        replace(cfg, "objective", teacher=name, teacher_pooling=pooling)
    if "second_teacher" in cfg.objective:
        replace(cfg, "objective", second_teacher=None)


def fit_training(cfg: DictConfig) -> None:
    """Few steps of a small batch with schedules of that length; small batches of images or sound, and projectors."""
    fixed = {"schedule_steps": cfg.scale.trainer.max_steps, "save_every": None, "devices": 1}
    length = min(cfg.trainer.max_length, 2 * cfg.scale.span[1])
    replace(cfg, "trainer", **{**cfg.scale.trainer, **fixed, "max_length": length})
    replace_teacher(cfg, cfg.scale.model, None)
    for key in ("hidden", "out"):
        if (OmegaConf.select(cfg, f"objective.head.{key}") or 0) > cfg.scale.projector:
            replace(cfg, "objective.head", **{key: cfg.scale.projector})
    if "data" in cfg.aux_modality:
        replace(cfg, "aux_modality.data", batch_size=cfg.scale.aux_batch)
        replace(cfg, "aux_modality", init="random")


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
