"""The figures of any runs for a paper: what is drawn is read back from the axes, and the files are there."""

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cse.lab.report.any_runs.charts import colours_of
from cse.lab.report.any_runs.curves import curves_of
from cse.lab.report.any_runs.paper_figures import draw_paper_figures
from cse.lab.report.show import write
from cse.lab.report.show.document import Picture, Report

DEV, TEST = "dev/x/average", "test/x/average"
DEV_IN_WORDS, TEST_IN_WORDS = "average on x dev", "average on x test"


@pytest.fixture
def pictures(compared):
    """pictures(...) -> {name: picture} of the runs that were left, without pictures that have no data."""

    def draw(**about):
        comparison = compared(**about)
        drawn = draw_paper_figures(comparison, curves_of(comparison))
        assert not any(picture.is_of_paper for picture in drawn)
        assert all(bool(picture.figure) == bool(picture.caption) for picture in drawn)
        assert all(picture.figure is None or picture.figure.get_suptitle() == "" for picture in drawn)
        return {picture.name: picture for picture in drawn if picture.figure}

    return draw


@pytest.fixture
def figures(pictures):
    """figures(...) -> {name: figure} of the runs that were left, without figures that have no data."""

    def draw(**about):
        return {name: picture.figure for name, picture in pictures(**about).items()}

    return draw


@pytest.fixture
def two_losses(leave):
    """Two methods by two models, of three seeds; losses of barlow are 300 times as large. One run is there twice."""
    for method, score in (("simcse", 70.0), ("barlow", 66.0)):
        for model in ("bert", "$mini$_"):
            for seed in (1, 2, 3):
                value = score + seed + 5 * (model == "bert")
                losses = [(300 if method == "barlow" else 1) * seed / (k + 1) for k in range(4)]
                events = [{"train/loss": loss, DEV: value + k} for k, loss in enumerate(losses)]
                config = {"method": method, "model.name": model, "seed": seed, "trainer.select": DEV}
                copies = ["", "again"] if (method, model, seed) == ("simcse", "bert", 1) else [""]
                for copy in copies:
                    name = f"{method}-{model}-{seed}{copy}"
                    leave(name, config, {DEV: value + 3, TEST: value}, events=events)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_scores_are_means_with_deviations_of_distinct_seeds_the_best_first(two_losses, pictures, compared):
    scores = pictures()["scores"]
    (axes,) = scores.figure.axes
    assert axes.get_yticklabels()[0].get_text() == "simcse, bert"
    means = [float(bars.lines[0].get_xdata()[0]) for bars in axes.containers]
    assert means == [77.0, 73.0, 72.0, 68.0]
    (bar,) = axes.containers[0].lines[2][0].get_segments()
    assert [float(x) for x in bar[:, 0]] == [76.0, 78.0]  # 1 below and above
    seeds = [list(map(float, line.get_xdata())) for line in axes.lines if len(line.get_xdata()) > 1]
    assert seeds == [[value - 1, value, value + 1] for value in means]
    assert {round(line.get_ydata()[0] % 1, 3) for line in axes.lines} == {0, 0.3}  # no mean hides a seed
    assert texts(axes) == ["method, name"]
    assert axes.get_xlabel() == f"{TEST_IN_WORDS} (points)"
    facts = "mean ± standard deviation over seeds, a dot for each seed."
    assert scores.caption == f"Average on x test by method, name: {facts}"
    colours = [to_hex(bars.lines[0].get_color()) for bars in axes.containers]
    assert colours == list(colours_of(compared()).values())  # as on the page


@pytest.mark.parametrize("rates", [2, 8])
def test_scores_have_a_line_with_a_name_at_the_level_of_the_untrained_encoder(leave, figures, rates):
    """Also if numbers are the x axis."""
    for number in range(rates):
        config = {"trainer.lr": 1e-5 * 2**number, "seed": 1}
        leave(f"{number}", config, {DEV: 70.0 + number}, untrained={DEV: 65.0})
    (axes,) = figures()["scores"].axes
    assert "untrained encoder" in texts(axes)
    places = [line.get_ydata() if rates == 8 else line.get_xdata() for line in axes.lines]
    assert [65.0, 65.0] in [list(place) for place in places]


