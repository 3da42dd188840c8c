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


def test_what_the_cards_say():
    cards = {name: composed(f"model={name}", "data=text", "data.path=x").model for name in choices("model")}
    assert (cards["e5_base"].pooling, cards["e5_base"].prefix) == ("mean", "query: ")
    assert (cards["bge_base"].pooling, cards["bge_base"].prefix) == ("cls", None)
    assert cards["modernbert"].pooling == cards["modernbert_large"].pooling == "mean"
    assert cards["qwen3_embedding"].pooling == "last"
    assert cards["qwen3_embedding"].prefix.endswith("\nQuery:")
