"""--help, GROUP=?, and the pages that `make choices` writes say what conf/ offers."""

import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest
from pages import ARGUMENTS, choices_table, every_argument, every_setting, explained
from typed import PROGRAMS, exit_code

from cse.errors import UserError
from cse.lab.commands import evaluate, train
from cse.lab.commands.help import answer_question
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import CONF_DIR, choices, file_of, groups
from cse.training.signals import SIGNALS

CHOICES = Path(__file__).resolve().parents[3] / "docs" / "choices.md"


def help_of(*words: str) -> str | None:
    return answer_question(train.HELP, words, "train")


@pytest.mark.parametrize("module", [
    "cse", *(f"cse.lab.commands.{name}" for name in ("help", "train", "evaluate", "report", "data", "doctor"))
])  # fmt: skip
def test_cse_and_its_commands_import_nothing_heavy(module):
    """So that --help answers at once."""
    light = module in ("cse", "cse.lab.commands.help")
    heavy = {"torch", "transformers", "numpy"} | ({"hydra", "omegaconf", "yaml"} if light else set())
    code = f"import sys, {module}; print(*({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"


@pytest.mark.parametrize(("command", "text"), [("train", train.HELP), ("evaluate", evaluate.HELP)])
def test_help_names_every_choice(command, text):
    lines = answer_question(text, ["--help"], command)
    assert max(map(len, lines.splitlines())) <= 120
    for group in set(groups(command)) - {"paths", "trainer", "sweep"}:
        offered = lines.partition(f"  {group}=")[2].split()
        assert offered[: len(choices(group))] == choices(group)


def letters(text: str) -> Counter[str]:
    """How often each character stands in a text, without what only lays it out."""
    return Counter(re.sub(r"[#\s\\]", "", text))


@pytest.mark.parametrize("width", [60, 80])
def test_help_fits_the_terminal_and_loses_nothing(width, monkeypatch):
    asked = [["--help"], ["--help", "objective"], ["--help", "objective=barlow"], ["--help", "lr"],
             ["--help", "sweep=nonling/table3"], ["--help", "trainer"]]  # fmt: skip
    for words in asked:
        monkeypatch.delenv("COLUMNS", raising=False)
        wide = help_of(*words)
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = help_of(*words)
        assert all(len(line) <= width for line in narrow.splitlines())
        assert letters(narrow) == letters(wide)


@pytest.mark.parametrize("text", [train.HELP, evaluate.HELP])
def test_help_names_every_exit_code(text):
    codes = {0, 1, 2, *(128 + number for number in SIGNALS)}
    assert codes <= set(map(int, re.findall(r"\d+", text.partition("Exit codes")[2])))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_command_says_its_version(program, capsys):
    assert exit_code(program, "--version") == 0
    assert capsys.readouterr().out == f"cse {version('cse-lab')}\n"


def test_every_way_to_ask():
    """With a question mark, and without: zsh and fish expand question marks."""
    lines = help_of("objective=?")
    assert [line.split()[0] for line in lines.splitlines() if line[0] != " "] == choices("objective")
    assert lines == help_of("--help", "objective") == help_of("help", "objective")
    assert help_of("help") == help_of("?") == help_of("-h")
    assert help_of("--help", "lr") == help_of("trainer.max_steps=1", "lr=?") == help_of("?lr")
    assert help_of("data.?") == help_of("data=?")
    assert "whitenedcse/table4" in help_of("sweep=?")
    about = help_of("--help", "sweep=nonling/table3")
    assert about.startswith("nonling/table3: ")
    assert "case=simcse_bert,visual_bert," in about
    assert "20 jobs" in about
    assert "cse-report" in help_of("--help", "significance")
    assert help_of("--help", "objective=?") == lines
    assert help_of("objective=barlow") is help_of("data.path=what?") is None  # a value that ends so


def test_another_trainers_argument_may_have_its_dashes():
    assert help_of("--help", "--model_name_or_path") == help_of("--help", "model_name_or_path")
    assert help_of("--temp", "0.05", "-h") == help_of("--help", "temp")
    assert help_of("--help", "-m") == help_of("--help")


def test_the_words_of_one_name_need_no_quotation_marks():
    assert help_of("--help", "batch", "size") == help_of("--help", "batch size")
    assert help_of("--help", "early", "stopping") == help_of("--help", "early stopping")
    assert help_of("--help", "lr", "seed") == f"{help_of('--help', 'lr')}\n\n{help_of('--help', 'seed')}"


