"""Write one message for a mistake in a command, with a suggestion.

In the block of `explaining`, an error of Hydra, OmegaConf or YAML becomes such a message, and no secret of the
environment gets into a setting. `message_of` distinguishes four mistakes: an unknown choice (`no_choice`), an unknown
key (`no_key`), a text that is not KEY=VALUE (`no_setting`), and any other mistake. If several suggestions fit, the
message has the first one.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from itertools import takewhile

from cse.errors import UserError
from cse.lab.settings.arguments import key_of, recorded_arguments, shell_argument, spell_argument, value_in, values_of
from cse.lab.settings.conf_files import keys_of_text, text_of
from cse.lab.settings.groups import OPTIONAL_GROUPS, Kind, choices, file_of, groups, is_group, user_folders
from cse.lab.settings.lookup import (
    answer_to,
    in_the_same_part,
    keys_of_command,
    last_part,
    meant,
    nearest,
    note_on,
    settings_of_command,
    trainers,
)
from cse.lab.settings.values import number_in

PAIRS = "for pairs of yours with scores, give eval=pairs eval.{}={}"
INSTEAD: dict[Kind, dict[str, str]] = {
    "train": {
        "model": "for an encoder on the hub, or in a folder, give model.name={}",
        "data": "for a file of yours, or a hub dataset, give data=text data.path={}",
        "eval": PAIRS.format("dev", "{}"),
    },
    "evaluate": {
        "model": "for an encoder on the hub, or in a folder, give checkpoint={}",
        "eval": PAIRS.format("test", "{}"),
    },
}
"""{kind of command: {group: text on the setting that a user may give instead of a choice}}."""
PLACES = ("path", "file", "files", "folder", "dir", "filename")
"""Last parts of keys that a user may guess for the setting of INSTEAD, which names a file or a folder."""
SEARCH = "; --help WORD searches the settings"

# The messages of Hydra and OmegaConf
UNKNOWN_KEY = re.compile(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)")
UNKNOWN_CHOICE = re.compile(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'")
UNKNOWN_CHOICE_OF_HYDRA = re.compile(
    r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", re.DOTALL
)
AMBIGUOUS = re.compile(r"Ambiguous value for argument '(.*)'")


@contextmanager
def explaining(texts: Sequence[str], kind: Kind) -> Iterator[None]:
    """Turn an error of Hydra, OmegaConf or YAML in the block into a UserError.

    texts: the command's arguments. The block may read settings and fill in references. A reference to an environment
    variable that may be a secret raises UserError (see `guarded_environment`). The block must not run the user's code,
    because an error in that code needs its traceback.
    """
    import yaml  # these imports are slow, so --help avoids them
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from cse.lab.settings.references import guarded_environment

    try:
        with guarded_environment():
            yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(message_of(error, texts, kind)) from None  # Hydra's tracebacks tell a caller in Python nothing
    except yaml.YAMLError as error:  # in a file of the user
        raise UserError(" ".join(str(error).split())) from None


def message_of(error: Exception, texts: Sequence[str], kind: Kind) -> str:
    """Return the message for an error of Hydra or OmegaConf.

    For an error that fits no pattern, return the lines of the error's own text that help a person.
    """
    from hydra.errors import OverrideParseException

    if isinstance(error.__cause__, UserError):  # from `from_environment`
        return str(error.__cause__)
    text = str(error).partition("Config search path")[0]
    lines = lines_for_people(text)
    if match := UNKNOWN_KEY.search(text):  # trainer.learning_rate=1
        return no_key(match[1], texts, kind)
    if match := UNKNOWN_CHOICE.search(text):  # model=brt
        return no_choice(match[1], match[2], kind)
    if match := UNKNOWN_CHOICE_OF_HYDRA.search(text):  # hydra/launcher=slurm
        return f"{match[1]}={match[2]} is not a choice; the choices are {', '.join(match[3].split())}"
    if isinstance(error, OverrideParseException) and "=" not in error.override:  # trainer.lr
        return no_setting(error.override, texts, kind)
    if isinstance(error, OverrideParseException):  # note=a,,b
        key, known = key_of(error.override), keys_of_command(kind)
        if key not in known and answer_to(key, known, kind):  # num_train_epochs=1, copied from Python
            return no_key(key, texts, kind)
        if whole := joined(error.override, texts):
            return f"{whole}: a value with a blank needs quotes: give {shell_argument(whole)}"
        why = "; ".join(line for line in lines if error.override not in line)
        return f"{error.override} cannot be read{f' ({why})' if why else ''}; {as_one_text(error.override)}"
    if match := AMBIGUOUS.match(text):  # note=a,b without -m
        return f"{match[1]} has several values: with -m each value starts a job{as_one_value(match[1], kind)}"
    return "; ".join(lines)


def lines_for_people(text: str) -> list[str]:
    """Return the lines of an error that help a person."""
    lines = [line.strip() for line in text.partition("See https")[0].splitlines()]
    return [line for line in lines if line.strip("^") and "object_type=" not in line]


def as_one_text(argument: str) -> str:
    """Return the end of a message: the argument with quotes, so that Hydra reads its value as one text."""
    key, _, value = argument.partition("=")
    return f"as text it is {shell_argument(spell_argument(key, value))}"


def as_one_value(argument: str, kind: Kind) -> str:
    """Return the end of a message: how to write KEY=A,B as one value. A key that takes a number takes no list."""
    key, _, values = argument.partition("=")
    defaults = [setting.value for setting in settings_of_command(kind) if setting.key == key]
    are_numbers = all(number_in(value) is not None for value in values.split(","))
    if any(number_in(default) is not None for default in defaults):
        if re.fullmatch(r"\d+,\d+", values) and not any(map(str.isdecimal, defaults)):  # trainer.lr=0,0001
            return f"; as one number it is {key}={values.replace(',', '.')}"
        return f"; without -m, {key} takes one number"
    if are_numbers and "null" in defaults:  # trainer.max_steps=10,20
        return ""
    return f"; as one list it is {key}=[{values}]; {as_one_text(argument)}"


def joined(text: str, texts: Sequence[str]) -> str:
    """Return the list or mapping that a shell divided at its blanks, from `text` to its last bracket; "" for none."""
    closing = {"[": "]", "{": "}"}.get(text.partition("=")[2][:1])
    if closing is None or text not in texts:
        return ""
    following = texts[texts.index(text) + 1 :]
    parts = [text, *takewhile(lambda more: "=" not in more, following)]
    for count in range(2, len(parts) + 1):
        whole = " ".join(parts[:count])
        if whole.endswith(closing) and all(whole.count(begin) == whole.count(end) for begin, end in ("[]", "{}")):
            return whole
    return ""


# A choice that does not exist


def no_choice(group: str, choice: str, kind: Kind) -> str:
    """Return the message for a choice that the group lacks, with a suggestion or the existing choices."""
    wrong, hint = f"{group}={choice} is not a choice", next(hints_for_choice(group, choice, kind), "")
    return f"{wrong}; {hint}" if hint else wrong + what_there_is(group, choice, kind)


def hints_for_choice(group: str, choice: str, kind: Kind) -> Iterator[str]:
    """Yield suggestions for a choice that the group lacks, the surest first."""
    for folder in user_folders():  # FOLDER/mine.yaml in place of FOLDER/objective/mine.yaml
        for path in folder.rglob("*.y*ml"):
            if path.stem == choice:
                yield f"--config-dir needs {group}/{choice}.yaml, but has {path}"
    inside = [name for name in choices(group) if name.startswith(f"{choice}/")]
    if inside:  # sweep=whitenedcse
        yield f"{choice} has several choices: {', '.join(inside)}"
    elsewhere = [f"{other}={choice}" for other in groups(kind) if choice in choices(other)]
    if elsewhere:  # objective=visual
        lists = f"; --help {group} lists the choices of {group}=" if group in groups(kind) else ""
        yield f"there is {' and '.join(elsewhere)}{lists}"
    of_group = [row for _, rows in trainers().values() for row in rows if row.key == group and row.values]
    values = [row.values[choice] for row in of_group if row.values and choice in row.values]
    if values:  # eval=full
        yield f"there is {values[0]}"
    note = note_on(choice, keys_of_command(kind), kind)
    if note:  # objective=MultipleNegativesRankingLoss
        yield note
    with_encoder = choices_with_encoder(group, choice)
    if with_encoder:  # model=bert-base-uncased
        yield f"it is the encoder of {' and '.join(with_encoder)}"


def choices_with_encoder(group: str, encoder: str) -> list[str]:
    """Return GROUP=CHOICE of each choice with this encoder. encoder: OWNER/NAME on the hub, or only NAME."""
    found: list[str] = []
    for choice in choices(group):
        for key, value, _ in keys_of_text(text_of(file_of(group, choice))):
            if key == "name" and encoder in (value, value.rpartition("/")[2]):
                found.append(f"{group}={choice}")
    return found


def what_there_is(group: str, choice: str, kind: Kind) -> str:
    """Return the end of the message: the nearest choice or all choices, and the setting to give instead of a choice."""
    names = choices(group)  # [] for Hydra's own groups
    offer = INSTEAD[kind].get(group, "").format(choice)
    near = nearest(choice, names)
    is_place = re.search(r"[-/.]", choice)  # a file's name, or a name on the hub
    if is_place and offer:
        near = ""
    elif near and group == "eval":
        offer = ""
    name = group.rpartition("/")[2]
    all_names = f"the choices are {', '.join(names)}" if names else note_on(name, (), kind)  # on hydra/sweeper
    if near:
        all_names = f"--help {group} lists all" if group in groups(kind) else ""  # no help lists the recipes
    of_yours = "" if user_folders() else "a choice of your own needs --config-dir FOLDER"
    return near + "".join(f"; {hint}" for hint in (offer, all_names, of_yours) if hint)


# A key that does not exist


def no_key(key: str, texts: Sequence[str], kind: Kind) -> str:
    """Return the message for a key that the command's choices lack, with a suggestion."""
    if key in groups(kind):  # model={...}
        return f"{key}={{...}} has a key that does not exist; write each setting as {key}.KEY=VALUE"
    choices_by_key, chosen = keys_of_command(kind), choices_given(texts, kind)
    keys_of_choices = [known for known, having in choices_by_key.items() if chosen.intersection(having)]
    wrong, hint = f"there is no key {key}", next(hints_for_key(key, kind, texts, choices_by_key, keys_of_choices), "")
    return f"{wrong}; {hint}" if hint else wrong + (nearest(key, keys_of_choices) or SEARCH)


