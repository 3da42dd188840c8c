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


def test_an_incomplete_corpus_is_refused_before_processes_start(small_run, cse_train, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("cse.lab.run.start.run_in_processes", None)
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\n" + "a,b,c\n" * 9)
    own = ["data=nli", f"data.rows.file={tmp_path}/nli.csv", "objective=simcse_sup", "trainer.devices=2"]
    assert cse_train([*(word for word in small_run if not word.startswith("data")), *own]) == 2
    assert "nli.csv has 9 rows" in capsys.readouterr().err
