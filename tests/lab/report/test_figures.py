"""Figures of invented runs: what is drawn is read back from the axes."""

import pytest
import yaml
from made_up_tables import parsed
from matplotlib.text import Text

from cse.lab.report.paper import figures
from cse.lab.report.paper.report_block import REQUIRED, Plot


def block(paper="noncontrastive", **more):
    return parsed({"paper": paper, **more})[0]


def draw(text, runs, paper="noncontrastive"):
    return figures.draw_figure(Plot(**yaml.safe_load(text)), block(paper), runs)


def points(line):
    return [tuple(map(float, point)) for point in line.get_xydata()]


@pytest.fixture
def grid(leave, runs):
    """Two models x three lambdas x two rates; the score is 10 lambda + the rate's number, 5 higher for roberta."""
    for model, extra in (("bert", 0), ("roberta", 5)):
        for i, lambd in enumerate((0.001, 0.01, 0.1)):
            for rate in (1, 2):
                leave(f"{model}-{i}-{rate}", {"objective.lambd": lambd, "trainer.lr": rate},
                      {"dev/stsb/spearman": 10 * i + rate + extra}, choices={"model": model})  # fmt: skip
    leave("failed", {"objective.lambd": 0.5}, status="failed")
    return runs()


def test_score_against_lambda_maximum_and_quartile(grid):
    figure = draw("{kind: curve, name: figure1, x: objective.lambd, y: dev/stsb/spearman, statistics: [max, q75], "
                  "series: model, log: true}", grid)  # fmt: skip
    axes = figure.axes[0]
    assert {bars.get_label(): points(bars.lines[0]) for bars in axes.containers} == {
        "bert max": [(0.001, 2), (0.01, 12), (0.1, 22)],
        "bert q75": [(0.001, 1.75), (0.01, 11.75), (0.1, 21.75)],
        "roberta max": [(0.001, 7), (0.01, 17), (0.1, 27)],
        "roberta q75": [(0.001, 6.75), (0.01, 16.75), (0.1, 26.75)],
    }
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "Spearman's correlation on STS-B dev (points)"  # the split is in the name
    assert axes.get_xlabel() == "lambda (objective.lambd)"
    assert axes.get_legend().get_title().get_text() == "model"
    assert "paper: best of BERT (Table 1)" in [note.get_text() for note in axes.texts]


@pytest.mark.parametrize(
    "text",
    [
        "{kind: curve, name: it, x: lambd, y: dev/x, series: model}",
        "{kind: scatter, name: it, x: dev/x, y: dev/y, series: model}",
        "{kind: distribution, name: it, x: model, y: dev/x}",
    ],
)
def test_the_name_of_a_series_is_no_formula_and_is_not_hidden(leave, runs, text):
    names = ["$^{$", "_a"]
    for name in names:
        leave(name.strip("$^{"), {"lambd": 1}, {"dev/x": 1.0, "dev/y": 1.0}, choices={"model": name})
    figure = draw(text, runs())
    figure.draw_without_rendering()  # an unbalanced $ would raise
    texts = [text.get_text().replace("\\", "") for text in figure.findobj(Text)]
    assert all(any(name in text for text in texts) for name in names)


def test_nli_size_with_the_papers_point_and_line(leave, runs):
    for size in (10_000, 30_000):
        for seed in (1, 2):
            leave(f"{size}-{seed}", {"data.rows": size, "seed": seed}, {"test/sts/average": size / 1000 + seed})
    figure = draw("{kind: curve, name: figure2, x: data.rows, y: test/sts/average}", runs(), "nonling")
    axes = figure.axes[0]
    assert axes.get_ylabel() == "average on STS test (points), ± sd over\nseeds"
    assert points(axes.lines[0])[:2] == [(10_000, 11.5), (30_000, 31.5)]
    star = next(line for line in axes.lines if line.get_marker() == "*")
    assert points(star) == [(275601, 81.57)]


def test_a_trial_and_a_key_without_a_number_are_not_drawn(leave, runs):
    """As the claims have it: the mean is of the sweep's own runs, and all rows (null) are not 0 of them."""
    for rows, steps, score in [(10_000, None, 70), (20_000, None, 71), (10_000, 10, 20), (None, None, 75)]:
        leave(f"{rows}-{steps}", {"data.rows": rows, "trainer.max_steps": steps}, {"test/sts/average": score})
    text = yaml.safe_load("{kind: curve, name: it, x: data.rows, y: test/sts/average, log: true}")
    figure = figures.draw_figure(Plot(**text), block(setting={"trainer.max_steps": None}), runs())
    assert points(figure.axes[0].lines[0]) == [(10_000, 70), (20_000, 71)]


