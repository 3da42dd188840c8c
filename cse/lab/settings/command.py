"""Read a command of cse-train or cse-eval, or a call in Python, into its arguments and its flags.

1. `normalized` writes each text in Hydra's grammar. All other code reads the result, also for --help and --config-dir.
2. `read_command` makes a Command of the result: `split_flags` finds the flags, `read_arguments` reads the arguments.

The functions below them turn the Python values of a call into texts.
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
from cse.lab.settings.arguments import Argument, arguments_of, key_of, parse_argument, spell_argument, values_of
from cse.lab.settings.groups import OPTIONAL_GROUPS, Kind, choices
from cse.lab.settings.mistakes import explaining

LOOKS = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help")
"""Hydra's flags that show something and run nothing."""
WITH_VALUE = (*LOOKS, "--package", "-p", "--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn")
"""Flags with a value, which is the next text of the command."""
MULTIRUN = ("-m", "--multirun")
"""Hydra's flags for several jobs."""
HYDRAS_FLAGS = (*WITH_VALUE, *MULTIRUN, "--run", "-r", "--resolve", "--experimental-rerun")
"""Every flag that cse or Hydra reads, other than --help and --version."""

UNREAD = tuple(
    f"hydra.{key}"
    for key in ("verbose", "job_logging", "hydra_logging", "callbacks", "output_subdir", "job.chdir", "job.env_")
)
"""The keys of Hydra's own runs and logs. cse ignores them."""

QUOTED = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")
"""Text in quotes."""
AT_HOME = re.compile(r"([=\[,:]\s*)~/")
"""The start of a value in the home folder: alone, in a list, or in a mapping."""
AS_GIVEN = re.compile(r"\d+|null")
"""Python text that Hydra reads as another type: a number, as in seed="3", and null."""


def normalized(texts: Sequence[str]) -> list[str]:
    """The texts in Hydra's grammar. They may come from a shell, a W&B agent (--trainer.lr=1e-5) or Python.

    Raises UserError for unreadable letters in a text or in the environment.
    """
    set_here = [value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")]
    check_letters([*texts, os.getcwd(), *set_here])
    normal: list[str] = []
    for given in texts:
        text = given[2:] if is_from_agent(given) else given
        text = re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", text)  # Hydra ignores it with the dot
        normal += [text] if text.startswith("hydra") else from_python(text)
    return normal


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for a text or a folder whose letters would be lost in a run's files, which are UTF-8."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


def is_from_agent(text: str) -> bool:
    """Whether a W&B agent may have given this text: --KEY=VALUE that is not a flag of Hydra."""
    return text.startswith("--") and "=" in text and key_of(text) not in WITH_VALUE


@dataclass(frozen=True)
class Command:
    """A command that was given.

    texts: the whole command, as `normalized` returns it. arguments: its settings. flags: its flags, such as -m. A
    flag's value follows the flag.
    """

    kind: Kind
    texts: list[str]
    arguments: list[Argument]
    flags: list[str]


def read_command(texts: Sequence[str], kind: Kind) -> Command:
    """Read a command. texts: as `normalized` returns them, without --config-dir.

    Raises UserError for an argument that cannot be read or has no effect.
    """
    settings, flags = split_flags(texts)
    with explaining(settings, kind):
        return Command(kind, list(texts), read_arguments(settings, kind), flags)


def split_flags(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """(settings, flags with their values) of a command, in the order that Hydra's own parser needs."""
    settings: list[str] = []
    flags: list[str] = []
    rest = iter(texts)
    for text in rest:
        if not text.startswith("-") or is_from_agent(text):
            settings.append(text)
            continue
        flags.append(text)
        if text in WITH_VALUE:
            flags += islice(rest, 1)
    return settings, flags


def flags_that_show(flags: Sequence[str]) -> list[str]:
    """The flags that show something and run nothing: --cfg, and --cfg=job."""
    return [flag for flag in flags if flag.partition("=")[0] in LOOKS]


def read_arguments(texts: Sequence[str], kind: Kind) -> list[Argument]:
    """The arguments of a command without flags.

    Raises Hydra's error for a text that it cannot read, UserError for an argument that has no effect.
    """
    texts = [with_home(without_plus(text)) for text in texts]
    for text in texts:
        refuse_unread(text)
        parse_argument(text)
    arguments = with_evaluator(without_null_groups(arguments_of(texts)))
    return without_evaluators(arguments, kind)


def without_plus(text: str) -> str:
    """The argument without the + that adds a key in Hydra.

    Only keys below `hydra` may need the +, because cse reads no key that conf/ lacks.
    """
    return text if key_of(text).startswith("hydra") else text.lstrip("+")


def with_home(text: str) -> str:
    """The argument, in which the home folder replaces ~/ at the start of each value without quotes.

    A shell replaces ~/ only at the start of an argument.
    """
    parts = QUOTED.split(text)  # every second one is in quotes
    parts[::2] = [AT_HOME.sub(lambda start: f"{start[1]}{Path.home()}/", part) for part in parts[::2]]
    return "".join(parts)


def refuse_unread(text: str) -> None:
    """Raise UserError for an argument whose key nothing reads."""
    if key_of(text).replace("/", ".").startswith(UNREAD):
        raise UserError(
            f"{text} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )


def without_null_groups(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments without `experiment=null`, `variant=null` and `sweep=null`. Null is the default of these groups,
    and Hydra refuses it."""
    given = values_of(arguments)
    null = {group for group in OPTIONAL_GROUPS if given.get(group) in ("", "null")}
    return [argument for argument in arguments if argument.key not in null]


def with_evaluator(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments, with the evaluator's name in the keys of its settings, if a single evaluator is chosen.

    For `eval=mteb eval.benchmark=NAME` the key becomes eval.mteb.benchmark.
    """
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


def without_evaluators(arguments: Sequence[Argument], kind: Kind) -> list[Argument]:
    """The arguments, with eval=[] for `eval=null` or `eval=[]`.

    A run with eval=[] scores nothing, so no score can select a checkpoint. Therefore trainer.select and trainer.watch
    become empty too, unless they are given.

    The added arguments count as a person's: a run records them, and smoke=true keeps them.
    """
    given = values_of(arguments)
    if given.get("eval") not in ("", "null", "[]"):
        return list(arguments)
    empty = [Argument("trainer.select=null"), Argument("trainer.watch=[]")] if kind == "train" else []
    empty = [argument for argument in empty if argument.key not in given]
    return [*empty, Argument("eval=[]"), *(argument for argument in arguments if argument.key != "eval")]


# Values of Python


def from_python(text: str) -> list[str]:
    """The texts of an argument that may contain a Python value.

    `model.prefix=None` and `model={'prefix': None}` become model.prefix=null; `data.columns=['a', None]` becomes
    data.columns=[a,null].

    The mapping of a group becomes one argument for each key, because the value of the group itself is a choice.
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
        return texts_of_settings({f"{key}.{name}": inner for name, inner in python.items()})
    return texts_of_settings({key: python})


def texts_of_settings(settings: Mapping[str, object]) -> list[str]:
    """The texts of arguments that give these settings: seed=3, splits=[test], data.path='a,b.txt'.

    Raises UserError for a value that cannot be a text.
    """
    texts = []
    for key, value in settings.items():
        if not (value is None or isinstance(value, str | Path | Number | list | tuple | Mapping)):
            raise UserError(
                f"{key}: give text, a number, a list or a mapping, not a {type(value).__name__}; write any other "
                "Python object to a file first (a table: to_csv)"
            )
        texts.append(f"{key}={value}" if AS_GIVEN.fullmatch(str(value)) else spell_argument(key, value))
    return texts
