"""smoke=true: any run in seconds, on a CPU, with made-up data, to show that all parts fit together.

`fit` makes up what a run reads, makes its sizes small (conf/smoke.yaml), and lays what was typed over both. What cannot
be kept, because it needs real weights or data, a log line names. `replaced` keeps the line's own value of every key
that was changed, so that a run's files say what it stands for.
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

SCORED = ("stsb", "sts")  # the evaluators whose data is made up; others are left out


def fit(cfg: DictConfig, typed: Iterable[str] = ()) -> None:
    """Shrink a composed config of cse-train or cse-eval in place, if it has smoke=true. typed: the line's keys."""
    if not cfg.smoke:
        return
    asked = {key: value_at(cfg, key) for key in typed if not is_group(key)}
    usable = {key: value for key, value in asked.items() if not is_encoder(key, cfg) or is_here(value)}
    sizes, world = OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), Path(cfg.paths.cache) / "smoke"
    with open_dict(cfg):
        cfg.replaced = {}
        make_up_encoder(cfg, world, usable)
        make_up_scores(cfg, world, usable)
        if "trainer" in cfg:
            shrink_text(cfg, sizes, world, usable)
            shrink_trainer(cfg, sizes, usable)
            shrink_objective(cfg, sizes, world, usable)
            shrink_aux(cfg, sizes, world, usable)
        else:
            shrink_evaluation(cfg, sizes, world)
        lay_over(cfg, usable)
        tell_replaced(cfg, asked)


def value_at(cfg: DictConfig, key: str) -> Any:
    """The plain value at a dotted key; None if there is none."""
    found = OmegaConf.select(cfg, key)
    return OmegaConf.to_container(found) if OmegaConf.is_config(found) else found


def is_here(name: object) -> bool:
    """Whether weights of that name lie on this machine, in a folder or a package; null needs none."""
    return name is None or str(name).startswith("package://") or Path(str(name)).expanduser().exists()


def replace(cfg: DictConfig, group: str, **values: object) -> None:
    """Set values of a group, or at the top for "", and keep the old ones in `replaced`."""
    for name, value in values.items():
        key = f"{group}.{name}".lstrip(".")
        before = value_at(cfg, key)
        if before != value:
            cfg.replaced[key] = before
            OmegaConf.update(cfg, key, value, merge=False)


def make_up_encoder(cfg: DictConfig, world: Path, typed: Mapping[str, Any]) -> None:
    """A made-up encoder of the family and width of the real one, unless that is typed and here.

    It is bidirectional whatever the real one is, does not record what that records, and has a token for each byte.
    """
    if "name" not in cfg.model or "model.name" in typed:
        return
    pooling = cfg.model.pooling
    if "trainer" not in cfg:  # cse-eval takes no pooling for granted
        pooling = pooling or "mean"
    name = made_up.encoder(world, cfg.model.name)
    replace(cfg, "model", name=name, num_layers=None, bidirectional=False, pooling=pooling, prefix=None)


def make_up_scores(cfg: DictConfig, world: Path, typed: Mapping[str, Any]) -> None:
    """The evaluators of SCORED that are chosen, on made-up score sets unless a folder is typed. STS-B selects a step,
    so it stands in for any other evaluator."""
    chosen = sorted(cfg.eval)
    if left_out := [name for name in chosen if name not in SCORED]:
        log.info("smoke      eval=%s left out", ",".join(left_out))
        cfg.replaced["eval"] = list(cfg.eval)
    senteval = cfg.paths.senteval
    if "paths.senteval" not in typed:
        senteval = str(written_once(world / "senteval2", made_up.write_senteval))
    shared = {"senteval": senteval, "allow_partial": True}
    widths = {name: value_at(cfg, f"eval.{name}.widths") or [] for name in SCORED}
    evaluators = {}
    if chosen:
        evaluators["stsb"] = {
            "_target_": "cse.eval.sts.Stsb",
            "with_sickr": False,
            "widths": widths["stsb"],
            **shared,
        }
    if "sts" in chosen:
        evaluators["sts"] = {"_target_": "cse.eval.sts.Sts", "widths": widths["sts"], **shared}
    cfg.eval = evaluators


def shrink_evaluation(cfg: DictConfig, sizes: Any, world: Path) -> None:
    """A made-up checkpoint for cse-eval, unless it is here, as a run of another smoke test is; and its whitening."""
    if not is_here(cfg.checkpoint):
        replace(cfg, "", checkpoint=made_up.encoder(world, cfg.checkpoint), pooling=cfg.pooling or "mean")
    if cfg.whitening.kind:
        replace(cfg, "whitening", fit=str(made_up.text_file(world, ())), components=sizes.components)


