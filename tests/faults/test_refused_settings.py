"""Every setting that no part takes is refused with its key: cse.compose checks what the commands check.

A round has one wrong value of each key, all of which its one sentence has to name. WORDS end the composing themselves.
"""

import re
from itertools import zip_longest

import pytest

import cse
from cse.errors import UserError

REFUSED: dict[str, dict[str, list[str]]] = {  # {line: {key: values}}
    "": {
        "trainer.lr": ["nan", "-inf", "1e999", "", "{}", "x", "1e-5e"],
        "trainer.epochs": ["nan", "0"],
        "trainer.batch_size": ["0", "-64", "64.0"],
        "trainer.max_length": ["2"],
        "trainer.betas": ["[0.9,1]"],
        "trainer.eps": ["0"],
        "trainer.clip": ["0"],
        "trainer.chunk": ["0"],
        "trainer.chunk_tokens": ["-1"],
        "trainer.eval_every": ["0"],
        "trainer.save_every": ["0"],
        "trainer.log_every": ["0", "null"],
        "trainer.patience": ["0"],
        "trainer.stop_early": ["later"],
        "trainer.workers": ["-1"],
        "trainer.devices": ["0", "all"],
        "trainer.precision": ["32"],
        "trainer.accumulate": ["0"],
        "trainer.no_decay": ["['']"],
        "trainer.warmup": ["0.1"],
        "trainer.compile": ["perhaps"],
        "seed": ["4294967296", "0.5", "null", "forty-two", "[1]"],
        "model.name": ["", "null"],
        "model.dtype": ["int8"],
        "model.bidirectional": ["maybe"],
        "model.lora": ["true"],
        "objective.temperature": ["-1", "nan"],
        "objective.num_views": ["1"],
        "masking.probability": ["-0.1"],
        "augmentation.p": ["-1", "much"],
        "paths.cache": [""],
        "dry_run": ["perhaps"],
    },
    "objective=barlow": {"objective.lambd": ["nan"], "objective.eps": ["-1"]},
    "objective=vicreg": {"objective.invariance": ["-1"]},
    "objective=declutr": {
        "objective.temperature": ["0"],
        "objective.memory_size": ["-1"],
        "augmentation.anchors": ["0"],
        "augmentation.unit": ["letters"],
    },
    "objective=whitenedcse": {"objective.whitening.beta": ["2"], "objective.pooler": ["best"]},
    "augmentation=eda": {"augmentation.alpha": ["2"]},
    "data=text": {
        "data.limit": ["0", "-0.5", "many"],
        "data.limit_seed": ["-1"],
        "data.columns": ["{a:5}"],
        "data.noise": ["loud"],
        "data.encoding": ["null", "base64"],
        "data.preview": ["-1", "[0]"],
    },
    "data=text data.noise.delete=0": {"data.noise.insert": ["-1"], "data.noise.delete": ["1.5"]},
    "aux_modality=visual": {
        "aux_modality.temperature": ["0"],
        "aux_modality.weight": ["-1"],
        "aux_modality.data.jitter": ["[1,1,1,1]"],
        "aux_modality.data.workers": ["-1"],
        "aux_modality.data.classes": ["0"],
    },
    "aux_modality=audio": {
        "aux_modality.patch": ["0"],
        "aux_modality.data.mixup_beta": ["0"],
        "aux_modality.data.frequency_mask": ["129"],
    },
    "tracker=wandb": {"tracker.wandb.mode": ["sometimes"]},
}
ROUNDS = [
    pytest.param(line, settings, id=f"{line or 'train'}-{number}")
    for line, values in REFUSED.items()
    for number, settings in enumerate(zip_longest(*([(key, one) for one in ones] for key, ones in values.items())))
]

