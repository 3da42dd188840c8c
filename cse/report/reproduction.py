"""CV*, the degree of reproduction of QRA (Belz, Popovic & Mille 2022, 2022.acl-long.2; QRA++, arXiv:2505.17043).

The coefficient of variation of n measurements of one quantity, in percent: 0 where all are the same, and the same for
any unit. It is taken of scores that are moved so that the least possible is 0, with the standard deviation made
unbiased (c4) and the correction 1 + 1 / (4n) for small samples.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from cse.report.spec import Metric

CORRELATION = re.compile(r"(.*_)?(spearman|pearson)(_mean)?")  # times 100: from -100 to 100
LEAST = {"uniformity": -8.0, "mean_cosine": -1.0}  # of other scores that may lie below 0
CORRELATIONS = {  # the share of correlations in what an average is of; of averages that are not here, none
    "demo/average": 1,
    "sts/average": 1,
    "stsb_multi/average": 1,
    "mteb/STS/average": 1,
    "mteb/Summarization/average": 1,
    "mteb/average": 11 / 56,
    "declutr/downstream": 7 / 18,
    "declutr/average": 7 / 18 / 2,  # the mean of downstream's and probing's
    "declutr/all": 7 / 28,
}


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
    score = metric.partition("/")[2]
    last = score.rpartition("/")[2]
    return -100.0 if CORRELATION.fullmatch(last) else LEAST.get(last, -100.0 * CORRELATIONS.get(score, 0))