def shrink_text(cfg: DictConfig, sizes: Any, world: Path, typed: Mapping[str, Any]) -> None:
    """Cut text that is typed; made-up text stands for any other. A corpus that is one file keeps its reader and its
    columns."""
    named = (value_at(cfg, f"data.{key}") for key in ("path", "rows.file", "rows.folder"))
    if any(place is not None and place in typed.values() for place in named):
        rows = max(sizes.rows, typed.get("trainer.batch_size", 0))
        limit = cfg.data.limit
        replace(cfg, "data", limit=min(limit, rows) if isinstance(limit, int) else rows)
        return
    corpus = DATASETS.get(cfg.data.name)
    cfg.replaced["data.name"] = cfg.data.name
    if corpus and "file" in cfg.data.rows:
        file = made_up.text_file(world, corpus.columns)
        cfg.data.update(name="smoke", identity=f"smoke/{cfg.data.name}")
        cfg.data.rows.file = str(file)
        return
    file = made_up.text_file(world, cfg.data.get("columns") or (), cfg.data.get("scores"))
    made = {"_target_": "cse.data.text.Text", "name": "smoke", "path": str(file), "score_range": None}
    kept = ("columns", "empty", "scores", "limit", "limit_seed", "noise", "cache_dir", "preview")
    cfg.data = made | {key: cfg.data.get(key) for key in kept}


def shrink_trainer(cfg: DictConfig, sizes: Any, typed: Mapping[str, Any]) -> None:
    """Two steps of small batches, and a selection by STS-B."""
    limits = {key: min(cfg.trainer[key], sizes[key]) for key in ("batch_size", "max_length")}
    select = cfg.trainer.select and "dev/stsb/spearman"
    steps = typed.get("trainer.max_steps")
    epochs = max(1, steps) if isinstance(steps, int) else sizes.trainer.epochs  # of a step or more each: enough
    replace(cfg, "trainer", **{**sizes.trainer, **limits, "select": select, "epochs": epochs})


def shrink_objective(cfg: DictConfig, sizes: Any, world: Path, typed: Mapping[str, Any]) -> None:
    """Made-up teachers, a narrow projector, and short spans."""
    if "teacher" in cfg.objective and "objective.teacher" not in typed:
        replace(cfg, "objective", teacher=made_up.encoder(world, "minilm"), teacher_pooling="mean")
    if "second_teacher" in cfg.objective:
        replace(cfg, "objective", second_teacher=None)
    if value_at(cfg, "objective.head.hidden"):
        replace(cfg, "objective.head", hidden=sizes.projector, out=sizes.projector)
    if "min_length" in cfg.augmentation:  # DeCLUTR's spans
        replace(cfg, "augmentation", min_length=sizes.span[0], max_length=sizes.span[1])


def shrink_aux(cfg: DictConfig, sizes: Any, world: Path, typed: Mapping[str, Any]) -> None:
    """Shrink images or sound, which are made up unless their folder is typed."""
    if "data" not in cfg.aux_modality:
        return
    if typed.get("aux_modality.weights") is None:
        replace(cfg, "aux_modality", init="random", weights=None)
    data = cfg.aux_modality.data
    is_own = data.folder is not None and data.folder in typed.values()
    replace(cfg, "aux_modality.data", batch_size=sizes.aux_batch, workers=0)
    if "size" in data:
        replace(cfg, "aux_modality.data", size=sizes.image_size)
    if is_own:
        limits = {key: min(data[key] or limit, limit) for key, limit in sizes.aux_limits.items() if key in data}
        replace(cfg, "aux_modality.data", **limits)
    elif "size" in data:
        folder = str(written_once(world / "images", made_up.write_images))
        replace(cfg, "aux_modality.data", folder=folder, files=None)
    else:
        replace(cfg, "aux_modality.data", folder=str(written_once(world / "audio", made_up.write_audio)))


def lay_over(cfg: DictConfig, typed: Mapping[str, Any]) -> None:
    """Set what was typed, as far as the shrunk config can have it; not where what it belongs to is left out."""
    for key, value in typed.items():
        part = key.rpartition(".")[0]
        if not part or OmegaConf.select(cfg, part) is not None:
            OmegaConf.update(cfg, key, possible(cfg, key, value), merge=False)


def possible(cfg: DictConfig, key: str, value: Any) -> Any:
    """A typed value, or what comes next to it in a shrunk config."""
    is_made_up_text, is_made_up_encoder = "data.name" in cfg.replaced, "model.name" in cfg.replaced
    match key:
        case "trainer.batch_size" if is_made_up_text:
            return min(value, made_up.ROWS)
        case "augmentation.min_length" | "augmentation.max_length" if is_made_up_text:
            return min(value, cfg.augmentation.max_length)  # a made-up row has no room for longer spans
        case "aux_modality.data.batch_size" if "aux_modality.data.folder" in cfg.replaced:
            return min(value, made_up.FILES)
        case "model.num_layers" | "model.bidirectional" if is_made_up_encoder:
            return value_at(cfg, key)
        case "aux_modality.init" if cfg.aux_modality.weights is None:
            return "random"
        case "trainer.select" if value and not {*value.split("/")[1:2]} <= {*cfg.eval}:
            return cfg.trainer.select
        case "trainer.watch":
            return [name for name in value if name in cfg.eval]
    return value


def tell_replaced(cfg: DictConfig, asked: Mapping[str, Any]) -> None:
    """Log each typed value that could not be kept. asked: the typed values by key."""
    for key, value in asked.items():
        now = value_at(cfg, key)
        if now == value:
            cfg.replaced.pop(key, None)
        else:
            said = (key, *(spell_value(one, quotes=False) for one in (value, now)))
            log.info("smoke      %s=%s needs real weights or data; with what is made up it is %s", *said)
