"""From what one types to what Hydra reads: paths as typed, text in quotes, words in any order, `null` for none."""

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cse.errors import UserError
from cse.lab.settings.groups import choices
from cse.lab.settings.keys import is_of_line, is_sentence, is_verbatim, key_of

if TYPE_CHECKING:  # hydra is imported only to read a word
    from hydra.core.override_parser.types import Override

LOOKS = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help")
"""Hydra's flags that show something and run nothing."""
WITH_VALUE = (*LOOKS, "--package", "-p", "--config-dir", "-cd")
"""Flags that the word after them belongs to."""

MULTIRUN = ("-m", "--multirun")
"""Hydra's flags for several jobs."""
ONE_OF_MANY = "hydra.mode=RUN"
"""The word that marks a job of a sweep: before it are the words of the sweep's YAML, after it those that were typed."""

UNREAD = tuple(
    f"hydra.{key}"
    for key in ("verbose", "job_logging", "hydra_logging", "callbacks", "output_subdir", "job.chdir", "job.env_")
)
"""Keys of Hydra's own runs and logs, which nothing here reads."""

NOT_PATHS = {"resume": ("null", "auto"), "hydra.run.dir": (), "hydra.sweep.dir": ()}
"""The values of a path's key that are not a path. For all other such keys it is null alone."""

TEXT = re.compile(r"(?!.*\s[\w.]+=)[^'\"\[\]{}(),$\\]+", re.DOTALL)
"""A value that must be text if Hydra cannot read it: not a list, not a mapping, and without a second KEY=."""


