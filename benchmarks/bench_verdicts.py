"""How often the report's verdicts are wrong, and how often they find a true effect: python -m benchmarks.bench_verdicts

The report's own `cse.lab.report.paper.claims.judge_claims` judges synthetic tables whose true means are known. A table
has four arms with a few seeds each. The scores are normal with standard deviation 1, so an effect is in standard
deviations over seeds. The claims are differences, a claim of three parts, and an equivalence with its control.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.results import table, write_section
from cse.lab.folder.runs import Run
from cse.lab.folder.status import State
from cse.lab.report.numbers.statistics import power
from cse.lab.report.paper import claims, published
from cse.lab.report.paper.report_block import ReportBlock, checked_block
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.verdicts import CONTRADICTED, HOLDS

SEEDS, EFFECTS = (3, 5, 8), (0.5, 1.0, 2.0)
ARMS = ("2", "3", "4", "5")  # the rows of WhitenedCSE's Table 5
METRIC = "test/sts/average"
WITHIN = 2.0
BLOCK = {"paper": "whitenedcse", "table": "table5", "rows": "objective.m", "metric": METRIC}


def claim(says: str, **form: object) -> dict[str, object]:
    return {"says": says, "source": "invented", **form}


CLAIMS = [
    *(claim(f"{arm} beats 2", more={"row": arm}, than={"row": "2"}) for arm in ARMS[1:]),
    claim("5 beats 4", more={"row": "5"}, than={"row": "4"}),
    claim("4 beats 3", more={"row": "4"}, than={"row": "3"}),
    claim("3 beats all", more={"row": "3"}, than={"row": ["2", "4", "5"]}),
    claim("3 is like 2", alike={"row": "3"}, to={"row": "2"}, within=WITHIN, control="4 beats 2"),
]


@dataclass(frozen=True)
class World:
    """The truth. means: how far each arm lies above arm 2. ties: whether scores are rounded, so that some are equal."""

    name: str
    means: tuple[float, float, float, float]
    ties: bool = False


WORLDS = [
    World("no effect", (0, 0, 0, 0)),
    World("no effect, ties", (0, 0, 0, 0), ties=True),
    *(World(f"one setting {effect:g} sd better", (0, effect, 0, 0)) for effect in EFFECTS),
    World("one setting 2 sd better, ties", (0, 2, 0, 0), ties=True),
    World("at the margin, its control seen", (0, WITHIN, 9, 9)),
]


def block_with(stated: Sequence[dict[str, object]]) -> ReportBlock:
    return checked_block(BLOCK | {"claims": list(stated)}, "bench_verdicts", tolerance=0.1)[0]


def draw(block: ReportBlock, world: World, seeds: int, rng: np.random.Generator) -> list[claims.JudgedClaim]:
    """Return the report's verdicts on the claims of one synthetic table."""
    scores = np.array(world.means)[:, None] + rng.normal(size=(len(ARMS), seeds))
    if world.ties:
        scores = np.round(scores)
    runs = [
        Run(
            folder=Path(f"{arm}-{seed}"),
            state=State.DONE,
            config={"objective": {"m": int(arm)}, "seed": seed},
            choices={},
            metrics={METRIC: float(score)},
            results={},
        )
        for arm, of in zip(ARMS, scores, strict=True)
        for seed, score in enumerate(of)
    ]
    printed = published.published_table("whitenedcse", "table5")
    return claims.judge_claims(SweepRuns(block, printed, runs, [], 0.95))


def is_false(judged: claims.JudgedClaim, world: World) -> bool:
    """Return whether the verdict on a claim, or on one of its parts, is wrong."""
    means = dict(zip(ARMS, world.means, strict=True))
    claim = judged.claim
    assert claim.places
    left, right = claim.places
    rows = right["row"] if isinstance(right["row"], list) else [right["row"]]
    gaps = [means[str(left["row"])] - means[row] for row in rows]
    verdict = judged.verdict
    told = judged.verdicts_of_parts or [verdict]
    if claim.alike:
        holds = [abs(gap) < WITHIN for gap in gaps]
        against = [abs(gap) > WITHIN for gap in gaps]
    else:
        holds, against = [gap > 0 for gap in gaps], [gap < 0 for gap in gaps]
    wrong = (verdict == HOLDS and not all(holds)) or (verdict == CONTRADICTED and not any(against))
    return wrong or any(
        (one == HOLDS and not is_so) or (one == CONTRADICTED and not is_not)
        for one, is_so, is_not in zip(told, holds, against, strict=True)
    )


def false_alarms(world: World, seeds: int, tables: int) -> float:
    """Return the share of synthetic tables with a false verdict on any claim or part."""
    block, rng = block_with(CLAIMS), np.random.default_rng(seeds)
    return float(np.mean([any_false(draw(block, world, seeds, rng), world) for _ in range(tables)]))


def any_false(judged: Sequence[claims.JudgedClaim], world: World) -> bool:
    """Return whether a table has any false verdict."""
    return any(is_false(one, world) for one in judged)


def seen(effect: float, seeds: int, tables: int) -> float:
    """Return how often a table's only claim HOLDS, if its arm is better by this effect."""
    block, rng = block_with(CLAIMS[:1]), np.random.default_rng(seeds)
    world = World("power", (0, effect, 0, 0))
    return float(np.mean([draw(block, world, seeds, rng)[0].verdict == HOLDS for _ in range(tables)]))


def main(tables: int) -> None:
    alarms = [[world.name, *(f"{100 * false_alarms(world, seeds, tables):.1f}" for seeds in SEEDS)] for world in WORLDS]
    powers = [
        [f"{effect:g} sd", *(f"{seen(effect, n, tables):.2f} ({power(effect, 1, n):.2f})" for n in SEEDS)]
        for effect in EFFECTS
    ]
    heads = [f"{seeds} seeds" for seeds in SEEDS]
    error = 100 * (0.05 * 0.95 / tables) ** 0.5
    body = (
        f"Each cell has {tables:,} synthetic tables. A table has {len(CLAIMS)} claims; one claim has three parts, and "
        f"one is a claim of equivalence with its control. The standard error of a rate of 5 % is {error:.1f}.\n\n"
        "Share of tables with a false verdict on a claim or a part, in percent. The promise is 5 at most:\n\n"
        f"{table(['truth', *heads], alarms)}\n\n"
        "Share of true claims with the verdict HOLDS, for a claim that is alone in its table. In brackets is the "
        "theoretical power of the two-sample t-test (noncentral t). Welch's t-test does not assume equal deviations, "
        "so it has less power at three seeds:\n\n"
        f"{table(['difference', *heads], powers)}"
    )
    print(body)
    write_section("Verdicts of synthetic tables", f"python -m benchmarks.bench_verdicts --tables {tables}", body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=2000)
    main(parser.parse_args().tables)
