"""What a line reads: the encoders and datasets of its jobs, where each is on this machine, and how to fetch it.

cse-data, cse-doctor and dry_run=true ask here. Only names are looked up; a run checks what its files hold.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf

from cse.augmentation.wordnet import find_wordnet
from cse.config.compose import composed, explaining, is_group, resolved
from cse.config.groups import chosen_in
from cse.config.keys import TEACHERS, key_of
from cse.config.spelling import spell
from cse.config.suggest import nearest
from cse.data.readers import is_on_hub
from cse.errors import MissingResource, UserError
from cse.run.build import make
from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset, where
from cse.sources.encoder import PACKAGE, VECTORS, local_folder
from cse.sources.fetch import fetch
from cse.sweep.jobs import CONFIGS, PlannedJob
from cse.sweep.line import read

if TYPE_CHECKING:  # importing torch is slow
    from cse.types import AuxModality

DECISIVE = (
    *("model", "checkpoint", "data", "aux_modality", "eval", "paths", "smoke", *TEACHERS),
    *("trainer.epochs", "trainer.max_steps", "trainer.batch_size", "trainer.accumulate"),
)
"""How keys begin that, besides the choices of groups, decide what a job reads, or how many steps it makes."""


@dataclass(frozen=True)
class Need:
    """name: of an encoder, or of a dataset as in the catalogue, with its language if it has several (stsb_multi:de).
    config: of a job that reads it."""

    name: str
    is_encoder: bool
    config: DictConfig = field(compare=False, repr=False)

    @property
    def dataset(self) -> str:
        """The name in the catalogue."""
        return self.name.partition(":")[0]

    @property
    def about(self) -> Dataset:
        """The dataset's entry there."""
        return DATASETS[self.dataset]

    @property
    def comes_later(self) -> bool:
        """Whether it is fetched when it is first scored, and may not be here although its place is known."""
        return not self.is_encoder and self.about.fetch == "later"

    @property
    def absent_copy(self) -> str:
        """What names a copy that is not there, and that; "" if there is none."""
        return "" if self.is_encoder else self.about.absent_copy(self.config)

    def place(self) -> Path | str | None:
        """Its place on this machine, or the package that has it; None if it is not here. Does not ask the hub."""
        with hub.cache_only():
            try:
                return self._encoder() if self.is_encoder else self._data()
            except MissingResource:
                return None

    def fetch(self) -> Path | str | None:
        """Its place, where runs look for it; fetched if it is not there. Raises MissingResource."""
        if place := self.place():
            return place
        if self.is_encoder:
            return self._encoder()
        if self.absent_copy:
            raise MissingResource(f"{self.absent_copy}; without it {self.name} is fetched")
        if self.about.fetch != "part":
            return fetch(self.dataset, Path(self.config.paths.cache))
        group, _, choice = self.about.reads[0].partition("=")
        if group == "aux_modality":
            make(self.config.aux_modality.data)  # as a run does, which fetches it
        else:
            make(self.config.data if group == "data" else self.config.eval[choice]).prepare()
        return self.place()

    def _encoder(self) -> Path:
        if not self.name.endswith(VECTORS):
            return Path(local_folder(self.name))
        if not Path(self.name).expanduser().exists():
            raise MissingResource(f"checkpoint={self.name}: no hub has this file of word vectors; put it there")
        return Path(self.name)

    def _data(self) -> Path | str | None:
        if own := self.about.named_copy(self.config):
            return Path(own) if self.about.is_copy(own) else None
        if self.dataset == "stsb_multi":  # of one language
            return hub.prepared(str(self.about.repo), self.name.partition(":")[2])
        if self.dataset != "wikipedia":
            return place_of(self.dataset, resolved(self.config.paths))
        text = make(self.config.data)
        text.find()
        return text.cache / text.digest


def place_of(name: str, paths: Mapping[str, str | None]) -> Path | str | None:
    """Where a dataset is on this machine, by the config's paths, or None."""
    if name != "wordnet":
        return where(name, paths)
    try:
        return find_wordnet(paths["wordnet"], Path(str(paths["cache"])))
    except MissingResource:
        return None


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
            return needs_of(configs_of(read(spell(words, command, many=True), program).jobs()))
    if any(key_of(word) == "sweep" for word in settings):
        raise UserError(f"{' '.join(words)}: a line, or the names of datasets, but not both")
    if unknown := [name for name in names if name not in DATASETS]:
        near = nearest(unknown[0], list(DATASETS))
        raise UserError(f"there is no dataset {unknown[0]}{near}; cse-data list shows them all")
    found = []
    for name in names:
        choice = DATASETS[name].reads[0]
        with explaining([choice, *settings], "train"):
            found += [
                one for one in datasets_in(composed("train", [choice, *settings]), {choice}) if one.dataset == name
            ]
    return found


def configs_of(planned: Sequence[PlannedJob]) -> list[tuple[PlannedJob, DictConfig]]:
    """Each job with its config or, as composing takes time, with that of a job that reads the same in as many steps."""
    known: dict[tuple[str, ...], DictConfig] = {}
    found = []
    for job in planned:
        words = (w for w in job.words if w[0] == "~" or is_group(key_of(w)) or key_of(w).startswith(DECISIVE))
        key = (job.program, *words)
        if key not in known:
            known[key] = job.composed()
        found.append((job, known[key]))
    return found


def needs_of(planned: Sequence[tuple[PlannedJob, DictConfig]]) -> list[Need]:
    """What the jobs read, each once, without the runs of other jobs, what comes in a package, and smoke tests."""
    found: dict[Need, None] = {}
    for job, config in planned:
        if config.smoke:
            continue  # what it reads is made up
        encoders = [] if job.scores else [one for one in encoders_in(config) if not one.name.startswith(PACKAGE)]
        found |= dict.fromkeys([*encoders, *datasets_in(config, chosen_in(config))])
    return list(found)


def absent_texts(planned: Sequence[tuple[PlannedJob, DictConfig]]) -> list[str]:
    """What names the jobs' own files and folders of text that are not there, and that, each once."""
    named = [str(OmegaConf.select(config, "data.path") or "") for _, config in planned if not config.smoke]
    local = [name for name in dict.fromkeys(named) if name and not is_on_hub(name)]
    return [f"data.path={name}: there is no such place" for name in local if not Path(name).expanduser().exists()]


def encoders_in(config: DictConfig) -> Iterator[Need]:
    """The encoders that a job reads: the one that it starts from, its teachers, and that of a second modality."""
    names = [config.get("checkpoint") or config.model.get("name")]
    names += [OmegaConf.select(config, key) for key in TEACHERS]
    if (aux := config.get("aux_modality")) and "_target_" in aux:
        kind: type[AuxModality] = get_class(aux._target_)
        names.append(kind.weights_of(aux))
    yield from (Need(name, True, config) for name in names if name)


def datasets_in(config: DictConfig, chosen: Collection[str]) -> Iterator[Need]:
    """The datasets that these choices of a config read, according to the catalogue."""
    for name, about in DATASETS.items():
        if set(chosen) & set(about.reads):
            languages = [None]
            if name == "wikipedia":
                languages = [config.data.rows.language]
            elif name == "stsb_multi":
                languages = config.eval.stsb_multi.languages
            yield from (Need(name if one is None else f"{name}:{one}", False, config) for one in languages)
