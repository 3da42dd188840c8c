"""What a paper fixed reaches every encoder, what it fixed for a pair only the pair, and a run says which it was."""

import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from cse.errors import UserError
from cse.run.groups import CONF_DIR, choices, first_comment
from cse.run.recipe import sources

GROUPS = ("recipe", "recipe/augmentation", "recipe/aux_modality")


def composed(*overrides: str):
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        return compose("train", list(overrides), return_hydra_config=True)


def told(*overrides: str) -> list[str]:
    hydra = composed(*overrides).hydra
    return sources(hydra.runtime.choices, hydra.overrides.task)


def test_a_choice_is_told_by_its_first_sentence():
    assert first_comment("aux_modality", "visual").endswith("one aux update a text update")


@pytest.mark.parametrize("model", choices("model"))
@pytest.mark.parametrize(
    ("objective", "batch", "epochs", "every", "schedule"),
    [("barlow", 256, 2, 60, "linear"), ("vicreg", 256, 2, 60, "linear"), ("whitenedcse", 64, 1, 125, "linear"),
     ("declutr", 16, 1, 5000, "slanted_triangular"), ("mlm", 16, 1, 5000, "slanted_triangular")],
)  # fmt: skip
def test_what_a_paper_fixed_for_every_encoder(objective, batch, epochs, every, schedule, model):
    trainer = composed(f"objective={objective}", f"model={model}").trainer
    if model != "minilm":  # which no paper has: its values are ours, for a CPU
        assert (trainer.batch_size, trainer.epochs, trainer.eval_every) == (batch, epochs, every)
    assert trainer.schedule == schedule


def test_supervised_simcse_has_its_batch_and_epochs_with_every_encoder():
    trainer = composed("objective=simcse_sup", "model=distilroberta").trainer
    assert (trainer.batch_size, trainer.epochs) == (512, 3)


@pytest.mark.parametrize("group", GROUPS)
def test_a_recipe_is_named_after_choices_and_says_its_source(group):
    parts = {
        "recipe": ("objective", "model"),
        "recipe/augmentation": ("objective", "model", "augmentation"),
        "recipe/aux_modality": ("aux_modality", "objective", "model"),
    }
    names = {""}
    for part in parts[group]:
        names = {f"{name}_{choice}".lstrip("_") for name in names for choice in choices(part)}
    assert set(choices(group)) <= names
    for choice in choices(group):
        assert Path(CONF_DIR, group, f"{choice}.yaml").read_text().startswith("# @package _global_\n# ")
        assert len(first_comment(group, choice)) > 10


def test_a_run_says_which_recipe_it_follows():
    assert told("model=roberta") == ["simcse_roberta: Unsupervised SimCSE, RoBERTa base (README)"]
    lines = told("model=roberta", "objective=barlow", "augmentation=eda")
    assert [line.partition(":")[0] for line in lines] == ["barlow_roberta", "barlow_roberta_eda"]
    lines = told("model=roberta", "experiment=[visualcse,released]")
    assert [line.partition(":")[0] for line in lines[:2]] == ["simcse_roberta", "visual_simcse_roberta"]
    assert lines[2] == "then experiment=[visualcse,released]"
    assert told("scale=laptop")[1] == "then scale=laptop"


def test_a_run_says_that_no_recipe_exists_and_whose_values_it_has():
    (line,) = told("objective=declutr", "model=bert")
    assert line.startswith("none for declutr with bert; the values are those of objective/declutr (DeCLUTR (arXiv")
    assert line.endswith("trainer/default")
    _, line = told("aux_modality=visual", "model=rubert")
    assert line.startswith("none for visual beside simcse with rubert; its values are those of aux_modality/visual")


def test_a_recipe_that_does_not_exist_is_refused():
    with pytest.raises(UserError, match="recipe=simcse_brt is not a choice; the choices: barlow_bert"):
        told("recipe=simcse_brt")
    assert told("recipe=simcse_roberta")[0].startswith("simcse_roberta")


def test_the_log_and_the_results_have_it(small_run, cse_train, tmp_path):
    assert cse_train([*small_run, "objective=barlow", "model=french_bert", "trainer.max_steps=1",
                      "objective.head.hidden=8", "objective.head.out=8"]) == 0  # fmt: skip
    said = json.loads((tmp_path / "run" / "results.json").read_text())["config"]["sources"]
    assert said[0].startswith("none for barlow with french_bert")
    assert said[0] in (tmp_path / "run" / "train.log").read_text()
