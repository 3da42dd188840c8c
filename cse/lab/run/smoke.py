"""smoke=true: any run in seconds, on a CPU, with made-up data, to show that all parts fit together.

`fit` makes up what a run reads, makes its sizes small (conf/smoke.yaml), and lays what was typed over both. What cannot
be kept, because it needs real weights or data, a log line names. `replaced` keeps the line's own value of every key
that was changed, so that a run's files say what it stands for.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.files import written_once
from cse.lab.settings.groups import CONF_DIR, is_group
from cse.lab.settings.roles import role_of
from cse.lab.settings.words import spell_value
from cse.ranges import Mark
from cse.score import evaluator_of
from cse.sources import synthetic
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

SCORED = ("stsb", "sts")  # the evaluators whose data is made up; others are left out


def fit(cfg: DictConfig, typed: Iterable[str] = ()) -> None:
    """Shrink a composed config of cse-train or cse-eval in place, if it has smoke=true. typed: the line's keys.

    Each part is made small without a look at the others. Only then are the typed values laid over, since what they can
    be depends on what was made up: `possible` asks `replaced`. What could not be kept is told last.
    """
    if not cfg.smoke:
        return
    asked = {key: value_at(cfg, key) for key in typed if not is_group(key)}
    elsewhere = {key for key, value in asked.items() if Mark.ENCODER in role_of(key, cfg).marks and not is_here(value)}
    usable = {key: value for key, value in asked.items() if key not in elsewhere}
    sizes, world = OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), Path(cfg.paths.cache) / "smoke"
    smoke = Smoke(cfg, sizes, world, usable)
    with open_dict(cfg):
        cfg.replaced = {}
        smoke.make_up_encoder()
        smoke.make_up_scores()
        if "trainer" in cfg:
            smoke.shrink_text()
            smoke.shrink_trainer()
            smoke.shrink_objectives()
            smoke.shrink_aux()
        else:
            smoke.shrink_evaluation()
        smoke.lay_over()
        tell_replaced(cfg, asked)


@dataclass(frozen=True)
class Smoke:
    """A config that is made small, in place.

    sizes: conf/smoke.yaml. world: the folder of what is made up. typed: the typed values that can be used, by key.
    """

    cfg: DictConfig
    sizes: Any
    world: Path
    typed: Mapping[str, Any]

    def replace(self, group: str, **values: object) -> None:
        """Set values of a group, or at the top for "", and keep the old ones in `replaced`."""
        for name, value in values.items():
            key = f"{group}.{name}".lstrip(".")
            before = value_at(self.cfg, key)
            if before != value:
                self.cfg.replaced[key] = before
                OmegaConf.update(self.cfg, key, value, merge=False)

    def make_up_encoder(self) -> None:
        """A made-up encoder of the family and width of the real one, unless that is typed and here.

        It is bidirectional whatever the real one is, does not record what that records, and has a token for each byte.
        """
        if "name" not in self.cfg.model or "model.name" in self.typed:
            return
        pooling = self.cfg.model.pooling
        if "trainer" not in self.cfg:  # cse-eval takes no pooling for granted
            pooling = pooling or "mean"
        name = synthetic.encoder(self.world, self.cfg.model.name)
        self.replace("model", name=name, num_layers=None, bidirectional=False, pooling=pooling, prefix=None)

    def make_up_scores(self) -> None:
        """The evaluators of SCORED that are chosen, on made-up score sets unless a folder is typed.

        STS-B selects a step, so it stands in for any other evaluator.
        """
        chosen = sorted(self.cfg.eval)
        if left_out := [name for name in chosen if name not in SCORED]:
            log.info("smoke      eval=%s left out", ",".join(left_out))
            self.cfg.replaced["eval"] = list(self.cfg.eval)
        senteval = self.cfg.paths.senteval
        if "paths.senteval" not in self.typed:
            senteval = str(written_once(self.world / "senteval2", synthetic.write_senteval))
        shared = {"senteval": senteval, "allow_partial": True}
        widths = {name: value_at(self.cfg, f"eval.{name}.widths") or [] for name in SCORED}
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
        self.cfg.eval = evaluators

    def shrink_evaluation(self) -> None:
        """A made-up checkpoint for cse-eval, unless it is here, as a run of another smoke test is; its whitening."""
        if not is_here(self.cfg.checkpoint):
            checkpoint = synthetic.encoder(self.world, self.cfg.checkpoint)
            self.replace("", checkpoint=checkpoint, pooling=self.cfg.pooling or "mean")
        if self.cfg.whitening.kind:
            self.replace("whitening", fit=str(synthetic.text_file(self.world, ())), components=self.sizes.components)

    def shrink_text(self) -> None:
        """Cut text that is typed; made-up text stands for any other.

        A corpus that is one file keeps its reader and its columns.
        """
        if "sources" in self.cfg.data:  # a mixture's are all files of one's own
            for name in self.cfg.data.sources:
                self.cut_text(f"data.sources.{name}")
            return
        named = (value_at(self.cfg, f"data.{key}") for key in ("path", "rows.file", "rows.folder"))
        if any(place is not None and place in self.typed.values() for place in named):
            self.cut_text("data")
            return
        corpus = DATASETS.get(self.cfg.data.name)
        self.cfg.replaced["data.name"] = self.cfg.data.name
        if corpus and "file" in self.cfg.data.rows:
            file = synthetic.text_file(self.world, corpus.columns)
            self.cfg.data.update(name="smoke", identity=f"smoke/{self.cfg.data.name}")
            self.cfg.data.rows.file = str(file)
            return
        file = synthetic.text_file(self.world, self.cfg.data.get("columns") or (), self.cfg.data.get("scores"))
        made = {"_target_": "cse.data.text.Text", "name": "smoke", "path": str(file), "score_range": None}
        kept = ("columns", "empty", "scores", "limit", "limit_seed", "noise", "cache_dir", "preview")
        self.cfg.data = made | {key: self.cfg.data.get(key) for key in kept}

    def cut_text(self, key: str) -> None:
        """Limit the rows of the text at a key."""
        rows, limit = max(self.sizes.rows, self.typed.get("trainer.batch_size", 0)), value_at(self.cfg, f"{key}.limit")
        self.replace(key, limit=min(limit, rows) if isinstance(limit, int) else rows)

    def shrink_trainer(self) -> None:
        """Two steps of small batches, and a selection by STS-B."""
        limits = {key: min(self.cfg.trainer[key], self.sizes[key]) for key in ("batch_size", "max_length")}
        select = self.cfg.trainer.select and "dev/stsb/spearman"
        epochs, steps = self.sizes.trainer.epochs, self.typed.get("trainer.max_steps")
        if isinstance(steps, int):
            epochs = max(1, steps)  # of a step or more each: enough for what is typed
        self.replace("trainer", **{**self.sizes.trainer, **limits, "select": select, "epochs": epochs})

    def shrink_objectives(self) -> None:
        """Made-up teachers and a narrow projector, for the run's objective and each source's own; short spans."""
        self.shrink_objective("objective", keeps_teacher="objective.teacher" in self.typed)
        for name, source in (self.cfg.data.get("sources") or {}).items():
            if source.objective is not None:
                teacher = source.objective.get("teacher")
                self.shrink_objective(f"data.sources.{name}.objective", keeps_teacher=is_here(teacher))
        if "min_length" in self.cfg.augmentation:  # DeCLUTR's spans
            self.replace("augmentation", min_length=self.sizes.span[0], max_length=self.sizes.span[1])

    def shrink_objective(self, key: str, keeps_teacher: bool) -> None:
        """Make the objective at a key small."""
        objective = OmegaConf.select(self.cfg, key)
        if "teacher" in objective and not keeps_teacher:
            self.replace(key, teacher=synthetic.encoder(self.world, "minilm"), teacher_pooling="mean")
        if "second_teacher" in objective:
            self.replace(key, second_teacher=None)
        if value_at(self.cfg, f"{key}.head.hidden"):
            self.replace(f"{key}.head", hidden=self.sizes.projector, out=self.sizes.projector)

    def shrink_aux(self) -> None:
        """Shrink images or sound, which are made up unless their folder is typed."""
        if "data" not in self.cfg.aux_modality:
            return
        if self.typed.get("aux_modality.weights") is None:
            self.replace("aux_modality", init="random", weights=None)
        data = self.cfg.aux_modality.data
        is_own = data.folder is not None and data.folder in self.typed.values()
        self.replace("aux_modality.data", batch_size=self.sizes.aux_batch, workers=0)
        if "size" in data:
            self.replace("aux_modality.data", size=self.sizes.image_size)
        if is_own:
            most = self.sizes.aux_limits
            limits = {key: min(data[key] or most[key], most[key]) for key in most if key in data}
            self.replace("aux_modality.data", **limits)
        elif "size" in data:
            folder = str(written_once(self.world / "images", synthetic.write_images))
            self.replace("aux_modality.data", folder=folder, files=None)
        else:
            self.replace("aux_modality.data", folder=str(written_once(self.world / "audio", synthetic.write_audio)))

    def lay_over(self) -> None:
        """Set what was typed, as far as the shrunk config can have it; not where what it belongs to is left out."""
        for key, value in self.typed.items():
            part = key.rpartition(".")[0]
            if not part or OmegaConf.select(self.cfg, part) is not None:
                OmegaConf.update(self.cfg, key, self.possible(key, value), merge=False)

    def possible(self, key: str, value: Any) -> Any:
        """A typed value, or what comes next to it in a shrunk config."""
        is_made_up_text, is_made_up_encoder = "data.name" in self.cfg.replaced, "model.name" in self.cfg.replaced
        if key == "trainer.batch_size" and is_made_up_text:
            return min(value, synthetic.ROWS)
        if key in ("augmentation.min_length", "augmentation.max_length") and is_made_up_text:
            return min(value, self.cfg.augmentation.max_length)  # a made-up row has no room for longer spans
        if key == "aux_modality.data.batch_size" and "aux_modality.data.folder" in self.cfg.replaced:
            return min(value, synthetic.FILES)
        if key in ("model.num_layers", "model.bidirectional") and is_made_up_encoder:
            return value_at(self.cfg, key)
        if key == "aux_modality.init" and self.cfg.aux_modality.weights is None:
            return "random"
        if holds_sources(key, value):
            return value_at(self.cfg, key)  # whose texts and objectives are small now
        if key == "trainer.watch":
            return [name for name in value if name in self.cfg.eval]
        if key == "trainer.select" and value:
            evaluator = evaluator_of(str(value))
            is_left_out = evaluator != "" and evaluator not in self.cfg.eval
            return self.cfg.trainer.select if is_left_out else value
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


def tell_replaced(cfg: DictConfig, asked: Mapping[str, Any]) -> None:
    """Log each typed value that could not be kept. asked: the typed values by key."""
    for key, value in asked.items():
        now = value_at(cfg, key)
        if now == value:
            cfg.replaced.pop(key, None)
        elif not holds_sources(key, value):
            before, after = spell_value(value, quotes=False), spell_value(now, quotes=False)
            log.info("smoke      %s=%s needs real weights or data; with what is made up it is %s", key, before, after)
