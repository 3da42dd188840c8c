"""Settings that a part's signature does not allow are refused, all at once, before any work."""

import inspect
import re
from contextlib import nullcontext
from functools import cache

import pytest
from hydra.errors import InstantiationException
from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.run.instantiate import make
from cse.lab.settings.check import validate_command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import choices

WRONG = {  # {choice: settings that it cannot have, separated by blanks}
    "": "trainer.lr=.nan trainer.lr=.inf trainer.lr=0 trainer.lr=fast trainer.lr='1' trainer.lr=null trainer.lr=[1]"
    " trainer.batch_size=true trainer.batch_size=1.5 trainer.max_steps=0 trainer.betas=[0.9] trainer.betas=[2,3]"
    " trainer.betas=0.9 trainer.warmup=1.5 trainer.warmup=-1 trainer.warmup=-0.1 trainer.eval_every=0.0"
    " trainer.eval_every=0 trainer.eval_every=1.5 trainer.schedule=cosin trainer.drop_last=maybe"
    " trainer.drop_last=1 trainer.deterministic=null"
    " trainer.select= trainer.compile=auto seed=-1 seed=.nan smoke=maybe dry_run=2 jobs.parallel=0 checkpoint=x"
    " paths.cache=null masking=null masking.probability=2 objective.num_views=1 objective.head=linear eval.stsb=5"
    " eval.stsb.with_sickr=sure tracker.wandb.mode=on augmentation.p=1.5 model.pooling=max note=true",
    "objective=barlow": "objective.head.hidden=-1",
    "objective=declutr": "objective.head.kind=gelu objective.memory_kind=moco",
    "objective=whitenedcse": "objective.m=1 objective.loss=L3 objective.whitening.kind=ica",
    "augmentation=shuffle": "augmentation.p=1.5",
    "data=text": "data.path= data.encoding=utf9 data.columns=[] data.limit=1.5 data.noise.delete=1.5",
    "aux_modality=visual": "aux_modality.loss=triplet aux_modality.data.crop_scale=[1,.5] aux_modality.data.size=0",
    "eval=transfer": "eval.transfer.tasks=MRR eval.transfer.classifiers.test.fit.lr=0",
    "eval=declutr": "eval.declutr.parts.coco=5",
    "eval=retrieval": "eval.retrieval.ks=[0]",
    "eval=stsb_multi": "eval.stsb_multi.languages=xx",
    "eval=pairs": "eval.pairs.columns=[a] eval.pairs.score=",
    "eval=coco": "eval.coco.device=gpu",
    "evaluate": "batch_size=0 dtype=int8 splits=[train] splits=[] pooling=max whitening=pca whitening.kind=ica"
    " checkpoint=",
}
ROWS = [(chosen, word) for chosen, words in WRONG.items() for word in words.split()]


@cache
def base(chosen: str) -> DictConfig:
    if chosen == "evaluate":
        return composed("evaluate", [])
    return composed("train", [*filter(None, [chosen]), *(["data.path=x"] if chosen == "data=text" else [])])


def validated(chosen: str, *words: str) -> DictConfig:
    """The config of a choice, with settings as a command line gives them, checked."""
    config = base(chosen).copy()
    for word in words:
        key, _, value = word.partition("=")
        parsed = OmegaConf.create(f"value: {value}").value if value else ""
        OmegaConf.update(config, key, parsed, merge=False, force_add=True)
    return validate_command(config, "evaluate" if chosen == "evaluate" else "train")


def refused(chosen: str, *words: str) -> list[str]:
    """The keys that the error names, one for each violation."""
    with pytest.raises(UserError) as error:
        validated(chosen, *words)
    return [sentence.partition("=")[0].partition(":")[0] for sentence in str(error.value).split("; ")]


@pytest.mark.parametrize(("chosen", "word"), ROWS, ids=[" ".join(filter(None, row)) for row in ROWS])
def test_a_wrong_setting_is_named_once(chosen, word):
    """Even if other keys refer to it (allow_partial, seed, pooling)."""
    assert refused(chosen, word) == [word.partition("=")[0]]


def test_one_error_names_all_wrong_settings_and_what_they_should_be():
    words = ["trainer.lr=.nan", "augmentation.p=1.5", "eval.stsb.with_sickr=5", "tracker.wandb.mode=on", "seed=-1"]
    assert sorted(refused("", *words)) == sorted(word.partition("=")[0] for word in words)
    with pytest.raises(UserError, match=r"trainer\.precision=fp8: .*'auto', 'fp32', 'bf16'"):
        validated("", "trainer.precision=fp8")
    with pytest.raises(UserError, match=r"objective\.temperature='0\.05': should be a valid number"):
        validated("", "objective.temperature='0.05'")
    with pytest.raises(UserError, match=r"data\.path=1\.1: .*in quotes"):
        validated("data=text", "data.path=1.10")
    with pytest.raises(UserError, match=r"model\.lora=alpha:32: .*in quotes"):
        validated("", "model.lora=alpha:32")


