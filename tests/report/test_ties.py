"""Rows that cannot be told apart from the best share its mark."""

import pytest
from scipy import stats

from cse.record.runs import grouped, read_runs
from cse.report import verdicts
from cse.report.cells import Cell
from cse.report.layout import cells_frame, remarks, text_table
from cse.report.published import Published
from cse.report.table import Table


@pytest.fixture
def table_of(leave, tmp_path):
    """table_of(metric, {row: values by seed}) -> a table of one column."""

    def make(metric, rows):
        cells = {}
        for row, values in rows.items():
            for seed, value in enumerate(values):
                leave(f"{row}/{seed}", {"seed": seed}, {metric: value})
            runs = read_runs([tmp_path / "runs" / row])
            cells[row] = {
                "Avg.": Cell(
                    row,
                    "Avg.",
                    None,
                    seeds=grouped(runs, "seed"),
                    metric=metric,
                    values={str(n): one for n, one in enumerate(values)},
                )
            }
        table = Table(Published("A table", "test", ["Avg."]), cells)
        verdicts.mark_ties(table.all_cells, 0.95)
        return table

    return make


def tied(table):
    return [cell.row for cell in table.all_cells if cell.tied]


def test_the_best_and_what_seeds_cannot_tell_from_it(table_of):
    table = table_of(
        "test/sts/average", {"a": (76.1, 76.3, 76.0), "b": (76.2, 76.1, 76.1), "c": (70.1, 70.4, 70.0), "d": (60.0,)}
    )
    assert tied(table) == ["a", "b", "d"]  # of one run nothing tells how its seeds vary
    assert text_table(table)["ours"].tolist() == [
        "76.13 ± 0.15 (3) ≈", "76.13 ± 0.06 (3) ≈", "70.17 ± 0.21 (3)", "60.00 ≈",
    ]  # fmt: skip
    assert "≈: the best of ours in its column, or not told apart from it." in remarks(table)
    assert cells_frame([table])["tied_with_best"].tolist() == ["True", "True", "False", "True"]


def test_ties_are_corrected_over_the_column(table_of):
    """Alone b would differ from the best (p .039); among three that are compared with it, it ties (Holm: .078)."""
    rows = {"a": (76.0, 76.2, 76.1), "b": (75.6, 75.9, 75.5), "c": (75.9, 76.3, 75.8), "d": (60.1, 60.2, 60.3)}
    p = [stats.ttest_rel(rows["a"], rows[name]).pvalue for name in "bcd"]
    assert p[2] < p[0] < 0.05 <= min(2 * p[0], p[1])
    assert tied(table_of("test/sts/average", rows)) == ["a", "b", "c"]
    assert tied(table_of("dev/stsb/spearman", {f"alone {name}": rows[name] for name in "ab"})) == ["alone a"]


def test_the_least_is_best_where_less_is_better(table_of):
    table = table_of("test/geometry/uniformity", {"a": (-2.1, -2.2, -2.1), "b": (-1.1, -1.0, -1.2)})
    assert tied(table) == ["a"]


def test_one_row_has_nothing_to_tie_with(table_of):
    assert tied(table_of("test/sts/average", {"a": (76.1, 76.3)})) == []
