"""The command that made a run, as it repeats the run elsewhere, or trains more seeds of it."""

import math
import shlex
from collections.abc import Collection, Sequence
from itertools import count, islice, pairwise
from pathlib import Path

from cse.lab.folder.runs import Run, plain, same
from cse.lab.run.resume import functions_in
from cse.lab.settings.groups import choices
from cse.lab.settings.keys import repeats_a_run
from cse.lab.settings.words import recorded_words, shell_line, spell_word, texts_of, value_in, values_of
from cse.lab.sweep.jobs import load_sweep
from cse.lab.sweep.search import Search, searches_in


def program_of(run: Run) -> str:
    """The program that made the run: cse-train or cse-eval."""
    return "cse-train" if "trainer" in run.config else "cse-eval"


def typed_words(run: Run, kept: Collection[str] = ()) -> list[str]:
    """The words of a run's command line, without those that only matter where it ran, but for the keys `kept`."""
    return texts_of(word for word in run.words if repeats_a_run(word.text) or word.key in kept)


def words_of_case(sweep: str, case: str) -> list[str]:
    """The words that a case of a sweep sets; [] if there is no such sweep or case."""
    if sweep not in choices("sweep"):
        return []
    found = load_sweep(sweep).cases.get(case)
    return found.set if found else []


def command_of(run: Run) -> str:
    """The command that repeats the run elsewhere, quoted for a shell."""
    return shell_line(program_of(run), *own_choices(run), *typed_words(run))


def own_choices(run: Run) -> list[str]:
    """The --config-dir FOLDERs that the run was started with."""
    line = pairwise(shlex.split(run.results.get("command") or ""))
    return [word for flag, folder in line if flag == "--config-dir" for word in (flag, folder)]


def is_trial(run: Run) -> bool:
    """Whether the run is of a point that a search beside it asked for, with the search's own settings. Beside a search
    that keeps no points, every run is."""
    if not (run.folder.parent / ".smac").is_dir():
        return False
    searches = searches_in(run.folder.parent)
    typed_here = values_of(run.words)

    def belongs(search: Search) -> bool:
        fixed = values_of(recorded_words([f"{key}={value}" for key, value in search.fixed.items()]))
        own = all(typed_here.get(key, value) == value for key, value in fixed.items())
        asked = any(all(is_near(run.get(key), value) for key, value in point.items()) for point in search.points)
        return own and asked and not (fixed and "seed" in typed_here.keys() - fixed.keys())

    return not searches or any(map(belongs, searches))


def is_near(value: object, asked: object) -> bool:
    """Whether a run's value is a point's: a choice as Hydra writes it (True, [a,b]), or a number, of which a word has
    six digits."""
    if isinstance(asked, str):
        return same(value, value_in(asked))
    ours = plain(value)
    return isinstance(ours, float) and math.isclose(ours, float(str(asked)), rel_tol=1e-5)


def more_seeds(
    runs: Sequence[Run], key: str, seeds: Sequence[int], folders: Sequence[Path], keys: Collection[str]
) -> str:
    """The command that trains a setting's runs with three more seeds, those of other settings first; "" if it was not
    trained, or was scored by a function. They go beside its own, or into it if it is one of several named folders; of a
    search's trial, into `seeds` beside it.

    key: of seeds; seeds: of all settings; folders: those that were named; keys: in which the settings differ.
    """
    run = runs[-1]
    if program_of(run) != "cse-train" or functions_in(run.config):
        return ""
    begun = {one.get(key) for one in runs}
    lacking = islice((seed for seed in count(min(seeds, default=1)) if seed not in begun), 3)
    given = values_of(run.words)
    # with the words of its case its folder would not have the name that the sweep gives it
    of_case = words_of_case(given.get("sweep", ""), given.get("case", ""))
    repeated = [word for word in typed_words(run, keys) if not word.startswith(f"{key}=") and word not in of_case]
    place = run.folder if len(folders) > 1 and run.folder in folders else run.folder.parent
    place = place / "seeds" if is_trial(run) else place
    words = [*repeated, f"{key}={','.join(map(str, lacking))}", spell_word("hydra.sweep.dir", str(place))]
    return shell_line("cse-train", *own_choices(run), "-m", *words)
