"""A mistake is one line on stderr and exit code 2, and leaves the folder that it was typed in as it was."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typed import exit_code

from cse.cli import cleanup
from cse.config.compose import quoted
from cse.config.words import unread


@pytest.fixture
def typed(monkeypatch, tmp_path, capsys) -> Callable[[str], str]:
    """Runs a line in an empty folder; returns the one line that it says after the command's name."""

    def run(line: str) -> str:
        place = tmp_path / "here"
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        command, *words = line.split()
        code = exit_code(command, *words)
        said = capsys.readouterr().err.strip()
        assert code == 2, said
        assert len(said.splitlines()) == 1, said
        return said.removeprefix(f"{command}: ")

    return run


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cse-train trainer.lr=nan trainer.batch_size=0", "trainer.batch_size=0: must be a whole number of"),
        ("cse-train smoke=maybe dry_run=yes", "smoke=maybe: must be yes or no"),
        ("cse-train recipe=simcse_brt", "recipe=simcse_brt is not a choice; did you mean simcse_bert?"),
        ("cse-train trainer.learning_rate=1e-5", "there is no key trainer.learning_rate; did you mean trainer.lr?"),
        ("cse-train num_epochs=3", "there is no key num_epochs; did you mean trainer.epochs?"),
        ("cse-train objective.tau=1", "there is no key objective.tau; did you mean objective.temperature?"),
        ("cse-train warmup_ratio=0.1", "there is no key warmup_ratio; did you mean trainer.warmup (updates)?"),
        ("cse-train data.path=x.txt", "there is no key data.path; it belongs to data=text"),
        ("cse-train objective=barlow temperature=1", "there is no key temperature; objective.temperature belongs to"),
        ("cse-train --learning_rate 1", "unrecognized arguments: --learning_rate; a setting is KEY=VALUE; did you"),
        ("cse-train --clipp 1", "unrecognized arguments: --clipp; a setting is KEY=VALUE; did you mean trainer.clip=."),
        ("cse-train objective=“simcse”", "objective=“simcse” is not a choice; did you mean simcse?"),
        ("cse-train trainer.lr=3e−5", "trainer.lr=3e−5: must be a number above 0"),
        ("cse-train eval=null SMALL data.path=täxt/a=b.txt", "data.path=täxt/a=b.txt: there is no such file"),
        ("cse-train trainer.lr=64,", "trainer.lr=64,: the value cannot be read; a list is KEY=[A,B], text is 'trainer"),
        ("cse-train data.path=a,b.txt", "data.path=a,b.txt: several values; a list is KEY=[A,B], a run for each"),
        ("cse-train trainer.lr=0,1", "trainer.lr=0,1: several values; a list is KEY=[A,B], a run for each value is -m"),
        ("cse-train data.columns=[a, b]", "data.columns=[a,: a bracket is left open; where a list has blanks, quote"),
        ("cse-train objective = barlow", "=: there is no key in it; a setting is KEY=VALUE, without blanks"),
        ("cse-train barlow", "barlow: a setting is KEY=VALUE, without blanks; did you mean objective=barlow?"),
        ("cse-train lr", "lr: a setting is KEY=VALUE, without blanks; did you mean trainer.lr=...?"),
        ("cse-train learning_rate", "learning_rate: a setting is KEY=VALUE, without blanks; did you mean trainer.lr="),
        ("cse-train /dev/null", "/dev/null: a setting is KEY=VALUE, without blanks; did you mean data=text data.path="),
        ("cse-eval /dev/null", "/dev/null: a setting is KEY=VALUE, without blanks; did you mean checkpoint=/dev/null?"),
        ("cse-train model=bert-base-cased", "model=bert-base-cased is not a choice; any encoder of the hub, or a"),
        ("cse-train data=a.txt", "data=a.txt is not a choice; a file of yours, or a hub dataset, is data=text"),
        ("cse-train hydra/launcher=slurm", "hydra/launcher=slurm is not a choice; the choices: basic, joblib"),
        ("cse-train sweep=table4", "sweep=table4 is not a choice; did you mean noncontrastive/table4 or nonling"),
        ("cse-report sweep=table4", "sweep=table4 is not a sweep; did you mean noncontrastive/table4 or nonling"),
        ("cse-train model=null", "model=null is not a choice; the choices: bert"),
        ("cse-train eval.stsb.nokey=1", "there is no key eval.stsb.nokey"),
        ("cse-train trainer.lr=${nokey}", "Interpolation key 'nokey' not found"),
        ("cse-train data=text data.path=${oc.env:NO_SUCH}", "data.path: the environment variable NO_SUCH is not set"),
        ("cse-train data=text", "data.path is not set: say data.path=..."),
        ("cse-train trainer.lr=", "trainer.lr=: must be a number above 0"),
        ("cse-train -m seed=-2,-3", "seed=-2: must be a whole number from 0 to 4294967295"),
        ("cse-train -m trainer.lr=nan seed=1,2", "trainer.lr=nan: must be a number above 0"),
        ("cse-train sweep=whitenedcse/table4 trainer.lr=nan", "trainer.lr=nan: must be a number above 0"),
        ("cse-train sweep=whitenedcse/table4 smoke=maybe", "smoke=maybe: must be yes or no"),
        ("cse-train sweep=whitenedcse/table4 dry_run=maybe", "dry_run=maybe: must be yes or no"),
        ("cse-train sweep=whitenedcse/table4 jobs.parallel=0", "jobs.parallel=0: must be a whole number of at least 1"),
        ("cse-train eval=null trainer.devices=3", "trainer.batch_size=64 cannot be shared evenly among 3 processes"),
        ("cse-train eval=null data=text data.path=/no/file.txt model.name=/no/model", "model.name=/no/model"),
        ("cse-train eval=null trainer.select=dev/stsb/spearman SMALL", "trainer.select=dev/stsb/spearman: no"),
        ("cse-train -m seed=1,2 --cfg job", "--cfg shows one run: leave out -m"),
        ("cse-train eval=null SMALL augmentation=none", "augmentation=none makes each view from a column of its own"),
        ("cse-train eval=null SMALL objective=barlow trainer.batch_size=1 objective.head.out=8", "trainer.batch"),
        ("cse-train eval=null SMALL objective=vicreg trainer.batch_size=1 objective.head.out=8", "trainer.batch"),
        ("cse-eval checkpoint=x eval=null", "nothing is to be scored"),
        ("cse-eval checkpoint=x eval=[]", "nothing is to be scored"),
        ("cse-eval checkpoint=/no/model eval=demo", "checkpoint=/no/model: there is no such folder"),
        ("cse-eval checkpoint=x allow_partial=perhaps batch_size=0", "batch_size=0: must be a whole number of"),
    ],
)  # fmt: skip
def test_one_line_and_nothing_left(typed, tmp_path, tiny_bert, sentences, line, told):
    small = f"model.name={tiny_bert} data=text data.path={sentences} paths.cache={tmp_path}/cache tracker=none"
    assert typed(line.replace("SMALL", small)).startswith(told)
    assert list((tmp_path / "here").iterdir()) == []


