"""The experiment on one page gives cse-train's numbers, to the last digit."""

import json

import numpy as np
import pandas as pd
import pytest
from made_up import made_up_sentences

import cse
from examples import simcse_by_hand


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A file of 40 pairs of made-up sentences, with scores."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    first, second = made_up_sentences(40, 2), made_up_sentences(40, 12)
    pd.DataFrame({"sentence1": first, "sentence2": second, "score": [i % 7 for i in range(40)]}).to_csv(
        path, index=False
    )
    return path


def test_by_hand_as_by_the_command_line(small_run, cse_train, tiny_bert, sentences, pairs, tmp_path):
    words = [word for word in small_run if not word.startswith(("eval=", "trainer.max_steps", "trainer.batch_size"))]
    line = [*words, "eval=pairs", f"eval.pairs.dev={pairs}", "trainer.select=dev/pairs/pairs/spearman",
            "objective=simcse", "trainer.batch_size=33"]  # fmt: skip
    assert cse_train(line) == 0
    lines = sentences.read_text().splitlines()
    by_hand = list(simcse_by_hand.train(tiny_bert, lines, pd.read_csv(pairs), tmp_path / "by_hand", size=33, every=2))
    events = [json.loads(one) for one in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [event["train/loss"] for event in events if "train/loss" in event]
    assert [loss for _, loss, _ in by_hand if loss is not None] == losses
    assert [dev for _, _, dev in by_hand if dev is not None] == [
        event["dev/pairs/pairs/spearman"] for event in events if "dev/pairs/pairs/spearman" in event
    ]
    ours, theirs = (cse.load(folder).encode(lines[:8]) for folder in (tmp_path / "by_hand", tmp_path / "run" / "best"))
    np.testing.assert_array_equal(ours, theirs)
