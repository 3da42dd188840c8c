"""From what one types to what Hydra reads."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

import cse
from cse.errors import UserError
from cse.lab.run.resume import started_from
from cse.lab.settings.check import validate
from cse.lab.settings.compose import composed
from cse.lab.settings.spelling import (
    ONE_OF_MANY,
    as_meant,
    line_to_resume,
    overrides_of,
    quote_path,
    spell,
    spell_settings,
    typed,
)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--trainer.lr=1e-05", "trainer.lr=1e-05"),
        ("--objective=simcse", "objective=simcse"),
        ("--cfg=job", "--cfg=job"),
        ("--config-dir=own", "--config-dir=own"),
        ("--multirun", "--multirun"),
        ("hydra.launcher=basic", "hydra/launcher=basic"),
        ("trainer.lr=1", "trainer.lr=1"),
        ("data.path=--x=1", "data.path=--x=1"),
    ],
)
def test_a_word_is_read_as_it_was_meant(word, meant):
    assert as_meant([word]) == [meant]


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("-m seed=1 --cfg job lr=2", ["seed=1", "lr=2", "-m", "--cfg", "job"]),
        ("data.path=mit-ü=1.txt", ["data.path='mit-ü=1.txt'"]),
        ("data.path=a.txt", ["data.path=a.txt"]),
        ("data.path=null paths.images=a,b", ["data.path=null", "paths.images='a,b'"]),
        ("-m data.path=1.10,b hydra.sweep.dir=a,b", ["data.path='1.10',b", "hydra.sweep.dir='a,b'", "-m"]),
        ("-m note=tuned,twice label=a,b", ["note='tuned,twice'", "label='a,b'", "-m"]),
        ("eval=[ü]", ["eval=[ü]"]),
        ("sweep experiment variant eval", ["sweep", "experiment", "variant", "eval"]),
        ("+seed=1 ++trainer.lr=2 +hydra.job.x=3", ["seed=1", "trainer.lr=2", "+hydra.job.x=3"]),
        ("data.path=~/x.txt", [f"data.path={Path.home()}/x.txt"]),
        ("eval=mteb eval.benchmark=MTEB(eng,v1)", ["eval=mteb", "eval.mteb.benchmark='MTEB(eng,v1)'"]),
        ("eval=[stsb,sts] eval.x=1", ["eval=[stsb,sts]", "eval.x=1"]),
        ("experiment=null sweep= seed=1", ["seed=1"]),
        ("eval=null", ["trainer.select=null", "trainer.watch=[]", "eval=[]"]),
        ("eval=[] trainer.select=a/b", ["trainer.watch=[]", "eval=[]", "trainer.select=a/b"]),
        ("eval=[] eval=stsb", ["eval=[]", "eval=stsb"]),
    ],
)
def test_words_are_spelled_for_hydra(typed, spelled):
    assert spell(typed.split(), "train", many="-m" in typed) == spelled
    assert spell(["seed=1 trainer.lr=1"], "train") == ["seed=1 trainer.lr=1"]  # no text, but two settings
    assert spell(["eval=null"], "evaluate") == ["eval=[]"]  # only training selects


NAMES = ["1.10", "1_000", "1e5", "true", " lead", "run (copy)", "run's", "a,b", "a[1]", "x y=z", "'q'", '"q"', "\\'",
         "a\\", "{a:1}", "range(1,3)", "glob(*)", "a\nb", "mit-ü (2)", "inf", "0x1", "#a", "a: b", "??", "$a",
         "%s"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_taken_as_it_is_typed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key in ("resume", "hydra.run.dir", "data.path", "paths.images", "checkpoint"):
        (word,) = spell([f"{key}={name}"], "train")
        assert OverridesParser.create().parse_override(word).value() == name
        assert typed(word) == f"{key}={name}"
        assert spell([ONE_OF_MANY, word], "train") == [ONE_OF_MANY, word]  # of a job, which is spelled already
        assert spell(spell_settings({key: name}), "train") == [word]
    assert started_from(spell([f"resume={name}"], "train")) == ("resume", Path(name))
    for folder in (name, "auto", "null", "~/x"):  # and the line that is shown goes on with it
        _, word = shlex.split(line_to_resume(Path(folder)))
        assert started_from(spell([word], "train")) == ("resume", Path(folder))


def test_a_path_of_the_only_evaluator_is_one_as_a_keyword_too():
    for given in (spell_settings({"eval": "pairs", "eval.test": "my test.csv"}),
                  spell_settings({"eval": ["pairs"], "eval.test": "my test.csv"}),
                  ["eval=pairs", *spell_settings({"eval.test": "my test.csv"}, ["eval=pairs"])]):  # fmt: skip
        assert OverridesParser.create().parse_override(spell(given, "evaluate")[1]).value() == "my test.csv"


def test_a_path_is_not_interpolated():
    with pytest.raises(UserError, match=r"data\.path"):
        spell(["data.path=${paths.cache}/x"], "train")
    assert spell(["hydra.run.dir=null"], "train") == ["hydra.run.dir='null'"]


@pytest.mark.parametrize(
    "value",
    [3, 1e-5, np.float32(1e-5), True, None, "bert", "a b", "größe", "it's", "C:\\x", "a\\", "\\'", "", (1, 2),
     ["dev", "te st"], ["1_000", "1e5", "null", "nan", "größe"]],
)  # fmt: skip
def test_hydra_reads_a_keywords_value_back(value):
    (word,) = spell_settings({"key": value})
    read = OverridesParser.create().parse_override(word).value()
    assert [str(one) for one in read] == list(map(str, value)) if isinstance(value, list | tuple) else read == value


@pytest.mark.parametrize("settings", [
    {"data.path": ["a.txt", "b.txt"]}, {"eval.test": pd.DataFrame({"a": [1]})}, {"data.columns": np.array(["a"])},
])  # fmt: skip
def test_a_keyword_that_no_word_can_say_is_refused(settings):
    ((key, value),) = settings.items()
    with pytest.raises(UserError, match=f"^{key}: give .* not a {type(value).__name__}"):
        spell_settings(settings)


def test_digits_and_switches_may_be_text_in_python():
    assert spell_settings({"seed": "3", "smoke": "true", "model.pooling": "null"}) == [
        "seed=3", "smoke=true", "model.pooling=null",
    ]  # fmt: skip


@pytest.mark.parametrize(("typed", "meant"), [
    ("--model.prefix=None", "model.prefix=null"), ("++model.prefix=None", "++model.prefix=null"),
    ("note=None", "note=null"), ("experiment=None", "experiment=null"), ("hydra.run.dir=None", "hydra.run.dir=None"),
    ("--model={'prefix': None, 'name': 'a b/c', 'lora': {'r': 16}}",
     "model.prefix=null|model.name=a b/c|model.lora={r:16}"),
    ("--whitening={'kind': 'pca'}", "whitening={kind:pca}"), ("--data.columns=['a', None]", "data.columns=[a,null]"),
    ("model.lora={r:16,alpha:32}", "model.lora={r:16,alpha:32}"), ("data.path={a}", "data.path={a}"),
])  # fmt: skip
def test_what_an_agent_writes_of_python_is_read(typed, meant):
    assert as_meant([typed]) == meant.split("|")


@pytest.mark.parametrize("text", ["None", "none", '"null"', "~"])
@pytest.mark.parametrize("key", ["model.prefix", "model.template", "tracker.wandb.group", "data.columns"])
def test_text_in_place_of_null_is_refused(key, text):
    words = spell([f"{key}={text}", "tracker=wandb"], "train")
    with pytest.raises(UserError, match=re.escape(key)):
        validate(composed("train", words), "train")


def test_letters_that_a_runs_files_cannot_hold_are_refused(monkeypatch):
    as_meant(["note=größe"])
    with pytest.raises(UserError, match=r"l\\udcfc"):
        as_meant(["data.path=l\udcfc.csv"])
    monkeypatch.setenv("CSE_CACHE", "/tmp/l\udcfc")
    with pytest.raises(UserError, match=r"l\\udcfc"):
        as_meant([])
    monkeypatch.delenv("CSE_CACHE")
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    with pytest.raises(UserError, match="PYTHONUTF8=1"):
        as_meant(["label=\udcc3\udc9cber"])


def test_a_reference_in_a_sentence_is_no_path():
    with pytest.raises(UserError, match="note=") as refused:
        spell(["note=costs ${HOME}"], "train")
    assert "path" not in str(refused.value)
    assert cse.compose("note=costs $5").note == "costs $5"


@pytest.mark.parametrize(
    ("word", "values"),
    [("range(0.01,0.08,0.01)", "0.01 0.02 0.03 0.04 0.05 0.06 0.07"), ("range(1,2,0.3)", "1.0 1.3 1.6 1.9"),
     ("sort(range(0.5,0,-0.1))", "0.1 0.2 0.3 0.4 0.5"), ("range(1e-6,4e-6,1e-6)", "1e-06 2e-06 3e-06"),
     ("range(3)", "0 1 2")],
)  # fmt: skip
def test_a_range_has_the_values_that_one_types(word, values):
    (override,) = overrides_of([f"trainer.lr={word}"])
    assert list(override.sweep_string_iterator()) == values.split()


@pytest.mark.parametrize(
    ("typed_value", "read"),
    [("a.txt,b.txt", "a.txt,b.txt"), ("'x,y.txt'", "'x,y.txt'"), ("'x,y.txt',b.txt", "'x,y.txt',b.txt"),
     ("it's,b", r"'it\'s',b"), ('"x,y z"', "'x,y z'")],
)  # fmt: skip
def test_on_a_line_of_many_a_path_in_quotes_may_have_a_comma(typed_value, read):
    assert quote_path(f"data.path={typed_value}", many=True) == f"data.path={read}"
