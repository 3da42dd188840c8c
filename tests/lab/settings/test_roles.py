"""Each key has one role, declared by the signature that takes it; resuming, sweeps and reports ask for it."""

import sys

import pytest
from omegaconf import OmegaConf

from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.groups import choices
from cse.lab.settings.references import resolved
from cse.lab.settings.roles import fixed_settings, keys_with, repeats_a_run, role_of
from cse.lab.settings.schema import HydraSettings, OnlyMarks, Paths
from cse.lab.settings.values import flattened
from cse.ranges import Mark

OF_LINES = ("sweep",)  # a group whose choices set the keys of others


def composed_keys() -> set[str]:
    """Every key of either command, with all that is below it, of every choice that has keys of its own."""
    lines = [("train", [f"aux_modality={name}"]) for name in choices("aux_modality")]
    lines += [("train", [f"augmentation={name}"]) for name in choices("augmentation")]
    configs = [composed("evaluate", []), *(composed(command, line) for command, line in lines)]
    flat = {key for config in configs for key in flattened(OmegaConf.to_container(config))}
    return {".".join(key.split(".")[:count]) for key in flat for count in range(1, len(key.split(".")) + 1)}


def test_no_entry_names_a_key_that_no_config_has():
    places = {"": OnlyMarks, "hydra.": HydraSettings, "paths.": Paths}
    declared = {f"{place}{name}" for place, kind in places.items() for name in kind.__annotations__}
    assert declared - composed_keys() == {*OF_LINES}


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("objective.head.hidden", "science"),  # no entry
        ("trainer.workers", "machine"),
        ("tracker.wandb.group", "logging"),
        ("hydra/launcher", "bookkeeping"),
        ("hydra.launcher.n_jobs", "bookkeeping"),
        ("hydra.job.name", "logging"),
        ("replaced.eval", "logging"),
    ],
)
def test_a_key_is_for_what_its_own_annotation_says_or_that_of_its_nearest_parent(key, role):
    assert role_of(key).purpose == role
    assert role_of(key).is_science == (role == "science")


@pytest.mark.parametrize(("question", "keys", "true"), [
    ("changes_a_table", "trainer.lr model eval eval.sts.senteval trainer.chunk trainer.watch paths.cache note",
     "trainer.lr model"),
    ("names_a_job", "trainer.lr splits paths.senteval paths.cache allow_partial note trainer.workers tracker.wandb",
     "trainer.lr splits paths.senteval allow_partial note"),
])  # fmt: skip
def test_questions_about_a_key(question, keys, true):
    assert [key for key in keys.split() if getattr(role_of(key), question)] == true.split()


def test_the_line_that_repeats_a_run_has_its_science_its_sweep_and_its_data():
    words = "sweep=a/b case=c +trainer.lr=1 ~report paths.cache=/x paths.senteval=/y resume=auto hydra.run=x"
    assert list(filter(repeats_a_run, words.split())) == ["sweep=a/b", "case=c", "+trainer.lr=1", "paths.senteval=/y"]


def test_a_run_goes_on_with_the_same_science_on_any_number_of_processes():
    trainer = {"lr": 1.0, "max_steps": 3, "workers": 2, "log_every": 1, "devices": 2, "chunk": 8}
    config = {"trainer": trainer, "seed": 1, "eval": {"sts": {}}, "paths": {"cache": "x"}, "resume": None, "note": "n"}
    assert set(fixed_settings(config)) == {"trainer.lr", "trainer.chunk", "seed"}


def test_the_evaluator_that_selects_is_the_same_wherever_its_data_is():
    stsb = {"without": "sts", "senteval": "x", "allow_partial": True}
    config = {"trainer": {"select": "dev/stsb/spearman"}, "paths": {"senteval": "x"}, "allow_partial": True,
              "eval": {"stsb": stsb, "pairs": {"score": "s"}}}  # fmt: skip
    assert set(fixed_settings(config)) == {"trainer.select", "eval.stsb.without"}
    usual, changed = (
        resolved(without_hydra(composed("train", [f"eval.stsb.without={one}"]))) for one in ("null", "sts")
    )
    assert fixed_settings(usual).keys() == fixed_settings(changed).keys()
    assert [key for key, value in fixed_settings(usual).items() if fixed_settings(changed)[key] != value] == [
        "eval.stsb.without"
    ]


