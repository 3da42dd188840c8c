"""best/ at a run's end: scored as a user will load it, and no text is encoded twice by the same encoder."""

import json

import numpy as np
import pytest

from cse.run import best
from cse.training.loop import Training

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


def dev_scores(folder):
    """(the selecting score of every evaluation in training, the one of best/)."""
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    results = json.loads((folder / "results.json").read_text())
    return [one["dev/stsb/spearman"] for one in events if "dev/stsb/spearman" in one], results["metrics"]


def test_what_the_last_evaluation_encoded_is_not_encoded_again(small_run, cse_train, tmp_path, encoded_again):
    assert cse_train([*small_run, "trainer.eval_every=6", "trainer.max_steps=6"]) == 0
    (_, last), metrics = dev_scores(tmp_path / "run")
    assert metrics["dev/stsb/spearman"] == last
    assert 0 < len(encoded_again) < 2 * 40 + best.SAMPLE + 1  # the test set's texts, and the sample


def test_vectors_of_another_encoder_are_not_taken(small_run, cse_train, tmp_path, encoded_again, monkeypatch):
    monkeypatch.setattr(Training, "known", lambda self, step: dict.fromkeys(self.encoding[1].rows, np.ones(DIM)))
    assert cse_train([*small_run, "trainer.eval_every=6", "trainer.max_steps=6"]) == 0
    (_, last), metrics = dev_scores(tmp_path / "run")
    assert metrics["dev/stsb/spearman"] == pytest.approx(last)
    assert len(encoded_again) > 2 * 40 + best.SAMPLE
