"""From what one types to arguments, and back to what one types."""

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
from cse.lab.folder.status import line_to_resume
from cse.lab.run.resume import earlier_run
from cse.lab.settings.arguments import (
    RUN_ALONE,
    Argument,
    arguments_of,
    keys_of_person,
    parse_argument,
    recorded_arguments,
    shell_line,
    spell_argument,
    texts_of,
)
from cse.lab.settings.check import validate_command
from cse.lab.settings.command import normalized, read_arguments, split_flags, texts_of_settings
from cse.lab.settings.compose import composed


@pytest.mark.parametrize(
    ("argument", "meant"),
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
def test_an_argument_is_read_as_it_was_meant(argument, meant):
    assert normalized([argument]) == [meant]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("data.path=a.txt", ["data.path=a.txt"]),
        ("+seed=1 ++trainer.lr=2 +hydra.job.x=3", ["seed=1", "trainer.lr=2", "+hydra.job.x=3"]),
        ("data.path=~/x.txt", [f"data.path={Path.home()}/x.txt"]),
        ("note='first,~/x'", ["note='first,~/x'"]),
        ("data.path=~/x.txt,~/y.txt", [f"data.path={Path.home()}/x.txt,{Path.home()}/y.txt"]),
        ("data.files=[~/a,~/b]", [f"data.files=[{Path.home()}/a,{Path.home()}/b]"]),
        ("data.files=['~/a',~/b]", [f"data.files=['~/a',{Path.home()}/b]"]),
        (
            "data.sources={a:{path:~/x,files:[~/y,~/z]}}",
            [f"data.sources={{a:{{path:{Path.home()}/x,files:[{Path.home()}/y,{Path.home()}/z]}}}}"],
        ),
        ("data.sources={a:{path:'~/y'}}", ["data.sources={a:{path:'~/y'}}"]),
        ("eval=mteb eval.benchmark='MTEB(eng,v1)'", ["eval=mteb", "eval.mteb.benchmark='MTEB(eng,v1)'"]),
        ("eval=[stsb,sts] eval.x=1", ["eval=[stsb,sts]", "eval.x=1"]),
        ("experiment=null sweep= seed=1", ["seed=1"]),
        ("eval=null", ["trainer.select=null", "trainer.watch=[]", "eval=[]"]),
        ("eval=[] trainer.select=a/b", ["trainer.watch=[]", "eval=[]", "trainer.select=a/b"]),
        ("eval=[] eval=stsb", ["eval=[]", "eval=stsb"]),
        ("--trainer.lr=1e-5 --seed=2", ["trainer.lr=1e-5", "seed=2"]),
    ],
)
def test_arguments_are_read_as_hydra_has_them(typed, read):
    assert texts_of(read_arguments(normalized(typed.split()), "train")) == read
    assert texts_of(read_arguments(["eval=null"], "evaluate")) == ["eval=[]"]  # only training selects


def test_the_home_folder_is_read_behind_a_blank_too():
    (argument,) = read_arguments(["data.sources={a: {path: ~/x, columns: [~/y, ~/z]}}"], "train")
    home = Path.home()
    assert argument.parsed == {"a": {"path": f"{home}/x", "columns": [f"{home}/y", f"{home}/z"]}}


def test_arguments_and_flags():
    assert split_flags(["-m", "seed=1", "--cfg", "job", "--lr=2"]) == (["seed=1", "--lr=2"], ["-m", "--cfg", "job"])