@pytest.mark.parametrize("target", ["cse.model.heads.X", "a.b.Margin", "cse.margin.Margin", "Margin", ".Margin", "5"])
def test_a_part_that_cannot_be_imported_is_named(target):
    assert refused("", f"objective.head._target_={target}")[0] == "objective.head._target_"


def test_a_value_that_has_to_be_given_is_named():
    with pytest.raises(UserError, match=r"data\.path"):
        validate_command(composed("train", ["data=text"]), "train")


@pytest.mark.parametrize(
    ("chosen", "word", "key", "value"),
    [
        ("", "trainer.lr=1", "trainer.lr", 1.0),
        ("", "trainer.betas=[0,0.9]", "trainer.betas", [0.0, 0.9]),
        ("", "trainer.watch=geometry", "trainer.watch", ["geometry"]),
        ("data=nli", "data.columns=sent0", "data.columns", ["sent0"]),
        ("eval=transfer", "eval.transfer.tasks=TREC", "eval.transfer.tasks", ["TREC"]),
        ("eval=retrieval", "eval.retrieval.ks=3", "eval.retrieval.ks", [3]),
        ("data=wikipedia", "data.rows.dump=20231101", "data.rows.dump", "20231101"),
        ("", "note=7", "note", "7"),
        ("", "tracker.wandb.tags=[1,a]", "tracker.wandb.tags", ["1", "a"]),
        ("", "trainer.compile='no'", "trainer.compile", False),
        ("data=text", "data.limit=0.4", "data.limit", 0.4),
        ("data=text", "data.limit=100", "data.limit", 100),
        ("", "dry_run='ON'", "dry_run", True),
        ("", "trainer.drop_last='off'", "trainer.drop_last", False),
        ("", "allow_partial='yes'", "eval.sts.allow_partial", True),  # which repeats it
        ("", "augmentation.p=null", "augmentation.p", None),
    ],
)
def test_values_that_are_converted_or_kept(chosen, word, key, value):
    found = OmegaConf.select(validated(chosen, word), key)
    assert found == value
    assert repr(found) == repr(value)  # 1 and 1.0 are equal


def test_a_value_that_two_keys_refer_to_has_the_type_of_each():
    config = base("").copy()
    OmegaConf.update(config, "my_number", 2, force_add=True)
    for key in ("trainer.clip", "trainer.max_steps"):
        OmegaConf.update(config, key, "${my_number}")
    trainer = validate_command(config, "train").trainer
    assert repr((trainer.clip, trainer.max_steps)) == "(2.0, 2)"


def test_a_conversion_leaves_the_key_that_is_referred_to():
    config = base("").copy()
    OmegaConf.update(config, "trainer.select", "stsb")
    OmegaConf.update(config, "trainer.watch", "${trainer.select}")
    OmegaConf.update(config, "model.prefix", {"query": "q: ", "document": "${.query}"})
    trainer = validate_command(config, "train").trainer
    assert (trainer.select, trainer.watch) == ("stsb", ["stsb"])


@pytest.mark.parametrize("reference", ["${.max_steps}", "${..trainer.max_steps}"])
def test_a_value_behind_a_relative_reference_is_converted_and_refused(reference):
    config = base("").copy()
    OmegaConf.update(config, "trainer.max_steps", 2)
    OmegaConf.update(config, "trainer.clip", reference)
    trainer = validate_command(config, "train").trainer
    assert repr((trainer.clip, trainer.max_steps)) == "(2.0, 2)"
    OmegaConf.update(config, "trainer.watch", "${.schedule}")
    assert validate_command(config, "train").trainer.watch == [config.trainer.schedule]
    OmegaConf.update(config, "trainer.max_steps", -1)
    with pytest.raises(UserError, match=r"^trainer\.max_steps=-1: [^;]*$"):
        validate_command(config, "train")


def test_a_key_keeps_its_reference_to_a_key_that_is_converted():
    """So a refusal can name what a user gives."""
    checked = validated("", "allow_partial='yes'", "paths.senteval=2024")
    assert (checked.allow_partial, checked.paths.senteval) == (True, "2024")
    written = OmegaConf.to_container(checked.eval.stsb)
    assert (written["senteval"], written["allow_partial"]) == ("${paths.senteval}", "${allow_partial}")


GROUPS = ("model", "data", "augmentation", "aux_modality", "eval", "tracker", "objective", "experiment")


GIVEN = {"text": ["data.path=x"], "mixture": ["data.sources={one:{path:x}}"]}
"""What a choice leaves to be given."""


