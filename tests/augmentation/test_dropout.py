import json

import numpy as np
import pytest
from toys import toy_of

from cse.augmentation.dropout import Dropout
from cse.augmentation.none import Identity


@pytest.mark.parametrize("augmentation", [Dropout(0.2), Identity(0.2)])
def test_ids_stay_and_the_encoder_gets_the_dropout(augmentation):
    ids = np.array([101, 7, 8, 102])
    assert augmentation.tokens(ids, np.random.default_rng(0)).tolist() == [101, 7, 8, 102]
    assert augmentation.model_dropout == 0.2
    assert augmentation.level == "tokens"


def test_none_leaves_the_checkpoints_dropout():
    assert Dropout(None).model_dropout is None
    assert Identity(None).model_dropout is None


@pytest.mark.parametrize("objective", ["simcse", "whitenedcse"])
def test_equal_views_are_refused(objective, small_run, cse_train, tmp_path, capsys):
    assert (
        cse_train([*small_run, f"objective={objective}", *toy_of("objective", objective, 32), "augmentation.p=0"]) == 2
    )
    err = capsys.readouterr().err.strip()
    assert len(err.splitlines()) == 1
    assert "views of a sentence would be equal" in err
    assert not (tmp_path / "run" / "last").exists()


def test_a_run_without_dropout_exports_the_checkpoints_own(small_run, cse_train, tmp_path):
    """The next SimCSE run on this encoder has views that differ."""
    assert cse_train([*small_run, "augmentation=shuffle", "trainer.max_steps=1"]) == 0
    config = json.loads((tmp_path / "run" / "best" / "config.json").read_text())
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == (0.1, 0.1)
