"""Sentences for mistakes on a line: an error of Hydra's in our words, a key or a choice that does not exist."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise

from cse.errors import UserError
from cse.lab.settings.groups import EXTRAS, choices, file_of, groups, own_folders, text_of
from cse.lab.settings.lookup import keys
from cse.lab.settings.suggest import meant, nearest, topic
from cse.lab.settings.words import recorded_words, shell_word, spell_word, values_of

INSTEAD = {
    "train": {
        "model": "any encoder of the hub, or a folder, is model.name={}",
        "data": "a file of yours, or a hub dataset, is data=text data.path={}",
        "eval": "pairs of yours with scores are eval=pairs eval.dev={}",
    },
    "evaluate": {
        "model": "any encoder of the hub, or a folder, is checkpoint={}",
        "eval": "pairs of yours with scores are eval=pairs eval.test={}",
    },
}
"""What a command's group offers beside its choices."""


def explain(error: Exception, words: Sequence[str], command: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices."""
    from hydra.errors import OverrideParseException

    text = str(error).partition("Config search path")[0]
    if isinstance(error.__cause__, UserError):  # of a value from the environment
        return str(error.__cause__)
    if match := re.search(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)", text):
        return no_key(match[1], words, command)
    if match := re.search(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'", text):
        return no_choice(match[1], match[2], command)
    if match := re.search(r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", text, re.DOTALL):
        return f"{match[1]}={match[2]} is not a choice; it has {', '.join(match[3].split())}"
    if isinstance(error, OverrideParseException) and "=" not in error.override:
        return no_setting(error.override, words, command)
    lines = [line.strip() for line in text.partition("See https")[0].splitlines()]
    lines = [line for line in lines if line.strip("^") and "object_type=" not in line]
    if isinstance(error, OverrideParseException):
        why = "; ".join(line for line in lines if error.override not in line)
        said = f" ({why})" if why else ""
        return f"{error.override} cannot be read{said}{in_quotes(error.override)}"
    own = "; ".join(lines)
    if match := re.match(r"Ambiguous value for argument '(.*)'", text):
        return f"{own}{in_quotes(match[1])}"
    return own


def in_quotes(text: str) -> str:
    """How one types a word that Hydra does not read as one text."""
    key, _, value = text.partition("=")
    return f"; as text it is {shell_word(spell_word(key, value))}"


def no_setting(word: str, words: Sequence[str], command: str) -> str:
    """The message for a word without =: a key that lacks its value, a folder, a file, or the nearest setting."""
    for before, one in pairwise(words):
        if one == word and os.path.exists(f"{before.partition('=')[2]} {word}"):
            return f"{before} {word}: a name with a blank needs quotes: '{before} {word}'"
    if word in (known := keys(command)) or word in groups(command):
        return f"{word} lacks its value: type {word}=VALUE"
    if os.path.isdir(word):  # false, too, for a name that is too long to exist
        hint = f"; {INSTEAD[command]['model'].format(word)}"
    elif os.path.isfile(word) and "data" in INSTEAD[command]:
        hint = f"; {INSTEAD[command]['data'].format(word)}"
    else:
        hint = nearest(word, [*known, *(f"{group}={one}" for group in groups(command) for one in choices(group))])
    return f"{word} is no setting, which is KEY=VALUE{hint}"


def no_key(key: str, words: Sequence[str], command: str) -> str:
    """The message for a key that the line's choices lack: the nearest that they have, or which choices have it."""
    known, chosen = keys(command), choices_of(words, command)
    of_line = [one for one, having in known.items() if chosen.intersection(having)]
    if told := topic(key.rpartition(".")[2]):
        return f"there is no key {key}; {told}"
    if key in groups(command):  # which was given a mapping
        return f"{key}={{...}}: there is no such key in it; write each setting as {key}.KEY=VALUE"
    if (command, key) == ("evaluate", "model.name"):
        return f"there is no key {key}; the encoder to score is checkpoint=FOLDER or its name on the hub"
    alike = re.compile(rf"eval\.\w+\.{re.escape(key.rpartition('.')[2])}")
    if key.startswith("eval.") and (own := list(filter(alike.fullmatch, known))):
        return f"there is no key {key}; there is {', '.join(own)}"
    ours = key if key in known else meant(key, list(known))
    near = meant(key, of_line)
    if key not in known and (ours in of_line or near.rpartition(".")[2] == ours.rpartition(".")[2]):
        return f"there is no key {key}{nearest(key, of_line)}"
    return f"there is no key {key}; {ours} belongs to {', '.join(known[ours])}"


def choices_of(words: Sequence[str], command: str) -> set[str]:
    """The GROUP=CHOICEs of a line, and "" for what every line has; all of a group that its experiment may choose."""
    typed, found = values_of(recorded_words(words)), {""}
    is_open = typed.keys() & EXTRAS
    for group, (default, _) in groups(command).items():
        named = choices(group) if is_open and group not in typed else re.findall(r"[\w/]+", typed.get(group) or default)
        found |= {f"{group}={one}" for one in named}
    return found


def no_choice(group: str, choice: str, command: str = "train") -> str:
    """The message for a choice that the group lacks: the nearest one, or all that it has, and what else there is."""
    if misplaced := [path for folder in own_folders() for path in folder.rglob("*.y*ml") if path.stem == choice]:
        return (
            f"{group}={choice} is not a choice: it would be {group}/{choice}.yaml in --config-dir, and there is "
            f"{misplaced[0]}"
        )
    if inside := [one for one in choices(group) if one.startswith(f"{choice}/")]:
        return f"{group}={choice} has several: {', '.join(inside)}"
    if elsewhere := [f"{other}={choice}" for other in groups(command) if choice in choices(other)]:
        return f"{group}={choice} is not a choice; there is {' and '.join(elsewhere)}"
    if told := topic(choice):
        return f"{group}={choice} is not a choice; {told}"
    name = re.compile(rf"^name: (\S+/)?{re.escape(choice)}$", re.MULTILINE)  # an encoder's on the hub
    if named := [one for one in choices(group) if name.search(text_of(file_of(group, one)))]:
        return f"{group}={choice} is not a choice; it is the encoder of {group}={f' and {group}='.join(named)}"
    own = f"; {INSTEAD[command][group].format(choice)}" if group in INSTEAD[command] else ""
    near = "" if own and re.search(r"[-/.]", choice) else nearest(choice, choices(group))  # a file's or the hub's name
    yours = "" if own_folders() else "; a choice of your own needs --config-dir FOLDER"
    known = choices(group)  # none of Hydra's own groups
    rest = f"it has {', '.join(known)}" if known and not near else f"--help {group.rpartition('/')[2]} lists all"
    return f"{group}={choice} is not a choice{near}{own}; {rest}{yours}"
