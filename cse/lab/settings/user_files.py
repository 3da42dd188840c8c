"""The files of the user's own in the config groups: each loaded as Hydra loads ours, or refused with its name and line.

A file in experiment/, variant/, recipe/ or sweep/ sets keys of the whole config, and an evaluator lies in eval.NAME,
whether or not a `# @package` says so. Where there is such a comment, its place in the file does not matter.
"""

from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.conf_files import declared_package, line_of, text_of
from cse.lab.settings.groups import GLOBAL_GROUPS, groups
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import Config, flattened
from cse.ranges import Mark

STARTING = ("jobs", "dry_run", *(f"hydra.sweeper.{key}" for key in ("params", "n_trials", "batch", "seed")))
"""The keys that say how to start several jobs, and that a sweep's file may set."""


class UserSource(FileConfigSource):
    """`own://FOLDER` in Hydra's search path, by the provider `own`."""

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
            config=content, path=f"{self.scheme()}://{self.path}", provider=self.provider, header={"package": package}
        )


def package_of(path: Path, group: str, content: DictConfig) -> str | None:
    """Where a file's settings lie: as its comment says, else as its group has them; None is Hydra's default."""
    package = declared_package(path)
    if package is not None:
        return package
    if group.partition("/")[0] in GLOBAL_GROUPS:
        return "_global_"
    return f"eval.{path.stem}" if group == "eval" and "_target_" in content else None


def check_file(path: Path, group: str, package: str | None, content: Config) -> None:
    """Raise UserError for what Hydra would take and nothing would read. group: without its subgroups."""
    for key in content:
        if not isinstance(key, str):
            raise UserError(f"{path}: the key {key} is no text: put it in quotes, or name a setting")
        if "." in key:
            *parents, last = key.split(".")
            nested = f"{last}: VALUE"
            for parent in reversed(parents):
                nested = f"{parent}: {{{nested}}}"
            raise UserError(f"{line_of(path, [key])}: {key} is no key: write {nested}")
    defaults = content.get("defaults") or []
    place = line_of(path, ["defaults"])
    if not isinstance(defaults, list):
        raise UserError(f"{place}: defaults is a list: below it, `  - {defaults}`")
    for default in defaults:
        check_entry(place, default)
    if package == "_global_":
        group_names = {*groups("train"), "recipe"}
        for default in defaults:
            for name, choice in default.items() if isinstance(default, dict) else ():
                check_hydras_choice(place, group, name, choice)
                check_override(place, name, choice, group_names)
        check_keys(path, group, content, group_names)


def check_entry(place: str, entry: object) -> None:
    """Raise UserError for an entry of a defaults list on which Hydra fails: a number, or several keys."""
    texts, written = [entry], str(entry)
    if isinstance(entry, dict) and len(entry) == 1:
        ((group, choice),) = entry.items()
        names = choice if isinstance(choice, list) else [choice]
        if choice is None:  # `- override /tracker: null` chooses nothing
            names = []
        texts, written = [group, *names], f"{group}: {choice}"
    if not all(isinstance(text, str) for text in texts):
        raise UserError(f"{place}: `- {written}` names no file: write `- CHOICE`, or `- GROUP: CHOICE`, all of text")


def check_hydras_choice(place: str, group: str, name: str, choice: object) -> None:
    """Raise UserError for a choice of Hydra's own groups in a defaults list, which is read where it is typed."""
    if "hydra/" in name and not (group == "sweep" and "hydra/sweeper" in name):
        raise UserError(f"{place}: {name}: {choice} has no effect in a file: give it on the command line")


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
    allowed: tuple[str, ...] = ("hydra.run.dir",) if group in GLOBAL_GROUPS else ()
    if group == "sweep":
        allowed = STARTING
    for key in flattened(content):
        is_typed_alone = key.startswith("hydra") or role_of(key).purpose == "bookkeeping"
        if is_typed_alone and not key.startswith(allowed):
            raise UserError(
                f"{line_of(path, key.split('.'))}: {key} has no effect in a file: give it on the command line"
            )
