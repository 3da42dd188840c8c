"""The same table on the terminal, as Markdown, CSV, LaTeX and HTML."""

import re
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from cse.lab.folder.runs import Run
from cse.lab.report.numbers.groups import Group
from cse.lab.report.numbers.statistics import Effect, Value
from cse.lab.report.paper.cells import Cell
from cse.lab.report.paper.claims import ClaimPart, JudgedClaim
from cse.lab.report.paper.claims_table import claims_section
from cse.lab.report.paper.paper_report import log_of_runs
from cse.lab.report.paper.paper_table import as_section
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.report_block import Claim
from cse.lab.report.show.document import Picture, Report
from cse.lab.report.show.write import html_of_report
from cse.lab.sections import latex, markdown
from cse.lab.settings.arguments import recorded_arguments


@pytest.fixture
def run(tmp_path):
    typed = ("data.path=<b>", "~cases", "hydra.mode=RUN", "resume=auto")
    return Run(tmp_path / "a", "done", {"trainer": {}}, {}, {}, {"seed": 1}, arguments=tuple(recorded_arguments(typed)))


def table_of(*lines, **about):
    """The section of these lines of report.csv."""
    columns = list(dict.fromkeys(one["column"] for one in lines))
    rows = {one["row"]: [None] * len(columns) for one in lines}
    cells = [Cell(split="test", **one) for one in lines]
    printed = PublishedTable(title="A table", split="test", columns=columns, rows=rows)
    return replace(as_section(printed, cells), **about)


@pytest.fixture
def narrow():
    filled = {
        "row": "A & B_1", "column": "Avg.", "published": Value(76.96, 0.38, 5),
        "group": Group([], 2, {"1": 76.5, "2": 77.0}), "expected_runs": 5,
        "difference": Effect(-0.21, -3.387, 2.967), "gain_published": 1.22,
        "gain": Effect(1.3, 0.1, 2.5, p=1e-5), "p_student": 0.02347, "verdict": "PASS",
    }  # fmt: skip
    garbled = Value(72.0, note="printed /2")
    empty = {"row": "<other>", "column": "Avg.", "published": garbled, "verdict": "PUBLISHED ONLY"}
    return table_of(filled, empty, notes=["a note"], missing=["seed 3 failed"], label="two rows")


@pytest.fixture
def wide():
    cell = {"row": "row", "verdict": "DIFFERS"}
    numbers = [{"published": Value(70.0 + i), "group": Group([], 1, {"1": 60.0 + i})} for i in range(3)]
    columns = zip(["STS12", "STS13", "Avg."], numbers, strict=True)
    return table_of(*(cell | {"column": name} | both for name, both in columns))


def test_a_table_of_captions_has_no_column():
    """NonLing-CSE's Table C.1: what its models retrieved stands in the notes."""
    assert as_section(PublishedTable(title="Captions", split="none", columns=[]), []).table.empty


def test_markdown_is_a_table_whatever_stands_in_a_cell(narrow):
    table, notes = markdown("Title", "", [narrow]).split("\n\n")[2:]
    assert {line.count("|") for line in table.splitlines()} == {13}
    assert notes.splitlines() == ["- a note", "- Missing: seed 3 failed."]


def test_latex_escapes_and_keeps_its_columns(narrow):
    tex = latex([narrow])
    assert r"A \& B\_1 & published & 76.96{\scriptsize\,$\pm$\,0.38 (5)}" in tex
    assert r" & ours & 76.75{\scriptsize\,$\pm$\,0.35 (2)}" in tex
    assert r"$<$other$>$" in tex
    assert all(told in tex for told in (r"\centering", r"\label{tab:two-rows}"))
    assert r"\begin{tabular}{@{}llr@{}}" in tex
    assert {line.replace(r"\&", "").count("&") for line in tex.splitlines() if line.endswith(r"\\")} == {2}


@pytest.mark.parametrize(("columns", "lines"), [(3, 1), (8, 2)])
def test_in_latex_the_deviations_of_a_wide_table_have_a_line_of_their_own(columns, lines):
    group = Group([], 2, {"1": 76.5, "2": 77.0})
    cells = [
        {"row": "row", "column": f"STS{k}", "group": group, "expected_runs": 2, "verdict": "PASS"}
        for k in range(columns)
    ]
    tex = latex([table_of(*cells, label="a")])
    ours = tex.partition(" & ours & ")[2].partition(r"\bottomrule")[0].splitlines()
    assert len(ours) == lines
    assert ours[0].count("76.75") == columns
    assert ours[-1].count("0.35") == ours[-1].count("(2)") == columns
    assert (r"$\pm$\,0.35" in ours[0]) == (lines == 1)


def test_html_shows_every_cell_and_reads_nothing_of_a_run_as_html(narrow, wide, run, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/f.png").write_bytes(b"\x89PNG")
    pictures = [Picture("f", Figure(), claims=["x < y"]), Picture("g", None)]
    nothing = Group([], 0, {})
    parts = [ClaimPart(name, (nothing, nothing), effect=Effect(size)) for name, size in (("x", 1.0), ("y", None))]
    finding = JudgedClaim(Claim(says="a claim", source="here"), parts, "HOLDS", 0.01)
    sections = [narrow, wide, claims_section([finding])]
    report = Report("A & B", "sub", sections, {}, pictures=pictures, log=log_of_runs([run], "data.seed"))
    text = html_of_report(report, tmp_path)
    assert not re.findall(r'src="(?!data:)|<link|=<b>', text)
    for shown in ("76.96 ± 0.38 (5)", '<th class="label">data.seed<',
                  "cse-train &#34;data.path=&#39;&lt;b&gt;&#39;&#34;", '<td class="bad">DIFFERS',
                  'chip good">HOLDS (1 of 2 parts)<', "data:image/png;base64,iVBORw==", "Not drawn: ",
                  "x &lt; y"):  # fmt: skip
        assert shown in text
