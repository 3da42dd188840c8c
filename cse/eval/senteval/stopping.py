"""SentEval's early stopping: check a score on dev at intervals, and keep the weights of the best check."""

from collections.abc import Callable

from torch import nn

from cse.progress import track


def train_until_worse(
    module: nn.Module, train: Callable[[], None], score: Callable[[], float], checks: range, tenacity: int
) -> float:
    """Call `train` and `score` in turn. Return the best score. At the end the module has the weights of the best score.

    checks: one element for each check. tenacity: the allowed number of checks without improvement, in total.
    """
    best, misses = -1.0, 0
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    for _ in track(checks, "check"):
        train()
        found = score()
        if found > best:
            best, kept = found, {name: value.clone() for name, value in module.state_dict().items()}
        else:
            misses += 1
        if misses > tenacity:
            break
    module.load_state_dict(kept)
    return best