PIECE = re.compile(r"""(?<![^,])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*)(?![^,])""")
"""One of several paths, which commas separate; a path with a comma is in quotes."""
AS_TYPED = re.compile(r"\d+|null|true|false")
"""Text that Python may give for a number, as seed="3", a switch or nothing."""
WORD = re.compile(r"(?!(null|true|false|nan|inf)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Text that Hydra reads as this text, without quotes."""


def spell(words: Sequence[str], command: str, *, many: bool = False) -> list[str]:
    """The words as Hydra reads them: settings first, then flags. command: "train" or "evaluate".

    many: the line starts several jobs, whose values commas separate. In the words of a single job of a sweep, paths are
    in quotes already.
    """
    settings, flags = split_flags(words)
    if unread := next((word for word in settings if key_of(word).replace("/", ".").startswith(UNREAD)), None):
        raise UserError(
            f"{unread} has no effect: leave it out; a run logs to its train.log and metrics.jsonl (every step with "
            "trainer.log_every=1), in hydra.run.dir=FOLDER"
        )
    # + adds a key to a config, but nothing reads a key that conf/ lacks
    settings = [word if key_of(word).startswith("hydra") else word.lstrip("+") for word in settings]
    as_typed = ONE_OF_MANY not in words
    spelled = [
        quote_path(word, many) if as_typed and is_verbatim(key_of(word)) else quote_text(word)
        for word in name_evaluator(settings)
    ]
    return [*replace_null(spelled, command), *flags]


def name_evaluator(words: list[str]) -> list[str]:
    """Read `eval=mteb eval.benchmark=NAME` as eval.mteb.benchmark, if a single evaluator is chosen."""
    known = choices("eval")
    chosen = [value_of(word).strip("[]") for word in words if key_of(word) == "eval"]
    if not chosen or chosen[-1] not in known:
        return words
    own = re.compile(rf"^eval\.(?!({'|'.join(known)})[.=])")
    return [own.sub(f"eval.{chosen[-1]}.", word) for word in words]


def quote_path(word: str, many: bool) -> str:
    """The word, with quotes around a path that Hydra would not read as text: 1.10, true, run (copy), a,b.

    Raises UserError for ${...}.
    """
    key, equals, value = word.partition("=")
    if "${" in value:
        if is_sentence(key_of(word)):
            raise UserError(f"{word}: ${{ begins a reference to a setting: leave out the braces")
        raise UserError(f"{word}: a path is used as it is typed, and $ is not expanded: type the path itself")
    if value in NOT_PATHS.get(key_of(word), ("null",)):
        return word
    several = many and not is_sentence(key_of(word)) and not is_of_line(key_of(word))
    pieces = [as_text(piece) for piece in PIECE.findall(value)] if several else [value]
    pieces = [f"{Path.home()}{piece[1:]}" if piece.startswith("~/") else piece for piece in pieces]
    return f"{key}{equals}{','.join(map(quote_name, pieces))}"


def as_text(piece: str) -> str:
    """A path of several; without the quotes around it, in which it may have a comma."""
    override = parsed(f"key={piece}") if len(piece) > 1 and piece[0] in ("'", '"') and piece[0] == piece[-1] else None
    return piece if override is None else str(override.value())


def quote_name(path: str) -> str:
    """The path, in quotes if Hydra needs them to read it."""
    override = parsed(f"key={path}")
    return path if override is not None and override.value() == path else quoted(path)


def quote_text(word: str) -> str:
    """The word, with quotes around text that Hydra cannot read without: a path with an umlaut, MTEB(eng, v1)."""
    word = word.replace("=~/", f"={Path.home()}/")  # shells expand ~ at the start of a word only
    key, _, value = word.partition("=")
    is_name = re.fullmatch(r"[A-Z]\w*\([^()']*\)", value)  # a benchmark, since Hydra's functions have no capitals
    return f"{key}={quoted(value)}" if is_name or (key and TEXT.fullmatch(value) and parsed(word) is None) else word


def replace_null(words: list[str], command: str) -> list[str]:
    """Drop `experiment=null`, `variant=null` and `sweep=null`, the default: Hydra refuses null for a group.

    `eval=null` and `eval=[]` score nothing, so they also turn off what selects a step, unless that is typed.
    """
    last = values_of(words)
    none = {group for group in ("experiment", "variant", "sweep") if last.get(group) in ("", "null")}
    words = [word for word in words if "=" not in word or key_of(word) not in none]
    if last.get("eval") not in ("", "null", "[]"):
        return words
    words = ["eval=[]", *(word for word in words if key_of(word) != "eval")]
    selection = {"trainer.select": "null", "trainer.watch": "[]"} if command == "train" else {}
    return [*(f"{key}={value}" for key, value in selection.items() if key not in last), *words]


def spell_settings(settings: dict[str, object], words: Sequence[str] = ()) -> list[str]:
    """Keyword arguments as words: seed=3, splits=["test"], and paths as they are. words: those beside them, of which
    one may name the evaluator of `eval.test`."""
    for key, value in settings.items():
        if is_verbatim(key) and not isinstance(value, str | Path | Number | None):
            raise UserError(
                f"{key}: give one name, as text, not a {type(value).__name__}; what Python holds is written to a file "
                "first (a table: to_csv)"
            )
        if not (value is None or isinstance(value, str | Path | Number | list | tuple | Mapping)):
            raise UserError(f"{key}: give text, a number, a list or a mapping, not a {type(value).__name__}")
    texts = [str(value) if AS_TYPED.fullmatch(str(value)) else spell_value(value) for value in settings.values()]
    plain = [f"{key}={text}" for key, text in zip(settings, texts, strict=True)]
    named = name_evaluator([*words, *plain])[len(words) :]
    return [
        f"{key}={value}" if is_verbatim(key := word.partition("=")[0]) and isinstance(value, str | Path) else word
        for word, value in zip(named, settings.values(), strict=True)
    ]


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


def as_meant(words: Sequence[str]) -> list[str]:
    """Turn `--trainer.lr=1e-5`, as W&B's agents write it, into `trainer.lr=1e-5`, but keep Hydra's own flags; so too
    Python's None, and its mappings and lists.

    hydra.launcher=NAME and hydra.sweeper=NAME choose from a group, hydra/launcher, though Hydra would ignore them.
    Raises UserError for letters that cannot be read.
    """
    check_letters(
        [
            *words,
            os.getcwd(),
            *(value for name, value in os.environ.items() if name == "HOME" or name.startswith("CSE_")),
        ]
    )
    plain = [
        word[2:] if word.startswith("--") and "=" in word and key_of(word) not in WITH_VALUE else word for word in words
    ]
    plain = [re.sub(r"^hydra\.(launcher|sweeper)=", r"hydra/\1=", word) for word in plain]
    return [one for word in plain for one in ([word] if word.startswith("hydra") else from_python(word))]


def check_letters(names: Sequence[str]) -> None:
    """Raise UserError for a word or a folder whose letters would be lost in a run's files, which are UTF-8."""
    encoding = sys.getfilesystemencoding()
    for name in names:
        if encoding == "utf-8" and name != name.encode(errors="replace").decode():
            raise UserError(f"{name!a} is not UTF-8: give the file or folder another name")
        if encoding != "utf-8" and not name.isascii():
            raise UserError(f"{name!a}: Python reads letters as {encoding} here: set PYTHONUTF8=1 in the environment")


def from_python(word: str) -> list[str]:
    """`model.prefix=None`, `model={'prefix': None}` and `data.columns=['a', None]` as words with null.

    A group's mapping becomes a word for each of its keys, since the group's own value is a choice.
    """
    key, _, text = word.partition("=")
    if text == "None":
        return [f"{key}=null"]
    if text[:1] == "{" or (text[:1] == "[" and "None" in text and not is_verbatim(key_of(word))):
        with suppress(ValueError, SyntaxError):  # not Python's, but Hydra's or a path
            value = ast.literal_eval(text)
            inside = isinstance(value, dict) and choices(key_of(word))
            return spell_settings({f"{key}.{name}": one for name, one in value.items()} if inside else {key: value})
    return [word]


def split_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(settings, flags with their values), the order that Hydra's parser needs."""
    settings: list[str] = []
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            settings.append(word)
            continue
        flags.append(word)
        if word in WITH_VALUE:
            flags += [value for value in [next(rest, None)] if value is not None]
    return settings, flags


def typed_by_hand(words: Sequence[str]) -> Sequence[str]:
    """The words of one job that somebody typed: not those of a sweep's YAML."""
    return words[words.index(ONE_OF_MANY) + 1 :] if ONE_OF_MANY in words else words


def typed(word: str) -> str:
    """A word that `spell` returned, as one types it."""
    return f"{word.partition('=')[0]}={unquoted(word)}" if is_verbatim(key_of(word)) else word


def values_of(words: Sequence[str]) -> dict[str, str]:
    """{key: value without quotes} of the words; the last one wins."""
    return {key_of(word): unquoted(word) for word in words if "=" in word or word.startswith("~")}


def unquoted(word: str) -> str:
    """The value of a word without quotes around it. Of a path, only the quotes that `spell` adds are removed."""
    value = value_of(word)
    if value[:1] in ("'", '"') and is_verbatim(key_of(word)) and (override := parsed(word)):
        return value if override.is_sweep_override() else str(override.value())
    return value.strip("'\"")


def value_of(word: str) -> str:
    """`1e-5` of `trainer.lr=1e-5`."""
    return word.partition("=")[2]


def parsed(word: str) -> "Override | None":
    """The word, parsed by Hydra; None if it cannot read it."""
    from hydra.errors import HydraException

    try:
        return overrides_of([word])[0]
    except HydraException:
        return None


def overrides_of(words: Sequence[str]) -> "list[Override]":
    """The words, parsed by Hydra, but for the values of range(0.01,0.08,0.01), which are those that one types: Hydra
    adds binary fractions up to 0.060000000000000005. Raises Hydra's error for a word that it cannot read."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import RangeSweep

    overrides = OverridesParser.create().parse_overrides(list(words))
    for ends in (one.value() for one in overrides):
        if isinstance(ends, RangeSweep) and float in map(type, (ends.start, ends.stop, ends.step)):
            exact: Any = (Decimal(str(end)) for end in (ends.start, ends.stop, ends.step))
            ends.start, ends.stop, ends.step = exact
    return overrides


def line_to_resume(folder: Path, *more: str) -> str:
    """The line that resumes the run in this folder, quoted for a shell."""
    name = f"./{folder}" if str(folder) in NOT_PATHS["resume"] or str(folder).startswith("~") else str(folder)
    return shlex.join(["cse-train", f"resume={name}", *more])
