"""A command of cse-train or cse-eval, or a call of Python's, read once: its words KEY=VALUE and its flags.

Read `normalized`, which is done first, then `read_command` and `read_words`, then what these do to a word. Below
them are the values of Python as words.
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
from cse.lab.settings.groups import OPTIONAL_GROUPS, choices
from cse.lab.settings.words import Word, by_whom, key_of, parse_word, spell_word, values_of

LOOKS = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help")
"""Hydra's flags that show something and run nothing."""
WITH_VALUE = (*LOOKS, "--package", "-p", "--config-dir", "-cd")
"""Flags that the word after them belongs to."""
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
    """A command that was given. kind: "train" (cse-train) or "evaluate" (cse-eval).

    arguments: all of them, as `normalized` returns them. words: the settings in them. flags: the others, such as -m,
    each with its value behind it.
    """

    kind: str
    arguments: list[str]
    words: list[Word]
    flags: list[str]

    @property
    def shows(self) -> list[str]:
        """The flags by which it shows something and runs nothing, such as --cfg."""
        return flags_that_show(self.flags)


def normalized(arguments: Sequence[str]) -> list[str]:
    """The arguments as Hydra's grammar has them: of a W&B agent, of Python's values, of Hydra's own groups.

    Raises UserError for letters that cannot be read, also in the environment.
    """
    set_here = [value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")]
    check_letters([*arguments, os.getcwd(), *set_here])
    texts: list[str] = []
    for argument in arguments:
        text = with_group(without_dashes(argument))
        texts += [text] if text.startswith("hydra") else from_python(text)
    return texts


def without_dashes(text: str) -> str:
    """`trainer.lr=1e-5` for `--trainer.lr=1e-5`, as W&B's agents write it. Hydra's own flags stay."""
    return text[2:] if is_agents(text) else text


def with_group(text: str) -> str:
    """`hydra/launcher=NAME` for `hydra.launcher=NAME`, which Hydra would ignore; so too its sweeper."""
    return re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", text)


def read_command(arguments: Sequence[str], kind: str) -> Command:
    """Read a command. arguments: as `normalized` returns them, without --config-dir. kind: "train" or "evaluate".

    Raises UserError for a word that cannot be read or has no effect.
    """
    from cse.lab.settings.compose import explaining  # imports omegaconf, for which --help would wait

    texts, flags = split_flags(arguments)
    with explaining(texts, kind):
        return Command(kind, list(arguments), read_words(texts, kind), flags)


def split_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """(texts of words, flags with their values), the order that Hydra's own parser needs."""
    texts: list[str] = []
    flags: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or is_agents(argument):
            texts.append(argument)
            continue
        flags.append(argument)
        if argument in WITH_VALUE:
            flags += islice(rest, 1)
    return texts, flags


def flags_that_show(flags: Sequence[str]) -> list[str]:
    """The flags that show something and run nothing: --cfg, and --cfg=job."""
    return [flag for flag in flags if flag.partition("=")[0] in LOOKS]


def is_agents(text: str) -> bool:
    """Whether a W&B agent may have written it: --KEY=VALUE, which is no flag of Hydra's."""
    return text.startswith("--") and "=" in text and key_of(text) not in WITH_VALUE


def read_words(texts: Sequence[str], kind: str) -> list[Word]:
    """The words of a command without flags.

    Raises Hydra's error for one that it cannot read, UserError for one that has no effect.
    """
    at_home = [with_home(without_plus(text)) for text in texts]
    for text in at_home:
        check_word(text)
    return replace_null(name_evaluator(by_whom(at_home)), kind)


def without_plus(text: str) -> str:
    """The word without a +, which adds a key to a config: nothing reads a key that conf/ lacks, but Hydra does."""
    return text if key_of(text).startswith("hydra") else text.lstrip("+")


def with_home(text: str) -> str:
    """The word with ~/ at the start of each value as shells expand it, which they do at the start of a word alone, and
    not in quotes."""
    parts = QUOTED.split(text)  # every second one is in quotes
    for before in ("=", "[", ","):
        parts[::2] = [part.replace(f"{before}~/", f"{before}{Path.home()}/") for part in parts[::2]]
    return "".join(parts)


def check_word(text: str) -> None:
    """Raise UserError for a key of Hydra's own runs and logs, which nothing here reads, and Hydra's error for a word
    that it cannot read."""
    if key_of(text).replace("/", ".").startswith(UNREAD):
        raise UserError(
            f"{text} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )
    parse_word(text)


def name_evaluator(words: Sequence[Word]) -> list[Word]:
    """Read `eval=mteb eval.benchmark=NAME` as eval.mteb.benchmark, if a single evaluator is chosen."""
    evaluators = choices("eval")
    chosen = {word.key: word.parsed for word in words}.get("eval")
    names = chosen if isinstance(chosen, list) else [chosen]
    if len(names) != 1 or names[0] not in evaluators:
        return list(words)
    named: list[Word] = []
    for word in words:
        group, dot, rest = word.text.partition(".")
        if group == "eval" and dot and re.split(r"[.=]", rest)[0] not in evaluators:
            word = replace(word, text=f"eval.{names[0]}.{rest}")
        named.append(word)
    return named


def replace_null(words: Sequence[Word], kind: str) -> list[Word]:
    """Drop `experiment=null`, `variant=null` and `sweep=null`, the default: Hydra refuses null for a group.

    `eval=null` and `eval=[]` score nothing, so they also turn off what selects a step, unless that is typed. These
    words are the person's, whose words follow those of a sweep: a run records them, and smoke=true keeps them.
    """
    last = values_of(words)
    none = {group for group in OPTIONAL_GROUPS if last.get(group) in ("", "null")}
    words = [word for word in words if word.key not in none]
    if last.get("eval") not in ("", "null", "[]"):
        return words
    selection = {"trainer.select": "null", "trainer.watch": "[]"} if kind == "train" else {}
    off = [Word(f"{key}={value}") for key, value in selection.items() if key not in last]
    others = [word for word in words if word.key != "eval"]
    of_sweep = [word for word in others if word.by == "sweep"]
    return [*of_sweep, *off, Word("eval=[]"), *others[len(of_sweep) :]]


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for a word or a folder whose letters would be lost in a run's files, which are UTF-8."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


# Values of Python


def from_python(text: str) -> list[str]:
    """`model.prefix=None`, `model={'prefix': None}` and `data.columns=['a', None]` as words with null.

    A group's mapping becomes a word for each of its keys, since the group's own value is a choice.
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
        return words_of_settings({f"{key}.{name}": inner for name, inner in python.items()})
    return words_of_settings({key: python})


def words_of_settings(settings: Mapping[str, object]) -> list[str]:
    """Keyword arguments as text of words: seed=3, splits=[test], data.path='a,b.txt'. Raises UserError."""
    texts = []
    for key, value in settings.items():
        if not (value is None or isinstance(value, str | Path | Number | list | tuple | Mapping)):
            raise UserError(
                f"{key}: give text, a number, a list or a mapping, not a {type(value).__name__}; what Python holds is "
                "written to a file first (a table: to_csv)"
            )
        texts.append(f"{key}={value}" if AS_TYPED.fullmatch(str(value)) else spell_word(key, value))
    return texts
