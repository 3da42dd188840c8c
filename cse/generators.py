"""Random numbers that depend on a key alone, so that every process and a resumed run draw the same."""

import numpy as np
import torch


def seeded(*key: int) -> torch.Generator:
    """A CPU generator that depends on the key alone, e.g. (seed, step, view)."""
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 32 | int(words[1]))
