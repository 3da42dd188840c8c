"""The page of any runs: its data, that nothing of a run becomes HTML, and the page itself in Chromium."""

import base64
import gzip
import re
from html import unescape
from itertools import product
from pathlib import Path

import chromium
import pandas as pd
import pytest
from made_up_tables import charts_of, filled, parsed, whole_report
from run_folders import leave_heartbeat

from cse.lab.report.any_runs.charts import colours_of
from cse.lab.report.any_runs.curves import POINTS, curves_of, thinned
from cse.lab.report.any_runs.paper_figures import draw_paper_figures
from cse.lab.report.any_runs.runs_table import in_text, runs_frame, runs_section
from cse.lab.report.any_runs.settings_table import legend_of_settings, settings_section
from cse.lab.report.show import look, write
from cse.lab.report.show.document import Report
from cse.lab.report.show.write import html_of_report, html_of_sortable
from cse.lab.sections import Section
from cse.lab.sweep import sweeps

EVIL = "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>"


@pytest.fixture
def comparison(leave, compared, tmp_path):
    """Twelve runs with names, and lists of names, that would be scripts; run 11 failed and run 12 is alive."""
    number = 0
    for lr in (1e-5, 3e-5, 1e-4):
        for model in ("bert", EVIL.replace("/", "_")):
            for seed in (1, 2):
                number += 1
                score = 70.0 + number
                events = [{"train/loss": 1 / (step + 1), "dev/x/average": score - 5 + step} for step in range(6)]
                config = {"trainer.lr": lr, "model.name": model, "data.path": ["a", model],
                          "seed": seed}  # fmt: skip
                status = {11: "failed", 12: "running"}.get(number, "done")
                metrics = {"dev/x/average": score, "test/x/average": score - 3, "test/y/loss": None}
                leave(f"{number}", config, metrics if status == "done" else {}, status=status, events=events,
                      error=EVIL if status == "failed" else None,
                      overrides=[f"trainer.lr={lr}", f"model.name={model}", "data.path=[]", f"seed={seed}",
                                 f"note={EVIL}"])  # fmt: skip
    leave_heartbeat(tmp_path / "runs" / "12", age=-3600)  # however slow this test is
    return compared()


@pytest.fixture
def page(comparison):
    return html_of_report(whole_report(comparison), Path())


def test_the_page_asks_for_nothing_and_reads_nothing_of_a_run_as_html(page):
    assert len(page) < 2_500_000  # with both libraries
    assert not re.search(r'<(link|script|img|iframe)[^>]+(src|href)="?https?:', page)
    assert "default-src 'none'" in page
    assert "<img src=x" not in page
    assert EVIL not in page


def test_on_a_page_the_columns_that_name_a_row_stand_at_the_left():
    """One here; all of them in the table of what is behind the page."""
    table = pd.DataFrame([["a", "1.0", "HOLDS"]], columns=["name", "x", "verdict"], dtype=object)
    section = Section("t", table, label_columns=1)
    text = html_of_report(Report("t", "", [section], {}, log=table), Path())
    assert '<th class="label">name</th><th>x</th><th>verdict</th>' in text
    assert '<td class="label">a</td><td>1.0</td><td class="good">HOLDS</td>' in text
    assert '<td class="label">a</td><td class="label">1.0</td><td class="label good">HOLDS</td>' in text
    assert "text-align: left" in re.search(r"\.text \.label \{[^}]*\}", text)[0]


def test_plotly_finds_no_html_in_the_names_of_runs(comparison):
    drawn = str([chart.to_plotly_json() for chart in charts_of(comparison).values()])
    assert "&lt;img" in drawn
    assert "<img" not in drawn


def test_a_curve_is_thinned_and_keeps_its_end(comparison):
    values = pd.DataFrame({"metric": "a", "value": range(10_001)})
    kept = thinned(values, POINTS)["value"]
    assert len(kept) <= POINTS
    assert kept.iloc[-1] == 10_000
    assert len(thinned(values[:7], POINTS)) == 7
    curves = curves_of(comparison)
    losses = curves[(curves["metric"] == "train/loss") & (curves["run"] == "1")]
    assert curves["run"].nunique() == 12
    assert losses.set_index("step")["value"].to_dict() == {step: 1 / (step + 1) for step in range(6)}


