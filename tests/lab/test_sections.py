"""Tables as text: aligned columns, and Markdown and LaTeX that render whatever a cell holds."""

import re
import shutil
import subprocess
from html import escape

import pandas as pd
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from cse.lab.report.show import write
from cse.lab.report.show.document import Picture, Report
from cse.lab.sections import Section, latex_cell, lines_of_head, to_markdown
from cse.lab.text_columns import to_columns

BAD = r"100%_#1 & {x  y}~^^M$\\z}"
"""A name with every sign that LaTeX interprets. A user may give it to a folder, to a run and to a value."""


def test_columns_are_as_wide_as_their_widest_cell_and_align_numbers_to_the_right():
    rows = [("score", "value", ""), ("average", "1.25", "x"), ("spearman_wmean", "-10.50", "")]
    assert to_columns(rows, right=(1,)).splitlines() == [
        "score            value",
        "average           1.25  x",
        "spearman_wmean  -10.50",
    ]


def test_a_wide_sign_and_a_combining_accent_move_no_column():
    """日 is as wide as two letters, and the accent of the second row stands above the e."""
    rows = [("日本", "1"), ("e\u0301ab", "10"), ("abcd", "1")]
    assert to_columns(rows, right=(1,)).splitlines() == ["日本   1", "e\u0301ab   10", "abcd   1"]


def test_a_name_ends_no_cell_of_a_table():
    table = pd.DataFrame({"a|b": ["c\nd", "10 % of x_1 > 2"]})
    assert to_markdown(table) == "| a\\|b |\n| --- |\n| c d |\n| 10 % of x_1 > 2 |"
    latex = Section("50 %", table, ["a note\nof two lines"], label_columns=1, label="a", bold=[(0, 0)]).latex()
    assert "\\textbf{c d}" in latex
    assert "10 \\% of x\\_1 $>$ 2" in latex
    assert "a$|$b" in latex
    assert "50 \\%" in latex
    assert "% a note of two lines\n" in latex


MARKED = [
    BAD, "*a* **b", "_a_ b__c__d", "`a` `b", "~~a~~", "$x$", "[a](b)", "<unk> <!-- a -->", "&lt; &#60;", r"\*a* \\ \b",
    "a_b_c * < 1 & [2] ~", "a|b",
]  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_a_reader_of_markdown_gets_every_sign_of_a_name(name):
    """In a heading, in a cell and in a note. $ begins a formula on GitHub only, and a tilde a deletion."""
    text = Section(f"T {name}", pd.DataFrame({"a": [name]}), [f"note {name}"], label_columns=1).markdown()
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    shown = escape(" ".join(name.split()), quote=False)
    for cell in (f"<h2>T {shown}</h2>", f"<td>{shown}</td>", f"<li>note {shown}</li>"):
        assert cell in html.replace("&quot;", '"')
    assert not re.search(r"(?<!\\)\$.*\$", text)


def test_no_cell_is_read_as_an_option_of_the_line_break_before_it():
    """LaTeX reads \\\\ [x] and \\\\ * as commands with an option."""
    table = pd.DataFrame({"targets": ["['query']", "*", "[-1, 2]", "中"], "x": ["[-0.10, +0.20]"] * 4})
    latex = Section("t", table, label_columns=1, label="a").latex()
    rows = [line for line in latex.splitlines() if " & " in line][1:]
    assert [row.partition(" & ")[0] for row in rows] == ["{[}'query']", "{*}", "{[}$-$1, 2]", "中"]
    assert "LuaLaTeX or XeLaTeX, and a font that has 中" in latex


def test_a_text_is_one_line_and_keeps_its_hyphens():
    assert latex_cell("models--org--name \r\x0b a\tb -0.5 --") == "models-{}-org-{}-name a b $-$0.5 -{}-"


@pytest.mark.parametrize(("name", "needs_font"), [("Ærøskøbing – naïve Žižek’s …", False), ("Hồ Chí Minh", True)])
def test_a_comment_names_the_signs_that_pdflatex_lacks(name, needs_font):
    latex = Section("t", pd.DataFrame({"a": [name]}), label_columns=1, label="a").latex()
    assert ("LuaLaTeX or XeLaTeX, and a font that has ồ" in latex) == needs_font


PDFLATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdfLaTeX (apt-get install texlive)")
ACL = r"\documentclass[twocolumn]{article}\usepackage[textwidth=16cm,columnsep=0.6cm]{geometry}"
PAPER = r"""%s
\usepackage{booktabs,graphicx}
\let\resized\resizebox
\renewcommand{\resizebox}[3]{\sbox0{#3}\typeout{widths: \the\wd0, \the\linewidth.}\resized{#1}{#2}{#3}}
\begin{document}\input{%s}\end{document}"""


