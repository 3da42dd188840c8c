"""What a paper fixed for all encoders reaches each, what it fixed for a pair only the pair; a run names its recipe."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import cse
from cse.errors import UserError
from cse.lab.run.build import UNRECORDED
from cse.lab.run.from_arguments import recipe_notes
from cse.lab.settings.arguments import Argument
from cse.lab.settings.compose import composed
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import CONF_DIR, choices, file_of

GROUPS = ("recipe", "recipe/augmentation", "recipe/aux_modality")


def told(*overrides: str) -> list[str]:
    hydra = composed("train", overrides).hydra
    return recipe_notes(hydra.runtime.choices, list(map(Argument, hydra.overrides.task)))


SIMCSE = {
    "objective.temperature": 0.05, "objective.keep_head": False, "objective.num_views": 2, "objective.mlm_weight": 0,
    "model.pooling": "cls", "trainer.max_length": 32, "trainer.eval_every": 125, "trainer.epochs": 1,
    "trainer.weight_decay": 0, "trainer.warmup": 0, "trainer.clip": 1, "trainer.eps": 1e-8,
    "trainer.schedule": "linear", "trainer.bias_correction": "hf", "trainer.drop_last": False,
    "trainer.select": "dev/stsb/spearman", "seed": 42,
    "masking.probability": 0.15, "masking.mask_share": 0.8, "masking.random_share": 0.1, "augmentation.p": None,
}  # fmt: skip
# num_views=None: a view for each of the three columns of NLI
SUPERVISED = {"objective.keep_head": True, "objective.num_views": None, "objective.hard_negative_weight": 0,
              "trainer.batch_size": 512, "trainer.epochs": 3, "objective.temperature": 0.05}  # fmt: skip
WHITENED = {
    "objective.m": 3, "objective.temperature": 0.05, "objective.pooler": "cls_before_mlp", "objective.loss": "L1",
    "objective.weights": None, "objective.source": "dropout", "objective.whitening.kind": "zca",
    "objective.whitening.grad": "detach", "objective.whitening.layout": "per_view",
    "objective.whitening.stats": "batch", "objective.whitening.shuffle": True, "trainer.lr": 3e-5,
    "trainer.batch_size": 64, "trainer.drop_last": True,
}  # fmt: skip
PAIRED = {
    "objective.head.hidden": 8192, "objective.head.out": 8192, "objective.head.layers": 3,
    "objective.head.bias_hidden": True, "objective.head.bias_last": False, "trainer.drop_last": True,
    "model.pooling": "cls", "trainer.weight_decay": 0, "trainer.lr": 2e-5,
}  # fmt: skip
DECLUTR = {
    "objective.temperature": 0.05, "objective.reduction": "mean", "objective.mlm_weight": 1,
    "objective.contrastive_weight": 1, "objective.memory_size": 0, "objective.head.kind": "none",
    "model.pooling": "mean", "trainer.lr": 5e-5, "trainer.eps": 1e-6, "trainer.bias_correction": "none",
    "trainer.weight_decay": 0.1,
    "trainer.no_decay": ["bias", "LayerNorm.weight", "layer_norm.weight", "norm.weight"],
    "trainer.clip": 1, "trainer.select": None,
    "trainer.drop_last": True, "augmentation.anchors": 2, "augmentation.positives": 2, "augmentation.min_length": 32,
    "augmentation.max_length": 512, "augmentation.strategy": "all", "augmentation.unit": "words",
}  # fmt: skip
RATES = {"bert": (64, 3e-5, 5e-5), "bert_large": (64, 1e-5, 1e-5), "roberta": (512, 1e-5, 5e-5),
         "roberta_large": (512, 3e-5, 1e-5)}  # fmt: skip
GROUP_COUNTS = {"bert": 384, "bert_large": 512, "roberta": 256, "roberta_large": 256}
FIT = "eval.transfer.classifiers.test.fit"
SENTEVAL = {
    "eval.transfer.classifiers.test.kfold": 10, f"{FIT}.l2": [1e-5, 1e-4, 1e-3, 1e-2], f"{FIT}.optimizer": "adam",
    f"{FIT}.lr": 1e-3, f"{FIT}.batch_size": 64, f"{FIT}.epoch_size": 4, f"{FIT}.tenacity": 5, f"{FIT}.max_epoch": 200,
    f"{FIT}.seed": 1111, "eval.transfer.mode": "test", "eval.transfer.regression.stop_on": "spearman",
    "eval.geometry.threshold": 4, "eval.geometry.inclusive": False,
    "eval.declutr.parts.transfer.regression.stop_on": "pearson",
}  # fmt: skip
FOR_EVERY_ENCODER = {
    "barlow": (256, 2, 60, "linear"), "vicreg": (256, 2, 60, "linear"), "whitenedcse": (64, 1, 125, "linear"),
    "declutr": (16, 1, 5000, "slanted_triangular"), "mlm": (16, 1, 5000, "slanted_triangular"),
    "simcse_sup": (512, 3, 125, "linear"),
}  # fmt: skip
ESIMCSE = {  # learning rate, queue, dup_rate, dropout
    "bert": (3e-5, 160, 0.32, None), "bert_large": (1e-5, 160, 0.32, None),
    "roberta": (1e-5, 160, 0.3, None), "roberta_large": (1e-5, 128, 0.28, 0.15),
}  # fmt: skip
COSINE = {"trainer.batch_size": 16, "trainer.warmup": 0.1, "trainer.weight_decay": 0.01, "trainer.eval_every": 0.25,
          "trainer.bias_correction": "torch"}  # fmt: skip
LOOP = ("trainer.batch_size", "trainer.epochs", "trainer.eval_every", "trainer.schedule")
PUBLISHED = [
    *((f"objective={objective} model={model}", dict(zip(LOOP, values, strict=True)))
      for objective, values in FOR_EVERY_ENCODER.items() for model in ("modernbert", "distilroberta")),
    *((f"model={model}", SIMCSE | {"trainer.batch_size": batch, "trainer.lr": lr})
      for model, (batch, lr, _) in RATES.items()),
    *((f"objective=simcse_sup model={model}", SUPERVISED | {"trainer.lr": lr}) for model, (*_, lr) in RATES.items()),
    *((f"objective=whitenedcse model={model}", WHITENED | {"objective.whitening.num_groups": k})
      for model, k in GROUP_COUNTS.items()),
    ("objective=barlow augmentation=shuffle",
     PAIRED | {"objective.lambd": 5e-3, "objective.eps": 1e-5, "augmentation.p": 0.5, "augmentation.model_dropout": 0}),
    ("objective=vicreg augmentation=eda", PAIRED | {"objective.norm": "paper", "objective.eps": 1e-4,
     "objective.invariance": 1, "augmentation.alpha": 0.1, "augmentation.model_dropout": 0}),
    *((f"objective={objective} augmentation={augmentation} model=minilm", {"trainer.lr": lr} | weights)  # study2's
      for objective, rates, weights in (
          ("barlow", (3e-4, 1e-4, 3e-5), {"objective.head.out": 2048, "trainer.batch_size": 64}),
          ("vicreg", (1e-5, 1e-4, 3e-5), {"objective.norm": "reference", "objective.invariance": 25,
                                          "objective.variance": 25, "objective.covariance": 1}))
      for augmentation, lr in zip(("dropout", "shuffle", "eda"), rates, strict=True)),
    ("objective=vicreg augmentation=shuffle recipe=vicreg_minilm",
     {"objective.norm": "reference", "objective.variance": 25, "trainer.lr": 1e-4}),
    ("objective=vicreg augmentation=dropout model=roberta", {"augmentation.p": 0.2}),
    ("objective=declutr model=distilroberta", DECLUTR),
    *((f"objective={objective} model={model}", {"model.pooling": own})  # tuned for sentences: as its makers read it
      for model, own in {"minilm": "mean", "bge_base": "cls", "e5_base": "mean", "mpnet": "mean"}.items()
      for objective in ("simcse", "simcse_sup", "whitenedcse", "barlow", "vicreg", "declutr", "mlm")),
    *((f"objective={one} model=qwen3_embedding", {"model.pooling": "last"}) for one in ("simcse", "declutr")),
    *((f"objective=esimcse model={model}",
       {"objective.momentum": 0.995, "trainer.batch_size": 64, "trainer.lr": lr, "objective.memory_size": queue,
        "augmentation.rate": rate, "augmentation.model_dropout": dropout})
      for model, (lr, queue, rate, dropout) in ESIMCSE.items()),
    *((f"augmentation=repetition model={model}",
       {"trainer.batch_size": 64, "trainer.lr": lr, "augmentation.rate": rate, "augmentation.model_dropout": dropout})
      for model, (lr, _, rate, dropout) in ESIMCSE.items()),
    ("objective=rankcse", {"objective.teacher_pooling": "cls", "objective.teacher_temperature": 0.05}),
    *((f"objective=adnce model={model}",
       {"objective.weigh_positive": True, "objective.mu": mu, "objective.sigma": 1, "objective.temperature": tau})
      for model, mu, tau in (("bert", 0.4, 0.07), ("roberta", 2.0, 0.06))),
    ("objective=cosent", {"trainer.schedule": "constant", "trainer.clip": None, "trainer.lr": 2e-5,
                          "trainer.eps": 1e-7, "trainer.epochs": 5, "trainer.eval_every": 1 / 5}),
    ("objective=angle", {"trainer.warmup": 100, "trainer.epochs": 20, "trainer.eval_every": 1 / 20}),
    ("objective=gist", {"trainer.warmup": 0.1, "trainer.eval_every": 500}),
    *((f"objective=cosine model={model}", COSINE | {"model.pooling": pooling})
      for model, pooling in {**dict.fromkeys(RATES, "mean"), "bge_base": "cls", "promptbert": "mask"}.items()),
    ("experiment=visualcse variant=released",
     SIMCSE | {"aux_modality.loss": "rank_ce", "aux_modality.temperature": 0.07}),
    ("eval=[transfer,geometry,declutr]", SENTEVAL),
]  # fmt: skip


@pytest.mark.parametrize(("words", "values"), PUBLISHED, ids=[words for words, _ in PUBLISHED])
def test_a_line_has_the_published_values(words, values):
    """Of the papers or, if they do not say, of the authors' code: nothing else would notice a slip in a YAML."""
    config = composed("train", words.split())
    found = {key: OmegaConf.select(config, key) for key in values}
    if found.get("model.pooling", "") is None:  # the papers' language models record none
        found["model.pooling"] = UNRECORDED
    assert found == values


