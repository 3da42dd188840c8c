"""What settings and choices there are, as the text of conf/ has them, and what another trainer's name means."""

import pytest
from omegaconf import OmegaConf

from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.conf_files import body, keys_of_text
from cse.lab.settings.groups import FOLDERS_VARIABLE, choices, groups
from cse.lab.settings.lookup import answer_to, keys_of_command, settings_of_command, trainers
from cse.lab.settings.values import flattened

ROWS = [one for _, rows in trainers().values() for one in rows]


def test_what_the_table_types_exists():
    known = {*keys_of_command("train"), *keys_of_command("evaluate")}
    for one in ROWS:
        assert one.type or one.note, f"{one.arguments} has no answer"
        assert one.key in known or not one.type or one.key.startswith("hydra/"), one
        if one.key in groups("train") and "=" in one.first:
            assert one.first.partition("=")[2] in choices(one.key), one


@pytest.mark.parametrize(("name", "key"), [
    ("temp", "objective.temperature"), ("pooler_type", "model.pooling"), ("mlp_only_train", "objective.keep_head"),
    ("metric_for_best_model", "trainer.select"), ("load_best_model_at_end", "trainer.select"),
    ("do_mlm", "objective.mlm_weight"), ("num_anchors", "augmentation.anchors"), ("task_set", "eval"),
    ("supcon_temperature", "aux_modality.temperature"), ("image_learning_rate", "aux_modality.lr"),
    ("--pooler-type", "model.pooling"), ("trainer.optimizer.lr", "trainer.lr"), ("lambda", "objective.lambd"),
    ("pad_to_max_length", ""), ("overwrite_output_dir", ""), ("optimizer", ""),
])  # fmt: skip
def test_an_argument_of_the_papers_repositories_has_our_key(name, key):
    assert answer_to(name, list(keys_of_command("train"))).key == key


def test_a_row_whose_setting_the_command_has_comes_first():
    assert answer_to("model_name_or_path", ["model.name"]).key == "model.name"
    assert answer_to("model_name_or_path", ["checkpoint"]).key == "checkpoint"
    assert answer_to("lr") is None  # ours is called so too
    assert answer_to("nothing like it") is None
    assert answer_to("tasks").key == "eval.sts.tasks"
    assert answer_to("eval.demo.tasks") is None  # a key of ours in another group


def test_the_text_of_conf_has_every_key_that_hydra_composes_from_it():
    arguments = ["model=minilm", "data=text", "data.path=x", "objective=whitenedcse", "aux_modality=visual"]
    config = OmegaConf.to_container(without_hydra(composed("train", arguments)), resolve=False)
    ours = {one.key for one in settings_of_command("train")}
    missing = {key for key in flattened(config) if "._" not in key and key.rpartition(".")[0] not in ours} - ours
    assert not missing
    assert not [one for one in settings_of_command("train") if "#" in one.value]  # a comment beside a part


LISTS = [
    "defaults:\n  - minilm\n", "defaults: [minilm]\n", "defaults: [\n  minilm,\n]\n", "defaults:\n- minilm\n",
    "defaults:\r\n  - minilm\r\n", "defaults:  # of\n  # ours\n  - minilm  # a small one\n", "defaults: ['minilm']\n",
    '"defaults":\n    - minilm\n',
]  # fmt: skip
"""Ways to write a defaults list."""


@pytest.mark.parametrize("written", LISTS)
def test_a_choice_has_the_keys_of_the_file_that_it_includes(tmp_path, monkeypatch, written):
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / "mine.yaml"
    file.write_bytes(f"# Mine.\n{written}max_length: 8\n".encode())
    assert composed("train", ["model=mine"]).model.max_length == 8
    found = {one.key: one.value for one in settings_of_command("train") if one.choice == "model=mine"}
    theirs = {one.key: one.value for one in settings_of_command("train") if one.choice == "model=minilm"}
    assert found == theirs | {"model.max_length": "8"}
    assert body(file) == ["max_length: 8"]


def test_a_file_whose_list_puts_itself_first_is_overridden(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.yaml").write_text("defaults: [_self_, minilm]\nname: x\n")
    names = [one.value for one in settings_of_command("train") if (one.key, one.choice) == ("model.name", "model=mine")]
    assert names == [composed("train", ["model=mine"]).model.name]


def test_a_comment_on_the_next_line_belongs_to_a_key_with_a_value_or_to_the_first_key_inside():
    text = "tasks: [a]  # the tasks\n            # of all\ncard:  # facts\n  # the languages\n  languages: null\n"
    assert {key: comment for key, _, comment in keys_of_text(text)} == {
        "tasks": "the tasks of all",
        "card": "facts",
        "card.languages": "the languages",
    }
