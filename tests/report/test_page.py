"""The page of any runs: its data, that nothing of a run becomes HTML, and the page itself in Chromium."""

import json
import os
import re
import time

import chromium
import pandas as pd
import pytest
import yaml

from cse.record.runs import read_runs
from cse.report.cells import Cell
from cse.report.charts import COLOURS, POINTS, colours_of, curves_of, draw_charts, strongest_first, thinned
from cse.report.comparison import compare_runs
from cse.report.page import Report, runs_page, sweep_page
from cse.report.published import table
from cse.report.table import Table

EVIL = "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>\x1b]0;stolen\x07\u202e"


@pytest.fixture
def page(leave, tmp_path):
    """The page of twelve runs, of names and lists of names that would be scripts; some are not done."""
    number = 0
    for lr in (1e-5, 3e-5, 1e-4):
        for model in ("bert", EVIL.replace("/", "_")):
            for seed in (1, 2):
                number += 1
                score = 70.0 + number
                events = [{"train/loss": 1 / (step + 1), "dev/x/average": score - 5 + step} for step in range(6)]
                config = {
                    "trainer.lr": lr,
                    "model.name": model,
                    "data.path": ["a", model.replace("\x1b", "")],
                    "seed": seed,
                }
                status = {11: "failed", 12: "running"}.get(number, "done")
                metrics = {"dev/x/average": score, "test/x/average": score - 3, "test/y/loss": None}
                folder = leave(f"{number}", config, metrics if status == "done" else {}, status=status, events=events)
                (folder / ".hydra" / "overrides.yaml").write_text(
                    yaml.safe_dump(
                        [f"trainer.lr={lr}", f"model.name={model}", "data.path=[]", f"seed={seed}", f"note={EVIL}"]
                    )
                )
                if number == 11:
                    results = json.loads((folder / "results.json").read_text())
                    (folder / "results.json").write_text(json.dumps(results | {"error": EVIL}))
    beat = tmp_path / "runs" / "12" / "heartbeat.json"
    beat.write_text(json.dumps({"host": "elsewhere", "pid": 7, "steps": 10}))
    os.utime(beat, (time.time() + 3600,) * 2)  # however slow this test is
    folder = tmp_path / "runs"
    return runs_page(compare_runs(read_runs([folder]), [folder], [], "seed"))


def test_the_page_asks_for_nothing_and_reads_nothing_of_a_run_as_html(page):
    assert not re.search(r'<(link|script|img|iframe)[^>]+(src|href)="?https?:', page)
    assert "default-src 'none'" in page
    assert "<img src=x" not in page
    assert EVIL not in page
    assert not {"\x1b", "\x07"} & set(page)
    assert "\u202e" not in page