@pytest.mark.parametrize("group", GROUPS)
def test_a_recipes_name_is_of_choices_and_its_file_opens_with_its_source(group):
    parts = {
        "recipe": ("objective", "model"),
        "recipe/augmentation": ("objective", "model", "augmentation"),
        "recipe/aux_modality": ("aux_modality", "objective", "model"),
    }
    names = {""}
    for part in parts[group]:
        names = {f"{name}_{choice}".lstrip("_") for name in names for choice in choices(part)}
    assert set(choices(group)) <= names
    for choice in choices(group):
        assert Path(CONF_DIR, group, f"{choice}.yaml").read_text().startswith("# @package _global_\n# ")
        assert len(first_sentence(file_of(group, choice))) > 10


@pytest.mark.parametrize(("words", "places"), [
    ("recipe=simcse_roberta", ["recipe/simcse_roberta"]),
    ("objective=declutr model=distilroberta", ["recipe/declutr_distilroberta"]),
    ("objective=barlow model=roberta", ["recipe/barlow_roberta", "recipe/augmentation/barlow_roberta_dropout"]),
    ("objective=vicreg model=roberta augmentation=shuffle", ["recipe/vicreg_roberta"]),
    ("model=roberta experiment=visualcse variant=released",
     ["recipe/simcse_roberta", "recipe/aux_modality/visual_simcse_roberta", "then experiment=visualcse",
      "then variant=released"]),
    ("smoke=true", ["recipe/simcse_bert", "then smoke=true"]),
    ("objective=declutr model=bert", ["declutr + bert: objective/declutr trainer/default"]),
    ("objective=barlow model=modernbert model.name=/mine", ["barlow + /mine: objective/barlow trainer/default"]),
    ("model.name=/mine", ["recipe/simcse_bert", "the recipe is for model=bert; this run trains model.name=/mine"]),
    ("aux_modality=visual model=rubert",
     ["simcse + rubert: objective/simcse trainer/default", "visual + simcse + rubert: aux_modality/visual"]),
])  # fmt: skip
def test_a_run_names_the_files_of_its_values(words, places):
    def place(line: str) -> str:
        """The conf/ files that it names, after the pair for which there is no recipe."""
        files = " ".join(re.findall(r"conf/([\w/]+)\.yaml", line))
        missing = re.match(r"no recipe for (.*:)", line)
        return f"{missing[1]} {files}" if missing else files or line

    assert [place(line) for line in told(*words.split())] == places


@pytest.mark.parametrize("recipe", ["simcse_brt", "[simcse_brt]", "simcse.bert"])
def test_a_recipe_that_does_not_exist_is_refused(recipe):
    """Hydra ignores it, as for any optional group."""
    with pytest.raises(UserError, match=r"recipe=\[?simcse.*simcse_bert"):
        cse.compose(f"recipe={recipe}")
