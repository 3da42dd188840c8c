import json

import numpy as np
import pytest

from cse.augmentation.dropout import Dropout
from cse.augmentation.none import Identity


@pytest.mark.parametrize("p", [0.2, None])  # None leaves the checkpoint's
@pytest.mark.parametrize("kind", [Dropout, Identity])
def test_ids_stay_and_the_encoder_gets_the_dropout(kind, p):
    ids = np.array([101, 7, 8, 102])
    assert kind(p).tokens(ids, np.random.default_rng(0)).tolist() == [101, 7, 8, 102]
    assert (kind(p).model_dropout, kind(p).level) == (p, "tokens")


def test_a_run_without_dropout_exports_the_checkpoints_own(small_run, cse_train, tmp_path):
    """The next SimCSE run on this encoder has views that differ."""
    assert cse_train([*small_run, "augmentation=shuffle", "trainer.max_steps=1"]) == 0
    config = json.loads((tmp_path / "run" / "best" / "config.json").read_text())
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == (0.1, 0.1)
