"""The encoders and datasets that jobs read: where each is on this machine, and how to get it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf

from cse.augmentation.wordnet import find_wordnet
from cse.config.compose import explaining, is_group, resolved
from cse.config.keys import key_of
from cse.errors import MissingResource, UserError
from cse.model.load import PACKAGE, local_folder
from cse.model.vectors import ENDINGS
from cse.run.build import make
from cse.sources import hub
from cse.sources.catalogue import DATASETS, where
from cse.sources.check import check
from cse.sweep.jobs import Job, read, root_of
from cse.sweep.overrides import first_values
from cse.types import AuxModality

DECISIVE = ("model", "checkpoint", "data", "aux_modality", "eval", "paths")
"""Groups whose settings, not only their choice, decide what is read."""


@dataclass(frozen=True)
class Need:
    """name: of an encoder, or of a dataset as in cse-data (stsb_multi:de). config: of a job that reads it."""

    name: str
    is_encoder: bool
    config: DictConfig = field(compare=False, repr=False)

    @property
    def dataset(self) -> str:
        """The name in the catalogue, without a language."""
        return self.name.partition(":")[0]

    def place(self) -> Path | str | None:
        """Its place on this machine, or the package that has it; None if it is not here. Does not ask the hub."""
        with hub.cache_only():
            try:
                return self.find()
            except MissingResource:
                return None

    def find(self) -> Path | str | None:
        """Its place. Fetches an encoder if the hub may be asked. Raises MissingResource."""
        if self.is_encoder:
            if self.name.endswith(ENDINGS) and not Path(self.name).expanduser().exists():
                raise MissingResource(f"checkpoint={self.name}: no hub has this file of word vectors; put it there")
            return Path(self.name if self.name.endswith(ENDINGS) else local_folder(self.name))
        about = DATASETS[self.dataset]
        own = about.setting and OmegaConf.select(self.config, about.setting)
        if own is not None:
            return Path(own) if Path(own).exists() else None
        if self.dataset == "stsb_multi":  # of one language
            return hub.prepared(str(about.repo), self.name.partition(":")[2])
        if self.dataset != "wikipedia":
            return place_of(self.dataset, resolved(self.config.paths))
        text = make(self.config.data)
        text.find()
        return text.cache / text.digest

    def altered(self) -> bool:
        """Whether a file of it differs from its known checksum."""
        place = self.place()
        if not isinstance(place, Path):
            return False
        try:
            return any(state != "whole" for state in check(place if place.is_dir() else place.parent).values())
        except UserError:  # no known checksum
            return False


def place_of(name: str, paths: Mapping[str, str | None]) -> Path | str | None:
    """Where a dataset is on this machine, or None. WordNet may also be that of Debian or NLTK."""
    place = where(name, paths)
    if place is None and name == "wordnet":
        try:
            return find_wordnet(None)
        except MissingResource:
            return None
    return place


def needs_of(planned: Sequence[Job]) -> list[Need]:
    """What the jobs read, each once, without the runs of other jobs."""
    found: dict[Need, None] = {}
    seen = set()
    for job in planned:
        words = (w for w in job.arguments if w[0] == "~" or is_group(key_of(w)) or root_of(w) in DECISIVE)
        if (key := (job.program, *words)) in seen:
            continue
        seen.add(key)
        config = job.composed()
        encoders = [] if job.scores else encoders_of(config)
        found |= dict.fromkeys([*(Need(name, True, config) for name in encoders), *datasets_in(config)])
    return list(found)


def needs_of_table(name: str) -> list[Need]:
    """What the jobs of a sweep read; of a search, one of its jobs. Raises UserError for an unknown sweep."""
    with explaining([f"sweep={name}"], "train"):
        sweep = read(name)
        return needs_of(sweep.jobs([]) if sweep.sweeper == "basic" else [sweep.job(first_values(sweep.axes([])))])


def encoders_of(config: DictConfig) -> Iterator[str]:
    """The encoders that a job starts from: its own and that of a second modality, unless they come in a package."""
    names = [config.get("checkpoint") or config.model.get("name")]
    if (aux := config.get("aux_modality")) and "_target_" in aux:
        kind: type[AuxModality] = get_class(aux._target_)
        names.append(kind.weights_of(aux))
    yield from (name for name in names if name and not name.startswith(PACKAGE))


def datasets_in(config: DictConfig) -> Iterator[Need]:
    """The datasets that one job reads, according to its choices."""
    choices = config.hydra.runtime.choices
    chosen = {f"{group}={choices.get(group)}" for group in ("augmentation", "aux_modality")}
    chosen |= {f"eval={name}" for name in config.eval or {}}
    chosen |= {f"data={config.data.name}"} if "data" in config else set()
    for name, about in DATASETS.items():
        if chosen & set(about.reads):
            languages = [None]
            if name == "wikipedia":
                languages = [config.data.rows.language]
            elif name == "stsb_multi":
                languages = config.eval.stsb_multi.languages
            yield from (Need(name if one is None else f"{name}:{one}", False, config) for one in languages)
