"""What a config reads: encoders, the user's own text, datasets. Where each is on this machine, and how to fetch it.

A run looks here before its work, a dry run and the error for what is missing name all of it, cse-data lists and fetches
it. Only names are looked up; a run checks what its files hold.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.utils import get_class
from omegaconf import DictConfig, ListConfig, OmegaConf

from cse.augmentation.wordnet import find_wordnet
from cse.data.corpora import check_copy
from cse.data.readers import files_of, is_on_hub, read_rows
from cse.errors import MissingResource, UserError, renaming_keys
from cse.lab.run.build import Attempts, make
from cse.lab.run.job import folder_of
from cse.lab.settings.compose import resolved
from cse.lab.settings.groups import chosen_in
from cse.ranges import text_encoding
from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset, where
from cse.sources.encoder import VECTORS, check_folder, local_folder, locate
from cse.sources.fetch import fetch

if TYPE_CHECKING:  # importing torch is slow
    from cse.types import AuxModality

Place = Path | str | None
"""Where something is on this machine, or the package that has it; None if it is not here."""
LANGUAGES = {"wikipedia": "data.rows.language", "stsb_multi": "eval.stsb_multi.languages"}
TEXTS = ("data.path", "eval.pairs.dev", "eval.pairs.test", "whitening.fit")
"""The keys that name files of text; the first also names a dataset of the hub."""


@dataclass(frozen=True)
class Need:
    """An encoder or a text of the user's own, by the key that names it, or a dataset, with its language if it has
    several (stsb_multi:de). about: the dataset's entry in the catalogue."""

    name: str
    config: DictConfig = field(compare=False, repr=False)
    key: str = field(default="", compare=False)
    about: Dataset | None = None

    @property
    def is_encoder(self) -> bool:
        """Whether it is an encoder, or a file of word vectors."""
        return self.about is None and self.key not in TEXTS

    @property
    def dataset(self) -> str:
        """A dataset's name in the catalogue."""
        return self.name.partition(":")[0]

    @property
    def comes_later(self) -> bool:
        """Whether it is fetched when it is first scored, and may not be here although its place is known."""
        return self.about is not None and self.about.fetch == "later"

    def check(self) -> None:
        """Raise UserError if a setting names a place that is not there, or holds something else. Imports no torch."""
        local = Path(self.name).expanduser()
        if self.about is not None:
            if absent := self.about.absent_copy(self.config):
                raise MissingResource(f"{absent}; without it {self.dataset} is fetched")
        elif self.key in TEXTS:
            if self.key != TEXTS[0] or not is_on_hub(self.name):
                first = files_of(local, self.key, tell=False)[0]
                if self.key != "whitening.fit":
                    self._check_columns(first)
        elif not self.name.endswith(VECTORS):
            with renaming_keys({"model.name=": f"{self.key}="}):
                check_folder(locate(folder_of(self.name) if self.key == "checkpoint" else self.name))
        elif not local.exists():
            raise MissingResource(f"{self.key}={self.name}: no hub has this file of word vectors; put it there")

    def _check_columns(self, file: Path) -> None:
        """Raise UserError if a file of text lacks the columns that its settings, as yet unchecked, name."""
        part = self.key.rpartition(".")[0]
        asked = OmegaConf.select(self.config, f"{part}.columns")
        columns = [*map(str, asked)] if isinstance(asked, ListConfig) else asked and [str(asked)]
        encoding = OmegaConf.select(self.config, f"{part}.encoding") or "utf-8"
        try:
            text_encoding(str(encoding))
        except ValueError as error:
            raise UserError(f"{part}.encoding={encoding}: {error}") from error
        with renaming_keys({"data.": f"{part}."}):
            read_rows(file, columns, encoding)

    def look(self) -> tuple[Place, str]:
        """Its place, without asking the hub; and of a named place that is not there, what is wrong with it."""
        with hub.cache_only():
            try:
                self.check()
                if self.about and self.about.setting and (copy := self.about.named_copy(self.config)):
                    check_copy(self.dataset, copy)
            except UserError as error:
                return None, str(error)
            try:
                return self._find(), ""
            except MissingResource:
                return None, ""

    def fetch(self) -> Place:
        """Its place, where runs look for it; fetched if it is not there. Raises UserError."""
        self.check()
        place, wrong = self.look()
        if wrong:
            raise UserError(wrong)
        if place or self.is_encoder:
            return place or self._find()
        if self.about is None:
            make(self.config.data).find()
            return self._find()
        if self.about.fetch != "part":
            return fetch(self.dataset, Path(self.config.paths.cache))
        group, _, choice = self.about.reads[0].partition("=")
        if group == "aux_modality":
            make(self.config.aux_modality.data)  # as a run does, which fetches it
        else:
            make(self.config.data if group == "data" else self.config.eval[choice]).prepare()
        return self._find()

    def _find(self) -> Place:
        if self.about is None:
            local = Path(self.name).expanduser()
            if local.exists():
                return local
            if self.is_encoder:
                return Path(local_folder(self.name))
            return hub.prepared(self.name, self.config.data.subset or "default")
        if own := self.about.named_copy(self.config):
            return Path(own)
        if self.dataset == "stsb_multi":  # of one language
            return hub.prepared(str(self.about.repo), self.name.partition(":")[2])
        if self.dataset != "wikipedia":
            return place_of(self.dataset, resolved(self.config.paths))
        text = make(self.config.data)
        text.find()
        return text.cache / text.digest


def place_of(name: str, paths: Mapping[str, str | None]) -> Place:
    """Where a dataset is on this machine, by the config's paths, or None."""
    if name != "wordnet":
        return where(name, paths)
    try:
        return find_wordnet(paths["wordnet"], Path(str(paths["cache"])))
    except MissingResource:
        return None


def needs_of(config: DictConfig, chosen: Collection[str] | None = None) -> list[Need]:
    """All that a config reads. chosen: GROUP=CHOICE of each group; None: the config's own."""
    needs = needs_by_name(config, chosen)
    if not config.smoke and (aux := config.get("aux_modality")) and "_target_" in aux:
        kind: type[AuxModality] = get_class(aux._target_)
        if name := kind.weights_of(aux):
            needs.append(Need(name, config, "aux_modality.weights"))
    return needs


def needs_by_name(config: DictConfig, chosen: Collection[str] | None = None) -> list[Need]:
    """What a config, which may be unchecked, reads, as far as that is known without importing a part. A smoke test
    makes up what it reads."""
    if config.smoke:
        return []
    chosen = chosen_in(config) if chosen is None else chosen
    datasets = {name: about for name, about in DATASETS.items() if {*chosen} & {*about.reads}}
    own = {about.setting for about in datasets.values()}  # a dataset's copy is no other text
    named = {
        key: OmegaConf.select(config, key)
        for key in ("checkpoint", "model.name", "objective.teacher", "objective.second_teacher", *TEXTS)
    }
    needs = [Need(name, config, key) for key, name in named.items() if isinstance(name, str) and key not in own]
    for name, about in datasets.items():
        asked = OmegaConf.select(config, LANGUAGES[name]) if name in LANGUAGES else None
        languages = asked if isinstance(asked, ListConfig) else [asked]
        needs += [Need(f"{name}:{one}" if one else name, config, about=about) for one in languages]
    return needs


def check_named(config: DictConfig) -> None:
    """Raise UserError if a setting names an encoder, a text or a copy of a dataset that is not there."""
    attempt = Attempts()
    for need in needs_by_name(config):
        attempt(need.check)
    attempt.check()
