"""The commands as functions: cse.train, cse.load, cse.evaluate, cse.compose."""

import asyncio
import logging
import math
import os
import pickle
import sys
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
import yaml
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationKeyError
from run_folders import results_of
from typed import exit_code

import cse
from cse.errors import MissingResource, UserError
from cse.lab.run import this_process


@pytest.fixture
def words(small_run):
    """The small run's words, without a folder."""
    return [word for word in small_run if not word.startswith("hydra.run.dir=")]


def test_a_run_gives_its_folder_scores_encoder_and_curve(words, tmp_path):
    root = logging.getLogger()
    before = list(root.handlers), root.level, list(sys.argv)
    run = cse.train(*words, "trainer.max_steps=2", seed=3, folder=tmp_path / "first")
    assert (list(root.handlers), root.level, list(sys.argv)) == before
    assert run.state == "done"
    assert run.folder == tmp_path / "first"
    assert run.scores == results_of(run.folder)["metrics"]
    assert cse.TrainingRun(str(run.folder)).scores == run.scores
    chosen = f"step {run.results['best_step']}, dev/stsb/spearman {run.scores['dev/stsb/spearman']:.2f}"
    assert repr(run) == f"TrainingRun('{run.folder}', {chosen})"
    assert repr(cse.TrainingRun(tmp_path)) == f"TrainingRun('{tmp_path}', not finished)"
    assert [step for step, _ in run.curve] == [0, 2]
    assert run.results["seed"] == 3
    assert run.results["command"].startswith("cse-train ")
    vectors = run.encoder().encode(["One sentence.", "Another one."])
    assert vectors.shape == (2, run.encoder().dim)
    log = (run.folder / "train.log").read_text()
    assert "encoder    " in log  # said before there was a folder
    assert " of 2" in log  # the step that is kept

    hydra = {name: yaml.safe_load((run.folder / ".hydra" / f"{name}.yaml").read_text())
             for name in ("config", "overrides")}  # fmt: skip
    assert "seed=3" in hydra["overrides"]
    assert hydra["config"]["trainer"]["max_steps"] == 2
    start = yaml.safe_load((run.folder / "run.yaml").read_text())
    assert (start["config"], start["words"]) == (run.results["config"], hydra["overrides"])

    again = cse.train(*words, "trainer.max_steps=2", seed=3, folder=tmp_path / "again")
    assert again.scores == run.scores


