"""Read a command of cse-train or cse-eval, or a call in Python, into its arguments and its flags.

1. `normalized` writes each text in Hydra's grammar. All other code reads these texts, also for --help and --config-dir.
2. `read_command` makes a Command of these texts: `split_flags` finds the flags, `read_arguments` reads the arguments.
3. `from_python` and `texts_of_settings` make texts from the Python values of a call.
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
"""The flags with a value. The value is the next text of the command."""
MULTIRUN = ("-m", "--multirun")
"""Hydra's flags for several jobs."""
HYDRAS_FLAGS = (*WITH_VALUE, *MULTIRUN, "--run", "-r", "--resolve", "--experimental-rerun")
"""Every flag that cse or Hydra reads, other than --help and --version."""

UNREAD = tuple(
    f"hydra.{key}"
    for key in ("verbose", "job_logging", "hydra_logging", "callbacks", "output_subdir", "job.chdir", "job.env_")
)
"""The keys of Hydra's own runs and logs, which cse refuses."""

QUOTED = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")
"""The pattern of text in quotes."""
AT_HOME = re.compile(r"([=\[,:]\s*)~/")
"""The pattern of a ~/ that begins a value: a single value, or a value in a list or a mapping."""
AS_GIVEN = re.compile(r"\d+|null")
"""The pattern of a Python string that Hydra must read as a number or as null: seed="3" means seed=3."""


def normalized(texts: Sequence[str]) -> list[str]:
    """Return the texts in Hydra's grammar. texts: from a shell, a W&B agent (--trainer.lr=1e-5) or Python.

    Raises UserError if a text, or a folder in the environment, has letters that are not UTF-8.
    """
    set_here = [value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")]
    check_letters([*texts, os.getcwd(), *set_here])
    normal: list[str] = []
    for given in texts:
        text = given[2:] if is_from_agent(given) else given
        text = re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", text)  # Hydra ignores hydra.launcher=
        normal += [text] if text.startswith("hydra") else from_python(text)
    return normal


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for a name that is not UTF-8 or, if Python reads names in another encoding, is not ASCII."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


def is_from_agent(text: str) -> bool:
    """Return whether a W&B agent may have given this text: a --KEY=VALUE that is not a flag of Hydra."""
    return text.startswith("--") and "=" in text and key_of(text) not in WITH_VALUE


@dataclass(frozen=True)
class Command:
    """A command.

    texts: the whole command, as `normalized` returns it. arguments: the settings. flags: the flags, such as -m. The
    value of a flag is the text after the flag.
    """

    kind: Kind
    texts: list[str]
    arguments: list[Argument]
    flags: list[str]


def read_command(texts: Sequence[str], kind: Kind) -> Command:
    """Return the Command in these texts. texts: the result of `normalized`, without --config-dir.

    Raises UserError for an argument that cannot be read or has no effect.
    """
    settings, flags = split_flags(texts)
    with explaining(settings, kind):
        return Command(kind, list(texts), read_arguments(settings, kind), flags)


def split_flags(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return (settings, flags with their values) of a command. Hydra's parser needs the settings before the flags."""
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
    """Return the flags that show something and run nothing: --cfg, and --cfg=job."""
    return [flag for flag in flags if flag.partition("=")[0] in LOOKS]


def read_arguments(texts: Sequence[str], kind: Kind) -> list[Argument]:
    """Return the arguments in a command's texts without flags.

    Raises Hydra's error for a text that Hydra cannot read, and UserError for an argument that has no effect.
    """
    texts = [with_home(without_plus(text)) for text in texts]
    for text in texts:
        refuse_unread(text)
        refuse_variable(text)
        parse_argument(text)
    arguments = with_evaluator(without_null_groups(arguments_of(texts)))
    return without_evaluators(arguments, kind)


def without_plus(text: str) -> str:
    """Return the argument without the + by which Hydra adds a key.

    cse reads no key that conf/ lacks. So only a key below `hydra` keeps the +.
    """
    return text if key_of(text).startswith("hydra") else text.lstrip("+")


def with_home(text: str) -> str:
    """Return the argument with the home folder instead of ~/ at the start of each value without quotes.

    A shell itself replaces ~/ only at the start of an argument, not after KEY=.
    """
    parts = QUOTED.split(text)  # every second part is in quotes
    parts[::2] = [AT_HOME.sub(lambda start: f"{start[1]}{Path.home()}/", part) for part in parts[::2]]
    return "".join(parts)


def refuse_unread(text: str) -> None:
    """Raise UserError for an argument whose key nothing reads."""
    if key_of(text).replace("/", ".").startswith(UNREAD):
        raise UserError(
            f"{text} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )


def refuse_variable(text: str) -> None:
    """Raise UserError for a path that begins with $NAME, a variable of the environment that no shell has replaced."""
    match = re.search(r"[=\[,:]\s*['\"]?\$(\w+)/", text)
    if match and match[1] in os.environ:
        home = " or ~/" if match[1] == "HOME" else ""
        raise UserError(f"{text}: a shell replaces ${match[1]} only outside single quotes: use double quotes{home}")


def without_null_groups(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments without `experiment=null`, `variant=null` and `sweep=null`, which Hydra refuses.

    They are not needed, because null is the default of these groups.
    """
    given = values_of(arguments)
    null = {group for group in OPTIONAL_GROUPS if given.get(group) in ("", "null")}
    return [argument for argument in arguments if argument.key not in null]


def with_evaluator(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments. If they choose a single evaluator, its name is added to the keys of its settings.

    For example, `eval=mteb eval.benchmark=NAME` becomes `eval=mteb eval.mteb.benchmark=NAME`.
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
    """Return the arguments. For `eval=null` or `eval=[]`, the result has eval=[] and no selection by a score.

    A run with eval=[] has no score that could select a checkpoint. So arguments that make trainer.select and
    trainer.watch empty are added, if these keys are not given. Like arguments of a person, the added arguments are in
    the run's record, and smoke=true does not change them.
    """
    given = values_of(arguments)
    if given.get("eval") not in ("", "null", "[]"):
        return list(arguments)
    empty = [Argument("trainer.select=null"), Argument("trainer.watch=[]")] if kind == "train" else []
    empty = [argument for argument in empty if argument.key not in given]
    return [*empty, Argument("eval=[]"), *(argument for argument in arguments if argument.key != "eval")]


# Values of Python


def from_python(text: str) -> list[str]:
    """Return the texts in Hydra's grammar for an argument that may contain a Python value.

    `model.prefix=None` and `model={'prefix': None}` become model.prefix=null; `data.columns=['a', None]` becomes
    data.columns=[a,null].

    A group's mapping becomes one argument for each key, because the value of the group itself must be a choice.
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
    """Return an argument's text for each of these settings: seed=3, splits=[test], data.path='a,b.txt'.

    Raises UserError for a value that cannot be written as text.
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
