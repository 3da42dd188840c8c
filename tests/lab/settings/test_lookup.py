"""A setting is found by its name, by another trainer's name for it, or by a word in its comment."""

import re

import pytest
from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.conf_files import body
from cse.lab.settings.groups import FOLDERS_VARIABLE, choices, groups
from cse.lab.settings.lookup import find, keys_of_command, settings_of_command
from cse.lab.settings.suggest import answer_to, trainers
from cse.lab.settings.values import flattened

ROWS = [one for _, rows in trainers().values() for one in rows]


def test_what_the_table_types_exists():
    known = {*keys_of_command("train"), *keys_of_command("evaluate")}
    for one in ROWS:
        assert one.type or one.note, f"{one.arguments} has no answer"
        assert one.key in known or not one.type or one.key.startswith("hydra/"), one
        if one.key in groups("train") and "=" in one.first:
            assert one.first.partition("=")[2] in choices(one.key), one


@pytest.mark.parametrize("name", ["temp", "pad_to_max_length", "optimizer", "MultipleNegativesRankingLoss", "fp16"])
def test_help_answers_with_the_table(name):
    lines = " ".join(find("train", name, 100).split())
    told = answer_to(name, list(keys_of_command("train")))
    assert told.first in lines
    assert told.sentence() in lines or not told.note


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


@pytest.mark.parametrize(("word", "first", "about"), [
    ("warmup", "trainer.warmup=0", ""), ("learning rate", "learning rate is trainer.lr here", "3e-5"),
    ("trainer.chunk", "trainer.chunk=null", "rows that fit in memory"), ("jobs", "jobs.fail_fast=false", ""),
    ("subset_seed", "aux_modality.data.subset_seed=0", "(aux_modality=visual)"),
    ("decoders", "model.pooling=null", "(decoders)"),  # a word of its comment
    ("temperature", "aux_modality.temperature=0.07", "objective.temperature=0.05"),
    ("simcse", "objective=simcse", "objective=simcse_sup"),  # a choice's name
    ("report_to", "tracker: tracker=wandb", "tracker=auto"),  # another trainer's name for a group: its choices
    ("output_dir", "hydra.run.dir: by default", "hydra.run.dir=outputs"),
    # one value for two reasons: `no hard negatives here` is not true of triplets
    ("hard_negative_weight", "objective.hard_negative_weight: the same number, a logit.",
     "(objective=simcse_sup) a logit: log("),
])  # fmt: skip
def test_a_word_finds_its_settings(word, first, about):
    lines = find("train", word, 120)
    assert lines.startswith(first)
    assert about in " ".join(lines.split())
    assert max(map(len, lines.splitlines())) <= 120
    with pytest.raises(UserError, match=f"{word}qqqq"):
        find("train", f"{word}qqqq", 120)


@pytest.mark.parametrize(("word", "first", "keys"), [
    ("temp", "temp is objective.temperature here", {"objective.temperature"}),
    ("hard_negative_weight", "objective.hard_negative_weight: the same", {"objective.hard_negative_weight"}),
    ("max_steps", "trainer.max_steps: the run stops early", {"trainer.max_steps"}),
    ("mode", "splits: test is", {
        "augmentation.mode", "tracker.wandb.mode",
        *(f"eval.{part}.mode" for part in ("classification", "probing", "transfer")),
    }),
    ("seeds", "seed: -m seed=1,2,3 repeats the run", {"seed"}), ("do_train", "no counterpart", set()),
])  # fmt: skip
def test_another_trainers_argument_shows_its_row_and_its_setting(word, first, keys):
    lines = find("train", word, 200)
    assert lines.startswith(first)
    assert set(re.findall(r"^([\w.]+)=", lines, re.MULTILINE)) == keys


def test_a_whole_word_comes_before_words_that_begin_with_it():
    assert "template" not in find("evaluate", "temp", 120)
    assert "model." not in find("train", "mode", 120)
    assert "trainer.warmup" in find("train", "warm", 120)  # no setting is called so


@pytest.mark.parametrize("word", ["weight", "eval", "model_name_or_path", "temperature", "model.name", "method"])
def test_a_search_shows_a_screen_and_counts_the_others(word):
    *shown, last = [line for line in find("train", word, 120).splitlines() if not line.startswith("A recipe")]
    assert len(shown) <= 30
    count, longer = re.fullmatch(r"and (\d+) more: for example --help (\S+)", last).groups()
    assert int(count) > 0
    key, _, choice = longer.partition("=")
    assert choice in choices(key) if choice else key in keys_of_command("train")
    assert longer != word


@pytest.mark.parametrize("kind", ["train", "evaluate"])
@pytest.mark.parametrize(("word", "told"), [
    ("cls_before_pooler", "cls_before_pooler is pooling=cls"), ("stsb_spearman", "trainer.select=stsb"),
    ("run_unsup_example.sh", "run_unsup_example.sh is cse-train,"),
    ("run_sup_example.sh", "run_sup_example.sh is cse-train objective=simcse_sup"),
    ("evaluation.py", "The counterpart of this script is cse-eval"), ("seed", "-m seed=1,2,3 repeats the run"),
    ("figure", "report.html"), ("plot", "saved as PNG or SVG"), ("svg", "figures"), ("latex", "report.tex"),
])  # fmt: skip
def test_the_sentences_of_the_table_are_searched(kind, word, told):
    lines = " ".join(find(kind, word, 100).split())
    assert told in lines
    assert "eval={}" not in lines


@pytest.mark.parametrize("word", ["lr", "learning_rate", "trainer.batch_size"])
def test_a_setting_that_recipes_replace_says_so(word):
    assert find("train", word, 120).endswith(
        "A recipe may replace these values: add --cfg job to your command to see yours."
    )
    assert "recipe" not in find("evaluate", "splits", 120)


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
