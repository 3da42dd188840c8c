"""Files of the user's own in the config groups: each key is used, or refused with the file and the line."""

import subprocess
import sys

import pytest

import cse
from cse.errors import UserError
from cse.lab.run.from_arguments import cfg_of_new_run, checked_config
from cse.lab.settings import groups
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.compose import composed


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes GROUP/mine.yaml into a folder of one's own, of bytes or text."""
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, str(tmp_path))

    def write(group, content):
        file = tmp_path / group / "mine.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write


HEADED = ["trainer:\n  lr: 1e-3\n", "# mine\n# @package _global_\ntrainer:\n  lr: 1e-3\n",
          "\ufeff# @package _global_\r\ntrainer:\r\n  lr: 1e-3\r\n", "trainer:\n  lr: 1e-3\n# @package _global_\n",
          "my_lr: 1e-3\ntrainer: {lr: '${my_lr}'}\n",
          "my: {a: 1e-3, b: '${.a}'}\ntrainer: {lr: '${my.b}'}\n"]  # fmt: skip


@pytest.mark.parametrize("group", ["experiment", "variant"])
@pytest.mark.parametrize("content", HEADED)
def test_a_file_sets_keys_wherever_its_header_is(written, group, content):
    written(group, content)
    assert cse.compose(f"{group}=mine", "model=minilm").trainer.lr == 1e-3


def test_a_recipe_an_evaluator_and_a_trackers_settings_are_used(written, tmp_path):
    written("recipe", "trainer: {lr: 1e-3}\n").rename(tmp_path / "recipe" / "simcse_mpnet.yaml")
    assert cse.compose("model=mpnet").trainer.lr == 1e-3
    part = "_target_: cse.eval.sts.Stsb\nwith_sickr: false\nsenteval: null\nallow_partial: true\nwidths: []\n"
    for content in (part, "mine:\n  " + part.strip().replace("\n", "\n  ")):
        written("eval", content)
        assert list(cse.compose("eval=mine", "trainer.select=null").eval) == ["mine"]
    written("tracker", "defaults: [wandb]\nwandb: {project: my}\n")
    assert cse.compose("tracker=mine").tracker.wandb.project == "my"


@pytest.mark.parametrize(("content", "told"), [
    ("triner:\n  lr: 1e-3\n", ":1|triner"), ("trainer:\nlr: 1e-3\n", ":2|lr=0.001"),
    ("trainer:\n  lrr: 1e-3\n", ":2|trainer.lrr"), ("trainer:\n  lr: fast\n", ":2|trainer.lr=fast"),
    ("# @package global\ntrainer: {lr: 1}\n", "|global"), ("trainer.lr: 1e-3\n", ":1|trainer: {lr: VALUE}"),
    ("model: minilm\n", ":1|- override /model: minilm"), ("eval: [sts]\n", ":1|- override /eval: [sts]"),
    ("defaults:\n  - model: minilm\n", ":1|- override /model: minilm"), ("defaults: minilm\n", ":1|- minilm"),
    ("defaults:\n  - optional objective: barlow\n", ":1|- override /objective: barlow"),
    ("defaults:\n  - optional /objective: barlow\n", ":1|- override /objective: barlow"),
    ("defaults:\n  - optional recipe/augmentation: mine\n", ":1|- override /recipe/augmentation: mine"),
    ("defaults:\n  - override /hydra/launcher: submitit_slurm\n", ":1|hydra/launcher"),
    ("defaults:\n  - 1: minilm\n", ":1|- 1: minilm"), ("defaults:\n  - 1\n", ":1|- 1"),
    ("defaults:\n  - override /model: 0\n", ":1|model: 0"),
    ("hydra: {sweeper: {params: {seed: '1,2'}}}\n", ":1|hydra.sweeper.params.seed"),
    ("hydra: {job: {chdir: true}}\n", ":1|hydra.job.chdir"), ("jobs: {parallel: 2}\n", ":1|jobs.parallel"),
    ("seed: 1\ndry_run: true\n", ":2|dry_run"), ("rerun: x\n", ":1|rerun"), ("- a\n", "|is a list"),
    ("hello\n", "|hello"), ("paths: {sentval: /x}\n", ":1|paths.sentval"), ("eval: {stbs: {widths: [3]}}\n", ":1|stbs"),
    ("tracker: {wandb: {projct: x}}\n", ":1|projct"), ("model: {prefix: None}\n", ":1|model.prefix=None"),
    ("on: 1\n", "|True"), ("whitening: {kind: pca}\n", ":1|whitening"),
    ("aux_modality: {weight: 1}\n", ":1|aux_modality"), ("choices: {model: minilm}\n", ":1|choices"),
    ("my: {lr: 1e-3, wd: 1}\ntrainer: {lr: '${my.lr}'}\n", ":1|my.wd"),
    ("trainer:\n\tlr: 1\n", "\", line 2|\\t"), ("seed: 1\nseed: 2\n", "\", line 2|duplicate key"),
    (b"# M\nnote: M\xfcller\n", ":2|UTF-8"), ("seed: 1\n".encode("utf-16"), ":1|UTF-8"),
])  # fmt: skip
def test_what_nothing_reads_is_refused_with_its_file(written, content, told):
    file = written("experiment", content)
    line, _, words = told.partition("|")
    with pytest.raises(UserError) as refused:
        cse.compose("experiment=mine")
    assert f"{file}{line}" in str(refused.value)
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_typed_mistake_is_not_blamed_on_the_file(written):
    file = written("experiment", "trainer: {lr: 1e-3}\n")
    with pytest.raises(UserError) as refused:
        cse.compose("experiment=mine", "trainer.lr=-1")
    assert str(file) not in str(refused.value)


