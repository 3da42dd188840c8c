"""A command of cse-train or cse-eval, or a call of Python's, read once: its arguments KEY=VALUE and its flags.

Read `normalized`, which is done first, then `read_command` and `read_arguments`, then what these do to an argument.
Below them are the values of Python as arguments.
"""

import ast
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Number
from pathlib import Path

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, by_whom, key_of, parse_argument, spell_argument, values_of
from cse.lab.settings.groups import OPTIONAL_GROUPS, Kind, choices

LOOKS = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help")
"""Hydra's flags that show something and run nothing."""
WITH_VALUE = (*LOOKS, "--package", "-p", "--config-dir", "-cd")
"""Flags that the argument after them belongs to."""
MULTIRUN = ("-m", "--multirun")
"""Hydra's flags for several jobs."""

UNREAD = tuple(
    f"hydra.{key}"
    for key in ("verbose", "job_logging", "hydra_logging", "callbacks", "output_subdir", "job.chdir", "job.env_")
)
"""Keys of Hydra's own runs and logs, which nothing here reads."""

QUOTED = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")
"""Text in quotes."""
AS_TYPED = re.compile(r"\d+|null")
"""Text that Python may give for a number, as seed="3", or for nothing."""


@dataclass(frozen=True)
class Command:
    """A command that was given.

    texts: its words, as `normalized` returns them. arguments: the settings in them. flags: the others, such as -m, each
    with its value behind it.
    """

    kind: Kind
    texts: list[str]
    arguments: list[Argument]
    flags: list[str]

    @property
    def shows(self) -> list[str]:
        """The flags by which it shows something and runs nothing, such as --cfg."""
        return flags_that_show(self.flags)


