"""scale=laptop: every table's jobs fit, say what they stand for, and are found by the report's rows."""

import re
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


def test_the_papers_size_changes_nothing():
    config = composed("train", ["objective=whitenedcse"])
    before = OmegaConf.to_container(config)
    scale.fit(config)
    assert OmegaConf.to_container(config) == before


def test_encoder_text_and_judgements_travel_in_packages():
    config = fitted("objective=whitenedcse", "paths.senteval=null")
    assert config.model.name.startswith("package://")
    assert (config.data.name, list(config.eval), config.trainer.select) == ("demo", ["demo"], "dev/demo/average")
    assert config.trainer.max_steps == config.trainer.schedule_steps == 40
    assert config.trainer.lr == 3e-5  # the method's own
    assert config.scale.replaced["model.name"] == "bert-base-uncased"


def test_sts_is_the_judgement_where_it_is_given():
    config = fitted("paths.senteval=/some/folder", "eval=[stsb,sts,mteb]")
    assert list(config.eval) == ["stsb", "sts"]
    assert config.trainer.select == "dev/stsb/spearman"


def test_a_languages_own_judgements_are_kept_where_they_are_given():
    row = ["eval=[stsb_multi]", "eval.stsb_multi.languages=[de]", "trainer.select=dev/stsb_multi/de/spearman"]
    kept, without = (fitted(*row, f"paths.stsb_multi={folder}") for folder in ("/some/folder", "null"))
    assert (list(kept.eval), kept.trainer.select) == (["stsb_multi"], "dev/stsb_multi/de/spearman")
    assert (list(without.eval), without.trainer.select) == (["demo"], "dev/demo/average")


def test_whitening_is_fitted_on_the_sentences_that_are_given():
    arguments = ["scale=laptop", "scale.sentences=mine.txt", "model=bert"]
    for words, fit in ((["whitening.kind=pca"], "mine.txt"), ([], None)):
        config = composed("evaluate", [*arguments, *words])
        scale.fit(config)
        assert config.whitening.fit == fit


@pytest.mark.parametrize(("groups", "fit"), [(384, 192), (256, 128), (32, 16), (1, 1)])
def test_groups_keep_their_channels_and_the_row_they_stand_for(groups, fit):
    """384 groups of BERT's 768 channels have two each; 384 groups of MiniLM's 384 would have one, which no shuffle
    changes."""
    whitening = ["objective.whitening.stats=ema", "objective.whitening.eps=1e-3"]
    config = fitted("objective=whitenedcse", f"objective.whitening.num_groups={groups}", *whitening)
    assert config.objective.whitening.num_groups == fit
    plain = OmegaConf.to_container(OmegaConf.masked_copy(config, ["scale", "objective"]))
    run = Run(Path("run"), "done", plain, {}, {}, {})
    assert run.matches({"objective.whitening.num_groups": groups})


def test_the_end_of_a_sweep_names_the_report_of_these_runs():
    this = line.read(["sweep=whitenedcse/table5", "scale=laptop"], "cse-train")
    assert this.report == "cse-report sweep=whitenedcse/table5 runs=runs/laptop/whitenedcse/table5"
    assert line.read(["sweep=whitenedcse/table5"], "cse-train").report == "cse-report sweep=whitenedcse/table5"


def test_where_nothing_scores_dev_the_last_step_is_kept():
    config = fitted("objective=simcse", "eval=[geometry]", "paths.senteval=downstream")
    assert list(config.eval) == ["geometry"]
    assert config.trainer.select is None
    assert config.scale.replaced["trainer.select"] == "dev/stsb/spearman"


@pytest.mark.parametrize("several", [["sweep=whitenedcse/table5"], []], ids=["sweep", "run"])
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("trainer.max_steps=2", "give scale.trainer.max_steps=2"),
        ("model.name=mine", "give scale.model=mine"),
        ("scale.sentences=none.txt", "scale.sentences=none.txt: there is no such file"),
    ],
)
def test_a_size_that_would_be_replaced_is_refused(several, word, said):
    arguments = [*several, "scale=laptop", word]
    if several:
        with pytest.raises(UserError, match=re.escape(said)):
            line.read(arguments, "cse-train")
    else:
        with pytest.raises(UserError, match=re.escape(said)):
            cse.compose(*arguments)


def test_pairs_and_documents_must_be_given():
    with pytest.raises(MissingResource, match=r"scale.pairs=FILE with the columns sent0, sent1, hard_neg"):
        fitted("objective=simcse_sup")
    with pytest.raises(MissingResource, match=r"scale.documents=FILE"):
        fitted("objective=declutr")
    config = fitted("objective=simcse_sup", "scale.pairs=nli.csv", "data.limit=27560")
    assert (config.data.path, list(config.data.columns)) == ("nli.csv", ["sent0", "sent1", "hard_neg"])
    assert config.data.limit == pytest.approx(0.1, rel=1e-3)  # the same share of less text


@pytest.mark.parametrize("name", choices("sweep"))
def test_every_table_has_jobs_of_this_size(name):
    """Three seeds unless it has its own, no more than sixty jobs, in a folder apart; the first fits."""
    sweep = jobs.read(name)
    given = ["scale=laptop", "scale.pairs=nli.csv", "scale.documents=documents.txt"]
    assert sweep.place(given).parts[:2] == ("runs", "laptop")
    if sweep.sweeper != "basic":
        return
    planned = sweep.jobs(given)
    assert 1 <= len(planned) <= 60
    first = planned[0]
    config = composed("train" if first.program == "cse-train" else "evaluate", first.arguments)
    scale.fit(config)
    assert config.scale.replaced
