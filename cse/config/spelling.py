"""What a person types, as Hydra reads it: paths as they are, text in quotes, words in any order, `null` for none."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.config.groups import choices
from cse.config.keys import entry, is_path, key_of
from cse.errors import UserError

if TYPE_CHECKING:  # hydra is imported when a word is read
    from hydra.core.override_parser.types import Override

HYDRA_FLAGS = (
    *("--cfg", "--config-dir", "--config-name", "--config-path", "--experimental-rerun", "--info", "--package"),
    *("--shell-completion", "-c", "-cd", "-cn", "-cp", "-i", "-p", "-sc"),
)
"""Those of Hydra's flags that take a value."""

MULTIRUN = ("-m", "--multirun")
"""Hydra's flags for many jobs."""
ONE_OF_MANY = "hydra.mode=RUN"
"""The word of a job that a sweep starts: it has its sweep's words, too."""

MEANINGS = {"resume": ("null", "auto"), "hydra.run.dir": (), "hydra.sweep.dir": ()}
"""What stands for something else in place of a path; of all others null stands for none."""

TEXT = re.compile(r"(?!.*\s[\w.]+=)[^'\"\[\]{}(),$\\]+", re.DOTALL)
"""A value that can be nothing but text where Hydra cannot read it: no list, no mapping, no second KEY= in it."""


def spell(words: Sequence[str], command: str, *, many: bool = False) -> list[str]:
    """The words as Hydra wants them: settings first, flags after. command: "train" or "evaluate".

    many: the line starts many jobs, whose values commas separate. The paths of one of them are in quotes already.
    """
    settings, flags = split_flags(words)
    as_typed = ONE_OF_MANY not in words
    spelled = [
        quote_path(word, many) if as_typed and is_path(key_of(word)) else quote_text(word)
        for word in name_evaluator(settings)
    ]
    return [*replace_null(spelled, command), *flags]


def strip_dashes(words: Sequence[str]) -> list[str]:
    """`--trainer.lr=1e-5`, as W&B's agents start a run, is `trainer.lr=1e-5`; Hydra's own flags stay as they are."""
    return [
        word[2:] if word.startswith("--") and "=" in word and key_of(word) not in HYDRA_FLAGS else word
        for word in words
    ]


def split_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(settings, flags with their values): Hydra's parser takes them in no other order."""
    settings: list[str] = []
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            settings.append(word)
            continue
        flags.append(word)
        if word in HYDRA_FLAGS:
            flags += [value for value in [next(rest, None)] if value is not None]
    return settings, flags


def quote_path(word: str, many: bool) -> str:
    """The word, with quotes around a path that Hydra would read as something else: 1.10, true, run (copy), a,b.

    Raises UserError for ${...}.
    """
    key, equals, value = word.partition("=")
    if "${" in value:
        raise UserError(f"{word}: a path is taken as it is typed, and nothing is filled in for $: type what is meant")
    if value in MEANINGS.get(key_of(word), ("null",)):
        return word
    pieces = value.split(",") if many and not entry(key_of(word)).of_line else [value]
    pieces = [f"{Path.home()}{piece[1:]}" if piece.startswith("~/") else piece for piece in pieces]
    return f"{key}{equals}{','.join(map(quote_name, pieces))}"


def quote_name(path: str) -> str:
    """The path as Hydra reads it, in quotes where it must be."""
    override = parsed(f"key={path}")
    return path if override is not None and override.value() == path else quoted(path)


def quote_text(word: str) -> str:
    """The word, with quotes around text that Hydra cannot read as it is: a path with an umlaut, MTEB(eng, v1)."""
    word = word.replace("=~/", f"={Path.home()}/")  # a shell expands ~ only at a word's start
    key, _, value = word.partition("=")
    is_name = re.fullmatch(r"[A-Z]\w*\([^()']*\)", value)  # Hydra's functions have no capitals: a benchmark's name
    return f"{key}={quoted(value)}" if is_name or (key and TEXT.fullmatch(value) and parsed(word) is None) else word


def overrides_of(words: Sequence[str]) -> "list[Override]":
    """The words as Hydra's grammar reads them. Raises Hydra's error for one that it cannot read."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_overrides(list(words))


def parsed(word: str) -> "Override | None":
    """The word as Hydra's grammar reads it; None where it cannot."""
    from hydra.errors import HydraException

    try:
        return overrides_of([word])[0]
    except HydraException:
        return None


def name_evaluator(words: list[str]) -> list[str]:
    """`eval=mteb eval.benchmark=NAME` means eval.mteb.benchmark: a key of the one evaluator that is chosen by name."""
    known = choices("eval")
    chosen = [value_of(word).strip("[]") for word in words if key_of(word) == "eval"]
    if not chosen or chosen[-1] not in known:
        return words
    own = re.compile(rf"^eval\.(?!({'|'.join(known)})[.=])")
    return [own.sub(f"eval.{chosen[-1]}.", word) for word in words]


def replace_null(words: list[str], command: str) -> list[str]:
    """`experiment=null`, `variant=null`, `sweep=null` choose none, as by default; Hydra takes null for no group.

    `eval=null` and `eval=[]` score nothing, so nothing selects a step either, unless a person says what does.
    """
    last = values_of(words)
    none = {group for group in ("experiment", "variant", "sweep") if last.get(group) in ("", "null")}
    words = [word for word in words if "=" not in word or key_of(word) not in none]
    if last.get("eval") not in ("", "null", "[]"):
        return words
    words = ["eval=[]", *(word for word in words if key_of(word) != "eval")]
    selection = {"trainer.select": "null", "trainer.watch": "[]"} if command == "train" else {}
    return [*(f"{key}={value}" for key, value in selection.items() if key not in last), *words]


def spell_settings(settings: dict[str, object]) -> list[str]:
    """Python's keywords as words: seed=3, splits=["test"], and paths as they are typed."""
    return [
        f"{key}={value if is_path(key) and isinstance(value, str | Path) else spell_value(value)}"
        for key, value in settings.items()
    ]


def spell_value(value: object) -> str:
    """A Python value in Hydra's grammar."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(spell_value, value))}]"
    text = str(value)
    if isinstance(value, int | float) or text.replace("_", "").isalnum():
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """The text in quotes, which Hydra takes off again."""
    backslashes = re.compile(r"(\\+)(?='|$)")  # before a quote, where Hydra reads two as one
    return "'" + backslashes.sub(r"\1\1", text).replace("'", "\\'") + "'"


def value_of(word: str) -> str:
    """`1e-5` of `trainer.lr=1e-5`."""
    return word.partition("=")[2]


def unquoted(word: str) -> str:
    """The value of a word, without quotes around it; of a path those that `spell` puts around it."""
    value = value_of(word)
    if value[:1] in ("'", '"') and is_path(key_of(word)) and (override := parsed(word)):
        return str(override.value())
    return value.strip("'\"")


def typed(word: str) -> str:
    """A spelled word as a person types it."""
    return f"{word.partition('=')[0]}={unquoted(word)}" if is_path(key_of(word)) else word


def line_to_resume(folder: Path, *more: str) -> str:
    """The line that goes on with the run in this folder, as a shell takes it."""
    name = f"./{folder}" if str(folder) in MEANINGS["resume"] or str(folder).startswith("~") else str(folder)
    return shlex.join(["cse-train", f"resume={name}", *more])


def values_of(words: Sequence[str]) -> dict[str, str]:
    """The value of each key that the words give, without quotes; of a key given twice the last."""
    return {key_of(word): unquoted(word) for word in words if "=" in word or word.startswith("~")}
