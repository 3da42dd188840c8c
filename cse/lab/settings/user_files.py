"""Load the user's own files of the config groups, or refuse them.

    UserSource    loads a file for Hydra. The plugin hydra_plugins/cse_own.py registers this class
    check_file    refuses settings that Hydra would accept although nothing reads them

A file in experiment/, variant/, recipe/ or sweep/ sets keys of the whole config, and a file in eval/ sets keys of
eval.NAME. These files need no comment `# @package`. In any file, this comment may be on any line.
"""

from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.conf_files import declared_package, line_of, text_of
from cse.lab.settings.groups import GLOBAL_GROUPS, groups
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Starting
from cse.lab.settings.values import PlainConfig, flattened
from cse.ranges import Mark

SWEEP_STARTS = (
    *Starting.__annotations__,
    *(f"hydra.sweeper.{key}" for key in ("params", "n_trials", "batch", "seed")),
)
"""The keys that a sweep's file may set to say how its jobs are started."""


class UserSource(FileConfigSource):
    """Hydra's ConfigSource for `own://FOLDER` in the search path, where FOLDER is a folder of the user."""

    @staticmethod
    def scheme() -> str:
        """Return the scheme of the source's URL."""
        return "own"

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file in the folder, after `check_file`. Raises UserError."""
        path = Path(self.path, self._normalize_file_name(config_path))
        text_of(path)  # raises UserError for a file that is not UTF-8
        content = OmegaConf.load(path)
        if isinstance(content, ListConfig):
            raise UserError(f"{path} is a list, but settings are a mapping: write KEY: VALUE")
        group = config_path.rpartition("/")[0]
        package = package_of(path, group, content)
        plain: PlainConfig = OmegaConf.to_container(content)  # type: ignore[assignment]
        check_file(path, group.partition("/")[0], package, plain)
        return ConfigResult(
            config=content, path=f"{self.scheme()}://{self.path}", provider=self.provider, header={"package": package}
        )


def package_of(path: Path, group: str, content: DictConfig) -> str | None:
    """Return the package in a file's comment, see `declared_package`; without a comment, the package of its group.

    Return None for Hydra's default.
    """
    package = declared_package(path)
    if package is not None:
        return package
    if group.partition("/")[0] in GLOBAL_GROUPS:
        return "_global_"
    return f"eval.{path.stem}" if group == "eval" and "_target_" in content else None


def check_file(path: Path, group: str, package: str | None, content: PlainConfig) -> None:
    """Raise UserError for settings in a file that Hydra would accept although nothing reads them.

    group: the file's group without subgroups.
    """
    check_spelling(path, content)
    defaults = content.get("defaults") or []
    place = line_of(path, ["defaults"])
    if not isinstance(defaults, list):
        raise UserError(f"{place}: defaults must be a list: write `  - {defaults}` below it")
    for entry in defaults:
        check_entry(place, entry)
    if package == "_global_":
        group_names = {*groups("train"), "recipe", "recipe/augmentation", "recipe/aux_modality"}
        for entry in defaults:
            if isinstance(entry, dict):
                check_choices(place, group, entry, group_names)
        check_effects(path, group, content, group_names)


def check_spelling(path: Path, content: PlainConfig) -> None:
    """Raise UserError for a top-level key that is not text or that has a dot."""
    for key in content:
        if not isinstance(key, str):
            raise UserError(f"{path}: the key {key} is not text: write a setting's name, or put the key in quotes")
        if "." in key:
            *parents, last = key.split(".")
            nested = f"{last}: VALUE"
            for parent in reversed(parents):
                nested = f"{parent}: {{{nested}}}"
            raise UserError(f"{line_of(path, [key])}: {key} is not a key: write {nested}")


def check_entry(place: str, entry: object) -> None:
    """Raise UserError for an entry of a defaults list that Hydra cannot read: a number, or several keys."""
    texts, written = [entry], str(entry)
    if isinstance(entry, dict) and len(entry) == 1:
        ((group, choice),) = entry.items()
        names = choice if isinstance(choice, list) else [choice]
        if choice is None:  # `- override /tracker: null` chooses nothing
            names = []
        texts, written = [group, *names], f"{group}: {choice}"
    if not all(isinstance(text, str) for text in texts):
        raise UserError(f"{place}: `- {written}` names no file: write `- CHOICE` or `- GROUP: CHOICE`")


def check_choices(place: str, group: str, entry: PlainConfig, group_names: set[str]) -> None:
    """Raise UserError for an entry of a defaults list that has no effect.

    Such an entry is a choice of Hydra's own groups, which only a command can make, or a choice without `override /`,
    which Hydra would look for in the file's own group.
    """
    for name, choice in entry.items():
        if "hydra/" in name and not (group == "sweep" and "hydra/sweeper" in name):
            raise UserError(f"{place}: {name}: {choice} has no effect in a file: give it on the command line")
        bare = name.split()[-1].removeprefix("/")  # without `override` and `optional`
        if bare in group_names and name != f"override /{bare}":
            raise UserError(f"{place}: `- {name}: {choice}` must be `- override /{bare}: {choice}`")


def check_effects(path: Path, group: str, content: PlainConfig, group_names: set[str]) -> None:
    """Raise UserError for a setting without effect in a file.

    Such a setting is a choice outside `defaults`, a key that only a run writes, or a key that only a command can set.
    """
    for key, value in content.items():
        if key in group_names and isinstance(value, str | list):
            choice = value if isinstance(value, str) else f"[{','.join(map(str, value))}]"
            raise UserError(
                f"{line_of(path, [key])}: {key}: {choice} is a choice: write `defaults:`, and below it "
                f"`  - override /{key}: {choice}`"
            )
        if Mark.RECORDED in role_of(key).marks:
            raise UserError(f"{line_of(path, [key])}: only a run writes {key}, as a record: delete it here")
    allowed: tuple[str, ...] = ("hydra.run.dir",) if group in GLOBAL_GROUPS else ()
    if group == "sweep":
        allowed = SWEEP_STARTS
    for key in flattened(content):
        is_of_command = key.startswith("hydra") or role_of(key).purpose == "bookkeeping"
        if is_of_command and not key.startswith(allowed):
            place = line_of(path, key.split("."))
            raise UserError(f"{place}: {key} has no effect in a file: give it on the command line")
