"""The command that made a run, as it repeats the run elsewhere."""

import shlex

from cse.config.groups import choices
from cse.config.keys import repeats_a_run
from cse.config.spelling import typed, values_of
from cse.record.runs import Run
from cse.sweep.jobs import read


def program_of(run: Run) -> str:
    """The program that made the run: cse-train or cse-eval."""
    return "cse-train" if "trainer" in run.config else "cse-eval"


def typed_words(run: Run) -> list[str]:
    """The words of a run's command line, without those that only matter where it ran."""
    return [typed(word) for word in run.overrides if repeats_a_run(word)]


def words_of_case(run: Run) -> list[str]:
    """The words that the case of a run's sweep sets; [] if there is no such sweep or case."""
    given = values_of(run.overrides)
    if given.get("sweep") not in choices("sweep"):
        return []
    case = read(given["sweep"]).cases.get(given.get("case", ""))
    return list(map(typed, case.set)) if case else []


def command_of(run: Run) -> str:
    """The command that repeats the run elsewhere, quoted for a shell."""
    return shlex.join([program_of(run), *typed_words(run)])
