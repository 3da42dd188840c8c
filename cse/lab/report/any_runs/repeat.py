"""The command that repeats a run on another machine, and the command that trains more seeds of a setting.

Start at `repeat_command` and `more_seeds_command`.
"""

import shlex
from collections.abc import Collection, Sequence
from itertools import count, islice, pairwise
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.trials import is_trial
from cse.lab.report.numbers.keys_that_differ import arguments_of_case
from cse.lab.run.resume import functions_in
from cse.lab.settings.arguments import shell_line, spell_argument, texts_of, values_of
from cse.lab.settings.roles import repeats_a_run


def repeat_command(run: Run) -> str:
    """Return the command that repeats a run on another machine, quoted for a shell."""
    return shell_line(run.program, *own_choices(run), *repeatable_arguments(run))


def repeatable_arguments(run: Run, kept: Collection[str] = ()) -> list[str]:
    """Return the arguments of a run's command that repeat the run on another machine. kept: further keys to keep."""
    return texts_of(argument for argument in run.arguments if repeats_a_run(argument.text) or argument.key in kept)


def own_choices(run: Run) -> list[str]:
    """Return the arguments --config-dir FOLDER of the run's command; [] if the quotes of the command are damaged."""
    command = run.results.get("command") or ""
    if "--config-dir" not in command:  # splitting takes time
        return []
    try:
        line = shlex.split(command)
    except ValueError:  # cse.lab.folder.runs has warned about it
        return []
    return [argument for flag, folder in pairwise(line) if flag == "--config-dir" for argument in (flag, folder)]


def more_seeds_command(comparison: Comparison, setting: Setting) -> str:
    """Return the command that trains a setting with three more seeds.

    Return "" if the setting was not trained, if a Python function scored its run, or if a seed is not an integer.
    """
    seed_key, run, seeds = comparison.seed_key, setting.runs[-1], further_seeds(comparison, setting)
    if run.program != "cse-train" or functions_in(run.config) or not seeds:
        return ""
    given = values_of(run.arguments)
    # with the arguments of the case, a new run's folder would have another name than in the sweep
    of_case = arguments_of_case(given.get("sweep", ""), given.get("case", ""))
    arguments = repeatable_arguments(run, kept=[key.dotted for key in comparison.keys])
    beyond_case = [argument for argument in arguments if argument not in of_case]
    repeated = [argument for argument in beyond_case if not argument.startswith(f"{seed_key}=")]
    place = spell_argument("hydra.sweep.dir", str(place_of_more_seeds(run, comparison.folders, seed_key)))
    of_seeds = f"{seed_key}={','.join(map(str, seeds))}"
    return shell_line("cse-train", *own_choices(run), "-m", *repeated, of_seeds, place)


def further_seeds(comparison: Comparison, setting: Setting) -> list[int]:
    """Return the three lowest seeds that a setting lacks, from the comparison's lowest seed on.

    Return [] if a seed of the comparison is not an integer.
    """
    values = [run.get(comparison.seed_key) for run in comparison.runs]
    seeds = [value for value in values if value is not None]
    whole = [seed for seed in seeds if isinstance(seed, int)]
    if len(whole) < len(seeds):
        return []
    taken = {run.get(comparison.seed_key) for run in [*setting.runs, *setting.planned]}
    return list(islice((seed for seed in count(min(whole, default=1)) if seed not in taken), 3))


def place_of_more_seeds(run: Run, folders: Sequence[Path], seed_key: str) -> Path:
    """Return the folder for more seeds of a run's setting: the folder that contains the run.

    If the user named several folders, and the run is one of them, the result is the run's own folder. If the run is a
    search's trial, its further seeds are in the subfolder `seeds`. folders: the folders that the user named.
    """
    place = run.folder if len(folders) > 1 and run.folder in folders else run.folder.parent
    return place / "seeds" if is_trial(run, seed_key) else place