@pytest.mark.parametrize("letters", [1, 22, 30])
@pytest.mark.parametrize("step", [0.03, 0.004, 1.0, 7.0])
def test_the_numbers_at_the_axis_of_scores_do_not_overlap(leave, figures, letters, step):
    """Also if the scores are close, and if long names leave little room."""
    for number in range(4):
        leave(f"{number}", {"model.name": f"{number}" * letters, "seed": 1}, {DEV: 80.375 + step * number})
    figure = figures()["scores"]
    figure.draw_without_rendering()
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    shown = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    boxes = [label.get_window_extent() for label in shown]
    assert len(shown) > 1
    assert all(one.x1 + 1 < other.x0 for one, other in pairwise(boxes)), [label.get_text() for label in shown]


def test_the_cells_of_a_heat_map_are_those_of_the_page(two_losses, figures):
    axes, scale = figures()["heat_map"].axes
    assert scale.get_xlabel() == f"{TEST_IN_WORDS} (points)"
    assert sorted(texts(axes)) == ["68.00\n± 1.00", "72.00\n± 1.00", "73.00\n± 1.00", "77.00\n± 1.00"]


def test_curves_are_means_in_bands_and_losses_of_other_sizes_have_a_panel_each(two_losses, pictures):
    drawn = pictures()
    (axes,) = drawn["curves"].figure.axes
    best = axes.lines[0]
    assert [float(y) for y in best.get_ydata()] == [77.0, 78.0, 79.0, 80.0]
    band = axes.collections[0].get_datalim(axes.transData)
    assert (band.y0, band.y1) == pytest.approx((76.0, 81.0))
    assert axes.get_ylabel().replace("\n", " ") == f"{DEV_IN_WORDS} (points)"
    assert drawn["curves"].caption.startswith("Average on x dev over the steps: mean ± ")
    small, large = drawn["training_loss"].figure.axes
    assert {float(line.get_ydata()[0]) for line in small.lines} == {2.0}
    assert {float(line.get_ydata()[0]) for line in large.lines} == {600.0}