def test_a_call_leaves_the_environment_as_it_was_and_seeds_itself(words, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(logging.getLogger("transformers"), "level", logging.INFO)
    before, filters = dict(os.environ), list(warnings.filters)
    run = cse.train(*words, "trainer.max_steps=2", "trainer.deterministic=true", folder=tmp_path / "run")
    cse.compose(*words)
    run.encoder()
    assert dict(os.environ) == before
    assert warnings.filters == filters
    assert logging.getLogger("transformers").level == logging.INFO
    torch.rand(3)

    async def inside_a_loop() -> cse.TrainingRun:
        return cse.train(*words, "trainer.max_steps=2", folder=tmp_path / "loop")

    assert asyncio.run(inside_a_loop()).scores == run.scores
    assert dict(os.environ) == before


def test_a_second_thread_is_refused(words):
    with ThreadPoolExecutor(1) as other:
        other.submit(this_process.BUSY.acquire).result()
        for call in (cse.train, partial(cse.evaluate, len, "sts")):
            with pytest.raises(UserError):
                call(*words)
        other.submit(this_process.BUSY.release).result()


def length(encode, split):
    return {"rows": len(encode(["One.", "Two."])), "tenth": 0.1 if split == "dev" else np.float32(0.5)}


def test_a_plain_function_scores(words, tmp_path):
    found = cse.evaluate(lambda texts: np.eye(len(texts)), {"mine": length}, splits=["dev"])
    assert found == {"dev/mine/rows": 2, "dev/mine/tenth": 0.1}
    more = ["trainer.max_steps=2", "trainer.select=dev/mine/rows", "trainer.keep_last=true"]
    run = cse.train(*words, *more, eval={"mine": length}, folder=tmp_path / "run")
    assert run.curve[0] == (0, {"dev/mine/rows": 2, "dev/mine/tenth": 0.1})
    assert run.scores["test/mine/tenth"] == 0.5
    assert "dev/stsb/spearman" in run.scores
    longer = {"resume": run.folder, "trainer.max_steps": 3}
    with pytest.raises(UserError, match=rf"cse\.train\('resume={run.folder}', eval={{'mine': mine}}\)"):
        cse.train(**longer)
    assert cse.train(**longer, eval={"mine": length}).curve[-1][0] == 3


@pytest.mark.parametrize("functions", [
    {"mine": lambda encode, split: 3}, {"mine": lambda encode, split: {"a": "b"}},
    {"mine": lambda encode, split: {"a": math.nan}}, {"mine": 3}, {"sts": length},
    {"a b": length}, {"mine": lambda encode: {}}, length,
])  # fmt: skip
def test_what_is_no_scoring_function_is_refused(functions):
    with pytest.raises(UserError, match="function"):
        cse.evaluate(lambda texts: np.eye(len(texts)), functions)
    if callable(functions):
        with pytest.raises(UserError, match="function"):
            cse.train("model=minilm", eval=functions)


def test_an_unknown_pooling_is_refused_before_an_encoder_is_read():
    with pytest.raises(UserError, match="pooling=foo: should be one of cls, mean"):
        cse.load("nowhere", pooling="foo")


def test_a_mistake_of_a_users_own_code_keeps_its_traceback(words, tmp_path):
    """An error of OmegaConf's too, which is a sentence only while the words are read."""

    def mistaken(encode, split):
        return {"a": OmegaConf.create({"a": "${nowhere}"}).a}

    with pytest.raises(InterpolationKeyError):
        cse.train(*words, "trainer.max_steps=1", eval={"mine": mistaken}, folder=tmp_path / "run")


def test_an_empty_variable_is_none_and_a_home_folder_is_expanded_wherever_a_part_asks(monkeypatch, tmp_path):
    """Also after the words are read, and in a process that is spawned: parts fill in references."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CSE_CACHE", "CSE_SENTEVAL"):
        monkeypatch.setenv(name, "")
    scored, trained = cse.compose("eval=[mteb,probing]", command="evaluate"), cse.compose()
    assert scored.eval.mteb.cache == f"{tmp_path}/.cache/cse/mteb"
    assert (scored.paths.senteval, scored.eval.probing.senteval) == (None, None)
    assert pickle.loads(pickle.dumps(trained)).data.cache_dir == f"{tmp_path}/.cache/cse"
    monkeypatch.setenv("CSE_CACHE", "~/x")
    assert cse.compose().data.cache_dir == cse.compose("paths.cache=~/x").data.cache_dir == f"{tmp_path}/x"
    with pytest.raises(UserError, match="nowhere"):
        cse.compose("data.cache_dir=${nowhere}")


def test_a_function_that_fails_is_named():
    with pytest.raises(ZeroDivisionError) as failed:
        cse.evaluate(lambda texts: np.eye(len(texts)), {"mine": lambda encode, split: {"a": 1 / 0}})
    assert "eval.mine" in "".join(failed.value.__notes__)


def test_a_text_alone_is_not_encoded_letter_by_letter():
    with pytest.raises(UserError, match="list of texts"):
        cse.evaluate(lambda texts: np.eye(len(texts)), {"mine": lambda encode, split: {"a": encode("abc").mean()}})


@pytest.fixture
def own(words, tmp_path, monkeypatch):
    """own(group, NAME, code) -> the words of a run whose --config-dir has a part NAME, which is in the code."""

    def line(group: str, name: str, code: str) -> list[str]:
        (tmp_path / "own_parts.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "own_parts", raising=False)
        (tmp_path / "conf" / group).mkdir(parents=True)
        package = f"# @package eval.{name}\n" if group == "eval" else ""
        (tmp_path / "conf" / group / f"{name}.yaml").write_text(f"{package}_target_: own_parts.{name}\n")
        return ["--config-dir", str(tmp_path / "conf"), *words, "trainer.max_steps=1"]

    return line


OWN = """
from cse.types import Evaluator, Loss, Objective
class Bare(Objective):
    def __init__(self, dim): super().__init__()
class Plain(Bare):
    def forward(self, views): return views[0].pooled_BD.mean()
class Parts(Bare):
    def forward(self, views): return Loss(views[0].pooled_BD.mean(), {"a": 1.0})
class Long(Bare):
    def forward(self, views): return Loss(views[0].pooled_BD.mean(1), {})
class Cut(Bare):
    def forward(self, views): return Loss(views[0].pooled_BD.mean().detach(), {})
class Half(Evaluator):
    def prepare(self): ...
    def __call__(self, encode, split): return {"a": 1.0}
class Loose(Half):
    def source(self): return {"protocol": "none"}
"""


@pytest.mark.parametrize(("word", "missing"), [
    ("objective=Plain", "Loss"), ("objective=Parts", "Loss"), ("objective=Long", "scalar"),
    ("objective=Cut", "gradient"), ("eval=[stsb,Half]", "source"), ("eval=[stsb,Loose]", "Score"),
])  # fmt: skip
def test_a_part_of_ones_own_that_lacks_something_is_one_sentence(own, tmp_path, word, missing):
    """What its signature does not show; the rest is in config/test_check.py."""
    group, _, names = word.partition("=")
    name = names.strip("[]").rpartition(",")[2]
    with pytest.raises(UserError, match=missing) as refused:
        cse.train(*own(group, name, OWN), word, folder=tmp_path / "run")
    assert f"own_parts.{name}" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("last", ["", "; super().__init__()"])
def test_an_objective_may_forget_to_call_its_base_or_do_it_late(own, tmp_path, last):
    code = f"""
from torch import nn
from cse.types import Loss, Objective
class Forgets(Objective):
    def __init__(self, dim): self.scale = nn.Linear(dim, 1){last}
    def forward(self, views): return Loss(self.scale(views[0].pooled_BD - views[1].pooled_BD).square().mean())
"""
    line = own("objective", "Forgets", code)
    run = cse.train(*line, "trainer.stop_on_collapse=false", "objective=Forgets", folder=tmp_path / "run")
    assert run.results["status"] == "done"


def test_settings_may_be_nested_and_anything_but_words_is_refused():
    assert cse.compose(trainer={"lr": 1e-4, "batch_size": 7}).trainer.batch_size == 7
    with pytest.raises(UserError, match="words"):
        cse.train({"model": "minilm"})


def test_a_dry_run_leaves_nothing(words, tmp_path, capsys):
    run = cse.train(*words, dry_run=True, folder=tmp_path / "run")
    assert "encoder    " in capsys.readouterr().out
    assert not run.folder.exists()
    assert run.state == "not started"
    with pytest.raises(UserError, match=str(run.folder)):
        run.scores  # noqa: B018


@pytest.mark.parametrize(("encode", "found"), [
    (lambda texts: None, "shape"), (lambda texts: np.zeros(len(texts)), "shape"),
    (lambda texts: np.eye(2), "shape"), (lambda texts: np.full((len(texts), 2), np.nan), "NaN"),
    (lambda texts: np.ones((len(texts), 2)), "same vector"), (lambda texts: np.eye(len(texts)) * 1j, "complex"),
    (lambda texts: [[1.0], *[[]] * (len(texts) - 1)], "no array"),
    (3, "not an encoder"),
])  # fmt: skip
def test_an_encode_that_returns_no_vectors_is_refused(senteval, encode, found):
    with pytest.raises(UserError, match=found):
        cse.evaluate(encode, "stsb", f"paths.senteval={senteval}", allow_partial=True, splits=["dev"])


def test_load_takes_a_run_and_refuses_what_names_no_encoder(tiny_bert):
    for wrong in (None, 3, ["a"]):
        with pytest.raises(UserError, match="name an encoder"):
            cse.load(wrong)
    with pytest.raises(UserError, match=r"eval=.* and the first argument"):
        cse.evaluate(tiny_bert, "stsb", eval="sts")
    with pytest.raises(UserError, match="command=eval"):
        cse.compose(command="eval")
    with pytest.raises(MissingResource, match="no such file"):
        cse.train("experiment=demo", "data=text", "data.path=" + 300 * "x")


def test_load_names_its_own_arguments(tiny_bert):
    with pytest.raises(UserError, match=f"^name={tiny_bert}: it records no pooling; set pooling=cls"):
        cse.load(tiny_bert)


@pytest.mark.parametrize("word", ["pooling=cls", "max_length=4", "whitening.kind=pca", "model=bert", "smoke=true"])
def test_a_setting_of_an_encoder_is_refused_where_the_encoder_is_given(tiny_bert, word):
    with pytest.raises(UserError, match=f"{word} has no effect"):
        cse.evaluate(tiny_bert, "stsb", word)


def test_any_encode_can_be_evaluated(senteval, tiny_bert):
    told = [f"paths.senteval={senteval}", "allow_partial=true"]
    encoder = cse.load(tiny_bert, pooling="cls")
    by_object = cse.evaluate(encoder, ["stsb"], *told, splits=["dev"])
    assert set(by_object) == {"dev/stsb/spearman", "dev/stsb/pearson"}
    assert cse.evaluate(encoder.encode, "stsb", *told, splits=["dev"]) == by_object
    assert cse.evaluate(encoder.encode, "eval=[stsb]", *told, splits=["dev"]) == by_object
    assert cse.evaluate(encoder.encode, *told, eval="stsb", splits=["dev"]) == by_object

    class Peer:
        def encode(self, sentences, **options) -> np.ndarray:
            return encoder.encode(list(sentences))

    assert cse.evaluate(Peer(), "stsb", *told, splits=["dev"]) == by_object


def by_letters(texts):
    return np.array([[text.lower().count(letter) for letter in "abcdefghij"] for text in texts], float) + 0.1


def test_a_function_may_encode_pair_by_pair():
    """An uncased encoder maps a pair to one vector, and is not constant for that; over all texts it would be."""

    def shares(encode, split):
        return {"same": np.mean([(np.ptp(encode([a, b]), axis=0) == 0).all() for a, b in (("A b", "a b"), ("c", "d"))])}

    assert cse.evaluate(by_letters, {"mine": shares}) == {"dev/mine/same": 0.5, "test/mine/same": 0.5}
    with pytest.raises(UserError, match="same vector for each of 4 texts"):
        cse.evaluate(lambda texts: np.ones((len(texts), 2)), {"mine": shares})


def test_names_and_functions_may_be_chosen_together(senteval):
    told = [f"paths.senteval={senteval}", "allow_partial=true"]
    found = cse.evaluate(by_letters, ["stsb", {"mine": length}], *told, splits=["dev"])
    assert {*found} == {"dev/stsb/spearman", "dev/stsb/pearson", "dev/mine/rows", "dev/mine/tenth"}
    assert cse.evaluate(by_letters, [{"mine": length}], splits=["dev"]) == {"dev/mine/rows": 2, "dev/mine/tenth": 0.1}
    for wrong in ([length], [{"mine": length}, {"mine": length}], {"stsb": {"with_sickr": True}}):
        with pytest.raises(UserError, match="function"):
            cse.evaluate(by_letters, wrong)


def test_a_tensor_of_one_number_is_a_score_and_no_texts_have_no_rows():
    def score(encode, split):
        return {
            "tensor": torch.tensor(0.5),
            "array": np.array([2]),
            "rows": len(encode([])),
            "width": encode([]).shape[1],
        }

    found = cse.evaluate(by_letters, {"mine": score}, splits=["dev"])
    assert found == {"dev/mine/tensor": 0.5, "dev/mine/array": 2, "dev/mine/rows": 0, "dev/mine/width": 10}


def test_a_constant_encoder_is_the_reason_for_what_a_function_cannot_compute():
    def nan(encode, split):
        return {"a": float(np.corrcoef(*encode(["a", "b"]))[0, 1])}

    with np.errstate(all="ignore"), pytest.raises(UserError, match="same vector for each of 2 texts"):
        cse.evaluate(lambda texts: np.ones((len(texts), 2)), {"mine": nan})


def test_many_runs_are_a_frame_with_a_row_each(leave, tmp_path):
    """One that failed, and one without a score, too; values stay what they are."""
    low, high = {"trainer.lr": 1e-3}, {"trainer.lr": 3e-3}
    leave("a", low | {"seed": 1, "note": None}, {"dev/stsb/spearman": 81.23456}, overrides=["trainer.lr=1e-3"])
    leave("b", high | {"seed": 1}, {"dev/stsb/spearman": 80.0}, overrides=["trainer.lr=3e-3"])
    leave("c", low | {"seed": 2}, status="failed", overrides=["trainer.lr=1e-3"])
    table = cse.runs(tmp_path / "runs")
    assert list(table["folder"]) == [str(tmp_path / "runs" / name) for name in "abc"]
    assert list(table["state"]) == ["done", "done", "failed"]
    assert list(table["trainer.lr"]) == [1e-3, 3e-3, 1e-3]
    assert list(table["seed"]) == [1, 1, 2]
    assert list(table["dev/stsb/spearman"]) == [81.23456, 80.0, None]
    assert len(cse.runs(tmp_path / "runs" / "a", tmp_path / "runs" / "b")) == 2
    (tmp_path / "empty").mkdir()
    assert cse.runs(tmp_path / "empty").empty
    with pytest.raises(UserError, match="nowhere"):
        cse.runs(tmp_path / "nowhere")


def test_the_frame_of_runs_is_runs_csv(leave, tmp_path, capsys):
    """Of several folders, of smoke runs, and of a planned job, too."""
    for name, batch in (("old/a", 8), ("new/a", 8), ("new/b", 16)):
        leave(name, {"trainer.lr": 1e-3, "seed": 1, "trainer.batch_size": batch}, {"dev/x/average": 70.0},
              overrides=[f"trainer.batch_size={batch}"])  # fmt: skip
    for name, lr in (("new/a2", 1.0), ("new/c", 2.0)):
        leave(
            name, {"trainer.lr": lr, "seed": 1, "smoke": True}, {"dev/y/average": 1.0}, overrides=[f"trainer.lr={lr}"]
        )
    folders = [str(tmp_path / "runs" / name) for name in ("old", "new")]
    assert exit_code("cse-report", f"runs=[{','.join(folders)}]", f"out={tmp_path}/out") == 0
    capsys.readouterr()
    frame = cse.runs(*folders)
    assert frame.to_csv(index=False) == (tmp_path / "out" / "runs.csv").read_text()
    assert [*frame][3:6] == ["origin", "trainer.batch_size", "trainer.lr"]


def test_the_traceback_of_a_wrong_key_has_none_of_hydra():
    with pytest.raises(UserError, match=r"trainer\.lr") as refused:
        cse.train(learning_rate=2e-5)
    assert "omegaconf" not in "".join(traceback.format_exception(refused.value))
