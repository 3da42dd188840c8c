"""The views of the reference for whitening, random views, and the whitening layer with a run's settings."""

import numpy as np
import pytest
import torch

from cse.objective.whitening import ShuffledGroupWhitening

B, D, M = 16, 48, 3


def views(layout="per_view"):
    """Return (x_MBD, permutations_MD) of the reference. "chunked": M equal parts of the rows, sorted by sample."""
    rng = np.random.default_rng(20230712)
    base, mix, noise = rng.standard_normal((B, D)), rng.standard_normal((D, D)) / D**0.5, rng.standard_normal((B, M, D))
    rng.standard_normal((D, D)), rng.standard_normal(D)  # the reference's linear layer
    permutations = np.stack([rng.permutation(D) for _ in range(M)])
    x_BMD = (base @ mix)[:, None, :] + 0.8 * noise + 0.5
    assert x_BMD.sum() == pytest.approx(993.4712975)
    x_MBD = x_BMD.transpose(1, 0, 2) if layout == "per_view" else x_BMD.reshape(M, B, D)
    return torch.tensor(x_MBD), torch.tensor(permutations)


def random_views(rows=12, width=12, count=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x_MBD = torch.randn(count, rows, width, generator=generator, dtype=torch.float64)
    permutations = torch.stack([torch.randperm(width, generator=generator) for _ in range(count)])
    return x_MBD @ torch.randn(width, width, generator=generator, dtype=torch.float64), permutations


def whitening(dim=D, **changes):
    settings = {
        "track": False, "kind": "zca", "num_groups": 12, "shuffle": True, "layout": "per_view", "stats": "batch",
        "beta": 0.99, "eps": 0.0, "grad": "detach", "batch_size": B, "seed": 1,
    }  # fmt: skip
    return ShuffledGroupWhitening(dim, **(settings | changes))
