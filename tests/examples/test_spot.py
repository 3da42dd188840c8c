"""The line of examples/spot.yaml starts a run on the disk that stays, or resumes the run that is there."""

from pathlib import Path

import yaml
from run_folders import results_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "spot.yaml"


def test_the_same_line_again_resumes(cse_train, small_run, tmp_path, capsys):
    task = yaml.safe_load(EXAMPLE.read_text())
    (disk,) = task["file_mounts"]
    program, *words = task["run"].replace(f"={disk}/", f"={tmp_path}/").split()
    assert program == "cse-train"
    small = [word for word in small_run if not word.startswith(("hydra.run.dir", "tracker", "trainer.max_steps"))]
    for steps in (2, 4):
        assert cse_train([*words, *small, f"trainer.max_steps={steps}"]) == 0
        results = results_of(tmp_path / task["name"])
        assert (results["status"], results["steps"]) == ("done", steps)
    assert "resuming" in capsys.readouterr().out