def test_a_column_has_one_format_and_the_settings_are_as_typed(leave, compared):
    """Also the deviations, floats that are no scores, and text that looks like a number."""
    for number, (lr, score, seconds) in enumerate([(1e-5, 70.1, 2.5), (3e-5, 65.57, 1234.567), (1e-4, None, None)]):
        scores = {"dev/x": score, "test/isotropy": number / 1000}
        leave(f"{number}", {"trainer.lr": lr}, scores, wall_seconds=seconds, git_commit="0012345e3")
    texts = in_text(runs_frame([compared()]), compared())
    assert texts["dev/x"].tolist() == ["70.10", "65.57", ""]
    assert texts["test/isotropy"].tolist() == ["0.0000", "0.0010", "0.0020"]
    assert texts["wall_seconds"].tolist() == ["2.50", "1234.57", ""]
    assert texts["git_commit"].tolist() == ["0012345e3"] * 3
    page = html_of_report(whole_report(compared()), Path())
    assert all(f">{text}</td>" in page for text in ("70.10", "65.57", "1e-05", "0.0001"))


def wait(shown, ready):
    """Up to a minute until ready()."""
    for _ in range(60):
        shown.run("new Promise((done) => setTimeout(() => done(true), 1000))")
        if ready():
            return


def test_the_rows_of_a_long_table_are_packed_and_the_same(comparison, monkeypatch):
    section = runs_section(comparison)
    plain = html_of_sortable(section)
    monkeypatch.setattr(write, "PACKED", len(section.table) - 1)
    long = str(html_of_sortable(section))
    (rows,) = re.findall('data-packed="([^"]*)"', long)
    unpacked = gzip.decompress(base64.b64decode(rows)).decode()
    assert long.replace(f' data-packed="{rows}">\n', f">\n{unpacked}") == plain
    assert unpacked.count("<tr>") == 12


@pytest.mark.nightly
@chromium.needed
def test_the_page_in_a_browser(comparison, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "PACKED", 6)  # the rows of runs are packed, and the rows of settings are not
    (tmp_path / "report.html").write_text(html_of_report(whole_report(comparison), Path()), encoding="utf-8")
    with chromium.Page(tmp_path / "report.html", tmp_path / "chromium") as shown:
        drawn = "document.querySelectorAll('.js-plotly-plot .main-svg').length"
        rows = "[...document.querySelectorAll('.sortable.dataTable tbody tr')].map((row) => row.innerText)"
        wait(shown, lambda: len(shown.run(rows)) == 18 and shown.run(drawn))
        lines = shown.run(rows)
        assert len(lines) == 6 + 12  # settings, and runs
        assert "76.50 ± 0.71\t79.50 ± 0.71" in lines[0]  # test, and the dev score that selected: 79 and 80
        assert shown.run("document.querySelectorAll('.js-plotly-plot').length") == 3
        heads = "[...document.querySelectorAll('.sortable th')].filter((one) => one.innerText.trim() == 'folder')"
        sides = shown.run(f"{heads}.map((one) => getComputedStyle(one).textAlign)")
        assert sides == ["left", "left"]  # also of folders that are named like numbers
        header = "[...document.querySelectorAll('.sortable th')].find((one) => one.innerText.trim() == 'lr')"
        for by in (["1e-05", "3e-05", "0.0001"], ["0.0001", "3e-05", "1e-05"]):  # a click, and another
            shown.run(f"{header}.click()")
            wait(shown, lambda: [line.split("\t")[1] for line in shown.run(rows)[:6:2]] == by)  # noqa: B023
            assert [line.split("\t")[1] for line in shown.run(rows)[:6]] == [one for one in by for _ in "ab"]
        shown.run(
            "(() => { const one = document.querySelectorAll('.dt-search input')[1]; one.value = 'failed';"
            "one.dispatchEvent(new Event('input')) })()"
        )
        assert len(shown.run(rows)) == 6 + 1
        assert shown.run("document.documentElement.scrollWidth") <= shown.width
        assert shown.run("document.title") == ""  # and not stolen
        assert [one for one in shown.complaints if "WebGL" not in one] == []  # drawn without a GPU here
        assert [one for one in shown.requests if not one.startswith(("file:", "data:", "blob:"))] == []


