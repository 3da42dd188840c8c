"""conf/model: every choice composes, and says only what load_encoder takes."""

import inspect

import pytest
from toys import composed

from cse.config.groups import choices
from cse.model.load import load_encoder


@pytest.mark.parametrize("model", choices("model"))
def test_every_key_is_an_argument(model):
    node = composed(f"model={model}", "data=text", "data.path=x").model
    taken = set(inspect.signature(load_encoder).parameters)
    assert {str(key) for key in node} - {"_target_"} == taken - {"dropout", "mlm"}
