"""conf/model: every choice composes, and says only what load_encoder takes."""

import inspect

import pytest
from hydra import compose, initialize_config_dir

from cse.config.groups import CONF_DIR, choices
from cse.model.load import load_encoder

CHOICES = choices("model")


@pytest.mark.parametrize("model", CHOICES)
def test_every_key_is_an_argument(model):
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        node = compose("train", [f"model={model}", "data=text", "data.path=x"]).model
    taken = set(inspect.signature(load_encoder).parameters)
    assert {str(key) for key in node} - {"_target_"} == taken - {"dropout", "mlm"}


def test_what_the_cards_say():
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        nodes = {name: compose("train", [f"model={name}", "data=text", "data.path=x"]).model for name in CHOICES}
    assert (nodes["e5_base"].pooling, nodes["e5_base"].prefix) == ("mean", "query: ")
    assert (nodes["bge_base"].pooling, nodes["bge_base"].prefix) == ("cls", None)
    assert nodes["qwen3_embedding"].pooling == "last"
    assert nodes["qwen3_embedding"].prefix.endswith("\nQuery:")
    assert nodes["modernbert_large"].pooling == nodes["modernbert"].pooling == "mean"
