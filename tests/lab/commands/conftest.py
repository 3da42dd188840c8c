"""cse-eval in this process, and word vectors for it to score."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_up import pairs
from typed import exit_code


@pytest.fixture
def cse_eval(tmp_path, senteval) -> Callable[..., int]:
    """cse-eval in this process, on the made-up STS-B, into tmp_path/eval. Returns the exit code."""

    def call(*arguments: str) -> int:
        partial = ["eval=stsb", "allow_partial=true"]
        chosen = [] if any(argument.startswith("eval=") for argument in arguments) else partial
        place = [] if "-m" in arguments else [f"hydra.run.dir={tmp_path}/eval"]
        usual = [*chosen, f"paths.senteval={senteval}", f"paths.cache={tmp_path}/cache", *place]
        return exit_code("cse-eval", *usual, *arguments)

    return call


@pytest.fixture(scope="session")
def word_vectors(tmp_path_factory, senteval) -> Path:
    """Random vectors for all words of the made-up sentences but one."""
    rows = [row for split in ("dev", "test") for row in pairs(senteval, split)]
    words = sorted({word for first, second, _ in rows for word in f"{first} {second}".split()})[1:]
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("vectors") / "made_up.vec"
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=8))}" for word in words]
    path.write_text(f"{len(lines)} 8\n" + "\n".join(lines) + "\n")
    return path
