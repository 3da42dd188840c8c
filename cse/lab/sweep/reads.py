"""What the jobs of a command read (cse.lab.run.needs), or the datasets that are named beside settings."""

from collections.abc import Hashable, Sequence

from cse.errors import UserError
from cse.lab.run.needs import needs_of
from cse.lab.settings.compose import composed, explaining, is_group
from cse.lab.settings.keys import role_of
from cse.lab.settings.suggest import nearest
from cse.lab.settings.typed_line import read_typed_line
from cse.lab.settings.words import Word, texts_of, values_of
from cse.lab.sweep.engine import plan_line
from cse.lab.sweep.job import COMMANDS, PlannedJob, one_of_each
from cse.lab.sweep.line import read_line
from cse.lab.sweep.sweeps import root_of
from cse.needs import Need
from cse.ranges import Mark
from cse.sources.catalogue import DATASETS
from cse.sources.encoder import EncoderNeed
from cse.sources.fetch import DatasetNeed

COMPUTING = ("seed", "case", "trainer", "objective", "augmentation", "masking")
"""The settings that name nothing to read but encoders. Jobs that differ in them alone read the same."""


def needs_named(words: Sequence[str]) -> list[Need]:
    """What a command reads, or what the runs of some datasets read. words: the command's arguments, after cse-eval if
    that is its program; or the names of datasets, with settings of the runs that read them (data.rows.language=de).

    Raises UserError for an unknown name or setting.
    """
    command, texts = "train", list(words)
    if texts and texts[0] in COMMANDS:
        command = COMMANDS[texts.pop(0)]
    names = [text for text in texts if "=" not in text]
    return needs_of_datasets(names, texts) if names else needs_of_line(texts, command)


def needs_of_line(texts: Sequence[str], command: str) -> list[Need]:
    """What the jobs of a command read; of a search, one of its jobs."""
    typed = read_typed_line(texts, command)
    with explaining(texts_of(typed.words), command):
        return needs_of_jobs(plan_line(read_line(typed)).jobs)


def needs_of_datasets(names: Sequence[str], texts: Sequence[str]) -> list[Need]:
    """The datasets of these names, as runs with these settings read them. texts: the names, too."""
    settings = read_typed_line([text for text in texts if "=" in text], "train").words
    if "sweep" in values_of(settings):
        raise UserError(f"{' '.join(texts)}: give a command's arguments or the names of datasets, but not both")
    if unknown := [name for name in names if name not in DATASETS]:
        near = nearest(unknown[0], list(DATASETS))
        raise UserError(f"there is no dataset {unknown[0]}{near}; cse-data list shows them all")
    found: list[Need] = []
    for name in names:
        words = [DATASETS[name].reads[0], *texts_of(settings)]
        with explaining(words, "train"):
            needs = needs_of(composed("train", words))
        found += [need for need in needs if isinstance(need, DatasetNeed) and need.dataset == name]
    return found


def needs_of_jobs(jobs: Sequence[PlannedJob]) -> list[Need]:
    """What the jobs read, each once, without the runs of other jobs."""
    needs: list[Need] = []
    for job in one_of_each(jobs, what_may_be_read):
        of_others = EncoderNeed if job.scores else ()
        needs += [need for need in needs_of(job.config) if not isinstance(need, of_others)]
    return list(dict.fromkeys(needs))


def what_may_be_read(job: PlannedJob) -> Hashable:
    """What jobs have in common that read the same."""
    return (job.program, *(word.text for word in job.words if may_be_read(word)))


def may_be_read(word: Word) -> bool:
    """Whether what a job reads may depend on an argument."""
    chooses = is_group(word.key) or word.text.startswith("~")
    return chooses or Mark.ENCODER in role_of(word.key).marks or root_of(word) not in COMPUTING