def test_plotly_finds_no_html_in_the_names_of_runs(page, tmp_path):
    charts = draw_charts(compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed"))
    drawn = str([chart.to_plotly_json() for chart in charts.values()])
    assert "&lt;img" in drawn
    assert "<img" not in drawn
    assert "\\x1b" not in drawn


def test_a_curve_is_thinned_and_keeps_its_end(page, tmp_path):
    values = pd.DataFrame({"metric": "a", "value": range(10_001)})
    kept = thinned(values, POINTS, ["metric"])["value"]
    assert len(kept) <= POINTS
    assert kept.iloc[-1] == 10_000
    assert len(thinned(values[:7], POINTS, ["metric"])) == 7
    folder = tmp_path / "runs"
    curves = curves_of(compare_runs(read_runs([folder]), [folder], [], "seed"))
    losses = curves[(curves["metric"] == "train/loss") & (curves["run"] == "1")]
    assert curves["run"].nunique() == 12
    assert losses.set_index("step")["value"].to_dict() == {step: 1 / (step + 1) for step in range(6)}


@pytest.mark.nightly
@chromium.needed
def test_the_page_in_a_browser(page, tmp_path):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    with chromium.Page(tmp_path / "report.html", tmp_path / "chromium") as shown:
        drawn = "document.querySelectorAll('.js-plotly-plot .main-svg').length"
        rows = "[...document.querySelectorAll('.dt-scroll-body tbody tr')].map((row) => row.innerText)"
        waited = "new Promise((done) => setTimeout(() => done(true), 1000))"
        for _ in range(60):
            shown.run(waited)
            if len(shown.run(rows)) == 18 and shown.run(drawn):
                break
        lines = shown.run(rows)
        assert len(lines) == 6 + 12  # settings, and runs
        assert "79.5\t0.71" in lines[0]  # 79 and 80
        assert shown.run("document.querySelectorAll('.js-plotly-plot').length") == 3
        shown.run(
            "(() => { const one = document.querySelectorAll('.dt-search input')[1]; one.value = 'failed';"
            "one.dispatchEvent(new Event('input')) })()"
        )
        assert len(shown.run(rows)) == 6 + 1
        assert shown.run("document.documentElement.scrollWidth") <= shown.width
        assert shown.run("document.title") == str(tmp_path / "runs")
        assert [one for one in shown.complaints if "WebGL" not in one] == []  # drawn without a GPU here
        assert [one for one in shown.requests if not one.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.nightly
@chromium.needed
@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_a_table_moves_in_its_own_box_and_keeps_its_first_column(page, tmp_path, dark):
    (tmp_path / "runs.html").write_text(page, encoding="utf-8")
    printed = table("nonling", "table1")
    cells = {row: {name: Cell(row, name, one) for name, one in of.items()} for row, of in printed.cells.items()}
    (tmp_path / "sweep.html").write_text(sweep_page(Report("t", "", [Table(printed, cells)], [], [])), "utf-8")
    boxes = "[...document.querySelectorAll('.wide, .dt-scroll-body')].filter((box) => box.offsetWidth)"
    first = "box.querySelector('tbody tr').firstElementChild.getBoundingClientRect().left"
    for name, count in (("runs.html", 2), ("sweep.html", 1)):
        with chromium.Page(tmp_path / name, tmp_path / "chromium", width=420, dark=dark) as shown:
            for _ in range(60):
                shown.run("new Promise((done) => setTimeout(() => done(true), 1000))")
                if shown.run(f"{boxes}.length") == count:
                    break
            shown.run(f"{boxes}.forEach((box) => box.scrollLeft = 90)")
            moved = shown.run(f"{boxes}.map((box) => [box.scrollLeft, {first} - box.getBoundingClientRect().left])")
            assert len(moved) == count
            assert any(by for by, _ in moved)
            assert all(abs(place) < 2 for _, place in moved)
            assert shown.run("document.documentElement.scrollWidth") <= 420


def test_of_many_runs_the_page_shows_the_best_and_says_so(leave, tmp_path, monkeypatch):
    monkeypatch.setattr("cse.report.page.ROWS", 2)
    monkeypatch.setattr("cse.report.charts.RUNS", 2)
    for number in range(4):
        events = [{"dev/x": step} for step in range(3)]
        leave(f"run{number}", {"trainer.lr": number}, {"test/x": 70.0 + number}, events=events)
    comparison = compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed")
    page = runs_page(comparison)
    assert "runs.csv has all 4" in page
    assert "Curves of 2 of 4 runs" in page
    assert "run3" in page
    assert "run0" not in page


def test_a_setting_has_the_colour_of_what_explains_most(leave, tmp_path):
    for number in range(8):
        lr, model = (1e-5, 3e-5)[number % 2], ("bert", "roberta")[number // 4]
        config = {"trainer.lr": lr, "model.name": model, "seed": number % 4 // 2}
        leave(f"{number}", config, {"test/x": 10.0 * (model == "bert") + 0.1 * number})
    comparison = compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed")
    assert [comparison.keys[key] for key in strongest_first(comparison)] == ["name", "lr"]
    colours = colours_of(comparison)
    by_model = {comparison.runs_of(one)[0].get("model.name"): colour for one, colour in colours.items()}
    assert sorted(by_model.values()) == sorted(COLOURS[:2])
    assert all(by_model[comparison.runs_of(one)[0].get("model.name")] == colour for one, colour in colours.items())
    charts = draw_charts(comparison)
    (heat,) = charts["Score by setting"].data
    assert all("±" in text for text in heat.text.flat)
    assert {line.line.color for line in charts["Parallel coordinates"].data} == set(colours.values())


def test_a_sweep_without_runs_says_what_starts_it():
    printed = table("whitenedcse", "table4")
    cells = {
        row: {name: Cell(row, name, one, "NOT RUN") for name, one in of.items()} for row, of in printed.cells.items()
    }
    page = sweep_page(
        Report("t", "no run", [Table(printed, cells)], [], [], link="https://x.test", start="cse-train sweep=t")
    )
    assert "<code>cse-train sweep=t</code>" in page
    assert 'href="https://x.test"' in page
    assert page.count("<td ") == 16
    assert "78.78" in page