def test_a_copy_of_a_run_counts_once(leave, runs):
    """And a run that was made again, by the mean of both."""
    for name, seed, score in (("a", 1, 70), ("a copy", 1, 70), ("b", 2, 79), ("b again", 2, 81)):
        leave(name, {"data.rows": 10, "seed": seed}, {"test/sts/average": score})
    found = runs()
    assert points(draw("{kind: curve, name: it, x: data.rows, y: test/sts/average}", found).axes[0].lines[0]) == [
        (10, 75)
    ]
    figure = draw("{kind: distribution, name: it, x: data.rows, y: test/sts/average}", found)
    (dots,) = (points(line) for line in figure.axes[0].lines if line.get_marker() == "o")
    assert dots == [(1, 70), (1, 80)]


def test_a_seed_with_two_runs_of_other_settings_weighs_no_more_than_one_with_a_single_run(leave, runs):
    """As in a cell of a table: first a statistic of each seed's runs, then the mean over seeds."""
    for name, seed, steps, score in (("a", 1, 10, 60), ("b", 1, 20, 70), ("c", 2, 10, 75)):
        scores = {"test/sts/average": score, "dev/other/average": score / 10}
        leave(name, {"data.rows": 10, "seed": seed, "trainer.max_steps": steps}, scores)
    about = "name: it, x: data.rows, y: test/sts/average"
    curve = draw(f"{{kind: curve, {about}, statistics: [mean, max]}}", runs()).axes[0]
    means, most = (points(bars.lines[0]) for bars in curve.containers)
    assert (means, most) == ([(10, 70)], [(10, 72.5)])
    level = draw(f"{{kind: curve, {about}, series: {{all: {{}}}}, level: [all]}}", runs()).axes[0].lines[0]
    assert points(level) == [(0, 70), (1, 70)]
    heat = draw("{kind: heat, name: it, x: data.rows, y: data.rows, z: test/sts/average, statistic: mean}", runs())
    assert heat.axes[0].images[0].get_array().tolist() == [[70]]
    scatter = draw("{kind: scatter, name: it, x: test/sts/average, y: dev/other/average, series: {all: {}}}", runs())
    assert points(scatter.axes[0].lines[0]) == [(70, 7)]


HEADS = (
    "{kind: curve, name: heads, x: width, y: dev/declutr/average, level: [none], series: "
    "{none: {kind: none}, ReLU: {kind: relu}}}"
)


@pytest.mark.parametrize("evaluator", ["sts", "stsb", None])
def test_a_figure_with_modified_scores_says_so(leave, runs, evaluator):
    for size in (10_000, 30_000):
        leave(f"{size}", {"data.rows": size}, {"test/sts/average": 1.0, "dev/stsb/x": 1.0}, modified=evaluator)
    figure = draw("{kind: curve, name: figure2, x: data.rows, y: test/sts/average}", runs(), "nonling")
    assert ("†" in figure.get_suptitle()) == (evaluator == "sts")


def test_a_series_without_an_x_is_a_line_across(leave, runs):
    """No head has no width: what its key happens to hold is no place on the axis."""
    for kind, width, score in (("none", 128, 54.0), ("relu", 128, 55.0), ("relu", 256, 56.0)):
        leave(f"{kind}-{width}", {"kind": kind, "width": width}, {"dev/declutr/average": score})
    across, relu = draw(HEADS, runs(), "declutr").axes[0].lines
    assert (across.get_label(), points(across)) == ("none", [(0.0, 54.0), (1.0, 54.0)])  # of the axes' width
    assert points(relu) == [(128, 55.0), (256, 56.0)]


def test_a_map_has_a_panel_a_model_and_a_cell_a_pair(grid):
    figure = draw("{kind: heat, name: lambdas, x: objective.lambd, y: trainer.lr, z: dev/stsb/spearman, series: model}",
                  grid)  # fmt: skip
    first, second = (axes for axes in figure.axes if axes.images and axes.get_title())
    assert (first.get_title(), second.get_title()) == ("bert", "roberta")
    assert first.images[0].get_array().tolist() == [[1, 11, 21], [2, 12, 22]]