def test_an_empty_file_and_the_folder_of_a_run_are_no_mistake(written):
    for content in ("", "# nothing yet\n", "hydra: {run: {dir: out/mine}}\n", "data: {preview: 2}\n"):
        written("experiment", content)
        cse.compose("experiment=mine")


def test_a_value_that_a_later_file_replaces_is_told(written):
    file = written("trainer", "defaults: [default]\nlr: 1e-3\n")  # simcse's own comes later
    config = composed("train", ["trainer=mine", "trainer.eps=1e-7"])
    config = cfg_of_new_run(config, "train", [Argument("trainer=mine"), Argument("trainer.eps=1e-7")])
    (told,) = [one for one in config.sources if one.startswith("but ")]
    assert "trainer.lr=3e-05" in told
    assert f"not 0.001 ({file}:2)" in told


def test_a_value_that_its_part_takes_in_another_form_is_not_replaced(written):
    written("trainer", "defaults: [default]\nclip: 1\nwatch: geometry\nbetas: [0, 0.9]\nno_decay: [bias]\n")
    words = [Argument("trainer=mine"), Argument("trainer.lr=1")]
    config = cfg_of_new_run(checked_config(composed("train", texts_of(words)), "train"), "train", words)
    assert (config.trainer.clip, list(config.trainer.watch)) == (1.0, ["geometry"])
    assert [one for one in config.sources if one.startswith("but ")] == []


@pytest.mark.parametrize(("group", "content", "words"), [
    ("data", "defaults: [mixture]\nsources:\n  a: {path: a.txt}\n  b: {path: b.csv, scores: s, objective: OWN}\n",
     ["trainer.no_duplicates=false"]),
    ("experiment", "paths: {cache: ~/c}\n", []), ("experiment", "trainer: {select: stsb}\n", []),
])  # fmt: skip
@pytest.mark.parametrize("objective", ["cosent", "{choice: cosent, temperature: 0.1}"])
def test_a_value_that_cse_completes_is_not_replaced(written, group, content, words, objective):
    written(group, content.replace("OWN", objective))
    arguments = [Argument(f"{group}=mine"), *map(Argument, words)]
    config = cfg_of_new_run(checked_config(composed("train", texts_of(arguments)), "train"), "train", arguments)
    assert [note for note in config.sources if note.startswith("but ")] == []


def test_other_programs_that_use_hydra_are_left_alone(tmp_path):
    (tmp_path / "own" / "model").mkdir(parents=True)
    (tmp_path / "app.py").write_text(
        "import hydra\n@hydra.main(version_base='1.3', config_path=None)\ndef main(config): ...\nmain()\n"
    )
    seen = subprocess.run(
        [sys.executable, "app.py", "--info", "searchpath"],
        cwd=tmp_path, env={"CSE_CONF": str(tmp_path / "own"), "PATH": ""}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "own" not in seen.stdout.replace(str(tmp_path), "")
    told = subprocess.run(
        [sys.executable, "app.py", "hydra/sweeper=smac"],
        cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Could not find 'hydra/sweeper/smac'" in told.stderr
