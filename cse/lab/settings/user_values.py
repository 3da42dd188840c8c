"""Finds the user's file that set a value. Finds the user's values that a later file of cse overrides.

The composed config has the names of these files, in its node `hydra`.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from hydra.core.default_element import ResultDefault
from omegaconf import DictConfig, OmegaConf

from cse.lab.settings.conf_files import line_of
from cse.lab.settings.groups import CONF_DIR, SWEEP_KEYS, user_folders
from cse.lab.settings.values import Config, flattened, nodes_in, same

RECORDED_AT = "hydra.user_files"
"""Where a composed config has the files of the user's own that it was composed of: {path: package}."""


class UserFile(NamedTuple):
    """A file that a config was composed of. package: where its settings lie in the config, "" at the top."""

    path: Path
    package: str

    @property
    def place(self) -> str:
        """What the keys of its settings begin with in the config: "trainer.", or ""."""
        return f"{self.package}." if self.package else ""

    def read_settings(self) -> Config:
        """Its settings, as the file has them."""
        return OmegaConf.to_container(OmegaConf.load(self.path))  # type: ignore[return-value]

    def line_of(self, inside: str) -> str:
        """FILE:LINE of a key, as the file has it."""
        return line_of(self.path, inside.split("."))


def find_user_files(defaults: Iterable[ResultDefault]) -> list[UserFile]:
    """The files of the user's own in the defaults list that Hydra composes, in its order."""
    files: list[UserFile] = []
    for default in defaults:
        name = f"{default.config_path}.yaml"
        for folder in user_folders():
            if (folder / name).is_file() and not Path(CONF_DIR, name).exists():
                files.append(UserFile(folder / name, default.package or ""))
    return files


def recorded_user_files(config: DictConfig) -> list[UserFile]:
    """The user's files that a config was composed of, in Hydra's order. Hydra's node has them; [] without that node."""
    recorded = OmegaConf.select(config, RECORDED_AT) or {}
    return [UserFile(Path(path), package) for path, package in recorded.items()]


def written_at(config: DictConfig, key: str, value: object) -> str:
    """` (FILE:LINE)` of the config's last own file that gives a key this value, or one inside it; "" if none does."""
    for file in reversed(recorded_user_files(config)):
        if file.package and file.place.startswith(f"{key}."):
            return f" ({file.path})"
        if not key.startswith(file.place):
            continue
        inside = key.removeprefix(file.place)
        for written_key, written in nodes_in(file.read_settings()):
            if written_key == inside and (str(written) == str(value) or "${" in str(written)):
                return f" ({file.line_of(inside)})"
    return ""


def overridden(config: DictConfig, files: Sequence[UserFile], typed: Collection[str]) -> list[str]:
    """A sentence for each value of the files that a later file of ours replaces. typed: the command's keys."""
    settings = flattened(cast("Config", OmegaConf.to_container(config, resolve=True)))
    sentences: dict[str, str] = {}
    for file in files:
        for inside, value in flattened(file.read_settings()).items():
            key = f"{file.place}{inside}"
            sentences.pop(key, None)
            if inside.split(".")[0] in ("defaults", "hydra", *SWEEP_KEYS) or key in typed or "${" in str(value):
                continue
            final = settings.get(key)
            written = [value] if isinstance(final, list) and not isinstance(value, list) else value
            if not same(written, final):
                sentences[key] = f"but {key}={final} by a later file, not {value} ({file.line_of(inside)})"
    return list(sentences.values())
