"""scale=laptop: it fits every table's jobs, keeps what it replaces, and reports find its runs."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

import cse
from cse.config import scale
from cse.config.compose import composed
from cse.config.groups import choices
from cse.errors import MissingResource, UserError
from cse.record.runs import Run
from cse.sweep import jobs, line


def fitted(*arguments: str):
    config = composed("train", ["scale=laptop", *arguments])
    scale.fit(config)
    return config


def test_encoder_text_and_judgements_travel_in_packages():
    config = fitted("objective=whitenedcse", "paths.senteval=null")
    assert config.model.name.startswith("package://")
    assert (config.data.name, list(config.eval), config.trainer.select) == ("demo", ["demo"], "dev/demo/average")
    assert config.trainer.max_steps == config.trainer.schedule_steps == 40
    assert config.trainer.lr == 3e-5  # the method's own
    assert config.scale.replaced["model.name"] == "bert-base-uncased"
    assert fitted("objective=declutr").data.name == "demo_documents"


@pytest.mark.parametrize(("words", "evaluators", "select"), [
    ("paths.senteval=/folder eval=[stsb,sts,mteb]", ["stsb", "sts"], "dev/stsb/spearman"),
    ("paths.senteval=/folder eval=[geometry]", ["geometry"], None),  # nothing scores dev: the last step is kept
    ("paths.stsb_multi=/folder LANGUAGE", ["stsb_multi"], "dev/stsb_multi/de/spearman"),
    ("paths.stsb_multi=null LANGUAGE", ["demo"], "dev/demo/average"),
])  # fmt: skip
def test_judgements_are_those_of_given_folders_else_gensims(words, evaluators, select):
    language = "eval=[stsb_multi] eval.stsb_multi.languages=[de] trainer.select=dev/stsb_multi/de/spearman"
    config = fitted(*words.replace("LANGUAGE", language).split())
    assert (list(config.eval), config.trainer.select) == (evaluators, select)


def test_whitening_is_fitted_on_the_sentences_that_are_given():
    arguments = ["scale=laptop", "scale.sentences=mine.txt", "model=bert"]
    for words, fit in ((["whitening.kind=pca"], "mine.txt"), ([], None)):
        config = composed("evaluate", [*arguments, *words])
        scale.fit(config)
        assert config.whitening.fit == fit


@pytest.mark.parametrize(("groups", "fit"), [(384, 192), (256, 128), (32, 16), (1, 1)])
def test_whitening_groups_keep_their_channels_and_match_the_papers_row(groups, fit):
    """384 groups of BERT's 768 channels have two each; 384 of MiniLM's 384 would have one, which shuffling cannot
    change."""
    whitening = ["objective.whitening.stats=ema", "objective.whitening.eps=1e-3"]
    config = fitted("objective=whitenedcse", f"objective.whitening.num_groups={groups}", *whitening)
    assert config.objective.whitening.num_groups == fit
    plain = OmegaConf.to_container(OmegaConf.masked_copy(config, ["scale", "objective"]))
    run = Run(Path("run"), "done", plain, {}, {}, {})
    assert run.matches({"objective.whitening.num_groups": groups})


@pytest.mark.parametrize(("word", "key"), [
    ("trainer.max_steps=2", "scale.trainer.max_steps=2"),
    ("model.name=mine", "scale.model=mine"),
])  # fmt: skip
def test_a_size_that_would_be_replaced_is_refused(word, key):
    with pytest.raises(UserError, match=key):
        line.read(["sweep=whitenedcse/table5", "scale=laptop", word], "cse-train")
    with pytest.raises(UserError, match=key):
        cse.compose("scale=laptop", word)


def test_pairs_must_be_given():
    with pytest.raises(MissingResource, match=r"scale\.pairs=.*sent0, sent1, hard_neg"):
        fitted("objective=simcse_sup")
    config = fitted("objective=simcse_sup", "scale.pairs=nli.csv", "data.limit=27560")
    assert (config.data.path, list(config.data.columns)) == ("nli.csv", ["sent0", "sent1", "hard_neg"])
    assert config.data.limit == pytest.approx(0.1, rel=1e-3)  # the same share of less text


@pytest.mark.parametrize("name", choices("sweep"))
def test_every_table_runs_at_this_scale(name):
    """At most sixty jobs, in a folder of their own, and the first one composes."""
    sweep = jobs.read(name)
    given = ["scale=laptop", "scale.pairs=nli.csv"]
    assert sweep.place(given).parts[:2] == ("runs", "laptop")
    if sweep.sweeper != "basic":
        return
    planned = sweep.jobs(given)
    assert 1 <= len(planned) <= 60
    first = planned[0]
    config = composed("train" if first.program == "cse-train" else "evaluate", first.arguments)
    scale.fit(config)
    assert config.scale.replaced
