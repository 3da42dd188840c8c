"""--config-dir: the user's own choices beside the choices of conf/. tests/docs/test_adding.py trains with one."""

import os
import re
import sys
from pathlib import Path

import pytest
from typed import exit_code

from cse.errors import UserError
from cse.lab.settings import groups
from cse.lab.settings.check import validate_command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import adopt_folders


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with one objective, whose module can be imported until the test ends."""
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, "")
    (tmp_path / "conf" / "objective").mkdir(parents=True)
    (tmp_path / "conf" / "objective" / "nearby.yaml").write_text("# Views are near.\n_target_: nearby_loss.Nearby\n")
    loss = "def __init__(self, dim: int): ...\n    def forward(self, views): ..."
    (tmp_path / "nearby_loss.py").write_text(f"import cse.types\nclass Nearby(cse.types.Objective):\n    {loss}\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "conf"
    sys.modules.pop("nearby_loss", None)


@pytest.mark.parametrize("flag", ["--config-dir {}", "--config-dir={}", "-cd={}"])
def test_a_choice_of_ones_own_is_listed_and_composed(own, capsys, flag):
    assert exit_code("cse-train", "objective=?", *flag.format(own).split()) == 0
    assert "Views are near" in capsys.readouterr().out
    assert os.environ[groups.FOLDERS_VARIABLE] == str(own)
    assert validate_command(composed("train", ["objective=nearby"]), "train").objective._target_ == "nearby_loss.Nearby"


def test_a_choice_of_ones_own_may_include_a_file_of_ours(own, capsys):
    (own / "objective" / "close.yaml").write_text("# Close.\ndefaults:\n  - simcse\n  - nearby\nmargin: 1\n")
    assert exit_code("cse-train", "--config-dir", str(own), "--help", "objective=close") == 0
    assert "temperature: " in capsys.readouterr().out
    assert exit_code("cse-train", "--config-dir", str(own), "objective=close", "trainer.pooling=mean") == 2
    assert "did you mean model.pooling?" in capsys.readouterr().err


def test_a_choice_with_a_hyphen_has_its_own_keys(own, capsys):
    (own / "model").mkdir()
    (own / "model" / "my-model.yaml").write_text("# Mine.\ndefaults:\n  - minilm\n")
    assert exit_code("cse-train", "--config-dir", str(own), "model=my-model", "model.poling=mean") == 2
    assert "did you mean model.pooling?" in capsys.readouterr().err


def test_a_value_is_in_a_file_only_if_the_file_gives_that_key(own, capsys):
    (own / "objective" / "same.yaml").write_text("# Same.\ndefaults: [simcse]\nbatch_size: 0\n")
    assert exit_code("cse-train", "--config-dir", str(own), "objective=same", "trainer.batch_size=0") == 2
    assert "trainer.batch_size=0 (" not in capsys.readouterr().err


def test_a_choice_in_another_encoding_is_one_sentence_with_its_line(own, capsys):
    (own / "objective" / "nearby.yaml").write_bytes(b"# M\xfcller\n_target_: nearby_loss.Nearby\n")
    for words in (["objective=nearby"], ["--help", "objective=nearby"]):
        assert exit_code("cse-train", "--config-dir", str(own), *words) == 2
        assert "nearby.yaml:1 is not UTF-8" in capsys.readouterr().err


def test_a_missing_or_a_wrong_folder_and_a_name_of_ours_are_refused(own):
    with pytest.raises(UserError, match="nowhere"):
        adopt_folders(["--config-dir", str(own / "nowhere")])
    with pytest.raises(UserError, match="objective/"):  # the folder above
        adopt_folders(["--config-dir", str(own.parent)])
    (own.parent / "a:b" / "objective").mkdir(parents=True)
    with pytest.raises(UserError, match="a:b"):  # which CSE_CONF would split
        adopt_folders(["--config-dir", str(own.parent / "a:b")])
    (own / "objective" / "barlow.yaml").write_text("_target_: nearby_loss.Nearby\n")
    with pytest.raises(UserError, match=r"barlow\.yaml"):  # a name of ours
        adopt_folders(["--config-dir", str(own)])


@pytest.mark.parametrize("file", ["sweep/whitenedcse/table4", "recipe/augmentation/{}", "objective/nearby"])
def test_a_name_that_is_taken_is_refused_at_any_depth(own, file):
    """Ours, or that of another folder of one's own: only the first would be read."""
    theirs = own.parent / "theirs"
    recipes = sorted((Path(groups.CONF_DIR) / "recipe" / "augmentation").glob("[!_]*.yaml"))
    path = theirs / f"{file.format(recipes[0].stem)}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("trainer: {lr: 1}\n")
    owner = str(own) if "nearby" in file else "cse"
    with pytest.raises(UserError, match=f"is a choice of {owner} already") as refused:
        adopt_folders([f"--config-dir={own}", f"--config-dir={theirs}"])
    assert str(path) in str(refused.value)
    path.rename(path.with_stem("mine"))
    adopt_folders([f"--config-dir={own}", f"--config-dir={theirs}", f"--config-dir={theirs}/../conf"])


