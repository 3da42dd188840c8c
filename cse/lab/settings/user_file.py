"""A file of the user's own in a config group: loaded as Hydra loads ours, or refused with its name and line.

A file in experiment/, variant/, recipe/ or sweep/ sets keys of the whole config, and an evaluator lies in eval.NAME,
whether or not a `# @package` says so. Where there is such a comment, its place in the file does not matter.
"""

from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.conf_files import line_of, package_said, text_of
from cse.lab.settings.groups import WHOLE, groups
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import Config, flattened
from cse.ranges import Mark

OF_SWEEP = ("jobs", "dry_run", *(f"hydra.sweeper.{key}" for key in ("params", "n_trials", "batch", "seed")))
"""The keys of a line of several jobs that a sweep's file may set, too."""


class UserSource(FileConfigSource):
    """`own://FOLDER` in Hydra's search path."""

    @staticmethod
    def scheme() -> str:
        """The scheme of its URL."""
        return "own"

    def load_config(self, config_path: str) -> ConfigResult:
        """A file of the folder, checked. Raises UserError."""
        path = Path(self.path, self._normalize_file_name(config_path))
        text_of(path)  # raises UserError for one that is not UTF-8
        content = OmegaConf.load(path)
        if isinstance(content, ListConfig):
            raise UserError(f"{path}: is a list, where settings are a mapping, KEY: VALUE")
        group = config_path.rpartition("/")[0]
        package = package_of(path, group, content)
        plain: Config = OmegaConf.to_container(content)  # type: ignore[assignment]
        check_file(path, group.partition("/")[0], package, plain)
        return ConfigResult(
            config=content, path=f"own://{self.path}", provider=self.provider, header={"package": package}
        )


def package_of(path: Path, group: str, content: DictConfig) -> str | None:
    """Where a file's settings lie: as its comment says, else as its group has them; None is Hydra's default."""
    if (said := package_said(path)) is not None:
        return said
    if group.partition("/")[0] in WHOLE:
        return "_global_"
    return f"eval.{path.stem}" if group == "eval" and "_target_" in content else None


def check_file(path: Path, group: str, package: str | None, content: Config) -> None:
    """Raise UserError for what Hydra would take and nothing would read. group: without its subgroups."""
    for key in content:
        if not isinstance(key, str):
            raise UserError(f"{path}: the key {key} is no text: put it in quotes, or name a setting")
        if "." in key:
            opened, closed = ": {".join(key.split(".")), "}" * key.count(".")
            raise UserError(f"{line_of(path, [key])}: {key} is no key: write {opened}: VALUE{closed}")
    defaults = content.get("defaults") or []
    if not isinstance(defaults, list):
        raise UserError(f"{line_of(path, ['defaults'])}: defaults is a list: below it, `  - {defaults}`")
    if package == "_global_":
        group_names = {*groups("train"), "recipe"}
        place = line_of(path, ["defaults"])
        for default in defaults:
            for name, choice in default.items() if isinstance(default, dict) else ():
                check_hydras_choice(place, group, name, choice)
                check_override(place, name, choice, group_names)
        check_keys(path, group, content, group_names)


def check_hydras_choice(place: str, group: str, name: str, choice: object) -> None:
    """Raise UserError for a choice of Hydra's own groups in a defaults list, which is read where it is typed."""
    if "hydra/" in name and not (group == "sweep" and "hydra/sweeper" in name):
        raise UserError(f"{place}: {name}: {choice} has no effect in a file: type it on the line")


def check_override(place: str, name: str, choice: object, group_names: set[str]) -> None:
    """Raise UserError for a choice in a defaults list that Hydra would look for in the file's own group."""
    bare = name.removeprefix("override ").removeprefix("/").strip()
    if bare in group_names and name != f"override /{bare}":
        raise UserError(f"{place}: `- {name}: {choice}` is written `- override /{bare}: {choice}`")


def check_keys(path: Path, group: str, content: Config, group_names: set[str]) -> None:
    """Raise UserError for a choice that is written as a setting, and for a key that is read where it is typed."""
    for key, value in content.items():
        if key in group_names and isinstance(value, str | list):
            choice = value if isinstance(value, str) else f"[{','.join(map(str, value))}]"
            raise UserError(
                f"{line_of(path, [key])}: {key}: {choice} is a choice: write `defaults:`, and below it "
                f"`  - override /{key}: {choice}`"
            )
        if Mark.RECORDED in role_of(key).marks:
            raise UserError(f"{line_of(path, [key])}: {key} is what a run records: no file sets it")
    allowed: tuple[str, ...] = ("hydra.run.dir",) if group in WHOLE else ()
    if group == "sweep":
        allowed = OF_SWEEP
    for key in flattened(content):
        is_typed_alone = key.startswith("hydra") or role_of(key).purpose == "bookkeeping"
        if is_typed_alone and not key.startswith(allowed):
            raise UserError(f"{line_of(path, key.split('.'))}: {key} has no effect in a file: type it on the line")
