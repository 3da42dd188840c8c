"""--help, GROUP=? and README's table say what conf/ offers."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typed import seconds_of_children

from cse.cli.help import EVALUATE, TRAIN, answer, answered, table
from cse.config.groups import CONF_DIR, choices, first_comment, groups
from cse.errors import UserError

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("command", ["train", "evaluate", "report", "data", "doctor", "export"])
def test_a_command_begins_without_anything_heavy(command):
    heavy = "('torch', 'transformers', 'numpy')"
    code = f"import sys, cse.cli.{command}; sys.exit(','.join(name for name in {heavy} if name in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.strip() == ""


@pytest.mark.parametrize(("command", "text"), [("train", TRAIN), ("evaluate", EVALUATE)])
def test_help_names_every_choice(command, text):
    lines = answer(command, text, ["--help"])
    assert max(map(len, lines.splitlines())) <= 120
    for group in set(groups(command)) - {"paths", "trainer", "sweep"}:
        offered = lines.partition(f"  {group}=")[2].split()
        assert offered[: len(choices(group))] == choices(group)


def test_a_question_mark_says_what_each_choice_of_a_group_is():
    lines = answer("train", TRAIN, ["objective=?"])
    assert [line.split()[0] for line in lines.splitlines() if line[0] != " "] == choices("objective")
    assert "DeCLUTR (arXiv:2006.03659v1): spans of one document are alike" in lines
    assert "whitenedcse/table4" in answer("train", TRAIN, ["sweep=?"])
    assert answer("train", TRAIN, ["scale=?"]).startswith("laptop  Any table in minutes, on two cores")
    assert answer("train", TRAIN, ["objective=barlow"]) is None
    assert answer("train", TRAIN, ["data.path=what?"]) is None  # a value that ends so
    with pytest.raises(UserError, match="nonsense: no setting and no group"):
        answer("train", TRAIN, ["nonsense=?"])


def test_help_needs_no_question_mark():
    """zsh and fish look for files that match one, and find none."""
    choices_of_objective = answer("train", TRAIN, ["objective=?"])
    assert choices_of_objective == answer("train", TRAIN, ["--help", "objective"])
    assert choices_of_objective == answer("train", TRAIN, ["help", "objective"])
    assert answer("train", TRAIN, ["help"]) == answer("train", TRAIN, ["?"]) == answer("train", TRAIN, ["-h"])
    explained = answer("train", TRAIN, ["--help", "lr"])
    assert explained == answer("train", TRAIN, ["trainer.max_steps=1", "lr=?"]) == answer("train", TRAIN, ["?lr"])
    assert explained.startswith("trainer.lr=3e-5")
    assert answer("train", TRAIN, ["data.?"]) == answer("train", TRAIN, ["data=?"])


def test_an_unknown_word_is_a_mistake(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["cse-train", "--help", "temprature"])
    with pytest.raises(SystemExit) as ended:
        answered("train", TRAIN)
    assert ended.value.code == 2
    assert "did you mean temperature" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["objective=barlow.?"], ["objective=barlow", "--help"], ["-h", "objective=barlow"]])
def test_a_choices_keys_are_shown_with_their_comments(words):
    lines = answer("train", TRAIN, words)
    assert "lambd: 5e-3" in lines
    assert "no table says which was best" in lines
    assert "batch_size: 256  # Appendix A" in lines  # of a file that it includes
    assert "defaults:" not in lines
    assert "eval.mteb.KEY=VALUE" in answer("evaluate", EVALUATE, ["eval=mteb.?"])
    assert "eval_every:" in answer("train", TRAIN, ["trainer.?"])


def test_a_choice_that_a_group_does_not_have_is_a_mistake():
    with pytest.raises(UserError, match=r"objective has no choice simcsee; did you mean simcse or"):
        answer("train", TRAIN, ["--help", "objective=simcsee"])
    with pytest.raises(UserError, match=r"model has no choice qq; --help model lists them"):
        answer("train", TRAIN, ["--help", "model=qq"])


def test_several_choices_and_a_papers_table_are_explained():
    lines = answer("train", TRAIN, ["--help", "eval=[stsb,sts]"])
    assert "eval=stsb " in lines
    assert "eval=sts " in lines
    assert answer("train", TRAIN, ["--help", "sweep=whitenedcse/table4"]).startswith("whitenedcse/table4: Table 4: the")


def test_a_shell_completes_choices_and_sweeps(monkeypatch, tmp_path):
    def offered(line: str) -> list[str] | None:
        monkeypatch.setenv("COMP_LINE", line)
        words = answer("train", TRAIN, ["-sc", "query=bash"])
        return None if words is None else words.split()

    assert offered("cse-train sweep=") == [f"sweep={name}" for name in choices("sweep")]
    assert offered("cse-train seed=1 sweep=whitenedcse/table4") == ["sweep=whitenedcse/table4"]
    assert offered("cse-train objective=v") == ["objective=vicreg"]
    assert offered("cse-train -m objective=barlow,v") == ["objective=barlow,vicreg"]
    assert offered("cse-train eval=[sts,ge") == ["eval=[sts,geometry"]
    assert offered("cse-train eval=[ge") == ["eval=[geometry"]
    assert offered("cse-train trainer.l") is None  # Hydra's own
    (tmp_path / "objective").mkdir()
    (tmp_path / "objective" / "vicinal.yaml").write_text("# Mine.\n")
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    assert offered("cse-train objective=vic") == ["objective=vicinal", "objective=vicreg"]


def test_every_choice_begins_with_what_it_is():
    for group in set(groups("train")) - {"paths", "trainer"}:
        for choice in choices(group):
            assert first_comment(group, choice), f"conf/{group}/{choice}.yaml opens with no comment"


def test_every_group_is_in_the_help():
    folders = {path.name for path in Path(CONF_DIR).iterdir() if path.is_dir()}
    assert folders == {*groups("train"), "recipe"} - {"sweep"}


def test_readmes_table_is_true():
    """Every line as `make readme` writes it; a choice that was added since may be missing."""
    written = {line.split(" | ")[0]: line for line in table().splitlines()}
    rows = re.findall(r"^\| `\w+=` \|.*$", README.read_text(), re.MULTILINE)
    assert [row.split(" | ")[0] for row in rows] == list(written)[2:]
    for row in rows:
        group, what, names = row.strip("| ").split(" | ")
        assert f"{group} | {what} |" in written[f"| {group}"]
        assert set(names.split()) <= set(written[f"| {group}"].split()), f"{group}: run make readme"


def test_help_imports_nothing_slow():
    code = "import sys, cse.cli.help; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "hydra", "omegaconf", "yaml", "numpy"} & set(loaded)


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


def test_version_is_the_projects_own():
    assert answer("train", TRAIN, ["--version"]) == f"cse {version('cse-lab')}"
