"""Sentences for mistakes on a line: an error of Hydra's in our words, a key or a choice that does not exist."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from cse.errors import UserError
from cse.lab.settings.grammar import spell_word
from cse.lab.settings.groups import EXTRAS, choices, file_of, groups, own_folders, text_of
from cse.lab.settings.lookup import keys_of_command
from cse.lab.settings.shell import shell_word
from cse.lab.settings.suggest import meant, nearest, topic
from cse.lab.settings.words import recorded_words, values_of

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
    if word in (known := keys_of_command(command)) or word in groups(command):
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
    known, chosen = keys_of_command(command), choices_of(words, command)
    told = "" if key in known else topic(key, known)
    if told:
        why = told
    elif key in groups(command):  # which was given a mapping
        return f"{key}={{...}}: there is no such key in it; write each setting as {key}.KEY=VALUE"
    elif (command, key) == ("evaluate", "model.name"):
        why = "the encoder to score is checkpoint=FOLDER or its name on the hub"
    elif evaluators := of_evaluators(key, known):
        why = f"there is {', '.join(evaluators)}"
    else:
        return no_key_but_near(key, known, [one for one, having in known.items() if chosen.intersection(having)])
    return f"there is no key {key}; {why}"


def of_evaluators(key: str, known: Iterable[str]) -> list[str]:
    """The keys of evaluators that end as this one, which names none: eval.stsb.batch for eval.batch."""
    alike = re.compile(rf"eval\.\w+\.{re.escape(key.rpartition('.')[2])}")
    return list(filter(alike.fullmatch, known)) if key.startswith("eval.") else []


def no_key_but_near(key: str, known: Mapping[str, Sequence[str]], of_line: Sequence[str]) -> str:
    """The message for a key by those that are spelled alike: of the line's choices, or else of others.

    known: the choices that have each key of the command. of_line: the keys that the line's choices have.
    """
    if key in known:
        return f"there is no key {key}; {key} belongs to {', '.join(known[key])}"
    ours, near = meant(key, list(known)), meant(key, of_line)
    if ours in of_line or near.rpartition(".")[2] == ours.rpartition(".")[2]:
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
    """The message for a choice that the group lacks, by the first of these that knows the name."""
    for told in (misplaced, with_several, of_another_group, of_other_trainers, encoder_of):
        if sentence := told(group, choice, command):
            return f"{group}={choice} {sentence}"
    return f"{group}={choice} is not a choice{what_there_is(group, choice, command)}"


def misplaced(group: str, choice: str, command: str) -> str:
    """Of a file of the user's own that lies in another folder; "" if there is none, as below."""
    files = [path for folder in own_folders() for path in folder.rglob("*.y*ml") if path.stem == choice]
    where = f"it would be {group}/{choice}.yaml in --config-dir"
    return f"is not a choice: {where}, and there is {files[0]}" if files else ""


def with_several(group: str, choice: str, command: str) -> str:
    """Of a folder of choices: sweep=visualcse."""
    inside = [one for one in choices(group) if one.startswith(f"{choice}/")]
    return f"has several: {', '.join(inside)}" if inside else ""


def of_another_group(group: str, choice: str, command: str) -> str:
    """Of a name that another group has: objective=visual."""
    elsewhere = [f"{other}={choice}" for other in groups(command) if choice in choices(other)]
    return f"is not a choice; there is {' and '.join(elsewhere)}" if elsewhere else ""


def of_other_trainers(group: str, choice: str, command: str) -> str:
    """Of a name that other trainers use."""
    told = topic(choice, keys_of_command(command))
    return f"is not a choice; {told}" if told else ""


def encoder_of(group: str, choice: str, command: str) -> str:
    """Of an encoder's name on the hub: model=bert-base-uncased."""
    name = re.compile(rf"^name: (\S+/)?{re.escape(choice)}$", re.MULTILINE)
    named = [f"{group}={one}" for one in choices(group) if name.search(text_of(file_of(group, one)))]
    return f"is not a choice; it is the encoder of {' and '.join(named)}" if named else ""


def what_there_is(group: str, choice: str, command: str) -> str:
    """The nearest choice or all choices, and what else the group offers."""
    known = choices(group)  # none of Hydra's own groups
    instead = INSTEAD[command].get(group, "")
    own = f"; {instead.format(choice)}" if instead else ""
    is_path = re.search(r"[-/.]", choice) is not None  # a file's name, or one on the hub
    near = "" if own and is_path else nearest(choice, known)
    rest = f"it has {', '.join(known)}" if known and not near else f"--help {group.rpartition('/')[2]} lists all"
    yours = "" if own_folders() else "; a choice of your own needs --config-dir FOLDER"
    return f"{near}{own}; {rest}{yours}"