def test_a_line_in_one_pair_of_quotes_is_told_apart_from_a_value_with_blanks():
    assert unread("seed=1 trainer.lr=1", "train").startswith("seed=1 trainer.lr=1: several settings in one word")
    assert quoted(["seed=1 trainer.lr=1", "data.path=mit leer/ü=1.txt", "data.path=a.txt", "eval=[ü]", "-m"]) == [
        "seed=1 trainer.lr=1",
        'data.path="mit leer/ü=1.txt"',
        "data.path=a.txt",
        "eval=[ü]",
        "-m",
    ]


def test_a_folder_of_runs_is_told_its_newest(typed, tmp_path):
    for number, name in enumerate(("early", "late", "middle")):
        folder = tmp_path / "here" / "outputs" / "day" / name / ".hydra"
        folder.mkdir(parents=True)
        os.utime(folder, (number % 2, number % 2))
    assert typed("cse-train resume=outputs").endswith("; the newest run in it is outputs/day/late")
    assert typed("cse-eval checkpoint=outputs/day eval=demo").endswith("; the newest run in it is outputs/day/late")


def test_what_was_there_before_stays(typed, tmp_path):
    run = tmp_path / "here" / "run"
    (run / ".hydra").mkdir(parents=True)
    (run / ".hydra" / "overrides.yaml").write_text("- seed=1\n")
    (run / "notes.txt").write_text("mine")
    typed("cse-train eval=null model.name=/no/model hydra.run.dir=run")
    held = {path.relative_to(run): path.read_text() for path in run.rglob("*") if path.is_file()}
    assert held == {Path(".hydra/overrides.yaml"): "- seed=1\n", Path("notes.txt"): "mine"}


def test_no_evaluation_trains_and_scores_nothing(cse_train, small_run, tmp_path):
    """eval=null needs no trainer.select=null beside it, and the words for truth are read. Nothing is said of scores."""
    quiet = [word for word in small_run if not word.startswith(("eval=", "trainer.select=", "trainer.watch="))]
    assert cse_train([*quiet, "eval=null", "smoke=no", "dry_run=off", "trainer.max_steps=1"]) == 0
    assert (tmp_path / "run" / "best" / "config.json").is_file()
    said = (tmp_path / "run" / "train.log").read_text()
    assert "objective  simcse, augmentation dropout" in said
    assert "last step  1 of 1" in said
    assert not [word for word in ("overlap", "before", "best step") if word in said]


def test_every_synonym_means_a_setting_that_there_is():
    from cse.config.compose import valid_keys
    from cse.config.synonyms import ALWAYS, SYNONYMS

    wholes = ([], ["objective=barlow"], ["objective=declutr"], ["data=text"])
    keys = {key for words in wholes for key in valid_keys("train", words)}
    assert set(SYNONYMS.values()) - {*keys, *ALWAYS} == set()


def test_what_only_hydra_reads_is_not_suggested(typed):
    told = typed("cse-train data=openwebtext data.rows.allow_partial=true")
    assert told.startswith("there is no key data.rows.allow_partial")
    assert "_partial_" not in told


@pytest.mark.parametrize("number", [errno.ENOTEMPTY, errno.ENOENT])
def test_a_command_that_begins_or_ends_beside_a_mistake_is_in_nobodys_way(tmp_path, monkeypatch, number):
    """Two lines at the same time share outputs/DATE: one puts its run there, or removes it, while the other cleans."""

    def meanwhile(folder):
        raise OSError(number, os.strerror(number), str(folder))

    before = cleanup.snapshot([str(tmp_path / "outputs")])
    (tmp_path / "outputs").mkdir()
    monkeypatch.setattr(Path, "rmdir", meanwhile)
    cleanup.remove_empty([tmp_path / "outputs"], before)
