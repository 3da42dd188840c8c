"""best/ at a run's end: scored as a user will load it, without encoding a text again that this encoder has encoded."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from killed import logged
from run_folders import results_of
from safetensors.torch import save_file

from cse.errors import UserError
from cse.lab.folder.runs import read_run
from cse.lab.run import best
from cse.lab.run.evaluators import make_evaluators
from cse.lab.run.from_arguments import cfg_of_new_run, config_of
from cse.lab.settings.arguments import Argument
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import choices
from cse.lab.settings.references import resolved
from cse.score import Score
from cse.training.loop import Training
from cse.training.settings import State
from cse.training.watch import Watch

DIM = 32  # of the tiny encoder


@pytest.fixture
def encoded_again(monkeypatch):
    """The texts that the encoder of best/ is asked for."""
    texts: list[str] = []
    load = best.load_encoder

    def loaded(*arguments, **settings):
        encoder = load(*arguments, **settings)
        encode = encoder.encode
        encoder.encode = lambda asked, **more: texts.extend(asked) or encode(asked, **more)
        return encoder

    monkeypatch.setattr(best, "load_encoder", loaded)
    return texts


def test_a_misspelt_score_is_refused_before_the_run_has_a_folder(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "trainer.select=dev/stsb/spaerman"]) == 2
    assert "dev/stsb/spearman" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_best_step_is_the_lowest_of_a_score_that_is_better_when_lower(small_run, cse_train, tmp_path, capsys):
    """Of one that is better when higher, cli/test_train.py has the highest."""
    select = "dev/geometry/uniformity"
    assert cse_train([*small_run, "eval=[geometry]", f"trainer.select={select}", "trainer.eval_every=1"]) == 0
    events = logged(tmp_path / "run")
    untrained, *curve = (event[select] for event in events if select in event)
    results = results_of(tmp_path / "run")
    assert results["best_step"] == 1 + curve.index(min(curve))
    assert results["metrics"][select] == pytest.approx(min(curve), rel=1e-4)
    assert ("no better than before training" in capsys.readouterr().out) == (min(untrained, *curve) == untrained)


def test_an_evaluators_name_stands_for_its_primary_score(small_run, cse_train, tmp_path, capsys):
    """A run records the full name, so that reports, a resumed run and an older one mean the same."""
    assert cse_train([*small_run, "trainer.max_steps=2", "trainer.select=stsb"]) == 0
    assert read_run(tmp_path / "run").config["trainer"]["select"] == "dev/stsb/spearman"
    more = ["trainer.max_steps=4", f"resume={tmp_path / 'run'}"]
    assert cse_train([*more, "trainer.select=stsb"]) == 0
    assert cse_train([*more, "trainer.select=dev/stsb/spearman"]) == 0
    capsys.readouterr()
    assert cse_train([*small_run, "trainer.select=sts", f"hydra.run.dir={tmp_path}/other"]) == 2
    assert "trainer.select=sts" in capsys.readouterr().err


def test_every_evaluator_that_scores_dev_has_a_primary_score():
    more = {"pairs": ["eval.pairs.dev=a.csv"], "beir": ["eval.beir.folder=a"],
            "classification": ["eval.classification.train=a.csv"]}  # fmt: skip
    for name in choices("eval"):
        (evaluator,) = make_evaluators(composed("train", [f"eval=[{name}]", *more.get(name, [])]).eval).values()
        assert evaluator.primary
        if "dev" in evaluator.splits and name != "declutr":  # the missing data is in the names of its averages
            assert evaluator.primary in evaluator.score_names("dev")


def test_before_and_after_are_scored_in_one_precision(small_run, cse_train, tmp_path):
    select = "dev/geometry/uniformity"
    still = ["trainer.lr=1e-12", "trainer.max_steps=2", "trainer.eval_precision=bf16"]
    assert cse_train([*small_run, "eval=[geometry]", f"trainer.select={select}", *still]) == 0
    results = results_of(tmp_path / "run")
    events = logged(tmp_path / "run")
    rounded = [event[select] for event in events if select in event][-1]
    exact = pytest.approx(results["untrained"][select], rel=1e-6)
    assert results["metrics"][select] == exact
    assert rounded != exact


@pytest.mark.parametrize("same", [True, False])
def test_vectors_of_the_last_evaluation_are_reused_only_if_best_gives_the_same(
    small_run, cse_train, tmp_path, encoded_again, monkeypatch, same
):
    if not same:
        monkeypatch.setattr(Training, "known", lambda self, step: dict.fromkeys(self.encoding[1].rows, np.ones(DIM)))
    assert cse_train([*small_run, "trainer.eval_every=6", "trainer.max_steps=6"]) == 0
    events = logged(tmp_path / "run")
    _, last = (event["dev/stsb/spearman"] for event in events if "dev/stsb/spearman" in event)
    metrics = results_of(tmp_path / "run")["metrics"]
    assert metrics["dev/stsb/spearman"] == (last if same else pytest.approx(last))
    assert encoded_again
    assert (len(encoded_again) <= 2 * 40 + best.SAMPLE) == same  # the test set's texts, and the sample


def test_a_kill_between_best_and_the_checkpoint_leaves_patience_where_it_was(tmp_path):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").write_text("{}")
    save_file({"weight": torch.ones(1)}, tmp_path / "best" / "model.safetensors")
    curve = [(step, {"dev/x": 1.0}) for step in range(0, 22, 2)]
    state = State(step=20, best_step=18, best_score=1.0, best_sum="of step 18", curve=curve)
    with pytest.raises(UserError, match="is not what this run saved"):  # of a run that ended, early too
        best.recover_best(SimpleNamespace(folder=tmp_path, state=state, is_over=True))
    best.recover_best(SimpleNamespace(folder=tmp_path, state=state, is_over=False))
    trainer = SimpleNamespace(select="dev/x", patience=3, stop_early=True, stop_on_collapse=True, precision="fp32")
    assert state.best_score is None
    assert not Watch(trainer, scaled=False).is_over(state)


def test_mteb_files_are_beside_the_encoder(tmp_path):
    kept = tmp_path / "cache" / "results" / "cse__encoder" / "abc"
    kept.mkdir(parents=True)
    (kept / "run_settings.jsonl").write_text('{"task": "STS13"}\n')
    data = {"mteb": {"model": {"name": "cse/encoder", "revision": "abc"}, "problems": []}}
    config = {"eval": {"mteb": {"cache": str(tmp_path / "cache")}}}
    best.copy_mteb(tmp_path, {"config": config, "data": data})
    assert (tmp_path / "mteb" / "run_settings.jsonl").read_text() == '{"task": "STS13"}\n'


@pytest.mark.parametrize("smoke", [False, True])
def test_a_note_about_real_data_is_not_logged_in_a_smoke_test(smoke, caplog):
    about = "MiniLM scores 56.11"
    record = SimpleNamespace(
        results={"config": {"note": about, "smoke": smoke}},
        scores={"dev/x": Score("dev/x", 50.0, headline=True)},
        trackers=SimpleNamespace(table=lambda *_: None),
    )
    with caplog.at_level("INFO"):
        best.log_scores(record, {})
    assert "dev/x" in caplog.text
    assert (about in caplog.text) == (not smoke)


@pytest.mark.parametrize(("given", "of_pooling", "of_selection"), [
    ([], True, True),
    (["model.pooling=mean"], False, True),
    (["model=bert"], False, True),
    (["eval=[demo,stsb]", "trainer.select=stsb"], True, False),
    (["eval=pairs", "eval.pairs.dev=dev.csv", "trainer.select=pairs"], False, False),
])  # fmt: skip
def test_the_demos_note_says_only_what_holds_for_the_run(given, of_pooling, of_selection):
    arguments = list(map(Argument, ["experiment=demo", *given]))
    config = resolved(cfg_of_new_run(config_of("train", arguments), "train", arguments))
    note = best.note_on(config)
    assert ("56.11" in note, "eval=demo selects" in note) == (of_pooling, of_selection)
