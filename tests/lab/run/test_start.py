"""Where one job is asked for, a command or call of several jobs is refused."""

from functools import partial

import pytest

import cse
from cse.errors import UserError


@pytest.mark.parametrize(("words", "named"), [
    (["-m", "seed=1,2"], "-m"), (["sweep=nonling/table1"], "sweep=nonling/table1"),
    (["hydra/launcher=submitit_slurm"], "hydra/launcher=submitit_slurm"),
])  # fmt: skip
@pytest.mark.parametrize(
    ("call", "program"), [(cse.train, "cse-train"), (partial(cse.compose, command="evaluate"), "cse-eval")]
)
def test_what_starts_several_jobs_is_named(call, program, words, named):
    with pytest.raises(UserError, match=f"^{named} starts several jobs: .*, {program} {named}$"):
        call(*words)
