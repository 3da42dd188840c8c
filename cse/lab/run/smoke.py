"""smoke=true: any run in seconds, on a CPU, with synthetic data, to show that all parts fit together.

`shrink` reads the config as the command gives it, and asks Small for the changes: synthetic inputs and the sizes of
conf/smoke.yaml. It applies the changes, keeps the values before them in `replaced`, and then sets what the user gives.
A log line names each given value that needs real weights or data and cannot be kept.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.files import Json, written_once
from cse.lab.settings.arguments import spell_value
from cse.lab.settings.groups import CONF_DIR, is_group
from cse.lab.settings.roles import role_of
from cse.ranges import Mark
from cse.score import evaluator_of
from cse.sources import synthetic
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

SCORED = ("stsb", "sts")  # the evaluators that have synthetic data; others are left out


def shrink(cfg: DictConfig, keys: Iterable[str] = ()) -> None:
    """Shrink the settings of cse-train or cse-eval in place, if they have smoke=true. keys: what the user gives."""
    if not cfg.smoke:
        return
    given = {key: value_at(cfg, key) for key in keys if not is_group(key)}
    elsewhere = {key for key, value in given.items() if Mark.ENCODER in role_of(key, cfg).marks and not is_here(value)}
    usable = {key: value for key, value in given.items() if key not in elsewhere}
    if left_out := [name for name in sorted(cfg.eval) if name not in SCORED]:
        log.info("smoke      eval=%s left out", ",".join(left_out))
    changes = Small(
        cfg, OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), Path(cfg.paths.cache) / "smoke", usable
    ).changes()
    with open_dict(cfg):
        cfg.replaced = values_before(cfg, changes)
        for key, value in changes.items():
            if value_at(cfg, key) != value:
                OmegaConf.update(cfg, key, value, merge=False)
        for key, value in usable.items():
            part = key.rpartition(".")[0]
            if not part or OmegaConf.select(cfg, part) is not None:  # else an evaluator, say, that is left out
                OmegaConf.update(cfg, key, possible(cfg, key, value), merge=False)
        tell_replaced(cfg, given)


def values_before(cfg: DictConfig, changes: Json) -> Json:
    """The value of each key that changes, as a run records it: a text by its name, evaluators by theirs."""
    before: Json = {}
    for key, value in changes.items():
        if key == "data":
            before["data.name"] = cfg.data.name
        elif key == "eval":
            before |= {} if set(cfg.eval) <= set(SCORED) else {"eval": list(cfg.eval)}
        elif value_at(cfg, key) != value:
            before[key] = value_at(cfg, key)
    return before


@dataclass(frozen=True)
class Small:
    """The changes that make a config small. Each method reads the config as the command gives it, and changes nothing.

    sizes: conf/smoke.yaml. world: the folder of synthetic data. given: the user's values that can be used, by key.
    """

    cfg: DictConfig
    sizes: Any
    world: Path
    given: Mapping[str, Any]

    def changes(self) -> Json:
        """All changes: the new value of each key. The keys `data` and `eval` are whole nodes."""
        if "trainer" in self.cfg:
            training = self.text() | self.trainer() | self.objectives() | self.spans() | self.aux_modality()
            return self.encoder() | self.evaluators() | training
        return self.encoder() | self.evaluators() | self.checkpoint() | self.whitening()

    def encoder(self) -> Json:
        """A synthetic encoder of the family and width of the real one, unless that is given and here.

        It is bidirectional whatever the real one is, does not record what that records, and has a token for each byte.
        """
        if "name" not in self.cfg.model or "model.name" in self.given:
            return {}
        pooling = self.cfg.model.pooling
        if "trainer" not in self.cfg:  # cse-eval takes no pooling for granted
            pooling = pooling or "mean"
        name = synthetic.encoder(self.world, self.cfg.model.name)
        changed = {"name": name, "num_layers": None, "bidirectional": False, "pooling": pooling, "prefix": None}
        return under("model", changed)

    def evaluators(self) -> Json:
        """The evaluators of SCORED that are chosen, on synthetic score sets unless a folder is given.

        STS-B selects a step, so it stands in for any other evaluator.
        """
        senteval = self.cfg.paths.senteval
        if "paths.senteval" not in self.given:
            senteval = str(written_once(self.world / "senteval2", synthetic.write_senteval))
        shared = {"senteval": senteval, "allow_partial": True}
        widths = {name: value_at(self.cfg, f"eval.{name}.widths") or [] for name in SCORED}
        evaluators = {}
        if self.cfg.eval:
            evaluators["stsb"] = {
                "_target_": "cse.eval.sts.Stsb",
                "with_sickr": False,
                "widths": widths["stsb"],
                **shared,
            }
        if "sts" in self.cfg.eval:
            evaluators["sts"] = {"_target_": "cse.eval.sts.Sts", "widths": widths["sts"], **shared}
        return {"eval": evaluators}

    def checkpoint(self) -> Json:
        """A synthetic checkpoint for cse-eval, unless it is here, as a run of another smoke test is."""
        if is_here(self.cfg.checkpoint):
            return {}
        name = synthetic.encoder(self.world, self.cfg.checkpoint)
        return {"checkpoint": name, "pooling": self.cfg.pooling or "mean"}

    def whitening(self) -> Json:
        """Whitening of few components, fitted on synthetic text."""
        if not self.cfg.whitening.kind:
            return {}
        file = str(synthetic.text_file(self.world, ()))
        return under("whitening", {"fit": file, "components": self.sizes.components})

    def text(self) -> Json:
        """Fewer rows of text that is given; synthetic text for any other. A corpus keeps its reader and its columns."""
        data = self.cfg.data
        if "sources" in data:  # a mixture's are all files of the user
            return {f"data.sources.{name}.limit": self.fewer_rows(text.limit) for name, text in data.sources.items()}
        named = (value_at(self.cfg, f"data.{key}") for key in ("path", "rows.file", "rows.folder"))
        if any(place is not None and place in self.given.values() for place in named):
            return {"data.limit": self.fewer_rows(data.limit)}
        corpus = DATASETS.get(data.name)
        if corpus and "file" in data.rows:
            own = cast("Json", OmegaConf.to_container(data))
            own |= {"name": "smoke", "identity": f"smoke/{data.name}"}
            own["rows"]["file"] = str(synthetic.text_file(self.world, corpus.columns))
            return {"data": own}
        file = synthetic.text_file(self.world, data.get("columns") or (), data.get("scores"))
        made = {"_target_": "cse.data.text.Text", "name": "smoke", "path": str(file), "score_range": None}
        kept = ("columns", "empty", "scores", "limit", "limit_seed", "noise", "cache_dir", "preview")
        return {"data": made | {key: data.get(key) for key in kept}}

    def fewer_rows(self, limit: float | None) -> int:
        """The limit of a text's rows: no more than smoke.yaml has, or than a batch that is given."""
        rows = max(self.sizes.rows, self.given.get("trainer.batch_size", 0))
        return min(limit, rows) if isinstance(limit, int) else rows

    def trainer(self) -> Json:
        """Two steps of small batches, and a selection by STS-B."""
        limits = {key: min(self.cfg.trainer[key], self.sizes[key]) for key in ("batch_size", "max_length")}
        select = self.cfg.trainer.select and "dev/stsb/spearman"
        epochs, steps = self.sizes.trainer.epochs, self.given.get("trainer.max_steps")
        if isinstance(steps, int):
            epochs = max(1, steps)  # of a step or more each: enough for what is given
        return under("trainer", {**self.sizes.trainer, **limits, "select": select, "epochs": epochs})

    def objectives(self) -> Json:
        """Synthetic teachers and a narrow projector, for the run's objective and for each text's own."""
        changes = self.objective("objective", keeps_teacher="objective.teacher" in self.given)
        for name, text in (self.cfg.data.get("sources") or {}).items():
            if text.objective is not None:
                keeps_teacher = is_here(text.objective.get("teacher"))
                changes |= self.objective(f"data.sources.{name}.objective", keeps_teacher)
        return changes

    def objective(self, key: str, keeps_teacher: bool) -> Json:
        """The changes of the objective at a key."""
        objective = OmegaConf.select(self.cfg, key)
        changes: Json = {}
        if "teacher" in objective and not keeps_teacher:
            changes |= {"teacher": synthetic.encoder(self.world, "minilm"), "teacher_pooling": "mean"}
        if "second_teacher" in objective:
            changes["second_teacher"] = None
        if value_at(self.cfg, f"{key}.head.hidden"):
            changes |= {"head.hidden": self.sizes.projector, "head.out": self.sizes.projector}
        return under(key, changes)

    def spans(self) -> Json:
        """Short spans for DeCLUTR."""
        if "min_length" not in self.cfg.augmentation:
            return {}
        return under("augmentation", {"min_length": self.sizes.span[0], "max_length": self.sizes.span[1]})

    def aux_modality(self) -> Json:
        """Few images or clips, which are synthetic unless their folder is given."""
        if "data" not in self.cfg.aux_modality:
            return {}
        data = self.cfg.aux_modality.data
        changes: Json = {}
        if self.given.get("aux_modality.weights") is None:
            changes |= {"init": "random", "weights": None}
        changes |= {"data.batch_size": self.sizes.aux_batch, "data.workers": 0}
        if "size" in data:
            changes["data.size"] = self.sizes.image_size
        if data.folder is not None and data.folder in self.given.values():
            most = self.sizes.aux_limits
            changes |= {f"data.{key}": min(data[key] or most[key], most[key]) for key in most if key in data}
        elif "size" in data:
            folder = str(written_once(self.world / "images", synthetic.write_images))
            changes |= {"data.folder": folder, "data.files": None}
        else:
            changes["data.folder"] = str(written_once(self.world / "audio", synthetic.write_audio))
        return under("aux_modality", changes)


