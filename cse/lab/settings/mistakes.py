"""Messages for mistakes in a command: an error of Hydra's in our words, a key or a choice that does not exist.

`explain` knows what kind of mistake an error is of; `no_key`, `no_choice`, `no_setting` and `no_flags` say
what was meant.
"""

import os
import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from cse.errors import UserError
from cse.lab.settings.arguments import recorded_arguments, shell_argument, spell_argument
from cse.lab.settings.conf_files import keys_of_text, text_of
from cse.lab.settings.groups import OPTIONAL_GROUPS, Kind, choices, file_of, groups, user_folders
from cse.lab.settings.lookup import keys_of_command
from cse.lab.settings.suggest import answer_to, last_part, meant, nearest, spelled, topic

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

# What Hydra and OmegaConf say of a command
UNKNOWN_KEY = re.compile(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)")
UNKNOWN_CHOICE = re.compile(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'")
UNKNOWN_CHOICE_OF_HYDRA = re.compile(
    r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", re.DOTALL
)
AMBIGUOUS = re.compile(r"Ambiguous value for argument '(.*)'")


def explain(error: Exception, texts: Sequence[str], kind: Kind) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices.

    texts: the command's arguments.
    """
    from hydra.errors import OverrideParseException

    if isinstance(error.__cause__, UserError):  # of a value from the environment
        return str(error.__cause__)
    text = str(error).partition("Config search path")[0]
    lines = lines_for_people(text)
    if match := UNKNOWN_KEY.search(text):  # trainer.learning_rate=1
        return no_key(match[1], texts, kind)
    if match := UNKNOWN_CHOICE.search(text):  # model=brt
        return no_choice(match[1], match[2], kind)
    if match := UNKNOWN_CHOICE_OF_HYDRA.search(text):  # hydra/launcher=slurm
        return f"{match[1]}={match[2]} is not a choice; it has {', '.join(match[3].split())}"
    if isinstance(error, OverrideParseException):
        argument = error.override
        if "=" not in argument:
            return no_setting(argument, texts, kind)
        why = "; ".join(line for line in lines if argument not in line)  # note=a,,b
        return f"{argument} cannot be read{f' ({why})' if why else ''}{in_quotes(argument)}"
    if match := AMBIGUOUS.match(text):  # note=a,b without -m: one text, or two jobs
        return f"{'; '.join(lines)}{in_quotes(match[1])}"
    return "; ".join(lines)


def lines_for_people(text: str) -> list[str]:
    """The lines of an error that say something to a person."""
    lines = [line.strip() for line in text.partition("See https")[0].splitlines()]
    return [line for line in lines if line.strip("^") and "object_type=" not in line]


def in_quotes(text: str) -> str:
    """How one types an argument that Hydra does not read as one text."""
    key, _, value = text.partition("=")
    return f"; as text it is {shell_argument(spell_argument(key, value))}"


def no_flags(flags: Sequence[str], kind: Kind) -> str:
    """The message for flags that do not exist, with what to type for each."""
    known = list(keys_of_command(kind))
    if len(flags) == 1:
        near = nearest(spelled(flags[0]), known).replace("?", "=...?")
        return f"unrecognized arguments: {flags[0]}; {topic(flags[0], known) or f'a setting is KEY=VALUE{near}'}"
    meanings = [f"{flag}: {meaning}" if (meaning := short_hint(flag, known)) else flag for flag in flags]
    advice = "a setting is KEY=VALUE, and docs/coming-from.md explains other trainers' arguments"
    return f"unrecognized arguments: {'; '.join(meanings)}; {advice}"


def short_hint(flag: str, known: Sequence[str]) -> str:
    """What to type for a flag that does not exist, or why nothing; "" for one that means nothing."""
    answer = answer_to(flag, known)
    return (answer.type or answer.sentence().partition(". ")[0]) if answer else " or ".join(meant(spelled(flag), known))


def no_setting(text: str, texts: Sequence[str], kind: Kind) -> str:
    """The message for a text without =: a key that lacks its value, a folder, a file, or the nearest setting."""
    for before, after in pairwise(texts):
        if after == text and os.path.exists(f"{before.partition('=')[2]} {text}"):
            return f"{before} {text}: a name with a blank needs quotes: '{before} {text}'"
    keys = keys_of_command(kind)
    if text in keys:
        return f"{text} lacks its value: type {text}=VALUE"
    if os.path.isdir(text):  # false, too, for a name that is too long to exist
        hint = f"; {INSTEAD[kind]['model'].format(text)}"
    elif os.path.isfile(text) and "data" in INSTEAD[kind]:
        hint = f"; {INSTEAD[kind]['data'].format(text)}"
    else:
        arguments = [f"{group}={choice}" for group in groups(kind) for choice in choices(group)]
        hint = nearest(text, [*keys, *arguments])
    return f"{text} is no setting, which is KEY=VALUE{hint}"


def no_key(key: str, texts: Sequence[str], kind: Kind) -> str:
    """The message for a key that the command's choices lack, with what was meant."""
    if key in groups(kind):  # model={...}
        return f"{key}={{...}}: there is no such key in it; write each setting as {key}.KEY=VALUE"
    return f"there is no key {key}{hint_for_key(key, texts, kind)}"


def hint_for_key(key: str, texts: Sequence[str], kind: Kind) -> str:
    """What was meant by a key that the command's choices lack: another trainer's name for it, a key of other choices,
    or the nearest key of the command's."""
    choices_by_key, chosen = keys_of_command(kind), choices_given(texts, kind)
    note = "" if key in choices_by_key else topic(key, choices_by_key)
    if note:  # num_train_epochs
        return f"; {note}"
    if (kind, key) == ("evaluate", "model.name"):
        return "; the encoder to score is checkpoint=FOLDER or its name on the hub"
    if key.startswith("eval."):  # eval.batch, which is eval.stsb.batch and others
        alike = re.compile(rf"eval\.\w+\.{re.escape(last_part(key))}")
        if of_evaluators := [known for known in choices_by_key if alike.fullmatch(known)]:
            return f"; there is {', '.join(of_evaluators)}"
    if key in choices_by_key:  # objective.queue without objective=moco
        return f"; {key} belongs to {', '.join(choices_by_key[key])}"
    keys_of_choices = [known for known, having in choices_by_key.items() if chosen.intersection(having)]
    if near := near_only_elsewhere(key, choices_by_key, keys_of_choices):  # objective.qeue without objective=moco
        return f"; {near} belongs to {', '.join(choices_by_key[near])}"
    return nearest(key, keys_of_choices)


def near_only_elsewhere(key: str, keys: Collection[str], keys_of_choices: Sequence[str]) -> str:
    """The key of other choices that a key meant; "" for none, and if the command has a key that is as near."""
    near = next(iter(meant(key, list(keys))), "")
    near_ones = [last_part(guess) for guess in meant(key, keys_of_choices)]
    return "" if near in keys_of_choices or last_part(near) in near_ones else near


def choices_given(texts: Sequence[str], kind: Kind) -> set[str]:
    """The GROUP=CHOICEs of a command, and "" for what each has; all choices of a group if an experiment may choose."""
    typed = {argument.key: argument.parsed for argument in recorded_arguments(texts)}
    has_extras = not typed.keys().isdisjoint(OPTIONAL_GROUPS)
    given = {""}
    for group, default in groups(kind).items():
        names: Sequence[object] = default.choices
        if group in typed:
            value = typed[group]
            names = value if isinstance(value, list) else [value]
        elif has_extras:
            names = choices(group)
        given |= {f"{group}={name}" for name in names}
    return given


def no_choice(group: str, choice: str, kind: Kind) -> str:
    """The message for a choice that the group lacks, with what was meant or what there is."""
    return f"{group}={choice} {hint_for_choice(group, choice, kind) or what_there_is(group, choice, kind)}"


def hint_for_choice(group: str, choice: str, kind: Kind) -> str:
    """What was meant by a choice that the group lacks; "" for a name that says nothing."""
    misplaced = [path for folder in user_folders() for path in folder.rglob("*.y*ml") if path.stem == choice]
    if misplaced:  # FOLDER/mine.yaml in place of FOLDER/objective/mine.yaml
        return f"is not a choice: it would be {group}/{choice}.yaml in --config-dir, and there is {misplaced[0]}"
    if inside := [name for name in choices(group) if name.startswith(f"{choice}/")]:  # sweep=visualcse
        return f"has several: {', '.join(inside)}"
    if elsewhere := [f"{other}={choice}" for other in groups(kind) if choice in choices(other)]:  # objective=visual
        return f"is not a choice; there is {' and '.join(elsewhere)}"
    if note := topic(choice, keys_of_command(kind)):  # objective=MultipleNegativesRankingLoss
        return f"is not a choice; {note}"
    if with_encoder := choices_with_encoder(group, choice):  # model=bert-base-uncased
        return f"is not a choice; it is the encoder of {' and '.join(with_encoder)}"
    return ""


def choices_with_encoder(group: str, encoder: str) -> list[str]:
    """GROUP=CHOICE of each choice whose encoder has this name, with or without its owner's."""
    arguments: list[str] = []
    for choice in choices(group):
        for key, value, _ in keys_of_text(text_of(file_of(group, choice))):
            if key == "name" and encoder in (value, value.rpartition("/")[2]):
                arguments.append(f"{group}={choice}")
    return arguments


def what_there_is(group: str, choice: str, kind: Kind) -> str:
    """The nearest choice or all choices, and what else the group offers."""
    names = choices(group)  # none of Hydra's own groups
    offer = INSTEAD[kind].get(group, "").format(choice)
    near = nearest(choice, names)
    if offer and re.search(r"[-/.]", choice):  # a file's name, or one on the hub
        near = ""
    all_names = f"it has {', '.join(names)}"
    if near or not names:
        all_names = f"--help {group.rpartition('/')[2]} lists all"
    of_yours = "" if user_folders() else "a choice of your own needs --config-dir FOLDER"
    return "; ".join(filter(None, [f"is not a choice{near}", offer, all_names, of_yours]))