def hints_for_key(
    key: str,
    kind: Kind,
    texts: Sequence[str],
    choices_by_key: Mapping[str, Sequence[str]],
    keys_of_choices: Collection[str],
) -> Iterator[str]:
    """Yield suggestions for a key that the command's choices lack, the surest first.

    choices_by_key: the choices that have each key. keys_of_choices: the keys that the command's choices have.
    """
    value = values_of(recorded_arguments(texts)).get(key, "")
    answer = None if key in choices_by_key else answer_to(key, choices_by_key, kind)
    arguments = answer.arguments_for(value) if answer and answer.values and answer.kind == kind else None
    if arguments:  # pooler_type=cls
        yield f"{key}={value} is {' '.join(arguments)} here"
    loss = value if key == "loss" else ""
    for name in (loss.partition("(")[0], key):  # loss=CoSENTLoss, num_train_epochs=1
        note = "" if name in choices_by_key else note_on(name, choices_by_key, kind)
        if note:
            yield note
    yield from hints_for_word(key, value, kind)
    if (kind, key) == ("evaluate", "model.name"):
        yield "the encoder to score is checkpoint=FOLDER or its name on the hub"
    if key in choices_by_key:  # objective.lambd without objective=barlow
        yield f"{key} belongs to {', '.join(choices_by_key[key])}{to_add(choices_by_key[key], texts, kind)}"
    of_an_evaluator = re.compile(rf"eval\.\w+\.{re.escape(last_part(key))}")
    alike = [known for known in choices_by_key if of_an_evaluator.fullmatch(known)]
    if alike and key.startswith("eval."):  # eval.tasks, which is eval.sts.tasks and others
        yield f"there is {', '.join(alike)}"
    evaluator = re.fullmatch(r"eval\.(\w+)\.\w+", key)
    group, last = key.partition(".")[0] if "." in key else "data", last_part(key)
    if evaluator and evaluator[1] != "pairs" and not in_the_same_part(key, choices_by_key, 0.7):
        own = [known for known in choices_by_key if known.startswith(f"eval.{evaluator[1]}.")]
        if own:  # eval.beir.path
            yield f"eval={evaluator[1]} has {', '.join(own)}"
    elif last in PLACES and group in ("data", *INSTEAD[kind]):  # eval.path, model.path, data.file
        yield INSTEAD[kind].get(group, INSTEAD[kind]["eval"]).format(value or "FILE")
    elif last in ("dev", "test"):  # data.dev
        yield PAIRS.format(last, value or "FILE")
    near = near_only_elsewhere(key, choices_by_key, keys_of_choices)
    if near:  # objective.lamdb without objective=barlow
        yield f"{near} belongs to {', '.join(choices_by_key[near])}{to_add(choices_by_key[near], texts, kind)}"


