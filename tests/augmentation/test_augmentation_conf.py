"""The views of every augmentation are what the contract promises."""

import numpy as np
import pytest
from hydra.utils import instantiate
from toys import composed, toy_of

from cse.lab.settings.groups import choices
from cse.types import Augmentation

TEXT = " ".join(["one", "two", "three", "four", "five", "six", "seven", "eight"] * 10)
IDS = np.array([2, *range(10, 40), 3])


@pytest.mark.parametrize("name", choices("augmentation"))
def test_an_augmentation_keeps_its_contract(name, wordnet_folder, tiny_tokenizer, tmp_path):
    overrides = [f"augmentation={name}", *toy_of("augmentation", name, 32), f"paths.cache={tmp_path}"]
    node = composed(*overrides, f"paths.wordnet={wordnet_folder}").augmentation
    augmentation = instantiate(node)
    assert augmentation.model_dropout == (node.p if name == "dropout" else node.model_dropout)
    assert isinstance(augmentation, Augmentation)
    augmentation.bind(tiny_tokenizer)
    two = [np.random.default_rng(seed) for seed in (5, 5)]
    if augmentation.level == "text":
        views = [augmentation.views(TEXT, 2, rng) for rng in two]
        assert views[0] == views[1], "views must depend on rng alone"
        first, second = views[0]
        assert first != second, "views must be edited apart"
    else:
        views = [augmentation.tokens(IDS, rng) for rng in two]
        assert np.array_equal(*views), "views must depend on rng alone"
        assert (views[0][0], views[0][-1]) == (IDS[0], IDS[-1]), "the special tokens stay at both ends"
        assert np.array_equal(views[0], IDS) == augmentation.keeps_text
