"""A mistake is a UserError that names the key; at a terminal one line on stderr and exit code 2, with nothing left."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typed import exit_code

import cse
from cse.errors import UserError


@pytest.fixture
def typed(monkeypatch, tmp_path, capsys) -> Callable[..., str]:
    """Runs a line in an empty folder; returns the one line that it says after the command's name."""

    def run(line: str) -> str:
        place = tmp_path / "here"
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        command, *words = line.split()
        code = exit_code(command, *words)
        (said,) = capsys.readouterr().err.strip().splitlines()
        assert code == 2, said
        return said.removeprefix(f"{command}: ")

    return run


@pytest.mark.parametrize(("line", "named"), [
    ("trainer.lr=nan trainer.batch_size=0", ["trainer.lr=nan", "trainer.batch_size=0"]),
    ("smoke=maybe", ["smoke=maybe"]),
    ("recipe=simcse_roberto", ["recipe=simcse_roberto", "simcse_roberta"]),
    ("trainer.learning_rate=1e-5", ["trainer.learning_rate", "trainer.lr"]),
    ("objektive=simcse", ["objektive", "objective"]),
    ("objective=simsce", ["simsce", "simcse", "barlow"]),
    ("objective=“simcse”", ["simcse"]),
    ("data.path=x.txt", ["data.path", "data=text"]),
    ("trainer.lr=64,", ["trainer.lr=64,", "KEY=VALUE"]),
    ("trainer.lr=0,1", ["trainer.lr", "--multirun"]),
    ("data.columns=[a, b]", ["data.columns=[a,"]),
    ("objective = barlow", ["="]),
    ("barlow", ["barlow", "objective=barlow"]),
    ("lr", ["lr", "trainer.lr"]),
    ("model=null", ["model"]),
    ("model=[bert]", ["model"]),
    ("eval.stsb.nokey=1", ["eval.stsb.nokey"]),
    ("trainer.lr=${nokey}", ["trainer.lr", "nokey"]),
    ("data=text data.path=${oc.env:NO_SUCH}", ["data.path", "NO_SUCH"]),
    ("data=text", ["data.path"]),
    ("trainer.lr=", ["trainer.lr="]),
    ("+trainer.lrr=1", ["trainer.lrr", "trainer.lr"]),
    ("~foo", ["foo"]),
    ("model.pooling=max", ["model.pooling=max", "cls"]),
    ("data=openwebtext data.rows.allow_partial=true", ["data.rows.allow_partial"]),
    ("scale=laptop trainer.batch_size=64", ["trainer.batch_size", "scale.trainer.batch_size=64"]),
    ("scale=laptop scale.sentences=/no/file", ["scale.sentences=/no/file"]),
    ("sweep=whitenedcse/table4", ["sweep=whitenedcse/table4"]),
    ("-m", ["-m"]),
])  # fmt: skip
def test_the_key_is_named(line, named):
    with pytest.raises(UserError) as refused:
        cse.train(*line.split())
    assert all(name in str(refused.value) for name in named), refused.value


@pytest.mark.parametrize(("line", "named"), [
    ("batch_size=0 allow_partial=perhaps", ["batch_size=0", "allow_partial=perhaps"]),
    ("chekpoint=x", ["chekpoint", "checkpoint"]),
    ("whitening=pca", ["whitening=pca"]),
    ("splits=[train]", ["splits"]),
    ("model=minilmm", ["minilmm", "minilm"]),
    ("eval=stsb eval.with_sicr=true", ["eval.stsb.with_sicr", "eval.stsb.with_sickr"]),
])  # fmt: skip
def test_the_key_of_an_evaluation_is_named(line, named):
    with pytest.raises(UserError) as refused:
        cse.compose(*line.split(), command="evaluate")
    assert all(name in str(refused.value) for name in named), refused.value


@pytest.mark.parametrize(("line", "named"), [
    ("cse-train objective=simsce", "objective=simsce"),
    ("cse-train --learning_rate 1", "trainer.lr=..."),
    ("cse-train scale=laptop trainer.batch_size=64", "scale.trainer.batch_size=64"),
    ("cse-train sweep=table4", "sweep=table4"),
    ("cse-train -m seed=-2,-3", "seed=-2"),
    ("cse-train -m seed=1,2 --cfg job", "--cfg"),
    ("cse-train resume=/no/run --cfg job", "resume=/no/run"),
    ("cse-train eval=null trainer.devices=3", "trainer.batch_size=64"),
    ("cse-train eval=null data=text data.path=/no/file.txt model.name=/no/model CACHE", "/no/model"),
    ("cse-train eval=null SMALL augmentation=none", "augmentation=none"),
    ("cse-train eval=null SMALL hydra.run.dir=/dev/null/run", "hydra.run.dir=/dev/null/run"),
    ("cse-eval checkpoint=x eval=null", "nothing is to be scored"),
    ("cse-eval checkpoint=/no/model eval=demo CACHE", "checkpoint=/no/model"),
])  # fmt: skip
def test_at_a_terminal_it_is_one_line_and_nothing_is_left(typed, tmp_path, tiny_bert, sentences, line, named):
    cache = f"paths.cache={tmp_path}/cache tracker=none"
    small = f"model.name={tiny_bert} data=text data.path={sentences} {cache}"
    assert named in typed(line.replace("SMALL", small).replace("CACHE", cache))
    assert list((tmp_path / "here").iterdir()) == []


def test_what_was_there_before_stays(typed, tmp_path):
    run = tmp_path / "here" / "run"
    run.mkdir(parents=True)
    (run / "notes.txt").write_text("mine")
    typed(f"cse-train eval=null model.name=/no/model hydra.run.dir=run paths.cache={tmp_path}/cache")
    assert [path.relative_to(run) for path in run.rglob("*")] == [Path("notes.txt")]


def test_every_synonym_means_a_setting_that_there_is():
    from cse.config.compose import valid_keys
    from cse.config.synonyms import ALWAYS, SYNONYMS

    wholes = ([], ["objective=barlow"], ["objective=declutr"], ["data=text"])
    keys = {key for words in wholes for key in valid_keys("train", words)}
    assert set(SYNONYMS.values()) - {*keys, *ALWAYS} == set()