@pytest.mark.parametrize("words", ["seed=1 --config-dir", "--config-dir= seed=1", "-cd"])
def test_a_flag_without_a_folder_is_refused(own, capsys, monkeypatch, words):
    """It does not mean the working directory, whatever folders that has."""
    monkeypatch.chdir(own)
    assert exit_code("cse-train", *words.split()) == 2
    assert "lacks its value: give --config-dir FOLDER" in capsys.readouterr().err


def test_yaml_that_cannot_be_read_is_one_sentence_with_its_line(own, capsys):
    (own / "objective" / "nearby.yaml").write_text("_target_: nearby_loss.Nearby\n margin: 1\n")
    for words in (["objective=nearby"], ["-m", "seed=1,2", "objective=nearby"]):
        assert exit_code("cse-train", "--config-dir", str(own), *words) == 2
        assert 'nearby.yaml", line 2' in capsys.readouterr().err


@pytest.mark.parametrize(("written", "told"), [
    ("nearby_loss.Nerby", "did you mean Nearby?"), ("nearby_loss.Nearby\ndimm: 3", "did you mean dim?"),
    ("cse.objective.simsce.Simcse", "did you mean simcse?"), ("nearby_loss.Other", "it has Nearby"),
    ("cse.augmentation.dropout.Dropout\np: 0.1", "inherit cse.types.Objective"),
    ("needing_loss.Nearby", "objective._target_=needing_loss.Nearby"),
    ("broken_loss.Nearby", "objective._target_=broken_loss.Nearby"), ("elsewhere.Nearby", "elsewhere.Nearby"),
])  # fmt: skip
def test_a_part_or_a_setting_that_is_not_there_is_one_sentence(own, written, told):
    (own.parent / "needing_loss.py").write_text("import not_there")
    (own.parent / "broken_loss.py").write_text("class Nearby(:")
    adopt_folders(["--config-dir", str(own)])
    (own / "objective" / "nearby.yaml").write_text(f"_target_: {written}\n")
    with pytest.raises(UserError, match=re.escape(told)) as refused:
        validate_command(composed("train", ["objective=nearby"]), "train")
    assert len(str(refused.value).splitlines()) == 1


def test_a_choice_in_the_wrong_folder_is_named(own, capsys):
    assert exit_code("cse-train", "--config-dir", str(own), "augmentation=nearby") == 2
    assert f"{own}/objective/nearby.yaml" in capsys.readouterr().err
    assert exit_code("cse-train", "--config-dir", str(own), "model=/home/me/bert") == 2
    assert "model.name=/home/me/bert" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "told"), [("model=1", "checkpoint=1"), ("eval=2017", "eval.test=2017")])
def test_cse_eval_says_what_cse_eval_takes(word, told):
    with pytest.raises(UserError, match=re.escape(told)):
        composed("evaluate", [word])
