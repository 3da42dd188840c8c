"""The same table on the terminal, as Markdown, CSV, LaTeX and HTML."""

import csv
import io
import re

import pandas as pd
import pytest

from cse import columns
from cse.record.runs import Run
from cse.report import layout, page
from cse.report.cells import Cell
from cse.report.published import Published
from cse.report.statistics import Value
from cse.report.table import Table
from cse.report.verdicts import COLUMNS


@pytest.fixture
def run(tmp_path):
    typed = ("data.path=<b>", "~cases", "hydra.mode=RUN", "resume=auto")
    return Run(tmp_path / "a", "done", {"trainer": {}}, {}, {}, {"seed": 1}, overrides=typed)


@pytest.fixture
def narrow(run):
    cell = Cell(
        "A & B_1", "Avg.", Value(76.96, 0.38, 5), "PASS", {"1": [run], "2": [run]}, {"1": 77.0, "2": 76.5}, 5,
        difference=-0.21, interval=(-3.387, 2.967), gain=1.3, gain_interval=(0.1, 2.5), gain_published=1.22,
        p_student=0.02347, p_welch=0.00001,
    )  # fmt: skip
    empty = Cell("<other>", "Avg.", Value(72.0, note="printed /2"), "PUBLISHED ONLY")
    printed = Published(title="Two rows", split="test", columns=["Avg."])
    return Table(printed, {"A & B_1": {"Avg.": cell}, "<other>": {"Avg.": empty}},
                 {"A & B_1": "<other>"}, ["model=minilm (paper: bert)"], ["seed=3: failed"], ["a note"])  # fmt: skip


@pytest.fixture
def wide():
    columns = ["STS12", "STS13", "Avg."]
    cells = {c: Cell("row", c, Value(70.0 + i), "DIFFERS", values={"1": 60.0 + i}) for i, c in enumerate(columns)}
    return Table(Published(title="Wide", split="test", columns=columns), {"row": cells})


def test_up_to_two_columns_lie_side_by_side(narrow):
    found = layout.text_table(narrow)
    assert list(found) == ["", "score", "published", "ours", "difference", "interval", "gain", "its interval",
                            "gain as printed", "p Student", "p Welch", "verdict"]  # fmt: skip
    assert found.to_numpy().tolist() == [
        ["A & B_1", "Avg. (test)", "76.96 ± 0.38 (5)", "76.75 ± 0.35 (2) [2 of 5 runs]", "-0.21", "[-3.39, +2.97]",
         "+1.30", "[+0.10, +2.50]", "+1.22", ".0235", "<.0001", "PASS"],
        ["<other>", "Avg. (test)", "72.00*", "", "", "", "", "", "", "", "", "PUBLISHED ONLY"],
    ]  # fmt: skip


def test_more_columns_are_blocks_and_every_header_names_the_split(wide):
    found = layout.text_table(wide)
    assert list(found) == ["", "", "STS12 (test)", "STS13 (test)", "Avg. (test)"]
    assert found.to_numpy().tolist() == [
        ["row", "published", "70.00", "71.00", "72.00"],
        ["", "ours", "60.00", "61.00", "62.00"],
        ["", "verdict", "DIFFERS", "DIFFERS", "DIFFERS"],
    ]


def test_a_table_of_captions_has_no_column():
    """NonLing-CSE's Table C.1: what its models retrieved stands in the notes."""
    table = Table(Published(title="Captions", split="none", columns=[]), {"a": {}, "b": {}})
    assert layout.text_table(table).empty
    assert layout.cells_frame([table]).empty


def test_csv_is_unrounded_and_one_cell_a_line(narrow, wide):
    rows = list(csv.DictReader(io.StringIO(layout.cells_frame([narrow, wide]).to_csv(index=False))))
    assert [row["split"] for row in rows] == ["test"] * (2 + 3)
    first, empty, *_ = rows
    assert (float(first["difference_low"]), first["p_welch"], first["values"]) == (-3.387, "1e-05", "77.0 76.5")
    assert (empty["ours"], empty["published_note"], empty["verdict"]) == ("", "printed /2", "PUBLISHED ONLY")


def test_markdown_is_a_table_whatever_stands_in_a_cell(narrow):
    table, notes = layout.section(narrow).split("\n\n")[1:]
    assert {line.count("|") for line in table.splitlines()} == {13}
    assert [line.partition(": ")[2] for line in notes.splitlines()[:3]] == [
        "model=minilm (paper: bert)", "against our own runs of <other>.", "seed=3: failed",
    ]  # fmt: skip
    odd = pd.DataFrame([["a|b\nc", "1"]], columns=["x", "y|z"])
    assert columns.to_markdown(odd).splitlines() == ["| x | y\\|z |", "| --- | --- |", "| a\\|b c | 1 |"]


def test_latex_escapes_and_keeps_its_columns(narrow):
    tex = columns.to_latex(layout.text_table(narrow), "Two rows", [], words=2)
    assert r"A \& B\_1 & Avg. (test) & 76.96 $\pm$ 0.38 (5)" in tex
    assert r"$<$other>" in tex
    assert r"\begin{tabular}{llrrrrrrrrrr}" in tex
    assert {line.replace(r"\&", "").count("&") for line in tex.splitlines() if line.endswith(r"\\")} == {11}


def test_html_shows_every_cell_and_reads_nothing_of_a_run_as_html(narrow, wide, run, tmp_path):
    (tmp_path / "f.png").write_bytes(b"\x89PNG")
    pictures = [page.Picture("f", tmp_path / "f.png", ["x < y"]), page.Picture("g", None)]
    found = dict.fromkeys(COLUMNS, "") | {
        "claim": "a claim",
        "verdict": "HOLDS (1 of 2 parts)",
        "effect": 1.0,
        "p": 0.01,
    }
    found |= dict.fromkeys(["low", "published_effect"]) | {"parts_measured": 1}
    claims = pd.DataFrame([found], dtype=object)
    text = page.sweep_page(page.Report("A & B", "sub", [narrow, wide], pictures, [run], claims))
    assert not re.findall(r'src="(?!data:)|<link|=<b>', text)
    for shown in ("76.96 ± 0.38 (5)", "cse-train &#39;data.path=&lt;b&gt;&#39;", '<td class="DIFFERS">DIFFERS',
                  'HOLDS">HOLDS (1 of 2 parts)<', "data:image/png;base64,iVBORw==", "Not drawn: ",
                  "x &lt; y"):  # fmt: skip
        assert shown in text
