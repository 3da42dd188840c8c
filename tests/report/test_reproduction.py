"""CV*, against what its authors print, their code's results, and its definition written out."""

import math
from statistics import stdev

import pytest

from cse.eval.declutr import DOWNSTREAM
from cse.report import published
from cse.report.reproduction import CORRELATIONS, cv_star, least_of


@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        ((84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20), 1.562),  # NTS_def, BLEU
        ((30.65, 30.65, 29.13, 30.65, 29.96), 2.487),  # NTS_def, SARI
        ((87.50, 80.75, 89.36, 88.10, 89.64, 88.80), 4.176),  # NTS-w2v_def, BLEU
        ((31.11, 30.28, 31.11, 29.12), 3.572),  # NTS-w2v_def, SARI
    ],
)
def test_the_reproductions_of_its_own_paper(scores, printed):
    """Belz et al. 2022, Table 4."""
    assert cv_star(scores, least=0) == pytest.approx(printed, abs=5e-4)


def test_a_printed_score_and_one_reproduction():
    """n = 2, as in our tables; 12.3087... is what the code of github.com/asbelz/coeff-var gives for 43 and 38."""
    assert cv_star([43, 38], least=0) == pytest.approx(12.30870729795497)


def test_of_two_and_three_measurements():
    # n = 2: sd |a - b| / sqrt 2, c4 = sqrt(2 / pi), correction 9/8
    expected = 9 / 8 * 100 * (2 / math.sqrt(2)) / math.sqrt(2 / math.pi) / 71
    assert cv_star([70, 72], least=0) == pytest.approx(expected)
    values = [3.0, 4.0, 8.0]
    assert cv_star(values, least=0) == pytest.approx(13 / 12 * 100 * stdev(values) / 0.886227 / 5, rel=1e-5)


def test_equal_measurements_have_none_and_the_scale_is_moved_to_0():
    assert cv_star([70, 70], least=-100) == 0
    assert cv_star([70, 72], least=-100) == pytest.approx(cv_star([70, 72], least=0) * 71 / 171)
    assert cv_star([-8, -8], least=-8) is None


@pytest.mark.parametrize(
    ("metric", "least"),
    [
        ("test/sts/STS12/spearman", -100),
        ("test/sts/average", -100),
        ("dev/demo/average", -100),
        ("test/mteb/STS22/cosine_spearman", -100),
        ("dev/declutr/transfer/STSBenchmark/dev_pearson", -100),
        ("test/mteb/STS/average", -100),
        ("test/mteb/Retrieval/average", 0),
        ("test/transfer/average", 0),
        ("test/geometry/uniformity", -8),
        ("test/geometry/alignment", 0),
        (["test/sts/average", ["test/transfer/MR/accuracy"]], -50),
    ],
)
def test_the_least_that_a_score_can_be(metric, least):
    assert least_of(metric) == least


def test_averages_of_accuracies_and_correlations_start_at_their_share_of_these():
    tasks = published.read("noncontrastive")["tables"]["table4"]["category_means"]["of"]
    correlated = len(tasks["STS"]) + len(tasks["Summ."])
    assert CORRELATIONS["mteb/average"] == pytest.approx(correlated / sum(map(len, tasks.values())))
    scores = [[f"test/declutr/{name}" for name in names] for names, _ in DOWNSTREAM.values()]
    assert least_of("test/declutr/downstream") == pytest.approx(least_of(scores))
    assert least_of("test/declutr/average") == pytest.approx(least_of(scores) / 2)
    assert least_of("test/declutr/all") == pytest.approx(least_of(scores) * 18 / 28)
