"""--help, GROUP=? and the table of docs/choices.md say what conf/ offers."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typed import seconds_of_children

from cse.cli.help import EVALUATE, TRAIN, answer, table
from cse.config.groups import CONF_DIR, choices, first_comment, groups
from cse.errors import UserError

CHOICES = Path(__file__).resolve().parents[2] / "docs" / "choices.md"


def help_of(*words: str) -> str | None:
    return answer("train", TRAIN, words)


@pytest.mark.parametrize("command", ["train", "evaluate", "report", "data", "doctor", "export", "help"])
def test_a_command_begins_without_anything_heavy(command):
    """--help answers at once."""
    heavy = {"torch", "transformers", "numpy"} | ({"hydra", "omegaconf", "yaml"} if command == "help" else set())
    code = f"import sys, cse.cli.{command}; print(*({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"


@pytest.mark.parametrize(("command", "text"), [("train", TRAIN), ("evaluate", EVALUATE)])
def test_help_names_every_choice(command, text):
    lines = answer(command, text, ["--help"])
    assert max(map(len, lines.splitlines())) <= 120
    for group in set(groups(command)) - {"paths", "trainer", "sweep"}:
        offered = lines.partition(f"  {group}=")[2].split()
        assert offered[: len(choices(group))] == choices(group)


def test_every_way_to_ask():
    """A question mark, and words without one: zsh and fish look for files that match one, and find none."""
    lines = help_of("objective=?")
    assert [line.split()[0] for line in lines.splitlines() if line[0] != " "] == choices("objective")
    assert lines == help_of("--help", "objective") == help_of("help", "objective")
    assert help_of("help") == help_of("?") == help_of("-h")
    explained = help_of("--help", "lr")
    assert explained == help_of("trainer.max_steps=1", "lr=?") == help_of("?lr")
    assert explained.startswith("trainer.lr=3e-5")
    assert help_of("data.?") == help_of("data=?")
    assert "whitenedcse/table4" in help_of("sweep=?")
    assert help_of("--help", "sweep=whitenedcse/table4").startswith("whitenedcse/table4: Table 4: the")
    assert help_of("--version") == f"cse {version('cse-lab')}"
    for word, answered in (
        ("significance", "cse-report"),
        ("repeat", "seed=1,2"),
        ("rerun", "again"),
        ("license", "list"),
    ):
        assert answered in help_of("--help", word)
    assert help_of("objective=barlow") is None
    assert help_of("data.path=what?") is None  # a value that ends so


@pytest.mark.parametrize(("asked", "named"), [
    ("nonsense", "nonsense"), ("temprature", "temperature"), ("objective=simcsee", "simcse"), ("model=qq", "model"),
])  # fmt: skip
def test_an_unknown_word_is_a_mistake(asked, named):
    with pytest.raises(UserError, match=named):
        help_of("--help", asked)


@pytest.mark.parametrize("words", [["objective=barlow.?"], ["objective=barlow", "--help"], ["-h", "objective=barlow"]])
def test_a_choices_keys_are_shown_with_their_comments(words):
    lines = help_of(*words)
    assert "lambd: 5e-3" in lines
    assert "no table says which was best" in lines
    assert "batch_size: 256  # Appendix A" in lines  # of a file that it includes
    assert "defaults:" not in lines
    assert "eval.mteb.KEY=VALUE" in answer("evaluate", EVALUATE, ["eval=mteb.?"])
    assert "eval_every:" in help_of("trainer.?")
    assert "eval=sts " in help_of("--help", "eval=[stsb,sts]")


def test_every_choice_begins_with_what_it_is():
    for group in set(groups("train")) - {"paths", "trainer"}:
        for choice in choices(group):
            assert first_comment(group, choice), f"conf/{group}/{choice}.yaml opens with no comment"


def test_every_group_is_in_the_help():
    folders = {path.name for path in Path(CONF_DIR).iterdir() if path.is_dir()}
    assert folders == {*groups("train"), "recipe"} - {"sweep"}


def test_the_pages_table_is_true():
    """Every line as `make choices` writes it; a choice that was added since may be missing."""
    written = {line.split(" | ")[0]: line for line in table().splitlines()}
    rows = re.findall(r"^\| `\w+=` \|.*$", CHOICES.read_text(), re.MULTILINE)
    assert [row.split(" | ")[0] for row in rows] == list(written)[2:]
    for row in rows:
        group, what, names = row.strip("| ").split(" | ")
        assert f"{group} | {what} |" in written[f"| {group}"]
        assert set(names.split()) <= set(written[f"| {group}"].split()), f"{group}: run make choices"


@pytest.mark.nightly
def test_help_is_quick():
    times = []
    for _ in range(3):
        before = seconds_of_children()
        command = [Path(sys.executable).parent / "cse-train", "--help"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        times.append(seconds_of_children() - before)
    assert "objective=barlow" in out
    assert min(times) < 1.5
