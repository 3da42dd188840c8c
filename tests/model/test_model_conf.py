"""conf/model: every choice has exactly the arguments of load_encoder."""

import inspect

import pytest
from toys import composed

from cse.config.groups import choices
from cse.model.load import load_encoder


@pytest.mark.parametrize("model", choices("model"))
def test_the_keys_are_the_arguments_of_load_encoder(model):
    node = composed(f"model={model}", "data=text", "data.path=x").model
    taken = set(inspect.signature(load_encoder).parameters)
    assert {str(key) for key in node} - {"_target_"} == taken - {"dropout", "mlm"}
