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
from cse.lab.settings.suggest import first_answer, last_part, meant, nearest, topic
from cse.lab.settings.words import recorded_words

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
    """An error of Hydra or OmegaConf on a line. said: its text, without the search path. texts: the line's words."""

    error: Exception
    said: str
    texts: Sequence[str]
    command: str


def explain(error: Exception, texts: Sequence[str], command: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices."""
    if isinstance(error.__cause__, UserError):  # of a value from the environment
        return str(error.__cause__)
    failure = Failure(error, str(error).partition("Config search path")[0], texts, command)
    return first_answer(EXPLANATIONS, failure) or "; ".join(lines_for_people(failure))


def of_unknown_key(failure: Failure) -> str:
    """trainer.learning_rate=1"""
    match = re.search(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)", failure.said)
    return no_key(match[1], failure.texts, failure.command) if match else ""


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
        return no_setting(word, failure.texts, failure.command)
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


def no_setting(text: str, texts: Sequence[str], command: str) -> str:
    """The message for a text without =: a key that lacks its value, a folder, a file, or the nearest setting."""
    for before, one in pairwise(texts):
        if one == text and os.path.exists(f"{before.partition('=')[2]} {text}"):
            return f"{before} {text}: a name with a blank needs quotes: '{before} {text}'"
    keys = keys_of_command(command)
    if text in keys:
        return f"{text} lacks its value: type {text}=VALUE"
    if os.path.isdir(text):  # false, too, for a name that is too long to exist
        hint = f"; {INSTEAD[command]['model'].format(text)}"
    elif os.path.isfile(text) and "data" in INSTEAD[command]:
        hint = f"; {INSTEAD[command]['data'].format(text)}"
    else:
        hint = nearest(text, [*keys, *(f"{group}={one}" for group in groups(command) for one in choices(group))])
    return f"{text} is no setting, which is KEY=VALUE{hint}"


class UnknownKey(NamedTuple):
    """A key that the line's choices lack. choices_by_key: for each key of the command, the choices that have it.
    keys_of_line: the keys that the line's choices have."""

    key: str
    command: str
    choices_by_key: Mapping[str, Sequence[str]]
    keys_of_line: Sequence[str]


def no_key(key: str, texts: Sequence[str], command: str) -> str:
    """The message for a key that the line's choices lack, by the first of KEY_HINTS that knows it."""
    choices_by_key, chosen = keys_of_command(command), choices_on_line(texts, command)
    keys_of_line = [one for one, having in choices_by_key.items() if chosen.intersection(having)]
    unknown = UnknownKey(key, command, choices_by_key, keys_of_line)
    return first_answer(KEY_HINTS, unknown) or f"there is no key {key}{nearest(key, keys_of_line)}"


def a_group(unknown: UnknownKey) -> str:
    """model={...}: a group that was given a mapping with a key that it lacks."""
    key = unknown.key
    is_group = key in groups(unknown.command)
    return f"{key}={{...}}: there is no such key in it; write each setting as {key}.KEY=VALUE" if is_group else ""


def named_elsewhere(unknown: UnknownKey) -> str:
    """num_train_epochs"""
    if unknown.key in unknown.choices_by_key:
        return ""
    told = topic(unknown.key, unknown.choices_by_key)
    return f"there is no key {unknown.key}; {told}" if told else ""


def the_encoder_to_score(unknown: UnknownKey) -> str:
    """cse-eval model.name=bert-base-uncased"""
    if (unknown.command, unknown.key) != ("evaluate", "model.name"):
        return ""
    return f"there is no key {unknown.key}; the encoder to score is checkpoint=FOLDER or its name on the hub"


def of_each_evaluator(unknown: UnknownKey) -> str:
    """eval.batch, which is eval.stsb.batch and others."""
    if not unknown.key.startswith("eval."):
        return ""
    alike = re.compile(rf"eval\.\w+\.{re.escape(last_part(unknown.key))}")
    evaluators = list(filter(alike.fullmatch, unknown.choices_by_key))
    return f"there is no key {unknown.key}; there is {', '.join(evaluators)}" if evaluators else ""


def of_other_choices(unknown: UnknownKey) -> str:
    """objective.queue without objective=moco."""
    having = unknown.choices_by_key.get(unknown.key)
    return f"there is no key {unknown.key}; {unknown.key} belongs to {', '.join(having)}" if having else ""


def near_one_of_other_choices(unknown: UnknownKey) -> str:
    """objective.qeue without objective=moco, unless the line has a key that is as near."""
    guesses = meant(unknown.key, list(unknown.choices_by_key))
    if not guesses or guesses[0] in unknown.keys_of_line:
        return ""
    near = guesses[0]
    if last_part(near) in map(last_part, meant(unknown.key, unknown.keys_of_line)):
        return ""
    return f"there is no key {unknown.key}; {near} belongs to {', '.join(unknown.choices_by_key[near])}"


KEY_HINTS = (
    a_group,
    named_elsewhere,
    the_encoder_to_score,
    of_each_evaluator,
    of_other_choices,
    near_one_of_other_choices,
)
"""Each knows one mistake in a key, or returns "". Its docstring has an example."""


def choices_on_line(texts: Sequence[str], command: str) -> set[str]:
    """The GROUP=CHOICEs of a line, and "" for what every line has; all of a group that its experiment may choose."""
    typed = {word.key: word.parsed for word in recorded_words(texts)}
    has_extras = not typed.keys().isdisjoint(EXTRAS)
    found = {""}
    for group, (names, _) in groups(command).items():
        if group in typed:
            value = typed[group]
            names = [str(name) for name in value] if isinstance(value, list) else [str(value)]
        elif has_extras:
            names = choices(group)
        found |= {f"{group}={name}" for name in names}
    return found


def no_choice(group: str, choice: str, command: str) -> str:
    """The message for a choice that the group lacks, by the first of CHOICE_HINTS that knows the name."""
    told = first_answer(CHOICE_HINTS, group, choice, command) or what_there_is(group, choice, command)
    return f"{group}={choice} {told}"


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
    names = choices(group)  # none of Hydra's own groups
    offer = INSTEAD[command].get(group, "").format(choice)
    near = nearest(choice, names)
    if offer and re.search(r"[-/.]", choice):  # a file's name, or one on the hub
        near = ""
    all_names = f"it has {', '.join(names)}"
    if near or not names:
        all_names = f"--help {group.rpartition('/')[2]} lists all"
    of_yours = "" if user_folders() else "a choice of your own needs --config-dir FOLDER"
    return "; ".join(filter(None, [f"is not a choice{near}", offer, all_names, of_yours]))