@pytest.mark.parametrize("equal", [False, True])
def test_a_caption_names_the_settings_with_equal_curves(leave, pictures, equal):
    """The sentence of each of two pairs is in the caption, but not of curves that differ at one step."""
    for number, name in enumerate("abcd"):
        for seed in (1, 2):
            losses = [seed + number // 2 + step * 0.1 for step in range(3)]
            losses[1] += 0 if equal else 1e-3 * number
            events = [{"train/loss": loss} for loss in losses]
            leave(f"{name}{seed}", {"model.name": f"${name}", "seed": seed}, {DEV: 70.0 - number}, events=events)
    caption = pictures()["training_loss"].caption
    assert ("equal at all steps: $a; $b. These curves are equal at all steps: $c; $d." in caption) == equal
    assert ("equal" in caption) == equal


def test_a_caption_says_that_lines_over_numbers_are_equal(leave, pictures):
    for model in ("a", "b"):
        for number in range(8):
            config = {"trainer.lr": 1e-5 * 2**number, "model.name": model, "seed": 1}
            leave(f"{model}{number}", config, {DEV: 70.0 + number})
    assert "All curves are equal at all values of lr." in pictures()["scores"].caption


def test_names_of_runs_are_no_mathematics_and_none_is_hidden(leave, figures):
    for model in ("_a", r"$x^{$"):
        leave(model.strip("$^{"), {"model.name": model}, {DEV: 1.0}, events=[{DEV: float(k)} for k in range(3)])
    drawn = figures()
    (legend,) = drawn["curves"].legends
    for figure in drawn.values():
        figure.draw_without_rendering()  # an unbalanced $ would raise
    assert {text.get_text().replace("\\", "").strip() for text in legend.get_texts()} == {"_a", "$x^{$"}


def test_of_many_settings_the_best_are_drawn_and_the_caption_says_so(leave, pictures):
    for number in range(22):
        events = [{DEV: float(number + k)} for k in range(2)]
        leave(f"{number}", {"model.name": f"m{number}"}, {DEV: float(number)}, events=events)
    drawn = pictures()
    assert "the best 20 of 22 settings" in drawn["scores"].caption
    assert drawn["scores"].figure.axes[0].get_yticklabels()[0].get_text() == "m21"
    assert "the best 8 of 22 settings" in drawn["curves"].caption
    assert len(drawn["curves"].figure.axes[0].lines) == 8


def test_many_numbers_are_an_axis_with_a_line_for_each_other_setting(leave, figures):
    for model, extra in (("a", 0.0), ("b", 5.0)):
        for number in range(8):
            for seed in (1, 2):
                config = {"trainer.lr": 1e-5 * 2**number, "model.name": model, "seed": seed}
                leave(f"{model}{number}-{seed}", config, {DEV: 70.0 + number + extra + seed})
    (axes,) = figures()["scores"].axes
    assert axes.get_xscale() == "log"
    first, second = (bars.lines[0] for bars in axes.containers)
    assert [float(y) for y in first.get_ydata()] == [76.5 + number for number in range(8)]
    assert [float(x) for x in second.get_xdata()] == pytest.approx([1e-5 * 2**number for number in range(8)])


def test_a_single_run_has_its_curve_and_no_table_of_one_score(leave, figures):
    leave("run", {"seed": 1}, {DEV: 70.0}, events=[{DEV: float(step)} for step in range(3)])
    assert list(figures()) == ["curves"]


def test_a_figure_is_three_files_as_wide_as_a_column_and_goes_with_its_data(leave, figures, tmp_path):
    leave("run", {"seed": 1}, {DEV: 70.0}, events=[{DEV: float(step)} for step in range(3)])
    figure = figures()["curves"]
    out = tmp_path / "out"
    picture = Picture("curves", figure, "caption", is_of_paper=False)
    line = write.write_report(Report("t", "", [], {}, pictures=[picture]), out)
    assert "(curves: " in line
    starts = {file.suffix: file.read_bytes()[:5] for file in (out / "figures").iterdir()}
    assert starts == {".png": b"\x89PNG\r", ".svg": b"<?xml", ".pdf": b"%PDF-", ".tex": b"% nee"}
    assert b"/MediaBox [ 0 0 237.6 " in (out / "figures/curves.pdf").read_bytes()  # 3.3 inches
    assert b"/Type3" not in (out / "figures/curves.pdf").read_bytes()
    line = write.write_report(Report("t", "", [], {}, pictures=[Picture("curves", None, is_of_paper=False)]), out)
    assert "curves" not in line
    assert not (out / "figures").exists()
    assert Path(out / "report.html").exists()


@pytest.mark.parametrize(("width", "environment"), [(3.3, "figure"), (6.9, "figure*")])
def test_a_figure_has_its_caption_and_label_in_latex_and_markdown(tmp_path, width, environment):
    picture = Picture("curves", Figure(figsize=(width, 2)), "dev/x_1 ± 50%.", is_of_paper=False)
    report = Report("t", "", [], {}, pictures=[picture, Picture("figure3", Figure())])
    write.write_report(report, tmp_path / "a b")
    tex = (tmp_path / "a b/figures/curves.tex").read_text()
    assert tex.count(rf"{{{environment}}}") == 2
    assert "curves.pdf}" in tex
    assert r"\caption{dev/x\_1 $\pm$ 50\%.}" in tex
    assert r"\label{fig:a-b-curves}" in tex
    assert [file.stem for file in (tmp_path / "a b/figures").glob("*.tex")] == ["curves"]  # figure3 has no caption
    assert "figures/curves.tex}" in write.latex_of_report(report)
    assert "figure3" not in write.latex_of_report(report)
    assert "(figures/curves.png)\n\ndev/x_1 ± 50%.\n" in write.markdown_of_report(report)


def test_a_caption_explains_the_signs_of_its_figure(leave, pictures):
    for number, modified in enumerate((None, "dev/x")):
        leave(f"{number}", {"model.name": f"m{number}", "seed": 1}, {DEV: 1.0 + number}, modified=modified)
    assert "†: " in pictures()["scores"].caption


@pytest.mark.parametrize(("points", "marker"), [(4, "o"), (40, "None")])
def test_curves_have_a_marker_at_each_evaluation_or_none_and_a_line_of_the_untrained_encoder(
    leave, figures, points, marker
):
    events = [{DEV: 60.0 + step, "step": step} for step in range(points)]
    leave("a", {"trainer.lr": 1, "seed": 1}, {DEV: 70.0}, events=events, untrained={DEV: 60.0})
    (axes,) = figures()["curves"].axes
    curve, untrained = axes.lines
    assert (curve.get_marker() or "None", curve.get_markevery()) == (marker, None)
    assert list(untrained.get_ydata()) == [60.0, 60.0]
    assert "untrained encoder" in texts(axes)
