"""The needs of a run: the encoders, texts, folders and datasets that the run will read.

Each part of a config lists its needs (cse.needs). The other needs come from the settings that name encoders and text.

    needs_in_order, needs_before_torch  yield the needs of a config
    check_needs                         refuses a missing file or encoder before a run's work
    error_on_all                        names everything that is missing in one error
    check_text                          refuses an incomplete copy of a corpus before several processes start
    needs_of, look_for, fetch_need      list needs, look for a need and fetch a need, for cse-data

The content of the files is checked later, when a run reads them.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf, read_write

from cse.data.text_needs import FilesNeed
from cse.errors import MissingResource, UserError, collecting, combine
from cse.lab.folder.runs import newest_run
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.groups import PROGRAMS, Kind
from cse.lab.settings.references import referred_keys, user_key
from cse.lab.settings.roles import keys_with
from cse.lab.settings.values import flattened, nodes_in
from cse.needs import FileNeed, Need, Part, Place, Settings
from cse.ranges import Mark
from cse.sources import hub
from cse.sources.encoder import PACKAGE, EncoderNeed, check_folder, locate

DEMO: dict[Kind, str] = {"train": "cse-train experiment=demo", "evaluate": "cse-eval model=minilm eval=demo"}


def needs_of(config: DictConfig) -> list[Need]:
    """Return all needs of a config, each once, encoders first. Imports the config's parts."""
    return sorted(dict.fromkeys(needs_in_order(config)), key=lambda need: not isinstance(need, EncoderNeed))


def needs_in_order(config: DictConfig) -> Iterator[Need]:
    """Yield all needs of a config; none for a smoke test, which has synthetic data. Imports the config's parts."""
    if config.smoke:
        return
    yield from needs_of_encoders(config)
    yield from needs_of_text(config)
    for key, node in part_nodes(config):
        if key != "data":
            yield from needs_of_part(key, node, config)


def needs_before_torch(config: DictConfig) -> Iterator[Need]:
    """Yield the encoders, text and folders that a config names. Does not import torch. The config may be unchecked."""
    if config.smoke:
        return
    yield from needs_of_encoders(config)
    yield from needs_of_text(config)
    yield from folders_referred_to(config)


def needs_of_encoders(config: DictConfig) -> Iterator[Need]:
    """Yield the encoders that the settings name: first the run's encoder, then its teachers."""
    encoders = keys_with(Mark.ENCODER, plain_settings(without_hydra(config)))
    for key in sorted(encoders, key=lambda key: key.rpartition(".")[0]):
        part, _, setting = key.rpartition(".")
        name = encoders[key]
        if isinstance(name, str) and part != "aux_modality":  # the class of the modality lists its own needs
            kind = EncoderNeed if part else CheckpointNeed
            yield in_config(kind(name, setting), part, config)


def needs_of_text(config: DictConfig) -> Iterator[Need]:
    """Yield the text that a run learns from, or on which cse-eval fits the whitening."""
    if isinstance(file := OmegaConf.select(config, "whitening.fit"), str):
        yield in_config(FilesNeed(file, "fit"), "whitening", config)
    if "data" in config:
        yield from needs_of_part("data", config.data, config)


def needs_of_part(key: str, node: DictConfig, config: DictConfig) -> Iterator[Need]:
    """Yield the needs that a part's class lists, and the needs of the parts inside it. node: the part's settings."""
    for inner, settings in nodes_in(plain_settings(node), key):
        if isinstance(settings, dict) and "_target_" in settings:
            for need in class_named_in(settings).needs(settings):
                yield in_config(need, inner, config)


def in_config(need: Need, part: str, config: DictConfig) -> Need:
    """Return a part's need, with the config's cache and the key that the user gives. part: the part's key."""
    setting = need.setting(part)
    key = user_key(config, setting) if setting else ""
    return replace(need, cache=Path(config.paths.cache), key=key)


