"""How SentEval ends a training: by a score on dev, from time to time; the weights of the best check are kept."""

from collections.abc import Callable

from torch import nn

from cse.progress import track


def train_until_worse(
    module: nn.Module, train: Callable[[], None], score: Callable[[], float], checks: range, tenacity: int
) -> float:
    """Call `train` and `score` in turns; the module ends with its weights at the best score, which is returned.

    checks: at most so many. tenacity: how many checks without improvement are forgiven; their count is never reset.
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