def normalized(texts: Sequence[str]) -> list[str]:
    """The arguments as Hydra's grammar has them: of a W&B agent, of Python's values, of Hydra's own groups.

    Raises UserError for letters that cannot be read, also in the environment.
    """
    set_here = [value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")]
    check_letters([*texts, os.getcwd(), *set_here])
    normal: list[str] = []
    for given in texts:
        text = with_group(without_dashes(given))
        normal += [text] if text.startswith("hydra") else from_python(text)
    return normal


def without_dashes(text: str) -> str:
    """`trainer.lr=1e-5` for `--trainer.lr=1e-5`, as W&B's agents write it. Hydra's own flags stay."""
    return text[2:] if is_agents(text) else text


def with_group(text: str) -> str:
    """`hydra/launcher=NAME` for `hydra.launcher=NAME`, which Hydra would ignore; so too its sweeper."""
    return re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", text)


def read_command(texts: Sequence[str], kind: Kind) -> Command:
    """Read a command. texts: its arguments, as `normalized` returns them, without --config-dir.

    Raises UserError for an argument that cannot be read or has no effect.
    """
    from cse.lab.settings.compose import explaining  # imports omegaconf, for which --help would wait

    settings, flags = split_flags(texts)
    with explaining(settings, kind):
        return Command(kind, list(texts), read_arguments(settings, kind), flags)


def split_flags(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """(settings, flags with their values) of a command's texts, the order that Hydra's own parser needs."""
    settings: list[str] = []
    flags: list[str] = []
    rest = iter(texts)
    for text in rest:
        if not text.startswith("-") or is_agents(text):
            settings.append(text)
            continue
        flags.append(text)
        if text in WITH_VALUE:
            flags += islice(rest, 1)
    return settings, flags


def flags_that_show(flags: Sequence[str]) -> list[str]:
    """The flags that show something and run nothing: --cfg, and --cfg=job."""
    return [flag for flag in flags if flag.partition("=")[0] in LOOKS]


def is_agents(text: str) -> bool:
    """Whether a W&B agent may have written it: --KEY=VALUE, which is no flag of Hydra's."""
    return text.startswith("--") and "=" in text and key_of(text) not in WITH_VALUE


def read_arguments(texts: Sequence[str], kind: Kind) -> list[Argument]:
    """The arguments of a command without flags.

    Raises Hydra's error for one that it cannot read, UserError for one that has no effect.
    """
    at_home = [with_home(without_plus(text)) for text in texts]
    for text in at_home:
        check_effect(text)
    return replace_null(name_evaluator(by_whom(at_home)), kind)


def without_plus(text: str) -> str:
    """The argument without a +, which adds a key to a config: nothing reads a key that conf/ lacks, but Hydra does."""
    return text if key_of(text).startswith("hydra") else text.lstrip("+")


def with_home(text: str) -> str:
    """The argument with ~/ at the start of each value as shells expand it, which they do at the start of a word alone,
    and not in quotes."""
    parts = QUOTED.split(text)  # every second one is in quotes
    for before in ("=", "[", ","):
        parts[::2] = [part.replace(f"{before}~/", f"{before}{Path.home()}/") for part in parts[::2]]
    return "".join(parts)


def check_effect(text: str) -> None:
    """Raise UserError for a key of Hydra's own runs and logs, which nothing here reads, and Hydra's error for an
    argument that it cannot read."""
    if key_of(text).replace("/", ".").startswith(UNREAD):
        raise UserError(
            f"{text} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )
    parse_argument(text)


def name_evaluator(arguments: Sequence[Argument]) -> list[Argument]:
    """Read `eval=mteb eval.benchmark=NAME` as eval.mteb.benchmark, if a single evaluator is chosen."""
    evaluators = choices("eval")
    chosen = {argument.key: argument.parsed for argument in arguments}.get("eval")
    names = chosen if isinstance(chosen, list) else [chosen]
    if len(names) != 1 or names[0] not in evaluators:
        return list(arguments)
    named: list[Argument] = []
    for argument in arguments:
        group, dot, rest = argument.text.partition(".")
        if group == "eval" and dot and re.split(r"[.=]", rest)[0] not in evaluators:
            argument = replace(argument, text=f"eval.{names[0]}.{rest}")
        named.append(argument)
    return named


def replace_null(arguments: Sequence[Argument], kind: Kind) -> list[Argument]:
    """Drop `experiment=null`, `variant=null` and `sweep=null`, the default: Hydra refuses null for a group.

    `eval=null` and `eval=[]` score nothing, so they also turn off what selects a step, unless that is typed. These
    arguments are the person's, which follow the sweep's: a run records them, and smoke=true keeps them.
    """
    last = values_of(arguments)
    none = {group for group in OPTIONAL_GROUPS if last.get(group) in ("", "null")}
    arguments = [argument for argument in arguments if argument.key not in none]
    if last.get("eval") not in ("", "null", "[]"):
        return arguments
    selection = {"trainer.select": "null", "trainer.watch": "[]"} if kind == "train" else {}
    off = [Argument(f"{key}={value}") for key, value in selection.items() if key not in last]
    others = [argument for argument in arguments if argument.key != "eval"]
    of_sweep = [argument for argument in others if argument.by == "sweep"]
    return [*of_sweep, *off, Argument("eval=[]"), *others[len(of_sweep) :]]


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for an argument or a folder whose letters would be lost in a run's files, which are UTF-8."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


# Values of Python


def from_python(text: str) -> list[str]:
    """`model.prefix=None`, `model={'prefix': None}` and `data.columns=['a', None]` as arguments with null.

    A group's mapping becomes an argument for each of its keys, since the group's own value is a choice.
    """
    key, _, value = text.partition("=")
    if value == "None":
        return [f"{key}=null"]
    if not (value.startswith("{") or (value.startswith("[") and "None" in value)):
        return [text]
    try:
        python = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError):  # Hydra's own lists and mappings have no quotes
        return [text]
    if isinstance(python, dict) and choices(key_of(text)):
        return arguments_of_settings({f"{key}.{name}": inner for name, inner in python.items()})
    return arguments_of_settings({key: python})


def arguments_of_settings(settings: Mapping[str, object]) -> list[str]:
    """Python's keywords as arguments of a command: seed=3, splits=[test], data.path='a,b.txt'. Raises UserError."""
    texts = []
    for key, value in settings.items():
        if not (value is None or isinstance(value, str | Path | Number | list | tuple | Mapping)):
            raise UserError(
                f"{key}: give text, a number, a list or a mapping, not a {type(value).__name__}; what Python holds is "
                "written to a file first (a table: to_csv)"
            )
        texts.append(f"{key}={value}" if AS_TYPED.fullmatch(str(value)) else spell_argument(key, value))
    return texts
