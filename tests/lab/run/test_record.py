"""The record of a run: which process writes it, and what its trackers learn of the run."""

import os
import signal
import threading
from functools import partial

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lab.tracking.test_trackers import Recorder
from omegaconf import OmegaConf
from run_folders import results_of

from cse.errors import RunError
from cse.lab.folder.events import read_events
from cse.lab.folder.runs import read_run
from cse.lab.run import record as record_of
from cse.lab.run.job import Job
from cse.lab.run.record import Record
from cse.score import Score

CHOICES = {"objective": "simcse", "model": "bert", "data": "nli", "aux_modality": "none"}
CONFIG = {"seed": 3, "choices": CHOICES, "trainer": {}, "tracker": {}}
WHERE = {"device": "cpu", "precision": "fp32"}


def job_in(folder, config=CONFIG) -> Job:
    """A run of cse-train with these settings."""
    return Job("train", OmegaConf.create(config), [], folder)


@pytest.mark.parametrize("writes", [True, False])
def test_the_first_process_alone_writes_and_tells_trackers_of_the_run(tmp_path, monkeypatch, writes):
    received = []
    monkeypatch.setattr(record_of, "make", lambda node: partial(Recorder, events=received))
    with Record(job_in(tmp_path, CONFIG | {"tracker": {"mine": {}}}), **WHERE, writes=writes) as record:
        record.log(1, {"train/loss": 1.0})
        if not writes:
            assert not [*received, *tmp_path.iterdir()]
            return
    assert [name for name, *_ in received] == ["start", "log", "finish"]
    _, about, _ = received[0]
    assert (about.name, about.tags) == ("simcse-bert-s3", ["simcse", "bert", "nli"])
    assert about.versions["torch"]
    assert about.command == results_of(tmp_path)["command"]
    assert [event["event"] for event in read_events(tmp_path / "metrics.jsonl")] == ["metrics", "finish"]


def test_a_failed_run_says_why_and_where(tmp_path):
    error = ZeroDivisionError("division by zero")
    error.add_note("(raised while eval.mine scored dev)")
    with (
        pytest.raises(ZeroDivisionError),
        Record(job_in(tmp_path), **WHERE),
    ):
        raise error
    results = results_of(tmp_path)
    assert list(results)[:4] == ["status", "metrics", "scores", "config"]
    told = "ZeroDivisionError: division by zero (raised while eval.mine scored dev)"
    assert (results["status"], results["error"]) == ("failed", told)


class UploadsForEver(Recorder):
    """A tracker whose last upload a signal stops."""

    patience = 60.0

    def finish(self, exit_code, summary):
        self.events.append(("finish", exit_code, summary))
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()


def test_a_signal_during_the_last_upload_leaves_a_run_done(small_run, cse_train, tmp_path, monkeypatch):
    received = []
    monkeypatch.setattr(record_of, "GRACE", 0.1)
    monkeypatch.setattr(record_of, "make", lambda node: partial(UploadsForEver, events=received))
    assert cse_train([*small_run, "trainer.max_steps=2", "tracker=tensorboard"]) == 128 + signal.SIGTERM
    results = results_of(tmp_path / "run")
    assert (results["status"], "error" in results) == ("done", False)
    ends = [arguments for name, *arguments in received if name == "finish"]
    assert ends == [[0, results["metrics"] | {"best_step": results["best_step"]}]]
    assert received[-1] == ("abandon",)
    assert [event["event"] for event in read_events(tmp_path / "run/metrics.jsonl")].count("finish") == 1


@pytest.mark.parametrize("full", ["results.json", "metrics.jsonl"])
def test_a_full_disk_still_ends_the_trackers(tmp_path, monkeypatch, full):
    """W&B would show the run as running."""
    received = []
    monkeypatch.setattr(record_of, "make", lambda node: partial(Recorder, events=received))
    record = Record(job_in(tmp_path, CONFIG | {"tracker": {"mine": {}}}), **WHERE).__enter__()
    if full == "results.json":
        monkeypatch.setattr(record_of, "write_json", refused)
    else:
        monkeypatch.setattr(record.trackers.jsonl, "_write", refused)
    with pytest.raises(RunError):
        record.__exit__(RunError, RunError("there is no room"), None)
    assert [call[:2] for call in received[1:]] == [("finish", 1)]


def refused(*_, **__):
    raise RunError("there is no room")


NUMBERS = st.floats(-1e6, 1e6)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="$?"), max_size=9)  # no reference, no missing value
VALUES = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | NUMBERS | TEXTS
SETTINGS = st.dictionaries(st.sampled_from(["lr", "limit", "name"]), VALUES | st.lists(VALUES, max_size=3))


@settings(max_examples=6, phases=[Phase.generate])
@given(
    chosen=st.dictionaries(st.sampled_from(["trainer", "model", "data"]), SETTINGS),
    scores=st.dictionaries(st.sampled_from(["dev/stsb/spearman", "test/x"]), st.tuples(NUMBERS, st.booleans())),
    losses=st.lists(NUMBERS, max_size=4),
)
def test_what_a_run_wrote_is_read_back(tmp_path_factory, chosen, scores, losses):
    folder, config = tmp_path_factory.mktemp("run"), CONFIG | chosen
    with Record(job_in(folder, config), **WHERE) as record:
        for step, loss in enumerate(losses):
            record.log(step, {"train/loss": loss})
        record.scores = {name: Score(name, value, modified=modified) for name, (value, modified) in scores.items()}
    run = read_run(folder)
    assert (run.state, run.config) == ("done", config)
    assert run.choices == CHOICES
    assert run.scored == record.scores
    assert [(event["step"], event["train/loss"]) for event in run.events()] == list(enumerate(losses))
