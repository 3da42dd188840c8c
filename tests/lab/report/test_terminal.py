"""A comparison on a terminal: which columns it has, and what a narrow one does with them."""

import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_section
from cse.lab.report.any_runs.settings_table import best_cells, notes_on_settings, settings_frame, settings_section
from cse.lab.report.show.document import Best, Report
from cse.lab.report.show.terminal import show_best, show_report, show_section
from cse.lab.sections import Section


def terminal_lines(comparison, width):
    """The lines of the table on a terminal of this width."""
    out = io.StringIO()
    show_section(
        settings_section(comparison, "", 0.95), Console(file=out, width=width, force_terminal=True, no_color=True)
    )
    return [line for line in out.getvalue().splitlines() if "\x1b" not in line]


def test_of_many_keys_tables_show_those_that_tell_the_settings_apart(leave, compared):
    """settings.csv has all; a note names the others."""
    for number in range(12):
        own = {f"data.own_{number // 2}_{name}": 1.0 for name in "abc"}
        config = {"objective": f"o{number // 2}", "trainer.lr": number % 2 + 1, "trainer.warmup": 0.1 * number, **own}
        words = [f"{key}={value}" for key, value in config.items()]
        leave(f"{number:02}", {"seed": 1, **config}, {"dev/x": 70.0 + number}, overrides=words)
    found = compared()
    assert list(settings_section(found, "", 0.95).shown) == ["", "objective", "lr", "warmup", "runs", "dev/x", "folder"]
    assert not settings_section(found, "", 0.95).shown.iloc[:, 1:4].duplicated().any()
    assert len(found.keys) == 3 + 18
    assert {key.dotted for key in found.keys} <= set(settings_frame(found))
    (note,) = (note for note in notes_on_settings(found) if "own_5_c" in note)
    assert "lr" not in note.partition(":")[0]
    section = differences_section(compare_settings(found, None, 0.95))
    assert list(section.table)[:4] == ["objective", "lr", "warmup", "difference"]
    assert best_cells(found, 0.95) == []  # of one seed
    assert max(map(len, terminal_lines(found, 80))) <= 80


def test_on_a_narrow_terminal_each_folder_has_a_line_of_its_own(leave, compared):
    for number in (1, 2):
        leave(f"a_long_name_of_a_folder_{number}", {"trainer.lr": number}, {"dev/x": 70.0 + number, "test/x/y": 1.0})
    wide, narrow = (terminal_lines(compared(), width) for width in (120, 45))
    assert [line.split()[-1] for line in wide if "_folder_" in line] == [f"a_long_name_of_a_folder_{n}" for n in (2, 1)]
    assert len(narrow) == len(wide) + 2
    first = next(place for place, line in enumerate(narrow) if line.startswith("*"))
    assert "72.00" in narrow[first]
    assert narrow[first + 1].split() == ["a_long_name_of_a_folder_2"]


@pytest.mark.parametrize(
    ("name", "fits"), [("{}_microsoft_deberta_v3_finetuned", True), ("microsoft_{}_deberta_v3", False)]
)
def test_long_names_of_settings_leave_room_for_a_score_and_stay_different(leave, compared, name, fits):
    for model in ("base", "large"):
        leave(model, {"model.name": name.format(model)}, {"test/transfer/average": 70.0, "dev/x": 1.0})
    lines = terminal_lines(compared(), 40)
    assert (max(map(len, lines)) <= 40) == fits
    assert len({line.split()[-2] for line in lines if "…" in line}) == 2


@pytest.mark.parametrize(("names", "folds"), [(["a/1", "a/2"], True), (["1" + "b" * 40, "2" + "b" * 40], False)])
def test_a_long_name_of_a_score_is_folded_unless_another_would_be_the_same(leave, compared, names, folds):
    names = [f"test/{'a' * 40}{name}" for name in names]
    leave("run", {"trainer.lr": 1}, dict.fromkeys(names, 70.0))
    header = next(line for line in terminal_lines(compared(), 400) if "runs" in line)
    assert [name in header for name in names] == [not folds] * 2


@pytest.mark.parametrize(("table", "coloured"), [
    (pd.DataFrame({"case": ["a failed try", "PASS"], "verdict": ["PASS", ""]}), 1),
    (pd.DataFrame({"state": ["failed", "done"], "model": ["failed", "running"]}), 1),
    (pd.DataFrame([["PASS", "ours", "70"], ["", "verdict", "DIFFERS"]], columns=["model", "", "STS"]), 1),
])  # fmt: skip
def test_only_verdicts_and_states_are_coloured_and_no_name_that_a_user_chose(table, coloured):
    out = io.StringIO()
    show_section(Section("", table), Console(file=out, width=80, force_terminal=True, color_system="standard"))
    assert out.getvalue().count("\x1b[3") == coloured  # 31 to 35: red, green, yellow, magenta


@pytest.mark.parametrize(("is_terminal", "fits"), [(True, True), (False, False)])
def test_the_lines_on_the_best_setting_fit_into_80_columns_of_a_terminal(is_terminal, fits):
    """A pipe has a line for each fact. The setting and its score are complete in both."""
    setting = ", ".join(f"{key}=value" for key in ("objective", "augmentation", "temperature", "pooling", "layers"))
    facts = ["one fact " * 12, "another fact " * 10]
    again = {setting: "cse-train -m " + " ".join(f"objective.key_{number}=value" for number in range(9))}
    best = Best(setting, "dev/pairs/dev/spearman", "test/pairs/test/spearman", "66.25 ± 0.05 ‡", *facts, again)
    out = io.StringIO()
    show_best(best, Console(file=out, width=80, force_terminal=is_terminal, no_color=True, color_system=None))
    lines = out.getvalue().splitlines()
    assert (max(map(len, lines)) <= 80) == fits
    assert all(line.startswith("  ") for line in lines[2:])
    assert f"best by {best.by}: {setting}" in " ".join(out.getvalue().split())
    assert any("test/pairs/test/spearman 66.25 ± 0.05 ‡" in line for line in lines)


def test_the_folders_of_unfinished_runs_begin_in_one_column():
    out = io.StringIO()
    pending = [("failed", "FOLDER", "why"), ("not started", "FOLDER", "")]
    show_report(Report("t", "", [], {}, pending=pending), Path("out"), Console(file=out, width=80))
    assert len({line.index("FOLDER") for line in out.getvalue().splitlines() if "FOLDER" in line}) == 1


@pytest.mark.parametrize(("prefix", "is_said"), [("test/sts/", True), ("≈ by ", False)])
def test_a_narrow_terminal_says_once_which_path_all_scores_share(prefix, is_said):
    """The prefix of the p that decides ≈ is no path of scores."""
    columns = {f"{prefix}{name}": ["70.00"] for name in ("p (Holm)", "STS12/spearman", "STS13/spearman", "average")}
    section = Section("t", pd.DataFrame({"a": ["b"], **columns}), label_columns=1, column_prefix=prefix)
    out = io.StringIO()
    show_section(section, Console(file=out, width=40, force_terminal=True, no_color=True))
    assert (f"scores: {prefix}..." in out.getvalue()) == is_said