def test_alignment_and_uniformity_of_rows(leave, runs):
    """Our point and the paper's of one name have one number and colour."""
    for seed, (x, y) in enumerate([(-2.0, 0.2), (-3.0, 0.4)]):
        metrics = {"test/geometry/uniformity": x, "test/geometry/alignment": y}
        leave(f"a{seed}", {"seed": seed}, metrics, choices={"objective": "simcse"})
    text = """{kind: scatter, name: figure3, x: test/geometry/uniformity, y: test/geometry/alignment,
               series: {BERT SimCSE: {objective: simcse}, Barlow: {objective: barlow}}}"""
    figure = draw(text, runs())
    axes = figure.axes[0]
    dot, *stars = axes.lines
    assert points(dot) == [(-2.5, pytest.approx(0.3))]
    (star,) = (line for line in stars if points(line) == [(-2.62, 0.21)])
    assert (star.get_marker(), star.get_color()) == ("*", dot.get_color())
    (legend,) = figure.legends  # beside the axes: 14 names
    assert [text.get_text() for text in legend.get_texts()][:2] == ["1  BERT SimCSE", "2  BERT avg."]
    numbers = [note.get_text() for note in axes.texts]
    assert sorted(numbers, key=int) == ["1", *(str(number) for number in range(1, 15))]
    assert Plot(**yaml.safe_load(text)).metrics == ["test/geometry/uniformity", "test/geometry/alignment"]


def test_a_path_follows_the_steps_of_training(leave, runs):
    steps = [{"dev/stsb/uniformity": -2.0 - s, "dev/stsb/alignment": 0.1 * s} for s in range(3)]
    leave("a", {}, {}, events=[*steps, {"train/loss": 1.0}], choices={"objective": "whitenedcse"})
    figure = draw("{kind: path, name: figure3, x: dev/stsb/uniformity, y: dev/stsb/alignment, series: objective}",
                  runs(), "whitenedcse")  # fmt: skip
    assert points(figure.axes[0].lines[0]) == [(-2, 0), (-3, 0.1), (-4, 0.2)]


@pytest.mark.parametrize(("evaluator", "task"), [("stsb", "stsb"), ("sts", "sts/STS12"), ("sts/STS12", "sts/STS12")])
def test_cosines_by_gold_bucket(leave, runs, evaluator, task):
    stored = {task: {"test": [[0.1, 0.2, 0.3, 0.8, 0.9], [0.0, 0.9, 1.0, 4.9, 5.0]]}}
    leave("a", {}, {}, cosines=stored, choices={"objective": "barlow"})
    figure = draw(f"{{kind: cosines, name: figure4, evaluator: {evaluator}, split: test, edges: [0, 1, 2, 3, 4, 5], "
                  "series: objective}", runs())  # fmt: skip
    assert f"(test, {task})" in figure.axes[-1].get_xlabel()
    counts = [axes.texts[0].get_text().partition("\n")[0] for axes in figure.axes]
    assert counts == ["n = 2", "n = 1", "n = 0", "n = 0", "n = 2"]  # 5.0 belongs to the last bucket
    means = [[float(line.get_xdata()[0]) for line in axes.lines] for axes in figure.axes]
    assert means == [[pytest.approx(0.15)], [pytest.approx(0.3)], [], [], [pytest.approx(0.85)]]


@pytest.mark.parametrize(
    "stored",
    [[1], {"stsb": [1]}, {"stsb": {"test": [["x"], [1.0]]}}],
)  # fmt: skip
def test_cosines_of_another_kind_are_left_out(leave, runs, stored):
    leave("a", {}, {}, cosines=stored, choices={"objective": "barlow"})
    text = "{kind: cosines, name: figure4, evaluator: stsb, split: test, edges: [0, 5], series: objective}"
    assert draw(text, runs()) is None


def test_a_distribution_over_a_grid(leave, runs):
    for anchors in (1, 2):
        for i in range(3):
            config = {"augmentation.anchors": anchors, "seed": i}
            leave(f"{anchors}-{i}", config, {"dev/senteval/average": 10 * anchors + i})
    figure = draw("{kind: distribution, name: figure2, x: augmentation.anchors, y: dev/senteval/average}",
                  runs(), "declutr")  # fmt: skip
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    dots = [points(line) for line in axes.lines if line.get_marker() == "o"]
    assert dots == [[(1, 10), (1, 11), (1, 12)], [(2, 20), (2, 21), (2, 22)]]


@pytest.mark.parametrize("kind", ["curve", "heat", "scatter", "path", "cosines", "distribution"])
def test_nothing_finished_draws_nothing(kind, leave, runs):
    leave("a", {"l": 1.0}, {}, choices={"objective": "simcse"})
    needs = {"x": "l", "y": "dev/a", "z": "dev/a", "evaluator": "stsb", "split": "dev", "edges": [0, 1]}
    it = Plot(kind=kind, name="it", **{key: needs[key] for key in REQUIRED[kind]})
    assert figures.draw_figure(it, block(), runs()) is None
    assert figures.draw_figure(it, block(), []) is None