def part_nodes(config: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """Yield (key, node) of each part of a config. For a preview, leave out the parts that only train or score."""
    idle = ("eval", "aux_modality", "objective") if "data" in config and config.data.preview else ()
    for key, node in config.items():
        if OmegaConf.is_dict(node) and key not in ("hydra", "paths", *idle):
            yield str(key), node


def folders_referred_to(config: DictConfig) -> Iterator[Need]:
    """Yield the folders of `paths` to which the parts of a config refer."""
    written = {key: OmegaConf.to_container(node) for key, node in part_nodes(config)}
    for key in sorted(referred_keys(flattened(written))):
        place = OmegaConf.select(config, key) if key.startswith("paths.") else None
        if place is not None and key != "paths.cache":  # the run makes this folder
            yield FileNeed(place, user_key(config, key))


def class_named_in(settings: Settings) -> type[Part]:
    """Return the class that the settings name.

    For a function, or a class that cannot be imported, return Part, which has no needs.
    """
    try:
        kind = get_object(str(settings["_target_"]))
    except (ImportError, ValueError, KeyError):
        return Part
    return kind if isinstance(kind, type) and issubclass(kind, Part) else Part


def plain_settings(node: DictConfig) -> dict[str, Any]:
    """Return a node as plain values, without missing values (???)."""
    settings = cast("dict[str, Any]", OmegaConf.to_container(node, resolve=True))
    return {key: value for key, value in settings.items() if value != "???"}


@dataclass(frozen=True)
class CheckpointNeed(EncoderNeed):
    """An encoder that cse-eval scores, which may be in a run's folder."""

    def check_place(self) -> None:
        """Raise UserError if the folder or the package does not exist, or if the folder has no encoder."""
        check_folder(locate(encoder_folder(self.name)))


def encoder_folder(name: str | Path) -> str:
    """Return a run's best/, if `name` is a run's folder, else `name`: a folder, package://MODULE/PATH or a hub name."""
    if str(name).startswith(PACKAGE):
        return str(name)
    path = Path(name).expanduser()
    if (path / "best" / "config.json").is_file():
        return str(path / "best")
    if path.exists() and not (path / "config.json").is_file():
        raise UserError(
            f"checkpoint={path} has no config.json: it is neither an encoder nor a run with best/{newest_run(path)}"
        )
    return str(path)


# Whether a need is here


def look_for(need: Need) -> tuple[Place, str]:
    """Return (the place of a need, the error about the place that a setting names). Does not use the network.

    The place is None if the need is not on this machine. The error is "" if there is no mistake.
    """
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
    """Return the place of a need, after fetching the need if it is not on this machine. Raises UserError."""
    need.check()
    place, wrong = look_for(need)
    if wrong:
        raise UserError(wrong)
    return place or need.fetch()


def check_needs(needs: Iterable[Need]) -> None:
    """Raise UserError if a setting names an encoder, a text, a folder or a dataset's copy that does not exist."""
    missing: list[MissingResource] = []
    for need in needs:
        with collecting(missing):
            need.check()
    if missing:
        raise combine(missing)


def check_text(config: DictConfig) -> None:
    """Raise UserError if a local copy of a corpus does not have the published number of rows. Reads the copy."""
    for need in needs_of_text(config):
        need.check_closely()


def lacking(needs: Iterable[Need]) -> tuple[list[str], list[str]]:
    """Return (the names of needs that are not on this machine, the errors about places that settings name)."""
    missing: list[str] = []
    mistakes: list[str] = []
    for need in needs:
        place, wrong = look_for(need)
        if wrong:
            mistakes.append(wrong)
        elif place is None:
            missing.append(need.name)
    return missing, mistakes


def error_on_all(error: MissingResource, config: DictConfig, kind: Kind) -> MissingResource:
    """Return one error with everything that is missing. If the hub does not answer, one line names several needs.

    config, kind: the settings and the kind of the job that raised `error`.
    """
    needs, fetch = needs_of(config), f"cse-data fetch {PROGRAMS[kind]}"
    names, mistakes = lacking(needs)
    listed, found = ", ".join(names), [error]
    lines = error.in_full().splitlines()
    others = [line for line in lines if hub.UNREACHABLE not in line]
    if len(names) > 1 and len(others) < len(lines):
        keys = dict.fromkeys(need.key for need in needs if need.key and need.name in names)
        copies = " ".join(f"{key}=PLACE" for key in keys)
        found = [MissingResource(line) for line in others]
        mistakes.append(
            f"the hub {hub.UNREACHABLE}, and this machine lacks {listed}. Either fetch them where the hub answers: "
            f"{fetch} takes the same arguments (docs/offline.md). Or name copies that you have: {copies}. "
            f"{DEMO[kind]} needs no hub"
        )
    elif len(names) > 1:
        mistakes.append(
            f"all that is missing: {listed}; {fetch} with the same arguments fetches what is on the hub; "
            f"{DEMO[kind]} needs no hub"
        )
    mistakes += without_scores(names, config, kind)
    return combine([*found, *map(MissingResource, mistakes)])


def without_scores(names: list[str], config: DictConfig, kind: Kind) -> list[str]:
    """Return a line on how to train without what is missing, if only evaluators need it; else [].

    names: the needs that are missing.
    """
    if kind == "evaluate" or not names:
        return []
    unscored = deepcopy(config)
    with read_write(unscored):
        unscored.eval = {}
    if any(lacking(needs_of(unscored))):
        return []
    return [
        f"only the scores need {', '.join(names)}: eval=[] trains without scores; "
        "eval=pairs eval.dev=FILE trainer.select=pairs scores pairs of your own"
    ]
