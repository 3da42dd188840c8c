"""A smoke test (smoke=true): any run in seconds, on a CPU, with synthetic data, to show that all parts fit together.

`shrink` decides each value once:

1. A value that the user gives remains, if it does not need real weights or data.
2. Any other value becomes the small value in conf/smoke.yaml, or the path of synthetic weights or data.
3. A log line names each given value that changes. The setting `replaced` has the earlier value of each changed key.

`SmokeTest` has a method for each part of the config. A setting that no method returns does not change.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.files import Json, written_once
from cse.lab.run.run_log import log_fields
from cse.lab.settings.arguments import spell_value
from cse.lab.settings.groups import CONF_DIR, is_group
from cse.lab.settings.references import user_key
from cse.lab.settings.roles import role_of
from cse.ranges import Mark
from cse.score import evaluator_of
from cse.sources import synthetic
from cse.sources.catalogue import DATASETS

SCORED = ("stsb", "sts")
"""The evaluators with synthetic data. A smoke test leaves out all other evaluators."""


def shrink(cfg: DictConfig, keys: Iterable[str] = ()) -> None:
    """If smoke=true, make the settings small, in place. keys: the keys that the user gives."""
    if not cfg.smoke:
        return
    sizes, world = OmegaConf.load(Path(CONF_DIR) / "smoke.yaml"), Path(cfg.paths.cache) / "smoke"
    given = values_given(cfg, keys)
    elsewhere = [key for key, value in given.items() if Mark.ENCODER in role_of(key, cfg).marks and not is_here(value)]
    usable = {key: value for key, value in given.items() if key not in elsewhere}
    small = SmokeTest(cfg, usable, sizes, world).values()
    left_out = [name for name in sorted(cfg.eval) if name not in SCORED]
    with open_dict(cfg):
        cfg.replaced = values_before(cfg, small)
        for key, value in small.items():
            if value_at(cfg, key) != value:
                OmegaConf.update(cfg, key, value, merge=False)
    if left_out:
        names = ",".join(left_out)
        log_fields(smoke=f"eval={names} is left out: there is no synthetic data for it; scored: {','.join(cfg.eval)}")
    for key, value in given.items():
        if (now := value_at(cfg, key)) != value:
            before, after = spell_value(value, quotes=False), spell_value(now, quotes=False)
            log_fields(
                smoke=f"{key}={before} needs real weights or data; with synthetic weights and data it is {after}"
            )


def values_given(cfg: DictConfig, keys: Iterable[str]) -> Json:
    """Return {key: value} of the values that the user gives.

    A mapping of a mixture's texts is left out, because each text in it becomes small.
    """
    given = {key: value_at(cfg, key) for key in keys if not is_group(key)}
    mixtures = [key for key, value in given.items() if key.startswith("data.sources") and isinstance(value, dict)]
    return {key: value for key, value in given.items() if key not in mixtures}


def is_here(name: object) -> bool:
    """Return whether the weights of that name are on this machine, in a folder or a package.

    Return True for None, which needs no weights.
    """
    return name is None or str(name).startswith("package://") or Path(str(name)).expanduser().exists()


def values_before(cfg: DictConfig, small: Json) -> Json:
    """Return the earlier value of each key that changes, as the setting `replaced` of the run.

    For `data`, the earlier value is only the name of the text. For `eval`, it is only the names of the evaluators.
    """
    before: Json = {}
    for key, value in small.items():
        if key == "data" and cfg.data.name != value["name"]:
            before["data.name"] = cfg.data.name
        elif key == "eval" and set(cfg.eval) - set(SCORED):
            before["eval"] = list(cfg.eval)
        elif key not in ("data", "eval") and value_at(cfg, key) != value:
            before[key] = value_at(cfg, key)
    return before


def value_at(cfg: DictConfig, key: str) -> Any:
    """Return the plain value at a dotted key; None if the config lacks the key."""
    value = OmegaConf.select(cfg, key)
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


@dataclass(frozen=True)
class SmokeTest:
    """The settings of a smoke test, which replace settings of the run. The methods write synthetic weights and data.

    cfg: the settings of the run. given: the values that the user gives and that can be used here, by key. sizes:
    conf/smoke.yaml. world: the folder of synthetic weights and data.
    """

    cfg: DictConfig
    given: Mapping[str, Any]
    sizes: Any
    world: Path

    def values(self) -> Json:
        """Return {key: value} of all keys that a smoke test sets. The values of `data` and `eval` are whole nodes."""
        evaluators = self.evaluators()
        values = self.encoder() | {"eval": evaluators}
        if "trainer" not in self.cfg:
            return values | self.checkpoint() | self.whitening()
        values |= self.text() | self.trainer(evaluators)
        return values | self.objectives() | self.spans() | self.aux_modality()

    def given_or(self, key: str, small: Any) -> Any:
        """Return the user's value of a key, if the user gives the key or a mapping with it, else the small value."""
        is_given = any(f"{key}.".startswith(f"{name}.") for name in self.given)
        return value_at(self.cfg, key) if is_given else small

    def gives_place(self, key: str) -> bool:
        """Return whether the user gives the file or folder of a key, by this key or by the paths.NAME in its value."""
        return user_key(self.cfg, key) in self.given and value_at(self.cfg, key) is not None

    def each_given_or(self, part: str, small: Json) -> Json:
        """Return {full key: the user's value, if given, else the small value} of keys below a part."""
        return {f"{part}.{name}": self.given_or(f"{part}.{name}", value) for name, value in small.items()}

    def node_with_given(self, key: str, node: Json) -> Json:
        """Return a node for a key, with the values that the user gives below the key.

        A given value is left out if the node lacks the mapping above it.
        """
        made = OmegaConf.create({key: node})
        for name, value in self.given.items():
            parent = name.rpartition(".")[0]
            if name.startswith(f"{key}.") and OmegaConf.select(made, parent) is not None:
                OmegaConf.update(made, name, value, merge=False)
        return cast("Json", OmegaConf.to_container(made[key]))

    def encoder(self) -> Json:
        """Return settings of a synthetic encoder of the real encoder's family and width; {} for a given local encoder.

        The synthetic encoder is always bidirectional, has a token for each byte, and has none of the settings that the
        real encoder's folder records.
        """
        if "name" not in self.cfg.model or "model.name" in self.given:
            return {}
        pooling = self.cfg.model.pooling
        if "trainer" not in self.cfg:  # cse-eval has no default pooling
            pooling = pooling or "mean"
        name = synthetic.encoder(self.world, self.cfg.model.name)
        one_layer = {"model.name": name, "model.num_layers": None, "model.bidirectional": False}
        return one_layer | self.each_given_or("model", {"pooling": pooling, "prefix": None})

    def evaluators(self) -> Json:
        """Return the node `eval` with the evaluators of SCORED. Their data is synthetic if paths.senteval is not given.

        STS-B is added for a training, because its score selects the checkpoint, and if no other evaluator remains.
        """
        senteval = self.cfg.paths.senteval
        if "paths.senteval" not in self.given:
            senteval = str(written_once(self.world / "senteval2", synthetic.write_senteval))
        shared = {"senteval": senteval, "allow_partial": True}
        widths = {name: value_at(self.cfg, f"eval.{name}.widths") or [] for name in SCORED}
        evaluators: Json = {}
        asked = [name for name in SCORED if name in self.cfg.eval]
        if "stsb" in asked or (self.cfg.eval and ("trainer" in self.cfg or not asked)):
            stsb = {"_target_": "cse.eval.sts.Stsb", "with_sickr": False, "widths": widths["stsb"]}
            evaluators["stsb"] = stsb | shared
        if "sts" in asked:
            evaluators["sts"] = {"_target_": "cse.eval.sts.Sts", "widths": widths["sts"], **shared}
        return self.node_with_given("eval", evaluators)

    def checkpoint(self) -> Json:
        """Return the settings of a synthetic checkpoint for cse-eval; {} if the named checkpoint is on this machine."""
        if is_here(self.cfg.checkpoint):
            return {}
        name = synthetic.encoder(self.world, self.cfg.checkpoint)
        return {"checkpoint": name, "pooling": self.given_or("pooling", self.cfg.pooling or "mean")}

    def whitening(self) -> Json:
        """Return the settings of a whitening with few components that is fitted on synthetic text."""
        if not self.cfg.whitening.kind:
            return {}
        file = str(synthetic.text_file(self.world, ()))
        return self.each_given_or("whitening", {"fit": file, "components": self.sizes.components})

    def text(self) -> Json:
        """Return a small `limit` for the user's own text or, without own text, the node `data` of synthetic text."""
        data = self.cfg.data
        if "sources" in data:
            limits = {f"{name}.limit": self.fewer_rows(text.limit) for name, text in data.sources.items()}
            return self.each_given_or("data.sources", limits)
        if self.reads_own_text:
            return {"data.limit": self.given_or("data.limit", self.fewer_rows(data.limit))}
        return {"data": self.node_with_given("data", self.synthetic_text())}

    @property
    def reads_own_text(self) -> bool:
        """Whether the run reads a file or folder that the user gives. A mixture always reads such files."""
        places = ("data.path", "data.rows.file", "data.rows.folder")
        return "sources" in self.cfg.data or any(map(self.gives_place, places))

    def fewer_rows(self, limit: float | None) -> int:
        """Return the larger of `rows` in smoke.yaml and a given batch size, but at most `limit` if it is in rows."""
        rows = max(self.sizes.rows, self.given.get("trainer.batch_size", 0))
        return min(limit, rows) if isinstance(limit, int) else rows

    def synthetic_text(self) -> Json:
        """Return the settings of synthetic text. For a corpus in one file, the corpus's reader and columns remain."""
        data = self.cfg.data
        corpus = DATASETS.get(data.name)
        if corpus and "file" in data.rows:
            own = cast("Json", OmegaConf.to_container(data))
            own |= {"name": "smoke", "identity": f"smoke/{data.name}"}
            own["rows"]["file"] = str(synthetic.text_file(self.world, corpus.columns))
            return own
        file = synthetic.text_file(self.world, data.get("columns") or (), data.get("scores"))
        made = {"_target_": "cse.data.text.Text", "name": "smoke", "path": str(file), "score_range": None}
        kept = ("columns", "empty", "scores", "limit", "limit_seed", "noise", "cache_dir", "preview")
        return made | {key: data.get(key) for key in kept}

    def trainer(self, evaluators: Json) -> Json:
        """Return settings of a training with few small steps and selection by STS-B. evaluators: the node `eval`."""
        small = {**self.sizes.trainer, "select": self.cfg.trainer.select and "dev/stsb/spearman"}
        small |= {key: min(self.cfg.trainer[key], self.sizes[key]) for key in ("batch_size", "max_length")}
        steps = self.given.get("trainer.max_steps")
        if isinstance(steps, int):
            small["epochs"] = max(1, steps)  # an epoch has at least one step, so this is enough for the given steps
        values = self.each_given_or("trainer", small)
        if not self.reads_own_text:
            values["trainer.batch_size"] = min(values["trainer.batch_size"], synthetic.ROWS)
        values["trainer.watch"] = [name for name in values["trainer.watch"] if name in evaluators]
        selector = evaluator_of(str(values["trainer.select"]))
        if selector and selector not in evaluators:
            values["trainer.select"] = small["select"]
        return values

    def objectives(self) -> Json:
        """Return the settings of the run's objective, and of each text's own objective."""
        values = self.objective("objective", keeps_teacher="objective.teacher" in self.given)
        for name, text in (self.cfg.data.get("sources") or {}).items():
            if text.objective is not None:
                keeps_teacher = is_here(text.objective.get("teacher"))
                values |= self.objective(f"data.sources.{name}.objective", keeps_teacher)
        return values

    def objective(self, key: str, keeps_teacher: bool) -> Json:
        """Return the settings of the objective at a key, with a synthetic teacher and a narrow projector."""
        objective = OmegaConf.select(self.cfg, key)
        small: Json = {}
        if "teacher" in objective and not keeps_teacher:
            small |= {"teacher": synthetic.encoder(self.world, "minilm"), "teacher_pooling": "mean"}
        if "second_teacher" in objective:
            small["second_teacher"] = None
        if value_at(self.cfg, f"{key}.head.hidden"):
            small |= {"head.hidden": self.sizes.projector, "head.out": self.sizes.projector}
        return self.each_given_or(key, small)

    def spans(self) -> Json:
        """Return settings of short spans for DeCLUTR, because a synthetic row is too short for longer spans."""
        if "min_length" not in self.cfg.augmentation:
            return {}
        shortest, longest = self.sizes.span
        min_length = self.given_or("augmentation.min_length", shortest)
        max_length = self.given_or("augmentation.max_length", longest)
        if not self.reads_own_text:
            max_length = min(max_length, longest)
            min_length = min(min_length, max_length)
        return {"augmentation.min_length": min_length, "augmentation.max_length": max_length}

    def aux_modality(self) -> Json:
        """Return settings of few images or clips, which are synthetic if the user does not give their folder."""
        if "data" not in self.cfg.aux_modality:
            return {}
        data = self.cfg.aux_modality.data
        values: Json = {}
        if self.given.get("aux_modality.weights") is None:
            values |= {"aux_modality.init": "random", "aux_modality.weights": None}
        small: Json = {"batch_size": self.sizes.aux_batch, "workers": 0}
        if "size" in data:
            small["size"] = self.sizes.image_size
        if self.gives_place("aux_modality.data.folder"):
            most = self.sizes.aux_limits
            small |= {key: min(data[key] or most[key], most[key]) for key in most if key in data}
            return values | self.each_given_or("aux_modality.data", small)
        if "size" in data:
            small |= {"folder": str(written_once(self.world / "images", synthetic.write_images)), "files": None}
        else:
            small["folder"] = str(written_once(self.world / "audio", synthetic.write_audio))
        values |= self.each_given_or("aux_modality.data", small)
        batch = "aux_modality.data.batch_size"
        values[batch] = min(values[batch], synthetic.FILES)
        return values