def log_of_latex(folder, file, layout=ACL):
    """What pdfLaTeX says on a paper in this folder that reads a file. It has the widths of a table and of its place."""
    (folder / "paper.tex").write_text(PAPER % (layout, file))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@PDFLATEX
@pytest.mark.parametrize("name", [BAD, 'a"b', "~", "$HOME"])
def test_latex_compiles_and_finds_figures_whatever_the_names_of_folders_and_values_are(tmp_path, name):
    """In the report's folder, and above it, under another name."""
    table = pd.DataFrame({"": ["*"], name: [name], f"dev/[{name}/*": ["-0.5"]})
    section = Section(name, table, [name], [name], bold=[(0, 1)], label=name)
    figure = Figure(figsize=(3, 2))
    figure.text(0.5, 0.5, "DRAWN")
    write.write_report(Report(name, name, [section], {}, pictures=[Picture("curves", figure, name)]), tmp_path / name)
    log_of_latex(tmp_path / name, "report")
    (tmp_path / name).rename(tmp_path / "a b")
    for file in ("report.tex", "table.tex", "figures/curves.tex"):
        log_of_latex(tmp_path, f"a b/{file}")


@pytest.mark.parametrize(("name", "lines"), [
    ("dev/stsb/spearman", ["dev stsb", "spearman"]), ("test/sts/average", ["test sts", "average"]),
    ("test/sts/STS12/spearman", ["test STS12", "spearman"]),  # without sts, which begins STS12
    ("test/testbed/x", ["test", "testbed x"]),  # with its split
    ("test/transfer/MR/accuracy", ["test transfer", "MR accuracy"]), ("STS12/spearman", ["STS12", "spearman"]),
    ("dev/pairs/my_long_file/spearman", ["dev pairs", "my_long_file", "spearman"]),
    ("w/o head", ["w/o", "head"]), ("p (Holm)", ["p", "(Holm)"]), ("lr", ["lr"]),
])  # fmt: skip
def test_the_head_of_a_column_has_at_most_two_lines_unless_it_would_be_wide(name, lines):
    assert lines_of_head(name) == lines


@PDFLATEX
def test_the_type_of_a_table_of_four_scores_has_95_percent_of_its_size_in_a_plain_article(tmp_path):
    names = ("test/sts/average", "test/sts/STS12/spearman", "dev/stsb/spearman", "test/stsb/spearman")
    columns = {name: ["71.19 ± 0.54", "70.17 ± 0.31"] * 6 for name in names}
    settings = {"objective": ["simcse"] * 12, "lr": ["3e-05"] * 12, "pooling": ["mean"] * 12}
    table = pd.DataFrame({"": ["*", *[""] * 11], **settings, **columns})
    bold = [(row, column) for row in range(3) for column in range(4, 8)]
    (tmp_path / "a.tex").write_text(Section("t", table, label_columns=4, bold=bold, label="a").latex())
    widths = re.findall(r"widths: ([\d.]+)pt, ([\d.]+)pt", log_of_latex(tmp_path, "a", r"\documentclass{article}"))
    (natural, place) = map(float, widths[0])
    assert place / natural >= 0.95


@PDFLATEX
@pytest.mark.parametrize("scores", range(1, 13))
def test_the_type_of_a_table_has_at_least_80_percent_of_its_size(tmp_path, scores):
    """In a paper of two columns. A table of too many scores is turned."""
    columns = {f"test/transfer/T{number}/accuracy": ["71.19 ± 0.54", "70.17 ± 0.31 †"] for number in range(scores)}
    table = pd.DataFrame({"": ["*", ""], "objective": ["simcse", "barlow"], "lr": ["3e-05", "0.0001"], **columns})
    latex = Section("t", table, label_columns=3, bold=[(0, 3)], label="a", column_prefix="test/transfer/").latex()
    (tmp_path / "a.tex").write_text(latex)
    widths = re.findall(r"widths: ([\d.]+)pt, ([\d.]+)pt", log_of_latex(tmp_path, "a"))
    (natural, place) = map(float, widths[0])
    assert place / natural >= 0.8