NAMES = ["1.10", "1_000", "1e5", "true", " lead", "run (copy)", "run's", "a,b", "a[1]", "x y=z", "'q'", '"q"', "\\'",
         "a\\", "{a:1}", "range(1,3)", "glob(*)", "a\nb", "mit-ü (2)", "inf", "0x1", "#a", "a: b", "??", "$a",
         "%s", "~/x", "a b", "Methode Ä"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_text_of_python_is_taken_as_it_is(name):
    """And the line that is shown goes on with it."""
    for key in ("resume", "data.path", "label"):
        (text,) = texts_of_settings({key: name})
        (argument,) = read_arguments([text], "train")
        assert (argument.value, argument.parsed) == (name, name)
        assert shlex.split(shell_line("cse-train", text)) == ["cse-train", text]
    for folder in (name, "auto", "null"):
        _, typed = shlex.split(line_to_resume(Path(folder)))
        assert earlier_run(read_arguments([typed], "train"), "train") == ("resume", Path(folder))


@pytest.mark.parametrize("value", ["a,b", "run (copy)", "it's", "MTEB(eng, v1)", "größe", "x=y", "a[1]"])
def test_text_that_hydra_does_not_read_as_one_is_refused_with_the_argument_to_type(value):
    with pytest.raises(UserError, match="note=") as refused:
        cse.compose(f"note={value}")
    shown = str(refused.value).rpartition("; as text it is ")[2]
    (typed,) = shlex.split(shown)
    assert typed == spell_argument("note", value)
    assert cse.compose(typed).note == value


@pytest.mark.parametrize(("arguments", "typed"), [
    ("sweep=a/b seed=1 ~cases resume=auto hydra.mode=RUN trainer.lr=1 label='a,b'", ["trainer.lr", "label"]),
    ("resume=auto hydra.mode=RUN seed=1", ["seed"]),
    ("seed=1 trainer.lr=2", ["seed", "trainer.lr"]),
])  # fmt: skip
def test_who_gave_each_argument_is_known_from_what_a_run_wrote_down(arguments, typed):
    recorded = recorded_arguments(arguments.split())
    assert texts_of(recorded) == arguments.split()
    assert keys_of_person(recorded) == typed
    assert (RUN_ALONE in recorded) == ("hydra.mode" in arguments)


def test_who_gave_each_argument_of_a_job_is_known_from_its_texts():
    arguments = [
        Argument("seed=1"),
        Argument("sweep=a/b", by="sweep"),
        Argument("trainer.lr=2"),
        Argument("resume=auto", by="sweep"),
        RUN_ALONE,
    ]
    texts = texts_of(arguments)
    assert texts == ["sweep=a/b", "resume=auto", "hydra.mode=RUN", "seed=1", "trainer.lr=2"]
    assert set(arguments_of(texts)) == set(arguments)


@pytest.mark.parametrize(("written", "read"), [
    ("data.path=a,b.txt", "a,b.txt"), ("note=größe (2)", "größe (2)"), ("data.path='x,y.txt'", "x,y.txt"),
])  # fmt: skip
def test_an_argument_that_an_older_edition_wrote_without_quotes_is_read(written, read):
    (argument,) = recorded_arguments([written])
    assert (argument.key, argument.value, argument.is_axis) == (written.partition("=")[0], read, False)
    assert Argument(spell_argument(argument.key, read)) == argument


@pytest.mark.parametrize("arguments", [
    "sweep=a/b eval=null hydra.mode=RUN trainer.lr=1", "sweep=a/b eval=stsb hydra.mode=RUN trainer.lr=1 eval=[]",
])  # fmt: skip
def test_what_eval_null_turns_off_is_a_persons_in_the_record_too(arguments):
    read = read_arguments(arguments.split(), "train")
    assert keys_of_person(read) == ["trainer.select", "trainer.watch", "eval", "trainer.lr"]
    assert set(recorded_arguments(texts_of(read))) == set(read)


def test_what_a_damaged_run_wrote_is_no_argument():
    assert texts_of(recorded_arguments(["seed=1", "x", "a b=1", "~cases"])) == ["seed=1", "~cases"]


def test_a_reference_reads_what_it_names():
    assert cse.compose("note=${seed}", "seed=7").note == "7"
    with pytest.raises(UserError, match="HOME"):
        cse.compose("note=costs ${HOME}")
    assert cse.compose("note=costs $5").note == "costs $5"


def test_a_key_that_only_the_lines_choices_come_near_is_one_sentence():
    """Several keys of all choices begin so, but one of the line's."""
    with pytest.raises(UserError, match=r"^there is no key aux_m \(did you mean aux_modality\?\)$"):
        cse.compose("aux_m=1")


@pytest.mark.parametrize("argument", ["sweep", "experiment", "variant", "eval"])
def test_a_group_without_a_choice_is_refused(argument):
    with pytest.raises(UserError, match=argument):
        cse.compose(argument)


@pytest.mark.parametrize(
    "value",
    [3, 1e-5, np.float32(1e-5), True, None, "bert", "a b", "größe", "it's", "C:\\x", "a\\", "\\'", "", (1, 2),
     ["dev", "te st"], ["1_000", "1e5", "null", "nan", "größe"]],
)  # fmt: skip
def test_hydra_reads_a_keywords_value_back(value):
    (argument,) = texts_of_settings({"key": value})
    read = OverridesParser.create().parse_override(argument).value()
    assert [str(one) for one in read] == list(map(str, value)) if isinstance(value, list | tuple) else read == value


@pytest.mark.parametrize("settings", [
    {"eval.test": pd.DataFrame({"a": [1]})}, {"data.columns": np.array(["a"])},
])  # fmt: skip
def test_a_keyword_that_no_argument_can_say_is_refused(settings):
    ((key, value),) = settings.items()
    with pytest.raises(UserError, match=f"^{key}: give .* not a {type(value).__name__}"):
        texts_of_settings(settings)


def test_digits_and_switches_may_be_text_in_python():
    assert texts_of_settings({"seed": "3", "smoke": "true", "model.pooling": "null"}) == [
        "seed=3", "smoke='true'", "model.pooling=null",
    ]  # fmt: skip


@pytest.mark.parametrize(("typed", "meant"), [
    ("--model.prefix=None", "model.prefix=null"), ("++model.prefix=None", "++model.prefix=null"),
    ("note=None", "note=null"), ("experiment=None", "experiment=null"), ("hydra.run.dir=None", "hydra.run.dir=None"),
    ("--model={'prefix': None, 'name': 'a b/c', 'lora': {'r': 16}}",
     "model.prefix=null|model.name=a b/c|model.lora={r:16}"),
    ("--whitening={'kind': 'pca'}", "whitening={kind:pca}"), ("--data.columns=['a', None]", "data.columns=[a,null]"),
    ("model.lora={r:16,alpha:32}", "model.lora={r:16,alpha:32}"), ("data.path={a}", "data.path={a}"),
    ("note={{1}}", "note={{1}}"), ("note={[1]:2}", "note={[1]:2}"),
])  # fmt: skip
def test_what_an_agent_writes_of_python_is_read(typed, meant):
    assert normalized([typed]) == meant.split("|")


@pytest.mark.parametrize("text", ["None", "none", '"null"', "'~'"])
@pytest.mark.parametrize("key", ["model.prefix", "model.template", "tracker.wandb.group", "data.columns"])
def test_text_in_place_of_null_is_refused(key, text):
    with pytest.raises(UserError, match=re.escape(key)):
        validate_command(composed("train", [f"{key}={text}", "tracker=wandb"]), "train")


def test_letters_that_a_runs_files_cannot_hold_are_refused(monkeypatch):
    normalized(["note=größe"])
    with pytest.raises(UserError, match=r"l\\udcfc"):
        normalized(["data.path=l\udcfc.csv"])
    monkeypatch.setenv("CSE_CACHE", "/tmp/l\udcfc")
    with pytest.raises(UserError, match=r"l\\udcfc"):
        normalized([])
    monkeypatch.delenv("CSE_CACHE")
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    with pytest.raises(UserError, match="PYTHONUTF8=1"):
        normalized(["label=\udcc3\udc9cber"])


@pytest.mark.parametrize(
    ("argument", "values"),
    [("range(0.01,0.08,0.01)", "0.01 0.02 0.03 0.04 0.05 0.06 0.07"), ("range(1,2,0.3)", "1.0 1.3 1.6 1.9"),
     ("sort(range(0.5,0,-0.1))", "0.1 0.2 0.3 0.4 0.5"), ("range(1e-6,4e-6,1e-6)", "1e-06 2e-06 3e-06"),
     ("range(3)", "0 1 2")],
)  # fmt: skip
def test_a_range_has_the_values_that_one_types(argument, values):
    assert list(parse_argument(f"trainer.lr={argument}").sweep_string_iterator()) == values.split()
