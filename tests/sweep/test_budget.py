"""What a number of seeds can tell, before they are run and after."""

import json
import math
from pathlib import Path

import pytest

from cse.sweep import budget
from cse.sweep.budget import in_words, of_plan, pooled_sd, power, seeds_for, smallest_difference
from cse.sweep.jobs import Job


@pytest.mark.parametrize(("sd", "seeds", "smallest"), [(0.2, 3, 0.61), (0.2, 5, 0.40), (0.2, 8, 0.30), (0.39, 3, 1.20)])
def test_what_a_budget_can_tell(sd, seeds, smallest):
    """Against figures that were worked out beforehand; and the two functions are each other's inverse."""
    found = smallest_difference(sd, seeds)
    assert found == pytest.approx(smallest, abs=0.006)
    assert power(found, sd, seeds) == pytest.approx(0.8, abs=1e-6)
    assert seeds_for(found * 1.0001, sd) == seeds
    assert seeds_for(found * 0.99, sd) == seeds + 1


def test_the_pooled_deviation_weighs_groups_by_their_freedom():
    """Squares about the means 2 and 11: 2 with one degree of freedom, 6 with two."""
    assert pooled_sd([[1.0, 3.0], [10.0, 10.0, 13.0]]) == pytest.approx(math.sqrt((2 + 6) / 3))


def plan(*seeds: int) -> list[Job]:
    return [Job(f"{m}-{seed}", "cse-train", [f"objective.m={m}", f"seed={seed}"]) for m in (2, 3) for seed in seeds]


def leave(folder: Path, score: float, *overrides: str) -> None:
    """A finished run of these overrides."""
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides))
    results = {"status": "done", "config": {}, "metrics": {"dev/stsb/spearman": score}}
    (folder / "results.json").write_text(json.dumps(results))


def test_a_plan_is_told_by_the_runs_that_are_there(tmp_path):
    for number, (score, m, seed) in enumerate([(80.0, 2, 1), (80.4, 2, 2), (70.0, 3, 1), (99.0, 4, 1)]):
        leave(tmp_path / str(number), score, f"objective.m={m}", f"seed={seed}", f"hydra.run.dir={number}")
    told = of_plan(plan(1, 2, 3), "dev/stsb/spearman", tmp_path)
    sd = math.sqrt(0.08)  # of the one setting with two seeds
    assert told.startswith(f"dev/stsb/spearman: {in_words(sd, 3, budget.WANTED)} (1 settings in")


def test_a_plan_without_runs_is_told_by_what_was_published_of_sts_alone(tmp_path):
    told = of_plan(plan(1, 2, 3), "dev/stsb/spearman", tmp_path / "none")
    assert in_words(0.9, 3, budget.WANTED) in told
    assert "NonLing-CSE" in told
    assert "not known" in of_plan(plan(1), "dev/demo/average", tmp_path)
    assert of_plan(plan(1), None, tmp_path) == ""
    assert of_plan([Job("scored", "cse-eval", [])], "dev/stsb/spearman", tmp_path) == ""
