"""The words KEY=VALUE of a line: read once by Hydra's parser, with who typed each; and printed for a shell again.

A word has one form, that of Hydra's grammar, from the line that is typed to `run.yaml` and to a command that is shown.
Read in this order: Word; read_words (what was typed), recorded_words (what a run wrote down) and words_of_settings
(what Python gives); quoted and its neighbours (text for the grammar); shell_line (words for a shell).
"""

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import islice
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cse.errors import UserError
from cse.lab.settings.groups import EXTRAS, choices

if TYPE_CHECKING:  # hydra is imported only to read a word
    from hydra.core.override_parser.types import Override

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

AT_HOME = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<=[=,])~/""")
"""Text in quotes, which is left alone, or ~/ at the start of a value."""
AS_TYPED = re.compile(r"\d+|null")
"""Text that Python may give for a number, as seed="3", or for nothing."""
WORD = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as this text, without quotes, in a list too."""


@dataclass(frozen=True)
class Word:
    """One KEY=VALUE, +KEY=VALUE or ~KEY. text: as Hydra's grammar has it.

    by: who gave it, a person, a sweep, or cse itself, for a function of Python's.
    """

    text: str
    by: Literal["person", "sweep", "cse"] = "person"

    def __str__(self) -> str:
        """As typed."""
        return self.text

    @property
    def key(self) -> str:
        """What it sets: `trainer.lr` of `trainer.lr=1e-5`."""
        return key_of(self.text)

    @property
    def typed_value(self) -> str:
        """`1e-5` of `trainer.lr=1e-5`, with any quotes."""
        return self.text.partition("=")[2]

    @property
    def value(self) -> str:
        """The value as text: without the quotes around it, and as typed if it is no text."""
        found = self.parsed
        return found if isinstance(found, str) else self.typed_value

    @property
    def parsed(self) -> object:
        """The value that Hydra reads: text, a number, a list, ...; of an axis, a sweep of Hydra's."""
        return parse_word(self.text).value()

    @property
    def is_axis(self) -> bool:
        """Whether it gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_word(self.text).is_sweep_override()


RUN_ALONE = Word("hydra.mode=RUN", by="sweep")
"""Hydra's word for one run, whatever a sweep's file says: the last of the words that a sweep gives one of its jobs."""


def read_words(arguments: Sequence[str], command: str) -> list[Word]:
    """The words of what was typed, without flags. command: "train" or "evaluate".

    Raises Hydra's error for a word that it cannot read, and UserError for one that has no effect or letters that would
    be lost.
    """
    texts = name_evaluator([with_home(without_plus(text)) for text in as_meant(arguments)])
    for text in texts:
        refuse_unread(text)
        parse_word(text)
    return replace_null(by_whom(texts), command)


def recorded_words(texts: Sequence[str]) -> list[Word]:
    """The words that a run or a plan wrote down. Older ones lack the quotes that the grammar wants; what is no word is
    left out."""
    read: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        if equals and not is_one_value(text):
            text = spell_word(key, value)
        if is_one_value(text):
            read.append(text)
    return by_whom(read)


def by_whom(texts: Sequence[str]) -> list[Word]:
    """The words, of which a sweep gave those up to RUN_ALONE."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Word(text, by="sweep") for text in texts[:count]), *map(Word, texts[count:])]


def is_one_value(text: str) -> bool:
    """Whether Hydra reads a text as a word with one value."""
    from hydra.errors import HydraException

    try:
        return not parse_word(text).is_sweep_override()
    except HydraException:
        return False


def value_in(text: str) -> object:
    """The value that a text writes, read by Hydra; the text itself if Hydra cannot read it."""
    return Word(f"key={text}").parsed if is_one_value(f"key={text}") else text


def texts_of(words: Iterable[Word]) -> list[str]:
    """The words as Hydra, run.yaml and a job's process take them."""
    return [word.text for word in words]


def values_of(words: Iterable[Word]) -> dict[str, str]:
    """{key: value as text} of the words; the last one wins."""
    return {word.key: word.value for word in words}


def merged(words: Iterable[Word]) -> list[Word]:
    """Each key once, in the first one's place; the last one wins, so that the command line overrides a case."""
    return list({word.key: word for word in words}.values())


def typed_keys(words: Iterable[Word]) -> list[str]:
    """The keys that a person typed, and no sweep."""
    return [word.key for word in words if word.by == "person"]


@cache
def parse_word(text: str) -> "Override":
    """A word, parsed by Hydra, but for the values of range(0.01,0.08,0.01), which are those that one types: Hydra adds
    binary fractions up to 0.060000000000000005. Raises Hydra's error for a word that it cannot read."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import RangeSweep

    override = OverridesParser.create().parse_overrides([text])[0]
    ends = override.value()
    if isinstance(ends, RangeSweep) and float in map(type, (ends.start, ends.stop, ends.step)):
        exact: Any = (Decimal(str(end)) for end in (ends.start, ends.stop, ends.step))
        ends.start, ends.stop, ends.step = exact
    return override


# What was typed


def key_of(text: str) -> str:
    """`trainer.lr` of `trainer.lr=1e-5`, `++trainer.lr=1e-5` and `~trainer.lr`."""
    return text.partition("=")[0].lstrip("+~")


def as_meant(arguments: Sequence[str]) -> list[str]:
    """Turn `--trainer.lr=1e-5`, as W&B's agents write it, into `trainer.lr=1e-5`, but keep Hydra's own flags; so too
    Python's None, and its mappings and lists.

    hydra.launcher=NAME and hydra.sweeper=NAME choose from a group, hydra/launcher, though Hydra would ignore them.
    Raises UserError for letters that cannot be read.
    """
    set_here = [value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")]
    check_letters([*arguments, os.getcwd(), *set_here])
    meant: list[str] = []
    for text in arguments:
        if is_agents(text):
            text = text[2:]
        text = re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", text)
        meant += [text] if text.startswith("hydra") else from_python(text)
    return meant


def is_agents(text: str) -> bool:
    """Whether a W&B agent may have written it: --KEY=VALUE, which is no flag of Hydra's."""
    return text.startswith("--") and "=" in text and key_of(text) not in WITH_VALUE


