"""Random generators that depend on a key, and the arithmetic of losses (float32 or wider)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch
from torch import Tensor

Precision = Literal["fp32", "bf16"]


def seeded(*key: int) -> torch.Generator:
    """Return a CPU generator that depends only on the key, such as (seed, step, view). So its draws are the same in
    every process and in a resumed run."""
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 32 | int(words[1]))


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Disable autocast in the block, and yield the tensors as float32. A float64 tensor stays float64."""
    with torch.autocast(tensors[0].device.type, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)


def squared_product_norm(a_BP: Tensor, b_BP: Tensor, products: Precision) -> Tensor:
    """Return |A^T B|^2 = sum_ij (A^T B)_ij^2 (Frobenius), from a P x P product or, if B < P, from B x B products.

    |A^T B|^2 = tr(A A^T B B^T) = sum_nm (A A^T)_nm (B B^T)_nm.
    products: "bf16" rounds the factors and the results of matrix products to bfloat16. Each sum is in float32.
    """

    def product(x: Tensor, y: Tensor) -> Tensor:
        return x @ y if products == "fp32" else (x.bfloat16() @ y.bfloat16()).float()

    if len(a_BP) >= a_BP.shape[1]:
        return product(a_BP.T, b_BP).square().sum()
    gram_a_BB = product(a_BP, a_BP.T)
    gram_b_BB = gram_a_BB if b_BP is a_BP else product(b_BP, b_BP.T)
    return (gram_a_BB * gram_b_BB).sum()