def test_an_example_that_is_wrapped_can_be_copied(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    lines = help_of("--help")
    assert "  cse-train objective=declutr model=distilroberta data=text \\\n      data.path=documents.txt\n" in lines
    assert all(len(line) <= 70 for line in answer_question(evaluate.HELP, ["--help"], "evaluate").splitlines())


@pytest.mark.parametrize(("asked", "named"), [
    ("nonsense", "nonsense"), ("temprature", "temperature"), ("objective=simcsee", "simcse"), ("model=qq", "model"),
])  # fmt: skip
def test_an_unknown_word_is_refused(asked, named):
    with pytest.raises(UserError, match=named):
        help_of("--help", asked)


@pytest.mark.parametrize("words", [["objective=barlow.?"], ["objective=barlow", "--help"], ["-h", "objective=barlow"]])
def test_a_choices_keys_are_shown_with_their_comments(words):
    lines = help_of(*words)
    assert "lambd: 5e-3" in lines
    assert "batch_size: 256  # Appendix A" in lines  # of a file that it includes
    assert "defaults:" not in lines
    assert "eval.mteb.KEY=VALUE" in answer_question(evaluate.HELP, ["eval=mteb.?"], "evaluate")


def test_a_choices_own_sentence_comes_first_and_the_class_of_its_head_is_shown():
    comments = re.findall(r"^# .*", help_of("--help", "objective=barlow"), re.MULTILINE)
    assert comments[0].startswith("# Barlow Twins (")
    assert re.search(r"\n  head:.*\n    _target_: cse.model.heads.MLPHead\n", help_of("--help", "objective=simcse_sup"))
    assert "cse.objective." not in help_of("--help", "objective=simcse_sup")


def test_every_group_and_choice_is_explained():
    folders = {path.name for path in Path(CONF_DIR).iterdir() if path.is_dir()}
    assert folders == {*groups("train"), "recipe"} - {"sweep"}
    for group in set(groups("train")) - {"paths", "trainer"}:
        for choice in choices(group):
            assert first_sentence(file_of(group, choice)), f"conf/{group}/{choice}.yaml opens with no comment"


def test_the_pages_table_is_what_make_choices_writes():
    """A choice that was added since may be missing."""
    written = {line.split(" | ")[0]: line for line in choices_table().splitlines()}
    rows = re.findall(r"^\| `\w+=` \|.*$", CHOICES.read_text(), re.MULTILINE)
    assert [row.split(" | ")[0] for row in rows] == list(written)[2:]
    for row in rows:
        group, what, names = row.strip("| ").split(" | ")
        assert f"{group} | {what} |" in written[f"| {group}"]
        assert set(names.split()) <= set(written[f"| {group}"].split()), f"{group}: run make choices"


@pytest.mark.parametrize("group", ["objective", "model"])
def test_the_page_of_choices_explains_each_choice(group):
    """A choice that was added since may be missing."""
    now = explained(group, CHOICES.with_name("papers")).splitlines()
    page = CHOICES.read_text(encoding="utf-8").partition(f"\n{now[0]}\n")[2].partition("\n\n")[0]
    assert set(page.splitlines()) <= set(now), "run make choices"
    assert len(page.splitlines()) > 10
    if group == "objective":
        assert all("](papers/" in row for row in now[2:])


def test_the_page_of_settings_is_conf():
    """A file that was added since may be missing."""
    parts = CHOICES.with_name("settings.md").read_text(encoding="utf-8").rstrip().split("\n\n## ")[1:]
    now = f"\n{every_setting()}".rstrip().split("\n\n## ")
    assert [part.partition("\n")[0] for part in parts if part not in now] == [], "run make choices"
    assert len(parts) > 50


@pytest.mark.parametrize(("anchor", "file"), [
    ("objective.temperature", "objective/simcse"), ("objective.mlm_weight", "objective/simcse"),
    ("objective.adnce.temperature", "objective/adnce"), ("objective.lambd", "objective/barlow"),
    ("smoke", "train"), ("dry_run", "train"), ("evaluate.dry_run", "evaluate"),
])  # fmt: skip
def test_a_link_to_a_setting_leads_to_the_default_choice_that_has_it(anchor, file):
    before, _, _ = every_setting().partition(f'<span id="{anchor}"></span>')
    assert before.rpartition("\n## ")[2].partition("\n")[0] == file


def test_each_row_of_a_setting_has_an_anchor_of_its_own():
    text = every_setting()
    anchors = re.findall(r'<span id="([^"]+)"', text)
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r'<a href="#([^"]+)"', text)) <= set(anchors)
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)).isdisjoint(anchors)  # a heading's anchor is its text


def test_the_page_of_other_trainers_is_their_table():
    page = CHOICES.with_name("coming-from.md").read_text(encoding="utf-8")
    assert page.partition(ARGUMENTS)[2] == every_argument(), "run make choices"


def test_the_settings_of_a_whole_command_before_help_are_no_topics():
    assert help_of("data=text", "eval=[]", "seed=1", "--help") == help_of("--help")
    assert help_of("data=text", "seed=1", "lr", "--help") == help_of("--help", "lr")
    assert help_of("eval=[]", "--help") == help_of("--help", "eval")
