"""BERT-whitening (Su et al. 2021, arXiv:2103.15316): whiten sentence embeddings with the statistics of a sample.

    y = (x - mean) W / |...|,   Sigma = cov(sample) with N - 1,   Sigma = U S U^T,   W = U S^(-1/2), first n columns

N is the number of sentences, D the width, and n the number of kept components. kind="zca" multiplies by U^T, which
rotates the kept components back to the axes of the channels. This rotation changes no cosine. The sample should be
sentences from another source (NLI, Wikipedia). The authors' "target" setting takes all splits of the scored task,
including the test pairs.
"""

import numpy as np

from cse.errors import UserError
from cse.ranges import Count, WhiteningKind

CHUNK = 65536  # rows converted to float64 at a time
MIN_SHARE = 1e-8  # the smallest eigenvalue relative to the largest (cse), and the smallest norm (the authors)


class Whitening:
    """A whitening of embeddings: first call fit(sample), then call the object with embeddings.

    kind: "pca" (BERT-whitening) or "zca"; both are in Table 3 of WhitenedCSE. components: n, or None for all. The
    authors keep 256 of 768.
    """

    def __init__(self, kind: WhiteningKind, components: Count | None):
        self.kind = kind
        self.components = components
        self.mean_D: np.ndarray  # fit() sets both
        self.matrix_Dn: np.ndarray

    def fit(self, x_ND: np.ndarray) -> "Whitening":
        """Compute mean and principal axes of a sample. Return self. Raises UserError for too few rows or channels."""
        rows, width = x_ND.shape
        count = width if self.components is None else self.components
        if count > width:
            raise UserError(
                f"whitening.components={count}: the embeddings have width {width}; use 1 to {width}, or null for all"
            )
        if rows <= count:
            raise UserError(f"whitening to {count} components needs more than {count} sentences to fit on, not {rows}")
        self.mean_D = x_ND.mean(0, dtype=np.float64)
        covariance_DD = np.zeros((width, width))
        for start in range(0, rows, CHUNK):
            centred_BD = x_ND[start : start + CHUNK] - self.mean_D
            covariance_DD += centred_BD.T @ centred_BD / (rows - 1)
        values_D, u_DD = np.linalg.eigh(covariance_DD)  # ascending
        values_n, u_Dn = values_D[::-1][:count], u_DD[:, ::-1][:, :count]
        self.matrix_Dn = u_Dn / np.sqrt(np.maximum(values_n, MIN_SHARE * values_n[0]))
        if self.kind == "zca":
            self.matrix_Dn = self.matrix_Dn @ u_Dn.T
        return self

    def __call__(self, x_ND: np.ndarray) -> np.ndarray:
        """Return whitened rows of length 1: (N, n) for pca, (N, D) for zca, in the dtype of the input."""
        y_Nn = (x_ND - self.mean_D) @ self.matrix_Dn
        norms_N1 = np.linalg.norm(y_Nn, axis=1, keepdims=True)
        return (y_Nn / np.maximum(norms_N1, MIN_SHARE)).astype(x_ND.dtype)
