"""The data for `cse-data list` and `cse-data fetch`: the data that a command reads, or named datasets."""

from collections.abc import Sequence

from cse.errors import UserError
from cse.lab.run.needs import needs_of
from cse.lab.settings.arguments import texts_of, values_of
from cse.lab.settings.command import read_command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import KINDS, Kind
from cse.lab.settings.lookup import nearest
from cse.lab.settings.mistakes import explaining
from cse.lab.sweep.checks import needs_of_jobs
from cse.lab.sweep.engine import make_plan
from cse.lab.sweep.sweep_command import read_sweep_command
from cse.needs import Need
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed


def names_of_datasets(texts: Sequence[str]) -> list[str]:
    """Return the names of datasets in the arguments of cse-data.

    Return [] if the arguments are a command: they begin with a program, or each argument is KEY=VALUE or ~KEY.
    """
    if texts and texts[0] in KINDS:
        return []
    return [text for text in texts if "=" not in text and not text.startswith("~")]


def needs_asked(texts: Sequence[str]) -> list[Need]:
    """Return the data that a command reads, or the named datasets.

    Settings of the runs that read these datasets may follow the names (data.rows.language=de). Raises UserError for an
    unknown name or setting.
    """
    if names := names_of_datasets(texts):
        return needs_of_datasets(names, [text for text in texts if text not in names])
    if texts and texts[0] in KINDS:
        return needs_of_command(texts[1:], KINDS[texts[0]])
    return needs_of_command(texts, "train")


def needs_of_command(texts: Sequence[str], kind: Kind) -> list[Need]:
    """Return the data that the jobs of a command read; for a search, the data that its example job reads."""
    command = read_command(texts, kind)
    with explaining(texts_of(command.arguments), kind):
        return needs_of_jobs(make_plan(read_sweep_command(command)).examples)


def needs_of_datasets(names: Sequence[str], texts: Sequence[str]) -> list[Need]:
    """Return the datasets of these names, as runs with these settings read them."""
    settings = read_command(texts, "train").arguments
    if "sweep" in values_of(settings):
        given = " ".join([*names, *texts])
        raise UserError(f"{given}: give a command's arguments or the names of datasets, but not both")
    if unknown := [name for name in names if name not in DATASETS]:
        near = nearest(unknown[0], list(DATASETS))
        raise UserError(f"there is no dataset {unknown[0]}{near}; cse-data list shows them all")
    needs: list[Need] = []
    for name in names:
        command = [DATASETS[name].reads[0], *texts_of(settings)]
        with explaining(command, "train"):
            all_needs = needs_of(composed("train", command))
        needs += [need for need in all_needs if isinstance(need, DatasetNeed) and need.dataset == name]
    return needs
