"""Sentences for mistakes on a line: an error of Hydra's in our words, a key or a choice that does not exist."""

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.conf_files import keys_of_text, text_of
from cse.lab.settings.grammar import shell_word, spell_word
from cse.lab.settings.groups import EXTRAS, choices, file_of, groups, user_folders
from cse.lab.settings.lookup import keys_of_command
from cse.lab.settings.suggest import last_part, meant, nearest, topic
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


class Failure(NamedTuple):
    """An error of Hydra or OmegaConf on a line. said: its text, without the search path."""

    error: Exception
    said: str
    words: Sequence[str]
    command: str


def explain(error: Exception, words: Sequence[str], command: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices."""
    if isinstance(error.__cause__, UserError):  # of a value from the environment
        return str(error.__cause__)
    failure = Failure(error, str(error).partition("Config search path")[0], words, command)
    told = (told for explanation in EXPLANATIONS if (told := explanation(failure)))
    return next(told, "; ".join(lines_for_people(failure)))


def of_unknown_key(failure: Failure) -> str:
    """trainer.learning_rate=1"""
    match = re.search(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)", failure.said)
    return no_key(match[1], failure.words, failure.command) if match else ""


def of_unknown_choice(failure: Failure) -> str:
    """model=brt"""
    match = re.search(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'", failure.said)
    return no_choice(match[1], match[2], failure.command) if match else ""


def of_unknown_choice_of_hydra(failure: Failure) -> str:
    """hydra/launcher=slurm"""
    match = re.search(
        r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", failure.said, re.DOTALL
    )
    return f"{match[1]}={match[2]} is not a choice; it has {', '.join(match[3].split())}" if match else ""


def of_unread_word(failure: Failure) -> str:
    """note=a,,b, or a word without =."""
    from hydra.errors import OverrideParseException

    if not isinstance(failure.error, OverrideParseException):
        return ""
    word = failure.error.override
    if "=" not in word:
        return no_setting(word, failure.words, failure.command)
    why = "; ".join(line for line in lines_for_people(failure) if word not in line)
    said = f" ({why})" if why else ""
    return f"{word} cannot be read{said}{in_quotes(word)}"


def of_ambiguous_word(failure: Failure) -> str:
    """note=a,b without -m: is it one text, or two jobs?"""
    match = re.match(r"Ambiguous value for argument '(.*)'", failure.said)
    return f"{'; '.join(lines_for_people(failure))}{in_quotes(match[1])}" if match else ""


EXPLANATIONS = (of_unknown_key, of_unknown_choice, of_unknown_choice_of_hydra, of_unread_word, of_ambiguous_word)
"""Each explains one kind of failure, or returns "". Its docstring has an example."""


def lines_for_people(failure: Failure) -> list[str]:
    """The lines of an error that say something to a person."""
    lines = [line.strip() for line in failure.said.partition("See https")[0].splitlines()]
    return [line for line in lines if line.strip("^") and "object_type=" not in line]


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


class UnknownKey(NamedTuple):
    """A key that the line's choices lack. known: the choices that have each key of the command. of_line: the keys that
    the line's choices have."""

    key: str
    command: str
    known: Mapping[str, Sequence[str]]
    of_line: Sequence[str]


def no_key(key: str, words: Sequence[str], command: str) -> str:
    """The message for a key that the line's choices lack, by the first of KEY_HINTS that knows it."""
    known, chosen = keys_of_command(command), choices_of(words, command)
    of_line = [one for one, having in known.items() if chosen.intersection(having)]
    unknown = UnknownKey(key, command, known, of_line)
    told = (told for hint in KEY_HINTS if (told := hint(unknown)))
    return next(told, f"there is no key {key}{nearest(key, of_line)}")


def a_group(unknown: UnknownKey) -> str:
    """model={...}: a group that was given a mapping with a key that it lacks."""
    key = unknown.key
    is_group = key in groups(unknown.command)
    return f"{key}={{...}}: there is no such key in it; write each setting as {key}.KEY=VALUE" if is_group else ""


def named_elsewhere(unknown: UnknownKey) -> str:
    """num_train_epochs"""
    told = None if unknown.key in unknown.known else topic(unknown.key, unknown.known)
    return f"there is no key {unknown.key}; {told}" if told else ""


def the_encoder_to_score(unknown: UnknownKey) -> str:
    """cse-eval model.name=bert-base-uncased"""
    if (unknown.command, unknown.key) != ("evaluate", "model.name"):
        return ""
    return f"there is no key {unknown.key}; the encoder to score is checkpoint=FOLDER or its name on the hub"


def of_each_evaluator(unknown: UnknownKey) -> str:
    """eval.batch, which is eval.stsb.batch and others."""
    alike = re.compile(rf"eval\.\w+\.{re.escape(unknown.key.rpartition('.')[2])}")
    evaluators = list(filter(alike.fullmatch, unknown.known)) if unknown.key.startswith("eval.") else []
    return f"there is no key {unknown.key}; there is {', '.join(evaluators)}" if evaluators else ""


def of_other_choices(unknown: UnknownKey) -> str:
    """objective.queue without objective=moco, or a key that is spelled like it."""
    key, known = unknown.key, unknown.known
    theirs = key if key in known else meant(key, list(known))
    ours = meant(key, unknown.of_line)
    is_ours = theirs in unknown.of_line or last_part(theirs) == last_part(ours)
    if theirs == "" or (is_ours and key not in known):
        return ""
    return f"there is no key {key}; {theirs} belongs to {', '.join(known[theirs])}"


KEY_HINTS = (a_group, named_elsewhere, the_encoder_to_score, of_each_evaluator, of_other_choices)
"""Each knows one mistake in a key, or returns "". Its docstring has an example."""


def choices_of(words: Sequence[str], command: str) -> set[str]:
    """The GROUP=CHOICEs of a line, and "" for what every line has; all of a group that its experiment may choose."""
    typed, found = values_of(recorded_words(words)), {""}
    is_open = typed.keys() & EXTRAS
    for group, (default, _) in groups(command).items():
        named = choices(group) if is_open and group not in typed else re.findall(r"[\w/]+", typed.get(group) or default)
        found |= {f"{group}={one}" for one in named}
    return found


def no_choice(group: str, choice: str, command: str) -> str:
    """The message for a choice that the group lacks, by the first of CHOICE_HINTS that knows the name."""
    told = (told for hint in CHOICE_HINTS if (told := hint(group, choice, command)))
    return f"{group}={choice} {next(told, f'is not a choice{what_there_is(group, choice, command)}')}"


def misplaced(group: str, choice: str, command: str) -> str:
    """objective=mine, with FOLDER/mine.yaml in place of FOLDER/objective/mine.yaml."""
    files = [path for folder in user_folders() for path in folder.rglob("*.y*ml") if path.stem == choice]
    where = f"it would be {group}/{choice}.yaml in --config-dir"
    return f"is not a choice: {where}, and there is {files[0]}" if files else ""


def with_several(group: str, choice: str, command: str) -> str:
    """sweep=visualcse, which is a folder of choices."""
    inside = [one for one in choices(group) if one.startswith(f"{choice}/")]
    return f"has several: {', '.join(inside)}" if inside else ""


def of_another_group(group: str, choice: str, command: str) -> str:
    """objective=visual"""
    elsewhere = [f"{other}={choice}" for other in groups(command) if choice in choices(other)]
    return f"is not a choice; there is {' and '.join(elsewhere)}" if elsewhere else ""


def of_other_trainers(group: str, choice: str, command: str) -> str:
    """objective=MultipleNegativesRankingLoss"""
    told = topic(choice, keys_of_command(command))
    return f"is not a choice; {told}" if told else ""


def encoder_of(group: str, choice: str, command: str) -> str:
    """model=bert-base-uncased, which is the encoder of model=bert."""
    named = []
    for one in choices(group):
        for key, value, _ in keys_of_text(text_of(file_of(group, one))):
            if key == "name" and choice in (value, value.rpartition("/")[2]):
                named.append(f"{group}={one}")
    return f"is not a choice; it is the encoder of {' and '.join(named)}" if named else ""


CHOICE_HINTS = (misplaced, with_several, of_another_group, of_other_trainers, encoder_of)
"""Each knows one mistake in a choice, or returns "". Its docstring has an example."""


def what_there_is(group: str, choice: str, command: str) -> str:
    """The nearest choice or all choices, and what else the group offers."""
    known = choices(group)  # none of Hydra's own groups
    instead = INSTEAD[command].get(group, "")
    offer = f"; {instead.format(choice)}" if instead else ""
    is_path = re.search(r"[-/.]", choice) is not None  # a file's name, or one on the hub
    near = "" if offer and is_path else nearest(choice, known)
    rest = f"it has {', '.join(known)}" if known and not near else f"--help {group.rpartition('/')[2]} lists all"
    yours = "" if user_folders() else "; a choice of your own needs --config-dir FOLDER"
    return f"{near}{offer}; {rest}{yours}"