def page_of_sweep(name, **about):
    """The page of a sweep of which nothing has run."""
    section = filled(*parsed(sweeps.load_sweep(name).report), [])
    return html_of_report(Report("t", "", [section], {}, **about), Path())


@pytest.mark.nightly
@chromium.needed
@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_a_table_moves_in_its_own_box_and_keeps_its_first_column(page, tmp_path, dark):
    (tmp_path / "runs.html").write_text(page, encoding="utf-8")
    (tmp_path / "sweep.html").write_text(page_of_sweep("nonling/table1"), "utf-8")
    boxes = "[...document.querySelectorAll('.wide, .dt-layout-table > div')].filter((box) => box.checkVisibility())"
    first = "box.querySelector('tbody tr').firstElementChild.getBoundingClientRect().left"
    for name, count in (("runs.html", 2), ("sweep.html", 1)):
        with chromium.Page(tmp_path / name, tmp_path / "chromium", width=420, dark=dark) as shown:
            wait(shown, lambda: shown.run(f"{boxes}.length") == count)  # noqa: B023
            shown.run(f"{boxes}.forEach((box) => box.scrollLeft = 90)")
            moved = shown.run(f"{boxes}.map((box) => [box.scrollLeft, {first} - box.getBoundingClientRect().left])")
            assert len(moved) == count
            assert any(by for by, _ in moved)
            assert all(abs(place) < 2 for _, place in moved)
            assert shown.run("document.documentElement.scrollWidth") <= 420
            shown.ask("Emulation.setEmulatedMedia", media="print")  # dark text, as paper is white
            assert shown.run("getComputedStyle(document.querySelector('td')).color") == "rgb(28, 30, 33)"


@pytest.mark.nightly
@chromium.needed
@pytest.mark.parametrize("name", ["bert", "a name that would take half of the width of a chart"])
def test_a_chart_has_its_legend_below_on_paper_on_a_phone_and_for_long_names(leave, compared, tmp_path, name):
    """On paper a chart is half as wide as a sheet. After printing it is as it was."""
    for model in (name, "c"):
        events = [{"train/loss": 1.0 + step, "dev/x": 1.0 + step} for step in range(3)]
        leave(model[0], {"model.name": model, "seed": 1}, {"dev/x": 3.0}, events=events)
    (tmp_path / "report.html").write_text(html_of_report(whole_report(compared()), Path()), encoding="utf-8")
    size = "[...document.querySelectorAll('.js-plotly-plot')].map(({ _fullLayout: a }) => [a.width, a.height])"
    below = "document.querySelectorAll('.chart')[1].layout.legend.orientation == 'h'"
    for width, is_phone in ((1200, False), (390, True)):
        with chromium.Page(tmp_path / "report.html", tmp_path / "chromium", width=width) as shown:
            wait(shown, lambda: len(shown.run(size)) == 3)
            before = shown.run(size)
            assert shown.run(below) == (is_phone or name != "bert")
            shown.run("dispatchEvent(new Event('beforeprint'))")
            assert {width for width, _ in shown.run(size)} == {look.CHART_PRINTED}
            assert shown.run(below)
            shown.run("dispatchEvent(new Event('afterprint'))")
            assert shown.run(size) == before
            assert shown.run(below) == (is_phone or name != "bert")


def test_a_long_key_may_break_at_its_dots():
    section = Section("t", pd.DataFrame([["0.05"]], columns=["objective.temperature"], dtype=object))
    assert '<th rowspan="2">objective.<wbr>temperature</th>' in html_of_sortable(section)


@pytest.mark.parametrize(("steps", "tick"), [(4, 1), (40, None)])
def test_few_steps_have_whole_ticks(leave, compared, steps, tick):
    events = [{"train/loss": 1.0} | ({"dev/x": step} if step < 4 else {}) for step in range(steps)]
    leave("run", {"seed": 1}, {"dev/x": 70.0}, events=events)
    charts = charts_of(compared())
    assert {name: chart.layout.xaxis.dtick for name, chart in charts.items()} == {"Training loss": tick, "Curves": 1}


