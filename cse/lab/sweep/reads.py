"""What the jobs of a line read (cse.lab.run.needs), or the datasets that are named beside settings."""

from collections.abc import Sequence

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.run.build import check_selection, rehearse
from cse.lab.run.needs import needs_of
from cse.lab.settings.check import validate
from cse.lab.settings.compose import composed, explaining, is_group
from cse.lab.settings.keys import is_encoder
from cse.lab.settings.suggest import nearest
from cse.lab.settings.words import Word, key_of
from cse.lab.sweep.jobs import CONFIGS, PlannedJob
from cse.lab.sweep.line import read_line
from cse.needs import Need
from cse.sources.catalogue import DATASETS
from cse.sources.encoder import EncoderNeed
from cse.sources.fetch import DatasetNeed

DECISIVE = (
    *("model", "checkpoint", "data", "aux_modality", "eval", "paths", "smoke", "whitening"),
    *("trainer.epochs", "trainer.max_steps", "trainer.batch_size", "trainer.accumulate"),
)
"""How keys begin that, besides the choices of groups and encoders, decide what a job reads, or how many steps it
makes."""


def needs_named(words: Sequence[str]) -> list[Need]:
    """What a line reads, after `cse-eval` if it is one of that program's (of a search, one of its jobs); or the
    datasets of these names, with the settings of the runs that read them (data.rows.language=de).

    Raises UserError for an unknown name or setting.
    """
    program, words = (words[0], words[1:]) if words[:1] and words[0] in CONFIGS else ("cse-train", words)
    names, settings = [word for word in words if "=" not in word], [word for word in words if "=" in word]
    command = CONFIGS[program]
    if not names:
        with explaining(words, command):
            return needs_of_jobs(configs_of(read_line(words, program).jobs()))
    if any(key_of(word) == "sweep" for word in settings):
        raise UserError(f"{' '.join(words)}: a line, or the names of datasets, but not both")
    if unknown := [name for name in names if name not in DATASETS]:
        near = nearest(unknown[0], list(DATASETS))
        raise UserError(f"there is no dataset {unknown[0]}{near}; cse-data list shows them all")
    found: list[Need] = []
    for name in names:
        choice = DATASETS[name].reads[0]
        with explaining([choice, *settings], "train"):
            needs = needs_of(composed("train", [choice, *settings]))
        found += [need for need in needs if isinstance(need, DatasetNeed) and need.dataset == name]
    return found


def configs_of(planned: Sequence[PlannedJob]) -> list[tuple[PlannedJob, DictConfig]]:
    """Each job with its config or, as composing takes time, with that of a job that reads the same in as many steps."""
    known: dict[tuple[str, ...], DictConfig] = {}
    found = []
    for job in planned:
        key = (job.program, *(word.text for word in job.words if is_decisive(word)))
        if key not in known:
            known[key] = job.composed()
        found.append((job, known[key]))
    return found


def is_decisive(word: Word) -> bool:
    """Whether what a job reads, or how many steps it makes, depends on a word."""
    decides = is_group(word.key) or is_encoder(word.key) or word.key.startswith(DECISIVE)
    return decides or word.text.startswith("~")


def refusals_of(planned: Sequence[PlannedJob]) -> dict[str, UserError]:
    """By name, the error with which a job would end before its first step. Jobs that differ in their seed are tried
    once."""
    known: dict[tuple[str, ...], UserError | None] = {}
    found = {}
    for job in planned:
        key = (job.program, *(word.text for word in job.words if word.key not in ("seed", "case")))
        if key not in known:
            known[key] = refusal_of(job)
        if error := known[key]:
            found[job.name] = error
    return found


def refusal_of(job: PlannedJob) -> UserError | None:
    """The error with which a job would end before its first step, or None. What its data or weights add is unknown."""
    try:
        config = validate(job.composed(), CONFIGS[job.program])
        if job.program == "cse-train" and not config.smoke:  # a smoke test has sizes of its own
            check_selection(config)
            rehearse(config)
    except UserError as error:
        return error
    return None


def needs_of_jobs(planned: Sequence[tuple[PlannedJob, DictConfig]]) -> list[Need]:
    """What the jobs read, each once, without the runs of other jobs."""
    needs: list[Need] = []
    for job, config in planned:
        of_others = EncoderNeed if job.scores else ()
        needs += [need for need in needs_of(config) if not isinstance(need, of_others)]
    return list(dict.fromkeys(needs))
