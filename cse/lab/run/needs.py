"""What a config reads: each of its parts is asked (`needs`, cse.needs), and the settings that name encoders and text.

A run looks here before its work, a dry run and the error for what is missing name all of it, cse-data lists and fetches
it. A run checks what the files hold.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from cse.data.readers import FilesNeed
from cse.errors import MissingResource, UserError
from cse.lab.run.build import Attempts
from cse.lab.run.job import encoder_folder
from cse.lab.settings.compose import references, without_hydra
from cse.lab.settings.dotted import flattened
from cse.lab.settings.keys import keys_with
from cse.lab.settings.typed import typed_in
from cse.needs import FileNeed, Need, Part, Place, Settings
from cse.ranges import Mark
from cse.sources import hub
from cse.sources.encoder import EncoderNeed, WeightsNeed, check_folder, locate
from cse.sources.fetch import DatasetNeed


@dataclass(frozen=True)
class CheckpointNeed(EncoderNeed):
    """The encoder that cse-eval scores, also a run's folder."""

    def check_place(self) -> None:
        """See WeightsNeed."""
        check_folder(locate(encoder_folder(self.name)))


def needs_of(config: DictConfig) -> list[Need]:
    """All that a composed config reads, each once, encoders first. Imports its parts."""
    needs = dict.fromkeys(need for _, need in asked(config))
    return sorted(needs, key=lambda need: not isinstance(need, EncoderNeed))


def asked(config: DictConfig) -> Iterator[tuple[str, Need]]:
    """What a config reads, each with the key of the part that reads it. A smoke test makes up what it reads."""
    yield from asked_quickly(config)
    if config.smoke:
        return
    for key, settings in part_settings(config):
        for need in class_named_in(settings).needs(settings):
            yield key, placed(need, key, config)


def asked_quickly(config: DictConfig) -> Iterator[tuple[str, Need]]:
    """What can be known without an import of torch, of a config that may be unchecked: encoders and text."""
    if config.smoke:
        return
    encoders = keys_with(Mark.ENCODER, plain_settings(without_hydra(config)))
    for key in sorted(encoders, key=part_of_key):  # the encoder before its teachers
        name, part = encoders[key], part_of_key(key)
        if isinstance(name, str) and part != "aux_modality":  # which says itself whose weights they are
            kind = EncoderNeed if part else CheckpointNeed
            yield part, placed(kind(name, key.rpartition(".")[2]), part, config)
    if isinstance(file := OmegaConf.select(config, "whitening.fit"), str):
        yield "whitening", placed(FilesNeed(file, "fit"), "whitening", config)
    if "data" in config:
        for need in class_named_in(settings := plain_settings(config.data)).needs(settings):
            yield "data", placed(need, "data", config)


def part_of_key(key: str) -> str:
    """The key of the part that a key is a setting of; "" for a command's own."""
    return key.rpartition(".")[0]


def part_settings(config: DictConfig) -> Iterator[tuple[str, Settings]]:
    """The settings of every part of a config but its text, of those inside others, too, with their keys. A preview
    neither trains nor scores."""
    for key, node in part_nodes(config):
        if key != "data":
            yield from nested(key, plain_settings(node))


def part_nodes(config: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """The nodes of a config that hold its parts."""
    idle = ("eval", "aux_modality", "objective") if "data" in config and config.data.preview else ()
    for key, node in config.items():
        if OmegaConf.is_dict(node) and key not in ("hydra", "paths", *idle):
            yield str(key), node


def folders_referred_to(config: DictConfig) -> Iterator[tuple[str, Need]]:
    """The folders of `paths` that its parts refer to, which each would find missing when it is asked."""
    if config.smoke:
        return
    written = {key: OmegaConf.to_container(node) for key, node in part_nodes(config)}
    for key in sorted(references(flattened(written))):
        place = OmegaConf.select(config, key) if key.startswith("paths.") else None
        if place is not None and key != "paths.cache":  # which is made
            yield "paths", FileNeed(place, typed_in(config, key))


def nested(key: str, settings: Settings) -> Iterator[tuple[str, Settings]]:
    """The settings that name a class, at a key or below it."""
    if "_target_" in settings:
        yield key, settings
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from nested(f"{key}.{name}", value)


def class_named_in(settings: Settings) -> type[Part]:
    """The class that the settings name; one that reads nothing for a function, and for what cannot be imported, which
    is refused elsewhere."""
    try:
        kind = get_object(str(settings["_target_"]))
    except (ImportError, ValueError, KeyError):
        return Part
    return kind if isinstance(kind, type) and issubclass(kind, Part) else Part


def plain_settings(node: DictConfig) -> dict[str, Any]:
    """A node as plain values, without what is not set."""
    found = cast("dict[str, Any]", OmegaConf.to_container(node, resolve=True))
    return {key: value for key, value in found.items() if value != "???"}


def placed(need: Need, part: str, config: DictConfig) -> Need:
    """The need of a part, found in the cache of a config, and with the key that the user types for it.

    part: its key.
    """
    need = replace(need, cache=Path(config.paths.cache).expanduser())
    if isinstance(need, FileNeed | WeightsNeed):
        return replace(need, key=typed_in(config, f"{part}.{need.key}".lstrip(".")))
    if isinstance(need, DatasetNeed) and need.about is not None:
        return replace(need, key=typed_in(config, str(need.about.setting)))
    return need


def look_for(need: Need) -> tuple[Place, str]:
    """Where something is, without asking the hub; and of a named place that is not there, what is wrong with it."""
    with hub.cache_only():
        try:
            need.check_closely()
        except UserError as error:
            return None, str(error)
        try:
            return need.find(), ""
        except MissingResource:
            return None, ""


def fetch_need(need: Need) -> Place:
    """Where something is, where runs look for it; fetched if it is not there. Raises UserError."""
    need.check()
    place, wrong = look_for(need)
    if wrong:
        raise UserError(wrong)
    return place or need.fetch()


def check_quickly(config: DictConfig) -> None:
    """Raise UserError for an encoder, a text or a folder of `paths` that is not there. Imports no torch."""
    check_needs(chain(asked_quickly(config), folders_referred_to(config)))


def check_needs(needs: Iterable[tuple[str, Need]]) -> None:
    """Raise UserError if a setting names an encoder, a text or a copy of a dataset that is not there."""
    attempt = Attempts()
    for _, need in needs:
        attempt(need.check)
    attempt.check()


def lacking(config: DictConfig) -> list[str]:
    """The names of what a config reads that is not here."""
    return [need.name for need in needs_of(config) if look_for(need)[0] is None]