def hints_for_word(key: str, value: str, kind: Kind) -> Iterator[str]:
    """Yield the setting that `out` or `dropout` means: no key of cse has such a name and this meaning."""
    if re.fullmatch(r"out(put)?(_?(dir|folder|path))?", key):
        yield f"the run's folder is {shell_argument(spell_argument('hydra.run.dir', value or 'FOLDER'))}"
    if kind == "train" and re.fullmatch(r"((trainer|model|objective|augmentation)\.)?dropout", key):
        p = value or "VALUE"
        other = f"augmentation.model_dropout={p} with any other augmentation"
        yield f"the encoder's dropout is augmentation.p={p} with augmentation=dropout, and {other}"


def to_add(having: Sequence[str], texts: Sequence[str], kind: Kind) -> str:
    """Return `: add CHOICE` for a single choice; "" if the command gives its group or one of OPTIONAL_GROUPS.

    For an evaluator, return the run's evaluators with this evaluator added.
    """
    group, _, choice = having[0].partition("=")
    if group == "eval":
        scored = evaluators_of(texts, kind)
        return f", which is not in this run's eval=[{','.join(scored)}]: give eval=[{','.join([*scored, choice])}]"
    given = {argument.key for argument in recorded_arguments(texts)}
    return f": add {having[0]}" if len(having) == 1 and given.isdisjoint({group, *OPTIONAL_GROUPS}) else ""