def table_of_scores(settings, scores):
    """A section with deviations; the first two settings are the best."""
    columns = {f"test/sts/STS{k}/spearman": ["71.19 ± 0.54", "70.17 ± 0.31 †"] * (settings // 2) for k in range(scores)}
    about = {"": ["*", *[""] * (settings - 1)], "lr": ["3e-05"] * settings, "runs": ["3"] * settings}
    table, bold = pd.DataFrame(about | columns), [(0, 3), (1, 4)]
    return Section("t", table, label_columns=2, bold=bold, label="a", column_prefix="test/sts/")


@pytest.mark.parametrize(("settings", "scores", "is_split"), [(6, 4, False), (12, 8, True), (2, 8, False)])
def test_deviations_have_lines_of_their_own_in_a_table_that_is_too_wide_and_too_long_to_turn(
    settings, scores, is_split
):
    latex = table_of_scores(settings, scores).latex()
    assert latex.count(r" & $\pm$ SD & 0.54 & ") == (settings // 2 if is_split else 0)
    if is_split:
        lines = latex.partition(r"\midrule")[2].splitlines()
        assert lines[1].startswith(r"{*} & 3e-05 & \textbf{71.19} & 71.19 & ")
        assert lines[3].startswith(
            r" & 3e-05 & 70.17\textsuperscript{$\dagger$} & \textbf{70.17\textsuperscript{$\dagger$}} & "
        )
        assert "runs" not in latex  # equal numbers of runs have no column


@PDFLATEX
@pytest.mark.parametrize(
    ("settings", "scores", "layout"),
    [
        (6, 12, r"\documentclass{article}"),
        (12, 8, r"\documentclass{article}"),
        (12, 11, ACL),
    ],
)
def test_the_type_of_a_table_of_many_scores_and_settings_has_80_percent_of_its_size(tmp_path, settings, scores, layout):
    """Standard deviations are smaller than their means, and signs are raised."""
    (tmp_path / "a.tex").write_text(table_of_scores(settings, scores).latex())
    widths = re.findall(r"widths: ([\d.]+)pt, ([\d.]+)pt", log_of_latex(tmp_path, "a", layout))
    (natural, place) = map(float, widths[0])
    assert place / natural >= 0.8


@PDFLATEX
def test_the_type_of_a_table_of_differences_has_80_percent_of_its_size_in_a_plain_article(tmp_path):
    columns = {"95% interval": ["[-1.77, +0.58]"] * 20, "p": [".2274"] * 20, "equivalent": ["not shown (1.0000)"] * 20}
    table = pd.DataFrame({"objective": ["simcse"] * 20, "difference": ["-0.60 ≈"] * 20, **columns,
                          "seeds": ["3 and 3", "4 and 3"] * 10, "seeds needed": ["14"] * 20})  # fmt: skip
    (tmp_path / "a.tex").write_text(Section("t", table, label_columns=1, label="a").latex())
    widths = re.findall(r"widths: ([\d.]+)pt, ([\d.]+)pt", log_of_latex(tmp_path, "a", r"\documentclass{article}"))
    (natural, place) = map(float, widths[0])
    assert place / natural >= 0.8


def test_a_table_with_few_rows_and_many_scores_is_turned():
    columns = {f"test/mteb/Task{number}/main": [f"{number}.00", "1.00"] for number in range(40)}
    table = pd.DataFrame({"": ["*", ""], "model": ["[a]", "b"], **columns})
    latex = Section("t", table, label_columns=2, bold=[(1, 3)], label="a").latex()
    head, _, lines = latex.partition(r"\midrule")
    assert [head.count(r" & {*} &  \\"), head.count(r"model & {[}a] & b \\")] == [1, 1]
    assert lines.splitlines()[2] == r"test/mteb/Task1/main & 1.00 & \textbf{1.00} \\"
    assert lines.count(r"\\") == 40
    assert r"\begin{table}" in latex


@pytest.mark.parametrize(("letters", "environment"), [(10, "table"), (80, "table*")])
def test_a_wide_table_spans_both_columns_and_equal_numbers_of_runs_have_no_column(letters, environment):
    table = pd.DataFrame({"objective": ["a" * letters, "b"], "runs": ["3", "3"], "dev/x/y": ["1", "2"]})
    section = Section("Title", table, label_columns=1, bold=[(1, 2)], label="a")
    latex = section.latex()
    assert rf"\begin{{{environment}}}" in latex
    assert r"objective & \shortstack[r]{dev \\ x y} \\" in latex
    assert r"b & \textbf{2} \\" in latex
    table.loc[0, "runs"] = "2 of 3"
    assert "objective & runs & " in section.latex()