WORDS = [  # (words, what its sentence names)
    ("objektive=simcse", "objective"),
    ("objective=simsce", "simcse"),
    ("trainer.batchsize=3", "trainer.batch_size"),
    ("output_dir=here", "hydra.run.dir"),
    ("eval=[stsb,stx]", "stx"),
    ("trainer=fast", "trainer=fast"),
    ("augmentation=", "augmentation"),
    ("+trainer.foo=3", "trainer.foo"),
    ("~objective", "objective"),
    ("~nokey", "nokey"),
    ("=3", "=3"),
    ("simcse", "simcse"),
    ("objective:barlow", "objective:barlow"),
    ("trainer.lr=[", "trainer.lr="),
    ("trainer.betas={a:", "trainer.betas="),
    ("trainer.betas={a:1}", "trainer.betas"),
    ("trainer.no_decay={bias:1}", "trainer.no_decay"),
    ("note='open", "note="),
    ("seed=${nokey}", "nokey"),
    ("seed=${seed}", "seed"),
    ("seed=${trainer.batch_size", "seed"),
    ("seed=${oc.env:NOT_SET_ANYWHERE}", "NOT_SET_ANYWHERE"),
    ("seed=${no.resolver:3}", "no.resolver"),
    ("trainer.lr=3e-5,", "trainer.lr"),
    ("trainer.lr.x=3", "trainer.lr"),
    ("seed=1,2", "seed"),
    ("model=bert,roberta", "model"),
    ("seed=range(3)", "seed"),
    ("model=glob(b*)", "model"),
    ("seed=nofunction(3)", "nofunction"),
    ("model@foo=bert", "model@foo"),
    ("hydra.job.nokey=1", "hydra.job.nokey"),
    ("trainer=3", "trainer"),
    ("eval=5", "eval"),
    ("eval=[[stsb]]", "eval"),
    ("model.name=5 trainer.max_length=", "trainer.max_length"),
    ("model._target_=os.system", "model"),
    ("model._target_=nothing.at.all", "model._target_"),
    ("objective._target_=cse.objective.simcse.Simsce", "objective._target_"),
    ("trainer._target_=null", "trainer"),
    ("aux_modality.lr=1", "aux_modality.lr"),
    ("objective=barlow objective.temperature=1", "objective.temperature"),
    ("resume=", "resume"),
    ("-m seed=1", "-m"),
]
WORDS_OF_EVALUATION = [
    ("checkpont=x", "checkpoint"),
    ("trainer.lr=1", "trainer"),
    ("objective=simcse", "objective"),
    ("resume=auto", "resume"),
    ("batch_size=0", "batch_size"),
    ("checkpoint=x eval=stsb eval.nokey=1", "nokey"),
    ("pooling=max", "pooling"),
]


@pytest.mark.parametrize(("line", "settings"), ROUNDS)
def test_every_setting_that_is_wrong_is_named(line, settings):
    wrong = [setting for setting in settings if setting]
    with pytest.raises(UserError) as refused:
        cse.compose(*line.split(), *(f"{key}={value}" for key, value in wrong))
    assert [key for key, _ in wrong if not re.search(rf"(?<![\w.]){re.escape(key)}(?!\w)", str(refused.value))] == []
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "words", "named"),
    [("train", *case) for case in WORDS] + [("evaluate", *case) for case in WORDS_OF_EVALUATION],
)
def test_words_that_cannot_be_composed_are_named(command, words, named):
    with pytest.raises(UserError) as refused:
        cse.compose(*words.split(), command=command)
    assert named in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ("trainer.drop_last=no", "trainer.drop_last", False),
        ("data=text data.path=x data.columns=a", "data.columns", ["a"]),
        ("model.prefix=5", "model.prefix", "5"),
        ("note=yes", "note", "yes"),
        ("eval=null", "trainer.select", None),
    ],
)
def test_what_is_clear_is_read_as_it_was_meant(words, key, value):
    from omegaconf import OmegaConf

    assert OmegaConf.select(cse.compose(*words.split()), key) == value