def under(key: str, values: Json) -> Json:
    """The values with their full keys, below this one."""
    return {f"{key}.{name}": value for name, value in values.items()}


def possible(cfg: DictConfig, key: str, value: Any) -> Any:
    """A given value, or what comes next to it in a config that is small already."""
    has_synthetic_text, has_synthetic_encoder = "data.name" in cfg.replaced, "model.name" in cfg.replaced
    if key == "trainer.batch_size" and has_synthetic_text:
        return min(value, synthetic.ROWS)
    if key in ("augmentation.min_length", "augmentation.max_length") and has_synthetic_text:
        return min(value, cfg.augmentation.max_length)  # a synthetic row has no room for longer spans
    if key == "aux_modality.data.batch_size" and "aux_modality.data.folder" in cfg.replaced:
        return min(value, synthetic.FILES)
    if key in ("model.num_layers", "model.bidirectional") and has_synthetic_encoder:
        return value_at(cfg, key)
    if key == "aux_modality.init" and cfg.aux_modality.weights is None:
        return "random"
    if holds_sources(key, value):
        return value_at(cfg, key)  # whose texts and objectives are small now
    if key == "trainer.watch":
        return [name for name in value if name in cfg.eval]
    if key == "trainer.select" and value:
        evaluator = evaluator_of(str(value))
        is_left_out = evaluator != "" and evaluator not in cfg.eval
        return cfg.trainer.select if is_left_out else value
    return value


def value_at(cfg: DictConfig, key: str) -> Any:
    """The plain value at a dotted key; None if there is none."""
    value = OmegaConf.select(cfg, key)
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


def holds_sources(key: str, value: object) -> bool:
    """Whether a value is a mapping of, or in, a mixture's sources. `replaced` has each key of it that was changed."""
    return key.startswith("data.sources") and isinstance(value, dict)


def is_here(name: object) -> bool:
    """Whether weights of that name lie on this machine, in a folder or a package; null needs none."""
    return name is None or str(name).startswith("package://") or Path(str(name)).expanduser().exists()


def tell_replaced(cfg: DictConfig, given: Mapping[str, Any]) -> None:
    """Log each given value that could not be kept. given: all of them, by key."""
    for key, value in given.items():
        now = value_at(cfg, key)
        if now == value:
            cfg.replaced.pop(key, None)
        elif not holds_sources(key, value):
            before, after = spell_value(value, quotes=False), spell_value(now, quotes=False)
            log.info("smoke      %s=%s needs real weights or data; with synthetic ones it is %s", key, before, after)