def test_an_axis_of_scores_has_words_and_a_unit_and_a_menu_has_keys(leave, compared):
    for number in range(2):
        leave(
            f"{number}", {"model.name": f"m{number}", "seed": 1}, {"dev/stsb/spearman": 70.0, "test/sts/average": 1.0}
        )
    chart = charts_of(compared())["Score by setting"]
    assert chart.layout.yaxis.title.text == "average on STS test<br>(points)"
    assert [button.label for button in chart.layout.updatemenus[0].buttons] == ["test/sts/average", "dev/stsb/spearman"]
    (_, second) = chart.layout.updatemenus[0].buttons
    assert unescape(second.args[1]["yaxis.title.text"]) == "Spearman's correlation on<br>STS-B dev (points)"


@pytest.mark.parametrize("models", [["<a>"], ["<a>", "b"]])
def test_a_chart_of_scores_has_a_line_with_a_name_for_each_untrained_encoder(leave, compared, models):
    """Only for the score whose level is known. A heat map has the levels in the text below it."""
    for number, model in enumerate(models):
        for lr in (1e-5, 3e-5):
            config = {"trainer.lr": lr, "model.name": model, "seed": 1}
            leave(f"{number}{lr}", config, {"dev/x/y": 70.0, "test/x/y": 60.0}, untrained={"dev/x/y": 72.0 + number})
    chart = charts_of(compared(metrics=["dev/*", "test/*"]))["Score by setting"]
    if len(models) == 2:
        assert chart.layout.meta == "Untrained <a>: 72.00 (y on x dev). Untrained b: 73.00 (y on x dev)."
        return
    shown = {button.label: button.args[1]["shapes"] for button in chart.layout.updatemenus[0].buttons}
    assert shown["test/x/y"] == []
    (line,) = shown["dev/x/y"]
    assert (line["y0"], line["y1"], line["label"]["text"]) == (72.0, 72.0, "untrained encoder")
    assert len(chart.layout.shapes) == (chart.layout.updatemenus[0].buttons[0].label == "dev/x/y")


@pytest.mark.parametrize("models", [["<a>"], ["<a>", "b"]])
def test_the_name_of_an_untrained_encoder_is_in_the_legend_of_curves(leave, compared, models):
    """A name inside the chart would hide a curve. The line ends where the curves of its score end."""
    for number, model in enumerate(models):
        events = [{"train/loss": 1.0} | ({"dev/x/y": 70.0} if step < 3 else {}) for step in range(20)]
        about = {"events": events, "untrained": {"dev/x/y": 70.0 + number}}
        leave(model, {"model.name": model, "seed": 1}, {"dev/x/y": 70.0}, **about)
    chart = charts_of(compared())["Curves"]
    assert not chart.layout.shapes
    lines = [line for line in chart.data if "untrained" in line.name]
    named = ["untrained encoder"] if len(models) == 1 else ["untrained &lt;a&gt;", "untrained b"]
    assert [(line.name, list(line.x), set(line.y)) for line in lines] == [
        (name, [0, 2], {70.0 + number}) for number, name in enumerate(named)
    ]
    assert len({line.line.dash for line in lines}) == len(models)
    assert all(line.showlegend is not False and line.legendrank is None for line in lines)  # plotly sorts these last


def test_a_browser_may_break_the_name_of_a_score_in_the_head_of_a_table():
    section = Section("t", pd.DataFrame([["a", "70.00"]], columns=["a b", "dev/<x>/y"], dtype=object), label_columns=1)
    assert "dev/<wbr>&lt;x&gt;/<wbr>y</th>" in html_of_report(Report("t", "", [section], {}), Path())


def test_of_many_runs_the_charts_show_the_best_and_say_so(leave, compared, monkeypatch):
    monkeypatch.setattr("cse.lab.report.any_runs.curves.RUNS", 2)
    for number in range(4):
        events = [{"dev/x": step} for step in range(3)]
        leave(f"run{number}", {"trainer.lr": number}, {"test/x": 70.0 + number}, events=events)
    curves = charts_of(compared())["Curves of 2 of 4 runs, from the best settings"]
    assert {line.hovertemplate[:4] for line in curves.data} == {"run2", "run3"}


