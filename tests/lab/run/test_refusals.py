"""What is refused before a run or an evaluation has a folder, or writes into one."""

from itertools import product

import pytest
from typed import exit_code


@pytest.mark.parametrize(("program", "name"), list(product(["cse-train", "cse-eval"], ["best", "last", "scores.csv"])))
def test_a_folder_that_holds_a_run_or_scores_is_refused(small_run, tiny_bert, tmp_path, capsys, program, name):
    (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "run.yaml").touch()
    scored = [f"checkpoint={tiny_bert}", "pooling=cls", "eval=stsb", f"hydra.run.dir={tmp_path}/run"]
    assert exit_code(program, *(small_run if program == "cse-train" else scored)) == 2
    assert f"{tmp_path}/run" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "run").iterdir()} == {name, "run.yaml"}


def test_a_smoke_tests_folder_is_not_offered_for_resuming(small_run, tmp_path, capsys):
    (tmp_path / "run" / "best").mkdir(parents=True)
    (tmp_path / "run" / "run.yaml").write_text("config: {smoke: true, trainer: {}}\n")
    assert exit_code("cse-train", *small_run) == 2
    said = capsys.readouterr().err
    assert "smoke test" in said
    assert "resume=" not in said
