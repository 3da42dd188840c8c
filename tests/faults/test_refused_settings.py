"""Settings that cannot be composed are refused by name, in one sentence.

Wrong values: tests/lab/settings/test_check.py.
"""

import pytest

import cse
from cse.errors import UserError
from cse.lab.settings.lookup import keys
from cse.lab.settings.mistakes import no_choice
from cse.lab.settings.suggest import SYNONYMS

TRAINING = [  # (settings, words that the sentence has to contain)
    ("output_dir=here", "hydra.run.dir"),
    ("trainer.learning_rate=1e-5", "trainer.learning_rate mean trainer.lr?"),
    ("objective=simsce", "objective=simsce simcse --help"),
    ("objective=“simcse”", "simcse"),
    ("recipe=simcse_roberto", "recipe=simcse_roberto simcse_roberta"),
    ("eval=[stsb,stx]", "stx"),
    ("eval.stsb.nokey=1", "eval.stsb.nokey"),
    ("data.path=x.txt", "data.path data=text"),
    ("data=text data.path=${oc.env:NO_SUCH}", "data.path NO_SUCH"),
    ("data=openwebtext data.rows.allow_partial=true", "data.rows.allow_partial"),
    ("data.columns=[a, b]", "data.columns=[a,"),
    ("augmentation=", "augmentation"),
    ("trainer.watch=[a,~b]", "at ~"),
    ("~foo", "foo"),
    ("objective = barlow", "="),
    ("barlow", "barlow objective=barlow"),
    ("trainer.lr=0,1", "trainer.lr=[0,1] -m"),
    ("+trainer.lrr=1", "trainer.lrr trainer.lr"),
    ("seed=${seed}", "seed"),
    ("seed=${no.resolver:3}", "no.resolver"),
    ("trainer.lr=${nokey}", "trainer.lr nokey"),
    ("trainer.lr.x=3", "trainer.lr"),
    ("model=bert,roberta", "model"),
    ("seed=range(3)", "seed"),
    ("seed=nofunction(3)", "nofunction"),
    ("model@foo=bert", "model@foo"),
    ("eval=[[stsb]]", "eval"),
    ("objective=3", "objective=3 barlow"),
    ("model=null", "model=null model.name=null"),
    ("eval=[true]", "eval=[true] stsb"),
    ("model=[bert]", "model=[bert] bert"),
    ("model=", "model= model.name="),
    ("objective={a:1}", "objective.KEY=VALUE"),
    ("hydra/sweeper=null", "hydra/sweeper=null sweeper"),
    ("model._target_=os.system", "model"),
    ("model._target_=nothing.at.all", "model._target_"),
    ("aux_modality.lr=1", "aux_modality.lr"),
    ("objective=barlow objective.temperature=1", "objective.temperature"),
    ("objective=barlow temperature=1", "temperature objective=simcse"),
    ("lambd=1", "objective.lambd objective=barlow"),
    ("model=mybert", "model.name=mybert"),
    ("scale=laptop", "scale"),
    ("model.freeze=true", "model.freeze model.num_layers"),
    ("eval=demo eval.tasks=[lee]", "eval.demo.tasks; eval.sts.tasks eval.mteb.tasks"),
    ("hydra.verbose=true", "hydra.verbose=true train.log"),
    ("hydra/job_logging=none", "hydra/job_logging=none"),
    ("mem=64G", "mem hydra/launcher=submitit_slurm mem_gb"),
    ("sweep=whitenedcse/table4", "sweep=whitenedcse/table4"),
    ("-m", "-m"),
    ("experiment=demo data.path=x.txt", "data.path belongs data=text"),
    ("trainer.device=cuda", "trainer.device trainer.devices=N"),
    ("experiment=simcse", "experiment=simcse objective=simcse"),
    ("objective=MultipleNegativesRankingLoss", "objective=simcse"),
    ("smoke", "smoke=VALUE"),
    ("eval=scored.csv", "eval=pairs eval.dev=scored.csv"),
    ("objective", "objective=VALUE"),
    (__file__, f"data.path={__file__}"),
    ("model=all-MiniLM-L6-v2", "model=minilm"),
    ("model=e5-base-v2", "model=e5_base"),
]
EVALUATION = [
    ("trainer.lr=1", "trainer"),
    ("resume=auto", "resume"),
    (".", "checkpoint=."),
    ("a" * 300, "a is no setting"),
    ("chekpoint=x", "chekpoint checkpoint"),
    ("whitening=pca", "whitening=pca"),
    ("model=minilmm", "minilmm minilm"),
    ("eval=stsb eval.with_sicr=true", "eval.stsb.with_sicr eval.stsb.with_sickr"),
]


@pytest.mark.parametrize(
    ("command", "words", "named"),
    [("train", *case) for case in TRAINING] + [("evaluate", *case) for case in EVALUATION],
)
def test_settings_that_cannot_be_composed_are_named(command, words, named):
    with pytest.raises(UserError) as refused:
        cse.compose(*words.split(), command=command)
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert all(name in sentence for name in named.split()), sentence


def test_a_papers_name_lists_its_sweeps():
    assert no_choice("sweep", "whitenedcse").startswith("sweep=whitenedcse has several: whitenedcse/figure3, ")


def test_every_synonym_is_of_a_setting_that_exists():
    assert set(SYNONYMS.values()) <= set(keys("train"))