def evaluators_of(texts: Sequence[str], kind: Kind) -> list[str]:
    """Return the names of the evaluators that a command's choices have. The choices must exist."""
    from cse.lab.settings.compose import composed  # compose.py imports this module

    return [*composed(kind, [argument.text for argument in recorded_arguments(texts) if is_group(argument.key)]).eval]


def near_only_elsewhere(key: str, keys: Collection[str], keys_of_choices: Collection[str]) -> str:
    """Return the nearest of `keys`; "" if the command's choices have it, or have a key whose last part is as near."""
    near, own = (next(iter(meant(key, ours)), "") for ours in (keys, keys_of_choices))
    nearness, of_own = (SequenceMatcher(None, last_part(key), last_part(one)).ratio() for one in (near, own))
    return "" if near in keys_of_choices or (own and of_own >= nearness) else near


def choices_given(texts: Sequence[str], kind: Kind) -> set[str]:
    """Return each GROUP=CHOICE of a command, and "" for the settings of every command.

    An experiment, a variant or a sweep may make choices of other groups. So for a command with an experiment, a variant
    or a sweep, the result has all choices of each group that is not given.
    """
    given = {argument.key: argument.parsed for argument in recorded_arguments(texts)}
    may_choose = not given.keys().isdisjoint(OPTIONAL_GROUPS)
    chosen = {""}
    for group, default in groups(kind).items():
        names: Sequence[object] = choices(group) if may_choose else default.choices
        if group in given:
            value = given[group]
            names = value if isinstance(value, list) else [value]
        chosen |= {f"{group}={name}" for name in names}
    return chosen


# A text that is no KEY=VALUE


def no_setting(text: str, texts: Sequence[str], kind: Kind) -> str:
    """Return the message for a text without =, with a hint on a key, a folder or a file, or the nearest setting."""
    number = texts.index(text) if text in texts else 0  # `text` lacks the + of +KEY
    before = texts[number - 1] if number and "=" in texts[number - 1] else ""
    if before.endswith("="):  # data.path= x.txt
        return f"{before} {text}: write no space beside =: give {shell_argument(before + text)}"
    keys = keys_of_command(kind)
    if text in keys:
        following = [*texts[number + 1 :], ""]
        if following[0].startswith("="):  # data.path = x.txt, or data.path =x.txt
            value = following[0][1:] or following[1] or "VALUE"
            return f"{text} {following[0]}: write no space beside =: give {shell_argument(f'{text}={value}')}"
        return f"{text} lacks its value: give {text}=VALUE"
    wrong = f"{text} is not a setting, KEY=VALUE"
    if os.path.isdir(text):  # false, too, for a name that is too long to exist
        return f"{wrong}; {INSTEAD[kind]['model'].format(text)}"
    if os.path.isfile(text):
        from cse.sources.encoder import VECTORS  # imports the hub's client

        is_vectors = kind == "evaluate" and text.endswith(VECTORS)  # a table of pairs is never .txt
        offer = INSTEAD[kind].get("data", INSTEAD[kind]["eval"]).format(text)
        return f"{wrong}; {f'for word vectors, give checkpoint={text}' if is_vectors else offer}"
    all_choices = [f"{group}={choice}" for group in groups(kind) for choice in choices(group)]
    near = "" if "," in text else nearest(text, [*keys, *all_choices])
    key, _, value = before.partition("=")
    if before and not is_group(key) and isinstance(value_in(value), str):  # data.path=my file.txt
        whole = " ".join([value, *takewhile(lambda more: "=" not in more, texts[number:])])
        return f"{wrong}{near}; a value with a blank needs quotes: {shell_argument(spell_argument(key, whole))}"
    return wrong + (near or SEARCH)
