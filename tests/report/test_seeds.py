"""What a number of seeds can show, before they are run and after."""

import json
import math
from pathlib import Path

import pytest

from cse.sweep import budget
from cse.sweep.budget import describe_plan, in_words, pooled_sd, power, seeds_for, smallest_difference
from cse.sweep.jobs import Job


@pytest.mark.parametrize(("sd", "seeds", "smallest"), [(0.2, 3, 0.61), (0.2, 5, 0.40), (0.2, 8, 0.30), (0.39, 3, 1.20)])
def test_differences_and_seeds_have_known_values_and_invert_each_other(sd, seeds, smallest):
    found = smallest_difference(sd, seeds)
    assert found == pytest.approx(smallest, abs=0.006)
    assert power(found, sd, seeds) == pytest.approx(0.8, abs=1e-6)
    assert seeds_for(found * 1.0001, sd) == seeds
    assert seeds_for(found * 0.99, sd) == seeds + 1


def test_the_pooled_deviation_weighs_groups_by_degrees_of_freedom():
    """Squares around the means 2 and 11: 2 with one degree of freedom, 6 with two."""
    assert pooled_sd([[1.0, 3.0], [10.0, 10.0, 13.0]]) == pytest.approx(math.sqrt((2 + 6) / 3))


def plan(*seeds: int) -> list[Job]:
    return [Job(f"{m}-{seed}", "cse-train", [f"objective.m={m}", f"seed={seed}"]) for m in (2, 3) for seed in seeds]


def leave(folder: Path, score: float, *overrides: str) -> None:
    """A finished run of these overrides."""
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides))
    results = {"status": "done", "config": {}, "metrics": {"dev/stsb/spearman": score}}
    (folder / "results.json").write_text(json.dumps(results))


def test_a_plan_uses_the_deviation_of_finished_runs(tmp_path):
    for number, (score, m, seed) in enumerate([(80.0, 2, 1), (80.4, 2, 2), (70.0, 3, 1), (99.0, 4, 1)]):
        leave(tmp_path / str(number), score, f"objective.m={m}", f"seed={seed}", f"hydra.run.dir={number}")
    text = describe_plan(plan(1, 2, 3), "dev/stsb/spearman", tmp_path)
    sd = math.sqrt(0.08)  # of the one setting with two seeds
    assert text.startswith(f"dev/stsb/spearman: {in_words(sd, 3, budget.WANTED)} (1 settings in")


def test_a_plan_without_runs_uses_the_published_deviation_of_sts_only(tmp_path):
    text = describe_plan(plan(1, 2, 3), "dev/stsb/spearman", tmp_path / "none")
    assert in_words(0.9, 3, budget.WANTED) in text
    assert "0.9" not in describe_plan(plan(1), "dev/demo/average", tmp_path)
    assert describe_plan(plan(1), None, tmp_path) == ""
    assert describe_plan([Job("scored", "cse-eval", [])], "dev/stsb/spearman", tmp_path) == ""
