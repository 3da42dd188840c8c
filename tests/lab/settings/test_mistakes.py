"""The message for a wrong argument: where it points to help, this help says what was promised."""

import re

import pytest

from cse.lab.commands.help import help_on
from cse.lab.settings.groups import choices
from cse.lab.settings.mistakes import no_choice, no_key, no_setting


@pytest.mark.parametrize(
    "group",
    [
        "model",
        "objective",
        "sweep",
        "recipe",
        "recipe/augmentation",
        "recipe/aux_modality",
        "hydra/sweeper",
    ],
)
def test_the_help_that_a_refusal_names_lists_all_choices(group):
    names = choices(group)
    message = no_choice(group, f"{names[0]}x" if names else "x", "train")
    for topic in re.findall(r"--help (\S+)", message):
        assert all(name in help_on("train", topic) for name in names)
        assert names


@pytest.mark.parametrize(
    ("group", "choice", "elsewhere"),
    [
        ("objective", "simclr", "variant=simclr"),
        ("objective", "visual", "aux_modality=visual"),
    ],
)
def test_a_choice_of_another_group_is_named_with_the_help_on_the_given_group(group, choice, elsewhere):
    message = no_choice(group, choice, "train")
    assert elsewhere in message
    assert f"--help {group} " in message


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("pooler_type=cls", "model.pooling=cls"),
        ("pooler_type=avg", "model.pooling=mean objective.head=null"),
        ("metric_for_best_model=stsb_spearman", "trainer.select=stsb"),
    ],
)
def test_another_trainers_key_is_translated_with_its_value(text, here):
    assert no_key(text.partition("=")[0], [text], "train").endswith(f" is {here} here")


@pytest.mark.parametrize("text", ["pooler_type=other", "pooler=avg"])
def test_a_value_without_a_counterpart_gets_the_whole_row(text):
    assert "avg_top2" in no_key(text.partition("=")[0], [text], "train")


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["data.score=x"], "data.scores belongs to"),
        (["data=text", "data.path=x", "data.score=x"], "data.scores?"),
        (["data.file=x.txt"], "data=text data.path=x.txt"),
        (["model.path=x"], "model.name=x"),
        (["eval.path=x.csv"], "eval=pairs eval.dev=x.csv"),
        (["data.test=x.csv"], "eval=pairs eval.test=x.csv"),
        (["eval=pairs", "eval.pairs.path=x.csv"], "eval=pairs eval.dev=x.csv"),
        (["trainer.step=9"], "trainer.max_steps?"),
        (["eval=pairs", "eval.pairs.scores=x"], "eval.pairs.score?"),
        (["eval=beir", "eval.beir.path=x"], "eval.beir.folder"),
        (["model.length=64"], "trainer.max_length?"),
        (["trainer.eval_step=9"], "trainer.eval_every?"),
        (["file=x.txt"], "data=text data.path=x.txt"),
        (["trainer.learningrate=1"], "trainer.lr?"),
        (["trainer.dropout=0.2"], "augmentation.p=0.2"),
        (["dropout=0.2"], "augmentation.p=0.2"),
        (["out=x"], "hydra.run.dir=x"),
        (["outdir=x"], "hydra.run.dir=x"),
    ],
)
def test_the_key_that_a_wrong_key_means_is_named(texts, meant):
    message = no_key(texts[-1].partition("=")[0], texts, "train")
    assert meant in message
    assert message.count("eval.") == meant.count("eval.") + texts[-1].count("eval.")


def test_cse_eval_names_its_own_setting_for_a_file():
    assert no_key("eval.path", ["eval.path=x.csv"], "evaluate").endswith("eval=pairs eval.test=x.csv")
    assert no_key("model.path", ["model.path=x"], "evaluate").endswith("checkpoint=x")
    assert no_key("out", ["out=x"], "evaluate").endswith("hydra.run.dir=x")


@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        (["data.path=my", "file.txt"], "'data.path=my file.txt'"),
        (["data.path=my", "big", "file.txt", "seed=1"], "'data.path=my big file.txt'"),
        (["data.path=my", "file,", "v2.txt"], "\"data.path='my file, v2.txt'\""),
        (["objective=simcse", "barlow"], "(did you mean objective=barlow?)"),
        (["data.path=x.txt", "lr"], "(did you mean trainer.lr?); "),
        (["data.path=", "x.txt"], "data.path=x.txt"),
    ],
)
def test_a_value_that_the_shell_has_split_is_shown_in_quotes(texts, hint):
    message = no_setting(next(text for text in texts if "=" not in text), texts, "train")
    assert hint in message
    assert "data.rows.file" not in message


def test_a_number_before_a_wrong_text_needs_no_quotes():
    assert "quotes" not in no_setting("lr", ["seed=3", "lr"], "train")


def test_a_key_with_a_plus_and_without_a_value_is_named(cse_train, capsys):
    assert cse_train(["+trainer.lr"]) == 2
    assert "trainer.lr lacks its value" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "meant"), [("a.csv", "eval=pairs eval.test={}"), ("a.txt", "checkpoint={}")])
def test_cse_eval_answers_a_bare_file_with_its_setting(tmp_path, name, meant):
    file = str(tmp_path / name)
    (tmp_path / name).touch()
    assert no_setting(file, [file], "evaluate").endswith(meant.format(file))
