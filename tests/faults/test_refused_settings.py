"""Every setting that no part takes is refused with its key: cse.compose checks what the commands check.

A line has one wrong value of each key, all of which its one sentence has to name. WORDS end the composing themselves;
more of both in tests/config/test_check.py.
"""

import re

import pytest

import cse
from cse.errors import UserError

REFUSED = {  # {line: settings, one a word}
    "": "trainer.lr=nan trainer.epochs=0 trainer.batch_size=0 trainer.max_length=2 trainer.betas=[0.9,1] trainer.eps=0"
    " trainer.clip=0 trainer.chunk=0 trainer.chunk_tokens=-1 trainer.eval_every=0 trainer.save_every=0"
    " trainer.log_every=0 trainer.patience=0 trainer.stop_early=later trainer.workers=-1 trainer.devices=0"
    " trainer.precision=32 trainer.accumulate=0 trainer.no_decay=[''] trainer.warmup=0.1 trainer.compile=perhaps"
    " seed=4294967296 model.name= model.dtype=int8 model.bidirectional=maybe model.lora=true objective.temperature=-1"
    " objective.num_views=1 masking.probability=-0.1 augmentation.p=much paths.cache= dry_run=perhaps",
    "seed=1 trainer.epochs=1": "trainer.lr=1e999 trainer.log_every=null trainer.devices=all model.name=null",
    "objective=barlow": "objective.lambd=nan objective.eps=-1",
    "objective=vicreg": "objective.invariance=-1 objective.log10_variance=400 objective.log10_covariance=-400",
    "objective=declutr": "objective.temperature=0 objective.memory_size=-1 augmentation.anchors=0"
    " augmentation.unit=letters",
    "objective=whitenedcse": "objective.whitening.beta=2 objective.pooler=best",
    "augmentation=eda": "augmentation.alpha=2",
    "data=text": "data.limit=-0.5 data.limit_seed=-1 data.columns={a:5} data.noise=loud data.encoding=base64"
    " data.preview=[0]",
    "data=text data.noise.swap=0": "data.noise.insert=-1 data.noise.delete=1.5 data.encoding=null data.preview=-1",
    "aux_modality=visual": "aux_modality.temperature=0 aux_modality.weight=-1 aux_modality.data.jitter=[1,1,1,1]"
    " aux_modality.data.workers=-1 aux_modality.data.classes=0",
    "aux_modality=audio": "aux_modality.patch=0 aux_modality.data.mixup_beta=0 aux_modality.data.frequency_mask=129",
    "tracker=wandb": "tracker.wandb.mode=sometimes",
}

ANOMALIES = ('{"rows": [1e999], "epoch": 0}', '{"rows": [1], "epoch": -1}', '{"rows": [1], "epoch": 1e300}',
             '{"rows": 1}', '{"rows": [-1], "epoch": 0}', '[]', f'{{"rows": [{10**30}], "epoch": 0}}')  # fmt: skip

