"""The published numbers against themselves: every average, category mean and difference is recomputed."""

import pytest
from scipy.stats import ttest_ind_from_stats

from cse.errors import UserError
from cse.lab.report.paper import published

TABLES = [(paper, name) for paper in published.papers() for name in published.read_paper(paper)["tables"]]


def number(cell):
    return cell["mean"] if isinstance(cell, dict) else cell


def entries(paper, name):
    raw = published.read_paper(paper)["tables"][name]
    rows = {row: dict(zip(raw["columns"], map(number, cells), strict=True)) for row, cells in raw["rows"].items()}
    excepted = {(e["row"], e["column"]): e for e in raw.get("exceptions", [])}
    return raw, rows, excepted


def mean_of(cells, columns):
    values = [mean_of(cells, c) if isinstance(c, list) else cells[c] for c in columns]
    return None if None in values else sum(values) / len(values)


def averages():
    """(where, printed, computed, exception) of every average in every file."""
    for paper, name in TABLES:
        raw, rows, excepted = entries(paper, name)
        unit = 10 ** -raw.get("decimals", 2) if raw.get("decimals", 2) is not None else 1
        for column, rule in raw.get("averages", {}).items():
            sources = entries(paper, rule["table"])[1] if "table" in rule else rows
            for row, cells in rows.items():
                if set(cells.values()) == {None}:  # a variant of ours that the paper gives no number of
                    continue
                if "weights" in rule:
                    total = sum(rule["weights"].values())
                    computed = sum(cells[c] * w for c, w in rule["weights"].items()) / total
                else:
                    computed = mean_of(sources[row], rule["of"])
                yield f"{paper} {name} {row} {column}", cells[column], computed, unit, excepted.get((row, column))


def category_means():
    for paper, name in TABLES:
        raw, rows, _ = entries(paper, name)
        if rule := raw.get("category_means"):
            printed = entries(paper, rule["table"])[1]
            for column, row in rule["rows"].items():
                for category, members in rule["of"].items():
                    yield f"{row} {category}", printed[row][category], [rows[m][column] for m in members]


def differences_section():
    for paper, name in TABLES:
        raw, rows, _ = entries(paper, name)
        for column, rule in raw.get("differences", {}).items():
            for row, cells in rows.items():
                start = rule["from"].get(row) if isinstance(rule["from"], dict) else rule["from"]
                if cells[column] is not None:
                    change = rule.get("sign", 1) * (cells[rule["of"]] - rows[start][rule["of"]])
                    yield f"{paper} {name} {row} {column}", cells[column], change


def test_a_published_average_is_the_mean_of_what_it_averages():
    """Both sides are rounded to `unit`: the mean by at most half of it, each thing averaged by at most half of it."""
    count = 0
    for where, printed, computed, unit, exception in averages():
        agrees = abs(printed - computed) <= unit + 1e-9
        if exception is None:
            assert agrees, f"{where}: printed {printed}, computed {computed}"
        else:
            assert not agrees, f"{where}: an exception that is none"
            assert computed == pytest.approx(exception["computed"], abs=5e-4), where
            assert exception["reason"], where
        count += 1
    assert count == 151  # a table with an average column and the columns it averages says how, or this is wrong


def test_category_means_of_mteb():
    """Table 4's data sets give Table 2's category scores within .1; five have a data set that is lost."""
    complete, incomplete = 0, []
    for where, printed, values in category_means():
        if None in values:
            incomplete.append(where)
        else:
            complete += 1
            assert sum(values) / len(values) == pytest.approx(printed, abs=0.1 + 1e-9), where
    assert complete == 44
    assert len(incomplete) == 5


def test_a_published_difference_is_that_of_its_numbers():
    for where, printed, change in differences_section():
        assert printed == pytest.approx(change, abs=0.01 + 1e-9), where


def test_every_table_reads_and_no_key_of_it_is_misspelt():
    known = {"title", "split", "columns", "rows", "others", "decimals", "averages", "category_means", "differences",
             "exceptions", "unreadable", "tests", "space", "column_decimals", "counts", "paper", "link"}  # fmt: skip
    for paper in published.papers():
        assert set(published.read_paper(paper)) - {"link"} == {"paper", "tables", "figures"}
    for paper, name in TABLES:
        found, raw = published.published_table(paper, name), published.read_paper(paper)["tables"][name]
        assert set(raw) <= known, name
        assert found.split in ("test", "dev", "none")
        assert found.others <= set(found.cells)
        for garbled in raw.get("unreadable", []):
            assert garbled["row"] in found.cells
            assert set(garbled["columns"]) <= set(found.columns)


def test_a_garbled_cell_says_so():
    """Table 4 prints "50.0 60.5" across two rows: a 9 read as a 0 in each, by the mean of the category in Table 2."""
    cells = published.published_table("noncontrastive", "table4").cells
    assert cells["Banking77Classification"]["VICReg (dropout)"] == published.Value(77.3, note="printed 17.3")
    assert cells["SciDocsRR"]["SimCSE"] is None
    assert cells["ArguAna"]["SimCSE"].note == ""
    found = [cells[f"Massive{task}Classification"]["Barlow Twins (WikiAuto)"] for task in ("Intent", "Scenario")]
    assert [cell.mean for cell in found] == [59.0, 69.5]
    assert all("50.0 60.5" in cell.note for cell in found)


def test_table3_gives_its_own_p():
    raw = published.read_paper("nonling")["tables"]["table3"]
    cells = published.published_table("nonling", "table3").cells
    for test in raw["tests"]:
        ours, base = (cells[test[key]]["Avg."] for key in ("row", "baseline"))
        p = ttest_ind_from_stats(ours.mean, ours.sd, ours.n, base.mean, base.sd, base.n).pvalue
        assert p == pytest.approx(test["p"], abs=5e-5) if "p" in test else p < test["p_below"]


def test_a_wrong_name_is_one_sentence():
    with pytest.raises(UserError, match=", ".join(published.papers())):
        published.published_table("simcse", "table1")
    with pytest.raises(UserError, match="table4"):
        published.published_table("whitenedcse", "tabel4")
