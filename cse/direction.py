"""Whether the most or the least of a score is its best, by its name."""

import math

LESS_IS_BETTER = ("alignment", "uniformity", "uniformity_without_log", "mean_cosine", "median_rank", "mse", "loss",
                  "perplexity", "seconds")  # fmt: skip


def less_is_better(metric: object) -> bool:
    """Whether the least of a score is its best. metric: its name; a mean of several is best where it is most."""
    return isinstance(metric, str) and metric.rpartition("/")[2] in LESS_IS_BETTER


def better(metric: str, value: float, best: float) -> bool:
    """Whether a value of a score is better than its best so far. NaN never is, and any number is better than NaN."""
    if math.isnan(best):
        return not math.isnan(value)
    return value < best if less_is_better(metric) else value > best