def without_plus(text: str) -> str:
    """The word without a +, which adds a key to a config: nothing reads a key that conf/ lacks, but Hydra does."""
    return text if key_of(text).startswith("hydra") else text.lstrip("+")


def with_home(text: str) -> str:
    """The word with ~/ as shells expand it, which they do at the start of a word only, and not in quotes."""
    return AT_HOME.sub(lambda found: f"{Path.home()}/" if found[0] == "~/" else found[0], text)


def refuse_unread(text: str) -> None:
    """Raise UserError for a key of Hydra's own runs and logs, which nothing here reads."""
    if key_of(text).replace("/", ".").startswith(UNREAD):
        raise UserError(
            f"{text} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for a word or a folder whose letters would be lost in a run's files, which are UTF-8."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


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
    except (ValueError, SyntaxError):  # Hydra's own lists and mappings have no quotes
        return [text]
    if isinstance(python, dict) and choices(key_of(text)):
        return words_of_settings({f"{key}.{name}": one for name, one in python.items()})
    return words_of_settings({key: python})


def split_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """(words, flags with their values), the order that Hydra's own parser needs."""
    words: list[str] = []
    flags: list[str] = []
    rest = iter(arguments)
    for one in rest:
        if not one.startswith("-") or is_agents(one):
            words.append(one)
            continue
        flags.append(one)
        if one in WITH_VALUE:
            flags += islice(rest, 1)
    return words, flags


def name_evaluator(texts: Sequence[str]) -> list[str]:
    """Read `eval=mteb eval.benchmark=NAME` as eval.mteb.benchmark, if a single evaluator is chosen."""
    known = choices("eval")
    chosen = [text.partition("=")[2].strip("[]'\"") for text in texts if key_of(text) == "eval"]
    if not chosen or chosen[-1] not in known:
        return list(texts)
    own = re.compile(rf"^eval\.(?!({'|'.join(known)})[.=])")
    return [own.sub(f"eval.{chosen[-1]}.", text) for text in texts]


def replace_null(words: Sequence[Word], command: str) -> list[Word]:
    """Drop `experiment=null`, `variant=null` and `sweep=null`, the default: Hydra refuses null for a group.

    `eval=null` and `eval=[]` score nothing, so they also turn off what selects a step, unless that is typed.
    """
    last = values_of(words)
    none = {group for group in EXTRAS if last.get(group) in ("", "null")}
    words = [word for word in words if word.key not in none]
    if last.get("eval") not in ("", "null", "[]"):
        return words
    selection = {"trainer.select": "null", "trainer.watch": "[]"} if command == "train" else {}
    off = [Word(f"{key}={value}") for key, value in selection.items() if key not in last]
    return [*off, Word("eval=[]"), *(word for word in words if word.key != "eval")]


# What Python gives, and text for the grammar


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


def spell_word(key: str, value: object) -> str:
    """KEY=VALUE as Hydra's grammar has it: text with the quotes that it needs, and no others."""
    if not isinstance(value, str | Path):
        return f"{key}={spell_value(value)}"
    from hydra.errors import HydraException

    try:
        plain = parse_word(f"key={value}").value() == str(value)
    except HydraException:
        plain = False
    return f"{key}={value if plain else quoted(str(value))}"


def spell_value(value: object, *, quotes: bool = True) -> str:
    """A Python value as Hydra's grammar writes it: null, true, 0.5, [a,b]. quotes: around text that needs them."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(spell_value(one, quotes=quotes) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{spell_value(one, quotes=quotes)}' for key, one in value.items())}}}"
    text = str(value)
    return text if not quotes or isinstance(value, Number) or WORD.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    """The text in quotes, which Hydra removes again."""
    backslashes = re.compile(r"(\\+)(?='|$)")  # before a quote Hydra reads two backslashes as one
    return "'" + backslashes.sub(r"\1\1", text).replace("'", "\\'") + "'"


# Words for a shell


def shell_line(*texts: str) -> str:
    """A command for a shell: of its words, those that need quotes are in quotes, double ones around single ones."""
    return " ".join(map(shell_word, texts))


def shell_word(text: str) -> str:
    """One word of a command for a shell."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!\n]', text) else shlex.quote(text)


def line_to_resume(folder: Path, *more: str) -> str:
    """The command that resumes the run in this folder."""
    name = f"./{folder}" if str(folder) in ("null", "auto") or str(folder).startswith("~") else str(folder)
    return shell_line("cse-train", spell_word("resume", name), *more)
