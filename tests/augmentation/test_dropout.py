import numpy as np
import pytest

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
