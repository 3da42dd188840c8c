"""Alignment, uniformity and the shape of the cloud, against reference numbers and plain loops."""

import math

import numpy as np
import pytest
import torch
from made_up_views import projections
from scipy.spatial.distance import pdist
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval.geometry import (
    Geometry,
    alignment,
    effective_rank,
    isotropy,
    mean_cosine,
    uniformity,
)
from cse.score import values
from cse.sources.synthetic import PAIRS


@pytest.fixture
def views() -> tuple[np.ndarray, np.ndarray]:
    """The inputs of the reference numbers: default_rng(0), two float32 draws of (20, 8)."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((20, 8)).astype(np.float32) for _ in range(2))
    return x.astype(np.float64), y.astype(np.float64)


def loop_uniformity(x_ND: np.ndarray, t: float) -> float:
    x_ND = x_ND / np.linalg.norm(x_ND, axis=1, keepdims=True)
    values = [
        math.exp(-t * sum((a - b) ** 2 for a, b in zip(x_ND[i], x_ND[j], strict=True)))
        for i in range(len(x_ND))
        for j in range(i + 1, len(x_ND))
    ]
    return math.log(sum(values) / len(values))


def test_the_reference_numbers_of_the_visual_paper(views):
    x, y = views
    positive = np.linspace(0, 5, 20) > 4
    assert positive.sum() == 4
    both = np.concatenate([x, y])
    assert float(alignment(x[positive], y[positive])) == pytest.approx(1.6008555, rel=1e-6)
    assert float(alignment(x, y)) == pytest.approx(2.0976688, rel=1e-6)
    assert float(uniformity(both)) == pytest.approx(-3.043416, rel=1e-6)
    assert float(uniformity(both, log=False)) == pytest.approx(0.047671764, rel=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_reference_numbers_of_the_non_contrastive_paper(dtype, tolerance):
    a, b = (view.detach().to(dtype) for view in projections())
    assert float(alignment(a, b)) == pytest.approx(0.46527033, rel=tolerance)
    assert float(uniformity(a)) == pytest.approx(-3.63080988, rel=tolerance)
    assert float(uniformity(b)) == pytest.approx(-3.52423086, rel=tolerance)
    assert float(uniformity(torch.cat([a, b]))) == pytest.approx(-3.19716563, rel=tolerance)


@pytest.mark.parametrize("chunk", [1, 7, 100])
@pytest.mark.parametrize("t", [0.5, 2.0])
def test_uniformity_is_the_loop_over_pairs_for_any_chunk(views, chunk, t):
    assert float(uniformity(views[0], t, chunk=chunk)) == pytest.approx(loop_uniformity(views[0], t), rel=1e-10)


def test_alignment_and_uniformity_have_the_right_gradient(views):
    x, y = (torch.tensor(view[:6], requires_grad=True) for view in views)
    assert torch.autograd.gradcheck(alignment, (x, y))
    assert torch.autograd.gradcheck(lambda x_BD: uniformity(x_BD, chunk=4), (x,))


def test_the_ends_of_the_scales():
    point = np.ones((10, 4))
    assert float(alignment(point, -point)) == pytest.approx(4)
    assert float(uniformity(point)) == pytest.approx(0, abs=1e-12)
    assert effective_rank(point) == pytest.approx(1)
    assert mean_cosine(point) == pytest.approx(1)
    cross = np.concatenate([np.eye(4), -np.eye(4)])
    assert effective_rank(cross) == pytest.approx(4)
    assert isotropy(cross) == pytest.approx(1)
    assert isotropy(point) < 0.2 < isotropy(cross)


def test_rank_isotropy_and_mean_cosine_are_their_definitions(views):
    x = views[0]
    singular = np.linalg.svd(x, compute_uv=False)
    share = singular / singular.sum()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    directions = np.linalg.svd(unit, full_matrices=False)[2]
    partition = [np.exp(sign * unit @ c).sum() for c in directions for sign in (1, -1)]
    cosines = [unit[i] @ unit[j] for i in range(20) for j in range(20) if i != j]
    assert effective_rank(x) == pytest.approx(math.exp(-(share * np.log(share)).sum()), rel=1e-9)
    assert isotropy(x) == pytest.approx(min(partition) / max(partition), rel=1e-9)
    assert mean_cosine(x) == pytest.approx(np.mean(cosines), rel=1e-9)
    assert effective_rank(x.T) == pytest.approx(effective_rank(x), rel=1e-7)  # fewer rows than dimensions


def evaluator(folder, **changes) -> Geometry:
    options = dict(
        parts={"dev": ["dev"], "test": ["test"]}, threshold=1.0, inclusive=False, duplicates=False,
    )  # fmt: skip
    return Geometry(str(folder), **(options | changes))


def test_alignment_is_over_positives_and_the_rest_over_distinct_sentences(toy_senteval, bag_of_letters):
    found = ready(evaluator(toy_senteval))
    named = {one.name: one for one in found(bag_of_letters, "dev")}
    scores = values(named.values())
    pairs = found.whole("dev")
    positive = pairs.labels_N > 1
    assert 0 < positive.sum() < PAIRS
    x, y = map(bag_of_letters, pairs.sentences)
    texts = sorted(set(pairs.texts()))
    assert len(texts) < 2 * PAIRS
    distinct = bag_of_letters(texts)
    assert scores["alignment"] == pytest.approx(float(alignment(x[positive], y[positive])))
    assert scores["uniformity"] == pytest.approx(loop_uniformity(distinct.astype(float), 2.0), rel=1e-5)
    assert scores["uniformity_without_log"] == pytest.approx(math.exp(scores["uniformity"]), rel=1e-5)
    assert named["alignment"].rows == positive.sum()
    assert named["uniformity"].rows == len(distinct)
    assert [one.name for one in named.values() if not one.lower_is_better] == ["effective_rank", "isotropy"]


def test_a_split_without_data_is_an_error_or_left_out(toy_senteval):
    (toy_senteval / "STS" / "STSBenchmark" / "sts-dev.csv").unlink()
    with pytest.raises(MissingResource, match=r"sts-dev\.csv"):
        evaluator(toy_senteval).prepare()
    found = ready(evaluator(toy_senteval, allow_partial=True))
    assert found.splits == ("test",)
    assert "sts-dev.csv" in found.source()["problems"][0]


def test_duplicates_thresholds_and_parts_of_the_evaluator(toy_senteval, bag_of_letters):
    plain = values(ready(evaluator(toy_senteval))(bag_of_letters, "test"))
    all_of_it = values(ready(evaluator(toy_senteval, duplicates=True))(bag_of_letters, "test"))
    assert all_of_it["uniformity"] != plain["uniformity"]
    assert all_of_it["alignment"] == plain["alignment"]
    strict = ready(evaluator(toy_senteval))
    highest = float(np.sort(strict.whole("dev").labels_N)[-2])
    counts = []
    for inclusive in (False, True):
        found = ready(evaluator(toy_senteval, threshold=highest, inclusive=inclusive))
        counts.append(found(bag_of_letters, "dev")[0].rows)
    assert counts == [1, 2]
    with pytest.raises(UserError, match="threshold"):  # above all scores
        evaluator(toy_senteval, threshold=6.0).prepare()
    whole = ready(evaluator(toy_senteval, parts={"test": ["train", "dev", "test"]}))
    assert whole.splits == ("test",)
    assert len(whole.whole("test")) == 3 * PAIRS


# all-MiniLM-L6-v2 on STS-B dev: alignment of pairs >= 4 and > 4, uniformity over distinct and over all sentences
MINILM = {"mean": (0.2672, 0.2360, -3.8487, -3.8408), "cls": (0.1163, 0.1017, -1.7386, -1.7441)}


@pytest.mark.nightly
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_minilm_has_the_measured_geometry(shared, minilm_encode, pooling):
    senteval, encode = shared / "data" / "senteval", minilm_encode(pooling)
    with_4 = values(ready(evaluator(senteval, threshold=4.0, inclusive=True))(encode, "dev"))
    above_4 = values(ready(evaluator(senteval, threshold=4.0, duplicates=True))(encode, "dev"))
    found = (with_4["alignment"], above_4["alignment"], with_4["uniformity"], above_4["uniformity"])
    assert found == pytest.approx(MINILM[pooling], abs=1e-4)


@pytest.mark.parametrize("chunk", [2, 100])
def test_a_vector_of_zeros_lies_in_the_centre(views, chunk):
    """1 from each unit vector and 0 from another one of zeros, as align_uniform's pairwise distances have it."""
    x_ND = np.concatenate([views[0], np.zeros((5, 8))])
    unit_ND = x_ND / np.maximum(np.linalg.norm(x_ND, axis=1, keepdims=True), 1e-12)
    expected = math.log(np.exp(-2 * pdist(unit_ND) ** 2).mean())
    assert float(uniformity(x_ND, chunk=chunk)) == pytest.approx(expected, rel=1e-10)
    assert float(alignment(x_ND[-5:], x_ND[:5])) == pytest.approx(1)


def test_vectors_of_zeros_are_counted(toy_senteval, bag_of_letters):
    found = ready(evaluator(toy_senteval))
    texts = set(found.whole("dev").texts())
    none = {*list(texts)[:7]}
    found(lambda all_texts: bag_of_letters(all_texts) * [[text not in none] for text in all_texts], "dev")
    assert found.source()["zero_vectors"] == {"dev": 7}
