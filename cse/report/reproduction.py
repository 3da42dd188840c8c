"""CV*, the degree of reproduction of QRA (Belz, Popovic & Mille 2022, 2022.acl-long.2; QRA++, arXiv:2505.17043).

The coefficient of variation of n measurements of one quantity, in percent: 0 where all are the same, and the same for
any unit. It is taken of scores that are moved so that the least possible is 0, with the standard deviation made
unbiased (c4) and the correction 1 + 1 / (4n) for small samples.
"""

import math
from collections.abc import Sequence

import numpy as np

from cse.report.spec import Metric

LEAST = {"spearman": -100.0, "spearman_mean": -100.0, "pearson": -100.0, "uniformity": -8.0, "mean_cosine": -1.0}
CORRELATED = ("sts", "stsb", "stsb_multi", "demo")  # evaluators whose averages are of correlations


def cv_star(values: Sequence[float], least: float) -> float | None:
    """Of two values or more, in percent; least: of the score. None where their mean lies there."""
    shifted = np.asarray(values) - least
    n, mean = len(shifted), float(shifted.mean())
    if mean <= 0:
        return None
    c4 = math.sqrt(2 / (n - 1)) * math.gamma(n / 2) / math.gamma((n - 1) / 2)
    return (1 + 1 / (4 * n)) * 100 * float(shifted.std(ddof=1)) / c4 / mean


def least_of(metric: Metric) -> float:
    """The least that a score can be; of a mean of scores the mean of theirs."""
    if not isinstance(metric, str):
        return float(np.mean([least_of(one) for one in metric]))
    _, evaluator, score = metric.split("/", 2)
    if score.rpartition("/")[2] == "average" and evaluator in CORRELATED:
        return LEAST["spearman"]
    return LEAST.get(score.rpartition("/")[2], 0.0)
