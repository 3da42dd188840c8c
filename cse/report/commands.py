"""The command that made a run, as it repeats the run elsewhere, or trains more seeds of it."""

import shlex
from collections.abc import Sequence
from itertools import count, islice, pairwise
from pathlib import Path

from cse.config.groups import choices
from cse.config.keys import repeats_a_run
from cse.config.spelling import typed, values_of
from cse.record.runs import Run
from cse.run.parts import functions_in
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
    return shlex.join([program_of(run), *own_choices(run), *typed_words(run)])


def own_choices(run: Run) -> list[str]:
    """The --config-dir FOLDERs that the run was started with."""
    line = pairwise(shlex.split(run.results.get("command") or ""))
    return [word for flag, folder in line if flag == "--config-dir" for word in (flag, folder)]


def is_trial(run: Run) -> bool:
    """Whether a search's memory lies beside the run."""
    return (run.folder.parent / ".smac").is_dir()


def more_seeds(runs: Sequence[Run], key: str, seeds: Sequence[int], folders: Sequence[Path]) -> str:
    """The command that trains a setting's runs with three more seeds, those of other settings first; "" if it was not
    trained, or was scored by a function. They go beside its own, or into it if it is one of several named folders; of a
    search's trial, into `seeds` beside it.

    key: of seeds; seeds: of all settings; folders: those that were named.
    """
    run = runs[-1]
    if program_of(run) != "cse-train" or functions_in(run.config):
        return ""
    begun = {one.get(key) for one in runs}
    lacking = islice((seed for seed in count(min(seeds, default=1)) if seed not in begun), 3)
    of_case = words_of_case(run)  # with these its folder would not have the name that the sweep gives it
    words = [word for word in typed_words(run) if not word.startswith(f"{key}=") and word not in of_case]
    words.append(f"{key}={','.join(map(str, lacking))}")
    place = run.folder if len(folders) > 1 and run.folder in folders else run.folder.parent
    words.append(f"hydra.sweep.dir={place / 'seeds' if is_trial(run) else place}")
    return shlex.join(["cse-train", *own_choices(run), "-m", *words])