WORDS = [  # (words, what its sentence names, one a word)
    ("smoke=maybe trainer.lr=nan", "smoke=maybe trainer.lr=nan"),
    ("output_dir=here", "hydra.run.dir"),
    ("trainer.learning_rate=1e-5", "trainer.learning_rate trainer.lr"),
    ("objektive=simcse", "objektive objective"),
    ("objective=simsce", "objective=simsce simcse barlow"),
    ("objective=“simcse”", "simcse"),
    ("recipe=simcse_roberto", "recipe=simcse_roberto simcse_roberta"),
    ("eval=[stsb,stx]", "stx"),
    ("eval.stsb.nokey=1", "eval.stsb.nokey"),
    ("data.path=x.txt", "data.path data=text"),
    ("data=text", "data.path"),
    ("data=text data.path=${oc.env:NO_SUCH}", "data.path NO_SUCH"),
    ("data=openwebtext data.rows.allow_partial=true", "data.rows.allow_partial"),
    ("data.columns=[a, b]", "data.columns=[a,"),
    ("augmentation=", "augmentation"),
    ("~objective", "objective"),
    ("~foo", "foo"),
    ("objective:barlow", "objective:barlow"),
    ("objective = barlow", "="),
    ("barlow", "barlow objective=barlow"),
    ("lr", "lr trainer.lr"),
    ("trainer.lr=", "trainer.lr="),
    ("trainer.lr=64,", "trainer.lr=64, KEY=VALUE"),
    ("trainer.lr=0,1", "trainer.lr --multirun"),
    ("+trainer.lrr=1", "trainer.lrr trainer.lr"),
    ("trainer.betas={a:", "trainer.betas="),
    ("trainer.betas={a:1}", "trainer.betas"),
    ("note='open", "note="),
    ("seed=${seed}", "seed"),
    ("seed=${trainer.batch_size", "seed"),
    ("seed=${no.resolver:3}", "no.resolver"),
    ("trainer.lr=${nokey}", "trainer.lr nokey"),
    ("trainer.lr.x=3", "trainer.lr"),
    ("model=bert,roberta", "model"),
    ("model=null", "model"),
    ("model=[bert]", "model"),
    ("seed=range(3)", "seed"),
    ("seed=nofunction(3)", "nofunction"),
    ("model@foo=bert", "model@foo"),
    ("hydra.job.nokey=1", "hydra.job.nokey"),
    ("trainer=3", "trainer"),
    ("eval=[[stsb]]", "eval"),
    ("model._target_=os.system", "model"),
    ("model._target_=nothing.at.all", "model._target_"),
    ("objective._target_=cse.objective.simcse.Simsce", "objective._target_"),
    ("trainer._target_=null", "trainer"),
    ("aux_modality.lr=1", "aux_modality.lr"),
    ("objective=barlow objective.temperature=1", "objective.temperature"),
    ("resume=", "resume"),
    ("scale=laptop trainer.batch_size=64", "scale.trainer.batch_size=64"),
    ("scale=laptop scale.sentences=/no/file", "scale.sentences=/no/file"),
    ("sweep=whitenedcse/table4", "sweep=whitenedcse/table4"),
    ("-m", "-m"),
]
WORDS_OF_EVALUATION = [
    ("trainer.lr=1", "trainer"),
    ("objective=simcse", "objective"),
    ("resume=auto", "resume"),
    ("batch_size=0 allow_partial=perhaps", "batch_size=0 allow_partial=perhaps"),
    ("chekpoint=x", "chekpoint checkpoint"),
    ("whitening=pca", "whitening=pca"),
    ("splits=[train]", "splits"),
    ("model=minilmm", "minilmm minilm"),
    ("eval=stsb eval.with_sicr=true", "eval.stsb.with_sicr eval.stsb.with_sickr"),
]


def told(*words: str, command: str = "train") -> str:
    with pytest.raises(UserError) as refused:
        cse.compose(*words, command=command)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


@pytest.mark.parametrize(("line", "settings"), REFUSED.items())
def test_every_setting_that_is_wrong_is_named(line, settings):
    sentence = told(*line.split(), *settings.split())
    keys = [setting.partition("=")[0] for setting in settings.split()]
    assert [key for key in keys if not re.search(rf"(?<![\w.]){re.escape(key)}(?!\w)", sentence)] == []


@pytest.mark.parametrize(
    ("command", "words", "named"),
    [("train", *case) for case in WORDS] + [("evaluate", *case) for case in WORDS_OF_EVALUATION],
)
def test_words_that_cannot_be_composed_are_named(command, words, named):
    sentence = told(*words.split(), command=command)
    assert all(name in sentence for name in named.split()), sentence


@pytest.mark.parametrize("content", ANOMALIES)
def test_rows_of_no_run_are_shown_by_nothing(small_run, cse_train, tmp_path, capsys, content):
    (tmp_path / "a.json").write_text(content)
    assert cse_train([*small_run, f"data.preview={tmp_path}/a.json"]) == 2
    told = capsys.readouterr()
    assert "a.json" in told.err
    assert "view 0" not in told.out


def test_every_synonym_means_a_setting_that_there_is():
    from cse.config.compose import valid_keys
    from cse.config.synonyms import ALWAYS, SYNONYMS

    wholes = ([], ["objective=barlow"], ["objective=declutr"], ["data=text"])
    keys = {key for words in wholes for key in valid_keys("train", words)}
    assert set(SYNONYMS.values()) - {*keys, *ALWAYS} == set()
