"""The commands that a report gives: `repeat_command` repeats a run, `more_seeds_command` trains more seeds."""

import shlex
from collections.abc import Collection, Sequence
from itertools import count, islice, pairwise
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.lab.report.any_runs.trials import is_trial
from cse.lab.report.numbers.keys_that_differ import arguments_of_case
from cse.lab.run.code_in_settings import functions_in
from cse.lab.settings.arguments import shell_line, spell_argument, texts_of, values_of
from cse.lab.settings.roles import repeats_a_run


def repeat_command(run: Run) -> str:
    """The command that repeats a run elsewhere, quoted for a shell."""
    return shell_line(run.program, *own_choices(run), *repeatable_arguments(run))


def more_seeds_command(
    runs: Sequence[Run], key: str, seeds: Sequence[object], folders: Sequence[Path], keys: Collection[str]
) -> str:
    """The command that trains a setting with three more seeds, first with seeds that other settings have.

    "" if the setting was not trained, or was scored by a function, or if seeds are not whole numbers. runs: of the
    setting. key: of seeds. seeds: of all settings. folders: that the user named. keys: in which settings differ.
    """
    run = runs[-1]
    if run.program != "cse-train" or functions_in(run.config):
        return ""
    whole = [seed for seed in seeds if isinstance(seed, int)]
    if len(whole) < len(seeds):
        return ""
    begun = {run.get(key) for run in runs}
    further = islice((seed for seed in count(min(whole, default=1)) if seed not in begun), 3)
    given = values_of(run.arguments)
    # with the arguments of its case its folder would not have the name that the sweep gives it
    of_case = arguments_of_case(given.get("sweep", ""), given.get("case", ""))
    beside_case = [argument for argument in repeatable_arguments(run, keys) if argument not in of_case]
    repeated = [argument for argument in beside_case if not argument.startswith(f"{key}=")]
    place = spell_argument("hydra.sweep.dir", str(place_of_more_seeds(run, folders)))
    return shell_line("cse-train", *own_choices(run), "-m", *repeated, f"{key}={','.join(map(str, further))}", place)


def place_of_more_seeds(run: Run, folders: Sequence[Path]) -> Path:
    """The folder for more seeds of a run. It is the folder in which the run lies.

    If the user named several folders, and the run is one of them, it is the run's own folder. Seeds of a search's trial
    go into a folder `seeds` there. folders: that the user named.
    """
    place = run.folder if len(folders) > 1 and run.folder in folders else run.folder.parent
    return place / "seeds" if is_trial(run) else place


def repeatable_arguments(run: Run, kept: Collection[str] = ()) -> list[str]:
    """The arguments of a run's command line that repeat it elsewhere. kept: further keys whose arguments are kept."""
    return texts_of(argument for argument in run.arguments if repeats_a_run(argument.text) or argument.key in kept)


def own_choices(run: Run) -> list[str]:
    """The --config-dir FOLDERs of the command that started the run."""
    line = pairwise(shlex.split(run.results.get("command") or ""))
    return [argument for flag, folder in line if flag == "--config-dir" for argument in (flag, folder)]
