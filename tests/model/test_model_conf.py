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


@pytest.mark.parametrize(("model", "pooling", "prefix"), [
    ("e5_base", "mean", "query: "), ("bge_base", "cls", None), ("modernbert", "mean", None),
    ("modernbert_large", "mean", None),
])  # fmt: skip
def test_what_the_cards_say(model, pooling, prefix):
    node = composed(f"model={model}", "data=text", "data.path=x").model
    assert (node.pooling, node.prefix) == (pooling, prefix)


def test_qwens_card_ends_its_prefix_with_the_query():
    node = composed("model=qwen3_embedding", "data=text", "data.path=x").model
    assert node.pooling == "last"
    assert node.prefix.endswith("\nQuery:")
