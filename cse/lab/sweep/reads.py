"""What a command reads, as cse-data lists it, or the datasets of some names."""

from collections.abc import Sequence

from cse.errors import UserError
from cse.lab.run.needs import needs_of
from cse.lab.settings.command import read_command
from cse.lab.settings.compose import composed, explaining
from cse.lab.settings.suggest import nearest
from cse.lab.settings.words import texts_of, values_of
from cse.lab.sweep.checks import needs_of_jobs
from cse.lab.sweep.engine import make_plan
from cse.lab.sweep.job import COMMAND_OF_PROGRAM
from cse.lab.sweep.sweep_command import read_sweep_command
from cse.needs import Need
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed


def needs_named(words: Sequence[str]) -> list[Need]:
    """What a command reads, or what the runs of some datasets read. words: the command's arguments, after cse-eval if
    that is its program; or the names of datasets, with settings of the runs that read them (data.rows.language=de).

    Raises UserError for an unknown name or setting.
    """
    command, texts = "train", list(words)
    if texts and texts[0] in COMMAND_OF_PROGRAM:
        command = COMMAND_OF_PROGRAM[texts.pop(0)]
    names = [text for text in texts if "=" not in text]
    return needs_of_datasets(names, texts) if names else needs_of_line(texts, command)


def needs_of_line(texts: Sequence[str], command: str) -> list[Need]:
    """What the jobs of a command read; of a search, one of its jobs."""
    typed = read_command(texts, command)
    with explaining(texts_of(typed.words), command):
        return needs_of_jobs(make_plan(read_sweep_command(typed)).jobs)


def needs_of_datasets(names: Sequence[str], texts: Sequence[str]) -> list[Need]:
    """The datasets of these names, as runs with these settings read them. texts: the names, too."""
    settings = read_command([text for text in texts if "=" in text], "train").words
    if "sweep" in values_of(settings):
        raise UserError(f"{' '.join(texts)}: give a command's arguments or the names of datasets, but not both")
    if unknown := [name for name in names if name not in DATASETS]:
        near = nearest(unknown[0], list(DATASETS))
        raise UserError(f"there is no dataset {unknown[0]}{near}; cse-data list shows them all")
    needs: list[Need] = []
    for name in names:
        words = [DATASETS[name].reads[0], *texts_of(settings)]
        with explaining(words, "train"):
            all_needs = needs_of(composed("train", words))
        needs += [need for need in all_needs if isinstance(need, DatasetNeed) and need.dataset == name]
    return needs
