"""What a reader must know of runs beside their numbers, in lines of text.

To read: `remarks` are about the runs of one setting. The others are about all runs of a report.
"""

from collections import Counter
from collections.abc import Sequence

from cse.lab.folder.runs import Run, grouped
from cse.lab.report.formats import counted_noun, first_few
from cse.lab.report.numbers.notes import no_better_remarks, seen_in_training
from cse.lab.report.numbers.unlike import joins_unlike, unlike_in_one
from cse.lab.sharing.score_tables import problems_of

MOST_PROBLEMS = 12  # of data, which have a line each; further ones are counted


def remarks(runs: Sequence[Run], scores: Sequence[str], seed: str) -> list[str]:
    """What a reader must know of the included runs of a setting. scores: of any run. seed: the key of seeds."""
    seeds = grouped(runs, seed)
    lines = []
    if all(run.get(seed) is not None for run in runs) and len(runs) > len(seeds):
        lines.append(f"{len(runs)} runs of {counted_noun(len(seeds), 'seed')}; each seed counts once")
    lines += joins_unlike(unlike_in_one(runs, seed, also_settings=True))
    return lines + no_better_remarks(runs) + seen_in_training(runs) + partly_scored(runs, scores, seed)


def partly_scored(runs: Sequence[Run], metrics: Sequence[str], seed: str) -> list[str]:
    """A line for the scores that only some seeds have, over which their means are. seed: the key of seeds."""
    seeds = grouped(runs, seed).values()
    partly: dict[int, list[str]] = {}
    for metric in metrics:
        number = sum(any(metric in run.metrics for run in of_seed) for of_seed in seeds)
        if 0 < number < len(seeds):
            partly.setdefault(number, []).append(metric)
    return [f"only {number} of {len(seeds)} seeds have {first_few(names)}" for number, names in sorted(partly.items())]


def data_problems(runs: Sequence[Run]) -> list[str]:
    """What is wrong with the data of marked scores."""
    marked = [run for run in runs if run.modified]
    problems = list(dict.fromkeys(line for run in marked for line in problems_of(run.data)))
    more = [f"partial: {len(problems) - MOST_PROBLEMS} more problems"] if len(problems) > MOST_PROBLEMS else []
    return problems[:MOST_PROBLEMS] + more


def notes_on_selection(runs: Sequence[Run], ranking: str | None) -> list[str]:
    """A line if some runs selected their step by another score than the one that ranks settings (None: none does)."""
    selecting = [run.get("trainer.select") for run in runs]
    counts = Counter(str(name) for name in selecting if name not in (None, ranking))
    if not (ranking and counts):
        return []
    others = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    return [f"Settings are ranked by {ranking}. Some runs selected their checkpoint by another score: {others}."]
