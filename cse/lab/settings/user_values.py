"""Which file of the user's own gave a value, and which of its values a later file of ours replaces."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from omegaconf import DictConfig, OmegaConf

from cse.lab.settings.conf_files import line_of
from cse.lab.settings.groups import CONF_DIR, SWEEP_KEYS, user_folders
from cse.lab.settings.values import Config, flattened, same

if TYPE_CHECKING:  # hydra is imported only to compose
    from hydra.core.default_element import ResultDefault

RECORDED_AT = "hydra.user_files"
"""Where a composed config has the files of the user's own that it was composed of: {path: package}."""

NOWHERE = object()


class UserFile(NamedTuple):
    """A file that a config was composed of. package: where its settings lie in the config, "" at the top."""

    path: Path
    package: str

    @property
    def content(self) -> Config:
        """Its settings."""
        return OmegaConf.to_container(OmegaConf.load(self.path))  # type: ignore[return-value]


def find_user_files(defaults: Iterable["ResultDefault"]) -> list[UserFile]:
    """The files of the user's own in the defaults list that Hydra composes, in its order."""
    found: list[UserFile] = []
    for one in defaults:
        for folder in user_folders():
            path = folder / f"{one.config_path}.yaml"
            if path.is_file() and not Path(CONF_DIR, f"{one.config_path}.yaml").exists():
                found.append(UserFile(path, one.package or ""))
    return found


def user_files(config: DictConfig) -> list[UserFile]:
    """The user's files that a config was composed of, in Hydra's order. Hydra's node has them; [] without that node."""
    recorded = OmegaConf.select(config, RECORDED_AT) or {}
    return [UserFile(Path(path), package) for path, package in recorded.items()]


def written_at(config: DictConfig, key: str, value: object) -> str:
    """` (FILE:LINE)` of the config's last own file that gives a key this value, or one inside it; "" if none does."""
    for one in reversed(user_files(config)):
        if one.package and f"{one.package}.".startswith(f"{key}."):
            return f" ({one.path})"
        if one.package and not key.startswith(f"{one.package}."):
            continue
        inside = key.removeprefix(f"{one.package}.") if one.package else key
        written: object = one.content
        for step in inside.split("."):
            written = written.get(step, NOWHERE) if isinstance(written, dict) else NOWHERE
        if written is not NOWHERE and (str(written) == str(value) or "${" in str(written)):
            return f" ({line_of(one.path, inside.split('.'))})"
    return ""


def overridden(config: DictConfig, files: Sequence[UserFile], typed: Collection[str]) -> list[str]:
    """A sentence for each value of the files that a later file of ours replaces. typed: the line's keys."""
    settings = flattened(cast("Config", OmegaConf.to_container(config, resolve=True)))
    told: dict[str, str] = {}
    for one in files:
        for inside, value in flattened(one.content).items():
            key = f"{one.package}.{inside}".lstrip(".")
            now = settings.get(key)
            written = [value] if isinstance(now, list) and not isinstance(value, list) else value
            told.pop(key, None)
            if inside.split(".")[0] in ("defaults", "hydra", *SWEEP_KEYS) or key in typed or "${" in str(value):
                continue
            if not same(written, now):
                told[key] = f"but {key}={now} by a later file, not {value} ({line_of(one.path, inside.split('.'))})"
    return list(told.values())
