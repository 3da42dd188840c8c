"""The page of any runs: its data, that nothing of a run becomes HTML, and the page itself in Chromium."""

import json
import os
import re
import time

import chromium
import pytest
import yaml

from cse.record.runs import read_runs
from cse.report import dashboard
from cse.report.comparison import compared

EVIL = "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>"


@pytest.fixture
def page_of(leave, tmp_path):
    """Makes the page of twelve runs over two settings, one with a name that would be a script; some are not done."""
    number = 0
    for lr in (1e-5, 3e-5, 1e-4):
        for model in ("bert", EVIL.replace("/", "_")):
            for seed in (1, 2):
                number += 1
                score = 70.0 + number
                events = [{"train/loss": 1 / (step + 1), "dev/x/average": score - 5 + step} for step in range(6)]
                config = {"trainer.lr": lr, "model.name": model, "seed": seed}
                status = {11: "failed", 12: "running"}.get(number, "done")
                metrics = {"dev/x/average": score, "test/x/average": score - 3, "test/y/loss": float("nan")}
                folder = leave(f"{number}", config, metrics if status == "done" else {}, status=status, events=events)
                (folder / ".hydra" / "overrides.yaml").write_text(
                    yaml.safe_dump([f"trainer.lr={lr}", f"model.name={model}", f"seed={seed}", f"note={EVIL}"])
                )
                if number == 11:
                    results = json.loads((folder / "results.json").read_text())
                    (folder / "results.json").write_text(json.dumps(results | {"error": EVIL}))
    beat = tmp_path / "runs" / "12" / "heartbeat.json"
    beat.write_text(json.dumps({"host": "elsewhere", "pid": 7, "steps": 10}))
    os.utime(beat, (time.time() + 3600,) * 2)  # however slow this test is
    folder = tmp_path / "runs"
    return lambda: dashboard.to_html(compared(read_runs([folder]), [folder], [], "seed"))


@pytest.fixture
def page(page_of):
    return page_of()


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))


def test_the_pages_data_is_json_that_no_name_leaves(page):
    data = data_of(page)
    assert [one["name"] for one in data["keys"]] == ["lr", "name"]
    assert len(data["runs"]) == 12
    assert len(data["settings"]) == 6
    assert data["runs"][0]["scores"]["test/y/loss"] is None
    assert data["runs"][0]["curves"]["train/loss"] == [[0, 1, 2, 3, 4, 5], [1.0, 0.5, 0.333333, 0.25, 0.2, 0.166667]]
    assert data["less"] == ["test/y/loss"]
    assert page.count("<script") == page.count("</script>") == 3
    assert "<img src=x" not in page


def test_the_page_asks_for_nothing(page):
    assert not re.search(r'<(link|script|img|iframe)[^>]+(src|href)="?https?:', page)
    assert "default-src 'none'" in page
    assert "BSD 3-Clause" in page


def test_without_vl_convert_the_page_is_its_table_and_says_so(page_of, monkeypatch):
    monkeypatch.setattr(dashboard, "find_spec", lambda _: None)
    page = page_of()
    assert "The charts need vl-convert where this page is written: pip install -e &#39;.[page]&#39;" in page
    assert '<div class="charts" hidden>' in page
    assert page.count("<script") == page.count("</script>") == 2
    assert len(data_of(page)["runs"]) == 12


def test_long_curves_are_thinned_and_keep_their_end():
    points = [(float(step), 0.0) for step in range(10_001)]
    kept = dashboard.thinned(points)
    assert len(kept) <= dashboard.POINTS
    assert kept[-1] == points[-1]
    assert dashboard.thinned(points[:7]) == points[:7]


@pytest.mark.slow
@chromium.needed
def test_the_page_without_charts_in_a_browser(page_of, tmp_path, monkeypatch):
    monkeypatch.setattr(dashboard, "find_spec", lambda _: None)
    (tmp_path / "report.html").write_text(page_of(), encoding="utf-8")
    with chromium.Page(tmp_path / "report.html", tmp_path / "chromium", 1600, False) as shown:
        assert len(shown.run(ROWS)) == 6
        shown.run("document.getElementById('folded').click()")
        assert len(shown.run(ROWS)) == 12
        assert "pip install" in shown.run("document.body.innerText")
        assert shown.complaints == []


ROWS = "[...document.querySelectorAll('#table tbody tr:not(.details)')].map((row) => row.innerText)"
DRAWN = "document.drawn.then(() => true)"


@pytest.mark.slow
@chromium.needed
@pytest.mark.parametrize(("width", "dark"), [(1600, False), (400, True)])
def test_the_page_in_a_browser(page, tmp_path, width, dark):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")

    def change(identity, value):
        shown.run(
            f"(() => {{ const one = document.getElementById('{identity}'); one.value = {json.dumps(value)};"
            "one.dispatchEvent(new Event(one.type === 'search' ? 'input' : 'change')) })()"
        )

    with chromium.Page(tmp_path / "report.html", tmp_path / "chromium", width, dark) as shown:
        shown.run(DRAWN)
        assert shown.run("document.querySelectorAll('.chart svg.marks').length") == 4
        rows = shown.run(ROWS)
        assert len(rows) == 6
        assert "79.50 ± 0.71" in rows[0]  # 79 and 80
        assert "★" in rows[0]
        assert rows[-1].endswith("failed, running")

        shown.run("document.querySelector('#table th:nth-child(2) button').click()")
        shown.run("document.querySelector('#table th:nth-child(2) button').click()")
        assert [row.split("\t")[1] for row in shown.run(ROWS)] == ["1e-05"] * 2 + ["3e-05"] * 2 + ["0.0001"] * 2

        for words, count in (
            ("lr=3e-05", 2),
            ("average>75", 3),
            ("bert", 3),
            ("state=done name=bert", 3),
            ("nothing", 0),
        ):
            change("filter", words)
            assert len(shown.run(ROWS)) == count, words
        change("filter", "")

        shown.run("document.getElementById('folded').click()")
        assert len(shown.run(ROWS)) == 12
        change("by", "2")
        assert shown.run("document.getElementById('least').checked") is True
        for control, value in (("down", "-1"), ("curve", "1"), ("by", "1"), ("colour", "1")):
            change(control, value)
            shown.run(DRAWN)
        shown.run("document.querySelector('.opener').click(); document.querySelector('#table tbody tr').click()")
        assert "cse-train " in shown.run("document.querySelector('.details').innerText")
        shown.run(DRAWN)
        assert shown.run("document.documentElement.scrollWidth") <= width
        assert shown.run("document.title") == str(tmp_path / "runs")
        assert shown.complaints == []
        assert [one for one in shown.requests if not one.startswith(("file:", "data:"))] == []
