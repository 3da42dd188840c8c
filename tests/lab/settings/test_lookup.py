"""A setting is found by its name, by another trainer's name for it, or by a word in its comment."""

import pytest
from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.dotted import flattened
from cse.lab.settings.lookup import find, keys_of_command, settings_of_command
from cse.lab.settings.suggest import SYNONYMS


def test_every_synonym_is_of_a_setting_that_exists():
    assert set(SYNONYMS.values()) <= set(keys_of_command("train"))


def test_the_text_of_conf_has_every_key_that_hydra_composes_from_it():
    arguments = ["model=minilm", "data=text", "data.path=x", "objective=whitenedcse", "aux_modality=visual"]
    config = OmegaConf.to_container(without_hydra(composed("train", arguments)), resolve=False)
    ours = {one.key for one in settings_of_command("train")}
    missing = {key for key in flattened(config) if "._" not in key and key.rpartition(".")[0] not in ours} - ours
    assert not missing
    assert not [one for one in settings_of_command("train") if "#" in one.value]  # a comment beside a part


@pytest.mark.parametrize(("word", "first", "about"), [
    ("warmup", "trainer.warmup=0", ""), ("learning rate", "trainer.lr=3e-5", ""),
    ("trainer.chunk", "trainer.chunk=null", "rows that fit in memory"), ("jobs", "jobs.fail_fast=false", ""),
    ("subset_seed", "aux_modality.data.subset_seed=0", "(aux_modality=visual)"),
    ("decoders", "model.pooling=null", "(decoders)"),  # a word of its comment
    ("temperature", "aux_modality.temperature=0.07", "objective.temperature=0.05"),
    ("simcse", "objective=simcse", "objective=simcse_sup"),  # a choice's name
    ("report_to", "tracker=auto", "tracker=wandb"),  # another trainer's name for a group: its choices
    ("output_dir", "hydra.run.dir=", ""),
    # one value for two reasons: `no hard negatives here` is not true of triplets
    ("hard_negative_weight", "objective.hard_negative_weight=0", "(objective=simcse_sup) a logit: log("),
])  # fmt: skip
def test_a_word_finds_its_settings(word, first, about):
    lines = find("train", word, 120)
    assert lines.startswith(first)
    assert about in " ".join(lines.split())
    assert max(map(len, lines.splitlines())) <= 120
    with pytest.raises(UserError, match=f"{word}qqqq"):
        find("train", f"{word}qqqq", 120)
