"""What a person types, as Hydra reads it."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from cse.config.spelling import spell, spell_settings, strip_dashes


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--trainer.lr=1e-05", "trainer.lr=1e-05"),
        ("--objective=simcse", "objective=simcse"),
        ("--cfg=job", "--cfg=job"),
        ("--config-dir=own", "--config-dir=own"),
        ("--multirun", "--multirun"),
        ("trainer.lr=1", "trainer.lr=1"),
        ("data.path=--x=1", "data.path=--x=1"),
    ],
)
def test_dashes_before_a_setting_mean_nothing(word, meant):
    assert strip_dashes([word]) == [meant]


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("-m seed=1 --cfg job lr=2", ["seed=1", "lr=2", "-m", "--cfg", "job"]),
        ("data.path=mit-ü=1.txt", ['data.path="mit-ü=1.txt"']),
        ("data.path=a.txt", ["data.path=a.txt"]),
        ("eval=[ü]", ["eval=[ü]"]),
        ("data.path=~/x.txt", [f"data.path={Path.home()}/x.txt"]),
        ("eval=mteb eval.benchmark=MTEB(eng,v1)", ["eval=mteb", "eval.mteb.benchmark='MTEB(eng,v1)'"]),
        ("eval=[stsb,sts] eval.x=1", ["eval=[stsb,sts]", "eval.x=1"]),
        ("experiment=null sweep= seed=1", ["seed=1"]),
        ("eval=null", ["trainer.select=null", "trainer.watch=[]", "eval=[]"]),
        ("eval=[] trainer.select=a/b", ["trainer.watch=[]", "eval=[]", "trainer.select=a/b"]),
        ("eval=[] eval=stsb", ["eval=[]", "eval=stsb"]),
    ],
)
def test_what_is_typed_is_read_as_it_is_meant(typed, spelled):
    assert spell(typed.split(), "train") == spelled
    assert spell(["seed=1 trainer.lr=1"], "train") == ["seed=1 trainer.lr=1"]  # no text, but two settings
    assert spell(["eval=null"], "evaluate") == ["eval=[]"]  # only training selects


@pytest.mark.parametrize(
    "value", [3, 1e-5, True, None, "bert", "a b", "it's", "C:\\x", "a\\", "\\'", ["dev", "te st"], (1, 2), ""]
)
def test_a_keyword_comes_back_as_it_was(value):
    (word,) = spell_settings({"key": value})
    read = OverridesParser.create().parse_override(word).value()
    assert [str(one) for one in read] == list(map(str, value)) if isinstance(value, list | tuple) else read == value
