"""Find which of the user's own files gave a value of a config.

An error about a value names this file and the line. The notes of a run name the user's values that a later file
replaced.

    UserFile                               a file, and the place of its settings in a config
    find_user_files, recorded_user_files   return the user's files in a composed config
    written_at                             returns the file and the line that gave a value
    find_overridden, recorded_overridden   return sentences on the values that a later file of cse replaces
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hydra.core.default_element import ResultDefault
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cse.lab.settings.conf_files import line_of
from cse.lab.settings.groups import CONF_DIR, SWEEP_KEYS, user_folders
from cse.lab.settings.references import guarded_environment
from cse.lab.settings.values import PlainConfig, flattened, nodes_in, same

RECORDED_AT = "hydra.user_files"
"""The key in a composed config for the user's own files of this config: {path: package}."""
OVERRIDDEN_AT = "hydra.user_values_overridden"
"""The key in a composed config for the sentences of find_overridden about these files."""


class UserFile(NamedTuple):
    """One of the user's own files. package: the key in the config that holds the file's settings; "" for the top."""

    path: Path
    package: str

    @property
    def prefix(self) -> str:
        """The start of the file's keys in the config, such as "trainer."; "" for the top of the config."""
        return f"{self.package}." if self.package else ""

    def read_settings(self) -> PlainConfig:
        """Return the file's settings, with unresolved references."""
        return OmegaConf.to_container(OmegaConf.load(self.path))  # type: ignore[return-value]


def find_user_files(defaults: Iterable[ResultDefault]) -> list[UserFile]:
    """Return the user's own files in a defaults list of Hydra, in the same order."""
    files: list[UserFile] = []
    for default in defaults:
        name = f"{default.config_path}.yaml"
        for folder in user_folders():
            if (folder / name).is_file() and not Path(CONF_DIR, name).exists():
                files.append(UserFile(folder / name, default.package or ""))
    return files


def recorded_user_files(config: DictConfig) -> list[UserFile]:
    """Return the user's own files in a composed config, in Hydra's order, from the config's node `hydra`."""
    recorded = OmegaConf.select(config, RECORDED_AT) or {}
    return [UserFile(Path(path), package) for path, package in recorded.items()]


def written_at(config: DictConfig, key: str, value: object) -> str:
    """Return FILE:LINE of the user's last file that gives a key this value; "" without such a file.

    If the file gives only keys below this key, return FILE.
    """
    for file in reversed(recorded_user_files(config)):
        if file.package and file.prefix.startswith(f"{key}."):
            return str(file.path)
        if not key.startswith(file.prefix):
            continue
        inside = key.removeprefix(file.prefix)
        for written_key, written in nodes_in(file.read_settings()):
            if written_key == inside and (str(written) == str(value) or "${" in str(written)):
                return line_of(file.path, inside.split("."))
    return ""


def find_overridden(config: DictConfig, files: Sequence[UserFile], given: Collection[str]) -> list[str]:
    """Return a sentence for each value in these files that a later file of cse replaces.

    config: the config from Hydra, before cse writes some values in another form. given: the keys that the command sets.
    """
    sentences: dict[str, str] = {}
    for file in files:
        for inside, value in flattened(file.read_settings()).items():
            key = f"{file.prefix}{inside}"
            sentences.pop(key, None)
            if inside.split(".")[0] in ("defaults", "hydra", *SWEEP_KEYS) or key in given or "${" in str(value):
                continue
            final = final_value(config, key)
            written = [value] if isinstance(final, list) and not isinstance(value, list) else value
            if not same(written, final):
                place = line_of(file.path, inside.split("."))
                sentences[key] = f"but a later file sets {key}={final}, not {value} ({place})"
    return list(sentences.values())


def final_value(config: DictConfig, key: str) -> object:
    """Return the plain value of a key, with references filled in; None for a value that cannot be read."""
    with guarded_environment(), suppress(OmegaConfBaseException):
        value = OmegaConf.select(config, key)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    return None


def recorded_overridden(config: DictConfig) -> list[str]:
    """Return the sentences of find_overridden that the config's node `hydra` recorded."""
    return [*(OmegaConf.select(config, OVERRIDDEN_AT) or [])]