@pytest.mark.parametrize("group", GROUPS)
def test_every_choice_fits_its_signature(group):
    for name in choices(group):
        validate_command(composed("train", [f"{group}={name}", *GIVEN.get(name, [])]), "train")


@pytest.mark.parametrize("group", ["model", "augmentation", "eval"])
def test_a_yaml_shows_every_argument(group):
    """What it does not show, nobody finds; an objective and an augmentation decide about mlm and dropout, and
    training about a pooling that is not recorded."""
    for name in choices(group):
        node = composed("train", [f"{group}={name}"])[group]
        node = node[name] if group == "eval" else node
        taken = inspect.signature(get_method(node._target_)).parameters.keys()
        assert node.keys() - {"_target_", "_convert_"} == taken - (
            {"mlm", "dropout", "unrecorded"} if group == "model" else set()
        )


OWN = """
from typing import TYPE_CHECKING
from cse.types import Objective
if TYPE_CHECKING:
    from torch import nn
class Base(Objective):
    def forward(self, views): ...
class Needs(Base):
    def __init__(self, dim, weight): ...
class Narrow(Base):
    def __init__(self, weight): ...
class Abstract(Objective):
    def __init__(self, dim): ...
class Wide(Objective):
    def __init__(self, dim): ...
    def forward(self, views, extra): ...
class Texts(Base):
    num_views = "2"
    def __init__(self, dim): ...
class Nothing(Base):
    masking = None
    def __init__(self, dim): ...
class Hidden(Base):
    def __init__(self, dim: int, head: "nn.Module"): ...
class Mistaken(Base):
    def __init__(self, dim): len(dim)
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Needs", "'weight'"),
        ("Narrow", "'weight'|'dim'"),
        ("Abstract", "forward"),
        ("Wide", r"its forward must take \(self, views\): .*'extra'"),
        ("Texts", "its num_views='2' should be a valid integer"),
        ("Hidden", "cannot be checked.*'nn' is not defined"),
        ("Nothing", "its masking=None should be a valid string"),
    ],
)
def test_a_part_that_cannot_be_made_of_its_settings_is_named(tmp_path, monkeypatch, name, why):
    (tmp_path / "own_objectives.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    config = base("").copy()
    config.objective = {"_target_": f"own_objectives.{name}"}
    with pytest.raises(UserError, match=rf"objective\._target_=own_objectives\.{name}: .*({why})"):
        validate_command(config, "train")


VIEWS = """
from cse.types import Augmentation
class Views(Augmentation):
    def views(self, text, num_views, rng): ...
class Text(Views):
    level = "text"
class Tokens(Augmentation):
    def tokens(self, ids, rng): ...
class Wrong(Tokens):
    level = "text"
class Misspelt(Augmentation):
    level = "text"
    def view(self, text, num_views, rng): ...
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Views", r'tokens \(it has views: is level = "text" missing in the class\?\)'),
        ("Wrong", r'views \(it has tokens: is level = "tokens" missing in the class\?\)'),
        ("Misspelt", "views"),
        ("Text", None),
        ("Tokens", None),
    ],
)
def test_an_augmentation_without_the_method_of_its_level_is_named(tmp_path, monkeypatch, name, why):
    (tmp_path / "own_views.py").write_text(VIEWS)
    monkeypatch.syspath_prepend(tmp_path)
    config = base("").copy()
    config.augmentation = {"_target_": f"own_views.{name}"}
    said = rf"^augmentation\._target_=own_views\.{name}: lacks the method {why}$"
    with pytest.raises(UserError, match=said) if why else nullcontext():
        validate_command(config, "train")


def test_a_mistake_inside_a_part_keeps_its_traceback(tmp_path, monkeypatch):
    (tmp_path / "own_objectives.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    config = base("").copy()
    config.objective = {"_target_": "own_objectives.Mistaken"}
    validate_command(config, "train")
    with pytest.raises(InstantiationException, match="len"):
        make(config.objective, dim=3)


@pytest.mark.parametrize("seeds", ["1-3", "1..3", "1:3"])
def test_a_range_in_another_spelling_is_answered_with_range(seeds):
    with pytest.raises(UserError, match=r"range\(1,4\)"):
        validated("", f"seed='{seeds}'")


@pytest.mark.parametrize(
    ("word", "number"),
    [("trainer.warmup='10%'", "0.1"), ("trainer.max_steps='1k'", "1000"), ("trainer.max_steps='1.5M'", "1500000")],
)
def test_a_percentage_or_a_thousand_is_answered_with_its_number(word, number):
    with pytest.raises(UserError, match=rf"; \S+ is {re.escape(number)}$"):
        validated("", word)


def test_a_percentage_of_a_whole_number_has_no_number():
    with pytest.raises(UserError, match=r"valid integer$"):
        validated("", "trainer.max_steps='10%'")