def test_the_curve_of_a_single_setting_has_a_name(leave, compared):
    leave("run", {"seed": 1}, {"dev/x": 70.0}, events=[{"dev/x": step} for step in range(3)])
    (curve,) = charts_of(compared())["Curves"].data
    assert curve.name == "1: all"


def test_a_sentence_below_a_chart_names_the_settings_with_equal_curves(leave, compared):
    """A chart of several scores names the scores. The learning rates of all settings are equal."""
    for number, name in enumerate(["<a>", "b", "c"]):
        equal = {"train/lr": 0.1, "train/loss": float(number), "dev/x": 1.0 + number // 2, "dev/y": float(number)}
        leave(name, {"model.name": name, "seed": 1}, {"dev/x": 3.0 - number}, events=[equal] * 3)
    comparison = compared()
    below = {title: chart.layout.meta for title, chart in charts_of(comparison).items() if "Score" not in title}
    assert below == {
        "Training loss": "",
        "Learning rate": "All curves are equal at all steps.",
        "Curves": "These curves are equal at all steps: <a>; b (dev/x).",
    }
    page = html_of_report(whole_report(comparison), Path())
    assert page.count("equal at all steps: &lt;a&gt;; b (dev/x).</p>") == 1


def test_a_setting_has_one_colour(leave, compared):
    for number in range(8):
        lr, model = (1e-5, 3e-5)[number % 2], ("bert", "roberta")[number // 4]
        config = {"trainer.lr": lr, "model.name": model, "seed": number % 4 // 2}
        leave(f"{number}", config, {"test/x": 10.0 * (model == "bert") + 0.1 * number})
    comparison = compared()
    assert list(colours_of(comparison).values()) == list(look.SETTINGS[:4])
    charts = charts_of(comparison)
    (heat,) = charts["Score by setting"].data
    assert all("±" in text for text in heat.text.flat)
    assert charts["Score by setting"].layout.yaxis.autorange == "reversed"  # the first at the top, as in the figure


@pytest.mark.parametrize(("other", "third"), [("a", 3), ("b", 1)])
def test_charts_count_a_copy_once_and_mark_modified_scores_as_the_table_does(leave, compared, other, third):
    """Boxes of one key, a heat map of two, and the curves."""
    for name, lr, model, seed, score in [("one", 1, "a", 1, 46.0), ("copy", 1, "a", 1, 46.0), ("two", 1, "a", 2, 48.0),
                                         ("other", 2, "a", 1, 40.0), ("third", 1, other, third, 48.0)]:  # fmt: skip
        config = {"trainer.lr": lr, "model.name": model, "seed": seed}
        events = [{"dev/x/average": score + step} for step in range(3)]
        leave(name, config, {"dev/x/average": score}, events=events, modified="dev/x" if name == "copy" else None)
    comparison = compared()
    charts = charts_of(comparison)
    shown = settings_section(comparison, "", 0.95).shown.iloc[:, -2].tolist()
    if other == "b":
        assert "47.00 ± 1.41 †" in shown
        (heat,) = charts["Score by setting"].data
        assert "47.00<br>± 1.41 †" in heat.text.flat
        assert "48.00" in heat.text.flat  # of the other model, and not modified
    else:
        boxes = {box.x[0]: list(box.y) for box in charts["Score by setting"].data if box.type == "box"}
        assert boxes == {"1 †": [46.0, 48.0, 48.0], "2": [40.0]}
        assert charts["Score by setting"].layout.meta  # which explains the box
    curves = [line for line in charts["Curves"].data if line.mode == "lines"]
    bands = [line for line in charts["Curves"].data if line.fill == "toself"]
    assert len(curves) == len(comparison.settings)
    assert len(bands) == 1  # of the setting with several seeds
    (mean,) = (line for line in curves if line.legendgroup == bands[0].legendgroup)
    assert mean.y[-1] == pytest.approx(49.0 if other == "b" else 48 + 4 / 3)
    assert (bands[0].y[2] + bands[0].y[3]) / 2 == pytest.approx(mean.y[-1])
    assert "seed 1: 48<br>seed 2: 50" in mean.text[-1]
    assert [line.name[-1] for line in curves].count("†") == 1


def test_an_encoder_without_training_stands_beside_each_trained_setting(leave, compared):
    """It has no value at the keys of the trained settings, so no cell of two keys joins two objectives."""
    for name, objective, seed, score in [("a", "simcse", 1, 46.0), ("b", "simcse", 2, 48.0), ("c", "barlow", 1, 50.0)]:
        leave(name, {"objective.name": objective, "model.pooling": "cls", "seed": seed}, {"test/x/average": score})
    leave("untrained", {"label": "MiniLM", "seed": 1}, {"test/x/average": 49.0})
    chart = charts_of(compared())["Score by setting"]
    boxes = {box.x[0]: list(box.y) for box in chart.data if box.type == "box"}
    assert sorted(boxes.values()) == [[46.0, 48.0], [49.0], [50.0]]
    assert not any(name.startswith(",") or name.endswith(", ") for name in boxes)


def test_a_cell_of_a_heat_map_has_the_marks_of_all_settings_that_it_joins(leave, compared):
    made = [("modified", 1, "a", 0, {"modified": "dev/x"}), ("no better", 1, "a", 5, {"untrained": {"dev/x/y": 99.0}}),
            ("plain", 2, "b", 0, {})]  # fmt: skip
    for name, lr, model, warmup, about in made:
        config = {"trainer.lr": lr, "model.name": model, "trainer.warmup": warmup, "seed": 1}
        leave(name, config | {"trainer.select": "dev/x/y"}, {"dev/x/y": 46.0}, **about)
    (heat,) = charts_of(compared())["Score by setting, over all warmup"].data
    assert [text for text in heat.text.flat if text] == ["46.00<br>± 0.00 † ‡", "46.00"]


@pytest.mark.parametrize("seeds", [3, 5])
def test_few_seeds_are_dots_with_their_mean_and_deviation_and_no_box(leave, compared, seeds):
    for lr, base in ((1e-5, 70.0), (3e-5, 72.0)):
        for seed in range(seeds):
            leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": base + seed})
    chart = charts_of(compared())["Score by setting"]
    boxes = [trace for trace in chart.data if trace.type == "box"]
    assert [list(box.y) for box in boxes] == [[base + seed for seed in range(seeds)] for base in (70.0, 72.0)]
    assert ("quartiles" in chart.layout.meta) is (seeds == 5)
    assert {box.line.width for box in boxes} == ({0} if seeds == 3 else {None})
    means = [trace for trace in chart.data if trace.type == "scatter"]
    assert [list(mean.y) for mean in means] == ([[71.0], [73.0]] if seeds == 3 else [])
    for mean in means:
        assert mean.error_y.array == pytest.approx([1.0])  # as in the table and in the figures


def test_a_category_without_a_value_has_a_name(leave, compared):
    """An encoder that is only scored has no objective. More than twenty settings are no longer a box each."""
    leave("reference", {"checkpoint": "bert"}, {"dev/x": 60.0}, overrides=["checkpoint=bert"])
    for objective, pooling in product("abcde", "vwxyz"):
        config = {"objective": objective, "model.pooling": pooling, "trainer.lr": 1.0, "seed": 1}
        leave(objective + pooling, config, {"dev/x": 70.0})
    comparison = compared()
    (chart,) = (chart for title, chart in charts_of(comparison).items() if title.startswith("Score"))
    assert "none" in {*chart.layout.xaxis.labelalias.values(), *chart.layout.yaxis.labelalias.values()}
    (figure,) = (one.figure for one in draw_paper_figures(comparison, curves_of(comparison)) if one.name == "heat_map")
    axes = figure.axes[0]
    assert "none" in {text.get_text() for text in (*axes.get_xticklabels(), *axes.get_yticklabels())}


def test_a_sweep_without_runs_says_what_starts_it():
    page = page_of_sweep("whitenedcse/table4", link="https://x.test", start="cse-train x")
    assert "<code>cse-train x</code>" in page
    assert 'href="https://x.test"' in page
    assert page.count("<td>") == 16
    assert "not run" not in page.partition("Signs and verdicts")[0]
    assert "78.78" in page


def test_many_numbers_are_no_categories_beside_another_key(leave, compared):
    for number in range(8):
        leave(f"{number}", {"data.limit": 10 + number % 2, "trainer.lr": 1e-5 * 2**number}, {"dev/x": 70.0 + number})
    charts = charts_of(compared())
    assert list(dict.fromkeys(box.x[0] for box in charts["Score by setting, over all lr"].data)) == ["10", "11"]
    assert "Score by lr" in charts


@pytest.mark.parametrize(("unit", "ticks"), [(1e-5, "~e"), (1e-2, None)])
def test_each_tick_of_small_numbers_has_its_own_exponent(leave, compared, unit, ticks):
    """Learning rates, as an axis of settings and as curves. A log axis writes its ticks so by itself."""
    for number in range(2, 10):
        events = [{"train/lr": 0.0}, {"train/lr": number * unit}]
        leave(f"{number}", {"trainer.lr": number * unit}, {"dev/x": 70.0 + number}, events=events)
    charts = charts_of(compared())
    assert charts["Score by lr"].layout.xaxis.type == "linear"
    assert charts["Score by lr"].layout.xaxis.tickformat == ticks
    assert charts["Learning rate"].layout.yaxis.tickformat == ticks


def test_a_search_has_an_axis_of_numbers_the_best_so_far_and_a_word_on_its_luck(leave, compared):
    """Also with further seeds of the best among its trials."""
    scores = [70.0, 72.0, 71.0, 69.0, 74.0]
    for number, score in enumerate(scores):
        events = [{"time": 100.0 - number, "train/loss": 2.0}, {"train/loss": 1.0, "train/grad_norm": 3.0}]
        folder = leave(f"{number}", {"trainer.lr": 1e-5 * 3**number, "seed": 1}, {"dev/x": score}, events=events)
    best = {"trainer.lr": 1e-5 * 3**4, "seed": 2}
    leave("0 again", best, {"dev/x": 73.0}, events=[{"time": 200.0, "train/loss": 1.0}])
    (folder.parent / ".smac").mkdir()
    comparison = compared()
    charts = charts_of(comparison)
    assert "of 5 trials was selected by dev/x" in legend_of_settings(comparison)[0]
    assert list(charts) == ["Score by lr", "Best so far", "Training loss"]
    assert charts["Score by lr"].layout.meta  # which explains the colours
    assert charts["Score by lr"].layout.xaxis.type == "log"
    points = charts["Score by lr"].data  # a trace for each colour
    assert sorted(score for dots in points for score in dots.y) == [*sorted(scores[:4]), 73.0]  # without the best trial
    assert [dots.text.tolist() for dots in points if 73.0 in dots.y] == [["lr=0.00081"]]
    trials, best = charts["Best so far"].data
    assert list(trials.y) == scores[::-1]  # as they began
    assert list(best.y) == [74.0] * 5


def test_each_search_of_a_folder_has_its_own_best_so_far_over_its_own_trials(leave, compared):
    """Where a sweep searches each encoder; a trial without the score keeps its number."""
    scores = [("bert", 70.0), ("bert", None), ("bert", 72.0), ("roberta", 80.0), ("roberta", 79.0)]
    for number, (model, score) in enumerate(scores):
        config = {"model": model, "trainer.lr": number + 1.0, "seed": 1}
        words = ["sweep=noncontrastive/table1_vicreg", *(f"{key}={value}" for key, value in config.items())]
        event = {"time": 1.0 + number, "train/loss": 1.0}
        metrics = {"dev/x": score, "dev/y": 1.0}
        folder = leave(f"{number}", config, metrics, events=[event], overrides=words)
    (folder.parent / ".smac").mkdir()
    comparison = compared(metrics=["dev/x"])
    assert "of 5 trials" in legend_of_settings(comparison)[0]
    _, *lines = charts_of(comparison)["Best so far"].data
    assert [(list(line.x), list(line.y)) for line in lines] == [([1, 3], [70.0, 72.0]), ([1, 2], [80.0, 80.0])]