OWN_LOSS = """
from cse.ranges import Count, File, Mark, Positive
from cse.objective.simcse import Simcse
from typing import Annotated


class Weighted(Simcse):
    def __init__(self, prior: File, shards: Annotated[Count, Mark.MACHINE], scale: Positive, **settings):
        super().__init__(**settings)
"""


def test_a_part_of_ones_own_says_what_its_settings_are_for(tmp_path, monkeypatch):
    (tmp_path / "own_loss.py").write_text(OWN_LOSS)
    (tmp_path / "objective").mkdir()
    (tmp_path / "objective/weighted.yaml").write_text(
        "_target_: own_loss.Weighted\nprior: w.txt\nshards: 2\nscale: 1.0\ntemperature: 0.05\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = {"objective": {"_target_": "own_loss.Weighted", "prior": "w.txt", "shards": 2, "scale": 1.0}}
    assert role_of("objective.prior", given).is_verbatim
    assert role_of("objective.shards", given).purpose == "machine"
    assert set(fixed_settings(given)) == {"objective._target_", "objective.prior", "objective.scale"}
    assert not role_of("objective.prior").is_verbatim  # nothing has named the folder yet
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    assert role_of("objective.prior").is_verbatim  # from its YAML, without a config
    assert not role_of("objective.shards").names_a_job
    assert "own_loss" not in sys.modules


OWN_NAMES = """
from typing import Annotated, Literal
from cse import ranges
from cse.ranges import Count as Many, File, Mark as M


class Card:
    \"\"\"No key of the schema.\"\"\"


class Folder:
    \"\"\"No type of cse.ranges.\"\"\"


class Weighted:
    def __init__(self, kind: Literal["File", "MACHINE"], note: Annotated[str, "File"], card: Card, place: Folder,
                 prior: ranges.File, table: "File | None", shards: Annotated[Many, M.MACHINE]): ...
"""


def test_a_name_in_an_annotation_means_what_its_module_says(tmp_path, monkeypatch):
    """A name that is only written like a type, a mark or a mapping of ours has no marks."""
    (tmp_path / "own_names.py").write_text(OWN_NAMES)
    monkeypatch.syspath_prepend(tmp_path)
    card = {"data_licence": "CC0"}
    given = {"objective": {"_target_": "own_names.Weighted", "card": card, "kind": "File", "note": "n"}}
    marks = {key: role_of(f"objective.{key}", given).marks
             for key in ("kind", "note", "card", "place", "prior", "table", "shards")}  # fmt: skip
    nothing, verbatim = frozenset(), frozenset({Mark.VERBATIM})
    assert marks == {"kind": nothing, "note": nothing, "card": nothing, "place": nothing, "prior": verbatim,
                     "table": verbatim, "shards": frozenset({Mark.MACHINE})}  # fmt: skip
    assert role_of("objective.card.data_licence", given).marks == nothing


def test_a_key_that_no_choice_has_takes_the_marks_of_the_nearest_key_that_one_has():
    """Of whichever choice has that one, not of the last by name."""
    assert role_of("augmentation.wordnet_dir.other") == role_of("augmentation.wordnet_dir")
    assert role_of("augmentation.wordnet_dir").is_verbatim


def test_encoders_are_found_by_their_annotation():
    config = resolved(without_hydra(composed("train", ["objective=rankcse", "aux_modality=visual"])))
    assert keys_with(Mark.ENCODER, config).keys() == {
        "model.name", "objective.teacher", "objective.second_teacher", "aux_modality.weights", "checkpoint"
    }  # fmt: skip
    assert Mark.ENCODER not in role_of("data.path").marks
