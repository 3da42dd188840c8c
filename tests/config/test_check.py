"""Settings that a part cannot have are refused by its signature, all of a line at once, before any work."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from cse.config.check import settle
from cse.config.compose import composed
from cse.config.groups import choices
from cse.errors import UserError

TRAIN = [  # (what is typed after cse-train, the sentences that it gets)
    ("trainer.lr=nan", "trainer.lr=nan: must be a number above 0"),
    ("trainer.lr=inf", "trainer.lr=inf: must be a number above 0"),
    ("trainer.lr=0", "trainer.lr=0: must be a number above 0"),
    ("trainer.lr=fast", "trainer.lr=fast: must be a number above 0"),
    ("trainer.lr='0.1'", "trainer.lr=0.1: must be a number above 0"),
    ("trainer.lr=null", "trainer.lr=null: must be a number above 0"),
    ("trainer.lr=[1]", "trainer.lr=[1]: must be a number above 0"),
    ("trainer.epochs=-1", "trainer.epochs=-1: must be a number above 0"),
    ("trainer.batch_size=true", "trainer.batch_size=true: must be a whole number of at least 1"),
    ("trainer.batch_size=1.5", "trainer.batch_size=1.5: must be a whole number of at least 1"),
    ("trainer.max_steps=0", "trainer.max_steps=0: must be a whole number of at least 1, or null"),
    ("trainer.warmup=-1", "trainer.warmup=-1: must be a whole number of at least 0"),
    ("trainer.weight_decay=-0.1", "trainer.weight_decay=-0.1: must be a number of at least 0"),
    ("trainer.clip=-1", "trainer.clip=-1: must be a number above 0, or null"),
    ("trainer.betas=[0.9]", "trainer.betas=[0.9]: must be a list of 2, each a number of at least 0 and below 1"),
    ("trainer.betas=[2,3]", "trainer.betas=[2,3]: must be a list of 2, each a number of at least 0 and below 1"),
    ("trainer.betas=0.9", "trainer.betas=0.9: must be a list of 2, each a number of at least 0 and below 1"),
    ("trainer.schedule=cosin", "trainer.schedule=cosin: must be one of linear, cosine, constant, slanted_triangular"),
    ("trainer.precision=fp8", "trainer.precision=fp8: must be one of auto, fp32, bf16, fp16"),
    ("trainer.gather_scale=1", "trainer.gather_scale=1: must be one of exact, paper"),
    ("trainer.drop_last=maybe", "trainer.drop_last=maybe: must be yes or no"),
    ("trainer.drop_last=1", "trainer.drop_last=1: must be yes or no"),
    ("trainer.deterministic=null", "trainer.deterministic=null: must be yes or no"),
    ("trainer.devices=two", "trainer.devices=two: must be a whole number of at least 1"),
    ("trainer.select=", "trainer.select=: must be text that is not empty, or null"),
    ("trainer.compile=maybe", "trainer.compile=maybe: must be yes or no"),
    ("seed=-1", "seed=-1: must be a whole number from 0 to 4294967295"),
    ("seed=nan", "seed=nan: must be a whole number from 0 to 4294967295"),
    ("smoke=maybe", "smoke=maybe: must be yes or no"),
    ("dry_run=2", "dry_run=2: must be yes or no"),
    ("allow_partial=perhaps", "allow_partial=perhaps: must be yes or no"),
    ("jobs.parallel=0", "jobs.parallel=0: must be a whole number of at least 1"),
    ("checkpoint=x", "checkpoint=x: must be null"),
    ("paths.cache=null", "paths.cache=null: must be text that is not empty"),
    ("masking=null", "masking=null: must be a mapping with a _target_"),
    ("masking.probability=2", "masking.probability=2: must be a number from 0 to 1"),
    ("model.num_layers=0", "model.num_layers=0: must be a whole number of at least 1, or null"),
    ("model.pooling=max", "model.pooling=max: must be one of cls, mean, last, avg_top2"),
    ("model.packed=sometimes", "model.packed=sometimes: must be yes or no"),
    ("objective.temperature=0", "objective.temperature=0: must be a number above 0"),
    ("objective.num_views=4", "objective.num_views=4: must be a whole number from 2 to 3"),
    ("objective.keep_head=2", "objective.keep_head=2: must be yes or no"),
    ("objective.head=linear", "objective.head=linear: must be a mapping with a _target_"),
    (
        "objective.head._target_=cse.model.heads.X",
        "objective.head._target_=cse.model.heads.X: cse.model.heads has no X",
    ),
    ("objective._target_=a.b.Margin", "objective._target_=a.b.Margin: there is no module a: PYTHONPATH=FOLDER names"),
    ("objective._target_=cse.margin.Margin", "objective._target_=cse.margin.Margin: there is no module cse.margin"),
    ("objective._target_=Margin", "objective._target_=Margin: there is no module Margin: PYTHONPATH=FOLDER"),
    ("objective._target_=.Margin", "objective._target_=.Margin: it is no dotted name of a class or a function"),
    ("objective=barlow objective.head.hidden=-1", "objective.head.hidden=-1: must be a whole number of at least 1"),
    ("objective=vicreg objective.norm=code", "objective.norm=code: must be one of paper, reference"),
    ("objective=declutr objective.head.kind=gelu", "objective.head.kind=gelu: must be one of none, linear, relu"),
    ("objective=declutr objective.reduction=max", "objective.reduction=max: must be one of mean, sum"),
    ("objective=declutr objective.memory_kind=moco", "objective.memory_kind=moco: must be one of paper_literal, pml"),
    ("objective=whitenedcse objective.m=1", "objective.m=1: must be a whole number of at least 2"),
    ("objective=whitenedcse objective.loss=L3", "objective.loss=L3: must be one of L1, L2_softmin"),
    ("objective=whitenedcse objective.whitening.num_groups=0", "objective.whitening.num_groups=0: must be a whole"),
    ("objective=whitenedcse objective.whitening.kind=ica", "objective.whitening.kind=ica: must be one of none, pca"),
    ("augmentation.p=1.5", "augmentation.p=1.5: must be a number of at least 0 and below 1, or null"),
    ("augmentation=shuffle augmentation.p=1.5", "augmentation.p=1.5: must be a number from 0 to 1"),
    ("augmentation=shuffle augmentation.rounding=up", "augmentation.rounding=up: must be one of round, floor, ceil"),
    ("augmentation=eda augmentation.ops=two", "augmentation.ops=two: must be one of one, all"),
    ("augmentation=spans augmentation.strategy=near", "augmentation.strategy=near: must be one of all, adjacent"),
    ("data=text", "data.path is not set: say data.path=..."),
    ("data=text data.path=", "data.path=: must be text that is not empty, or null"),
    ("data=text data.path=x data.encoding=utf9", "data.encoding=utf9: must be the name of a text encoding"),
    ("data=text data.path=x data.columns=[]", "data.columns=[]: must be a list of at least 1"),
    ("data=text data.path=x data.limit=1.5", "data.limit=1.5: must be a whole number of at least 1 or a number above"),
    ("data=text data.path=x data.noise.delete=1.5", "data.noise.delete=1.5: must be a number from 0 to 1"),
    ("data=wikipedia data.rows.unit=bytes", "data.rows.unit=bytes: must be one of words, characters"),
    ("aux_modality=visual aux_modality.loss=triplet", "aux_modality.loss=triplet: must be one of supcon, simclr"),
    ("aux_modality=visual aux_modality.init=imagenet", "aux_modality.init=imagenet: must be one of vit, random"),
    ("aux_modality=visual aux_modality.data.normalize=none", "aux_modality.data.normalize=none: must be one of imagen"),
    ("aux_modality=visual aux_modality.data.crop_scale=[1,.5]", "aux_modality.data.crop_scale=[1,0.5]: must be in asc"),
    ("aux_modality=visual aux_modality.data.batch_size=0", "aux_modality.data.batch_size=0: must be a whole number"),
    ("aux_modality=audio aux_modality.init=ast", "aux_modality.init=ast: must be one of random, ssast"),
    ("aux_modality=audio aux_modality.data.mixup=2", "aux_modality.data.mixup=2: must be a number from 0 to 1"),
    ("eval.stsb=5", "eval.stsb=5: must be a mapping with a _target_"),
    ("eval.stsb.with_sickr=sure", "eval.stsb.with_sickr=sure: must be yes or no"),
    ("eval=transfer eval.transfer.tasks=MRR", "eval.transfer.tasks=MRR: must be a list of at least 1, each one of MR"),
    ("eval=transfer eval.transfer.mode=slow", "eval.transfer.mode=slow: must be one of test, fast"),
    ("eval=transfer eval.transfer.classifiers.test.fit.lr=0", "eval.transfer.classifiers.test.fit.lr=0: must be a num"),
    ("eval=transfer eval.transfer.classifiers.test.kfold=1", "eval.transfer.classifiers.test.kfold=1: must be a whole"),
    ("eval=probing eval.probing.tasks=[Depht]", "eval.probing.tasks=[Depht]: must be a list of at least 1, each one"),
    ("eval=declutr eval.declutr.parts.coco=5", "eval.declutr.parts.coco=5: must be a mapping with a _target_, or null"),
    ("eval=geometry eval.geometry.bins=0", "eval.geometry.bins=0: must be a whole number of at least 1"),
    ("eval=geometry eval.geometry.gold_edges=[0]", "eval.geometry.gold_edges=[0]: must be a list of at least 2"),
    ("eval=retrieval eval.retrieval.ks=[0]", "eval.retrieval.ks=[0]: must be a list of at least 1, each a whole"),
    ("eval=stsb_multi eval.stsb_multi.languages=xx", "eval.stsb_multi.languages=xx: must be a list of at least 1"),
    ("eval=mteb eval.mteb.tasks=[]", "eval.mteb.tasks=[]: must be a list of at least 1"),
    ("eval=coco eval.coco.device=gpu", "eval.coco.device=gpu: must be auto, cpu, cuda or cuda:N"),
    ("tracker.wandb.mode=on", "tracker.wandb.mode=on: must be one of auto, online, offline, disabled"),
    ("tracker.wandb.init_timeout=-1", "tracker.wandb.init_timeout=-1: must be a number above 0"),
]
EVALUATE = [
    ("batch_size=0", "batch_size=0: must be a whole number of at least 1"),
    ("max_length=-1", "max_length=-1: must be a whole number of at least 1, or null"),
    ("dtype=int8", "dtype=int8: must be one of fp32, bf16, fp16"),
    ("splits=[train]", "splits=[train]: must be a list of at least 1, each one of dev, test"),
    ("splits=[]", "splits=[]: must be a list of at least 1"),
    ("pooling=max", "pooling=max: must be one of cls, mean, last"),
    ("whitening=pca", "whitening=pca: must be a mapping"),
    ("whitening.kind=ica", "whitening.kind=ica: must be one of pca, zca, or null"),
    ("whitening.components=0", "whitening.components=0: must be a whole number of at least 1, or null"),
    ("lowercase=perhaps", "lowercase=perhaps: must be yes or no"),
    ("checkpoint=", "checkpoint=: must be text that is not empty, or null"),
]
BAD = [("train", *row) for row in TRAIN] + [("evaluate", *row) for row in EVALUATE]


@pytest.mark.parametrize(("command", "line", "told"), BAD, ids=[line for _, line, _ in BAD])
def test_refused_in_one_sentence(command, line, told):
    with pytest.raises(UserError) as refused:
        settle(composed(command, line.split()), command)
    assert str(refused.value).startswith(told)
    assert "; " not in str(refused.value)  # once, also where other keys repeat it (allow_partial, seed, pooling)


def test_all_of_a_line_is_told_at_once():
    line = ["trainer.lr=nan", "augmentation.p=1.5", "eval.stsb.with_sickr=5", "tracker.wandb.mode=on", "seed=-1"]
    with pytest.raises(UserError) as refused:
        settle(composed("train", line), "train")
    told = str(refused.value).split("; ")
    assert {sentence.partition("=")[0] for sentence in told} == {key.partition("=")[0] for key in line}


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("trainer.lr=1", "trainer.lr", 1),
        ("trainer.eps=1e-8", "trainer.eps", 1e-8),
        ("seed=0", "seed", 0),
        ("trainer.watch=geometry", "trainer.watch", ["geometry"]),
        ("trainer.no_decay=[bias,norm]", "trainer.no_decay", ["bias", "norm"]),
        ("data=nli data.columns=sent0", "data.columns", ["sent0"]),
        ("eval=transfer eval.transfer.tasks=TREC", "eval.transfer.tasks", ["TREC"]),
        ("eval=retrieval eval.retrieval.ks=3", "eval.retrieval.ks", [3]),
        ("data=wikipedia data.rows.dump=20231101", "data.rows.dump", "20231101"),
        ("note=7", "note", "7"),
        ("tracker.wandb.tags=[1,a]", "tracker.wandb.tags", ["1", "a"]),
        ("trainer.compile=no", "trainer.compile", False),
        ("data.limit=0.4", "data.limit", 0.4),
        ("data.limit=100", "data.limit", 100),
        ("smoke=no", "smoke", False),
        ("dry_run=ON", "dry_run", True),
        ("allow_partial=no", "eval.stsb.allow_partial", False),  # which repeats it
        ("allow_partial=yes", "eval.sts.allow_partial", True),
        ("trainer.drop_last=off", "trainer.drop_last", False),
        ("augmentation.p=null", "augmentation.p", None),
        ("eval=[]", "eval", {}),
    ],
)
def test_accepted_and_read_as_meant(line, key, value):
    cfg = settle(composed("train", line.split()), "train")
    assert OmegaConf.select(cfg, key) == value


GROUPS = ("model", "data", "augmentation", "aux_modality", "eval", "tracker", "objective", "experiment")


@pytest.mark.parametrize("choice", [f"{group}={name}" for group in GROUPS for name in choices(group)])
def test_every_choice_fits_its_signature(choice):
    settle(composed("train", [choice, *(["data.path=x"] if choice == "data=text" else [])]), "train")


def test_a_key_that_no_signature_has_is_named(tmp_path: Path):
    cfg = composed("train", ["+augmentation.q=1"])
    with pytest.raises(UserError, match=r"augmentation\.q: there is no such setting"):
        settle(cfg, "train")
