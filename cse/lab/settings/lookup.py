"""Look up a name among the settings and choices of cse, among near names, and among other trainers' names.

1. `settings_of_command` and `all_choices` list the names of cse, read from the text of conf/.
2. `meant` returns the names that a wrong name may mean. `nearest` returns the hint with these names for an error.
3. `answer_to` finds the row of another trainer's name in other_trainers.yaml. `note_on` returns the row as a sentence.

No import is slow. In this module, `ours` is a collection of the keys or choices of cse.
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cse.errors import did_you_mean
from cse.lab.settings.conf_files import body, first_sentence, keys_of_text
from cse.lab.settings.groups import (
    CONF_DIR,
    GLOBAL_GROUPS,
    KINDS,
    PROGRAMS,
    Kind,
    choices,
    file_of,
    groups,
    included,
    section_of,
)
from cse.lab.settings.values import number_in

TABLE = Path(__file__).with_name("other_trainers.yaml")


class Entry(NamedTuple):
    """A setting, with its value and its comment, or a choice of a group.

    key, value: a setting's key and value, or a choice's group and name. name: the name for searches: a setting's key or
    a choice's name. choice: the GROUP=CHOICE that has a setting; "" if every command has the setting.
    """

    key: str
    value: str
    comment: str
    name: str
    choice: str = ""


def all_choices(kind: Kind) -> Iterator[Entry]:
    """Yield each choice of each group, except `default`, with the first sentence of the choice's file."""
    for group in groups(kind):
        for choice in choices(group):
            if choice != "default":
                yield Entry(group, choice, first_sentence(file_of(group, choice)), choice)


def settings_of_command(kind: Kind) -> Iterator[Entry]:
    """Yield every setting of a kind of command, and of every choice of its groups except GLOBAL_GROUPS.

    In each group, the default choice comes first.
    """
    own = settings_of_file(Path(CONF_DIR, f"{kind}.yaml"), "", "")
    yield from (setting for setting in own if setting.value != "{}")  # eval: {}, to which each evaluator adds settings
    for group, default in groups(kind).items():
        names = sorted(choices(group), key=lambda name: name not in default.choices)
        for choice in names if group not in GLOBAL_GROUPS else ():
            name = "" if choice == "default" else f"{group}={choice}"
            by_key: dict[str, Entry] = {}
            for file in included(file_of(group, choice)):
                by_key |= {setting.key: setting for setting in settings_of_file(file, group, name)}
            yield from by_key.values()


def settings_of_file(file: Path, group: str, choice: str) -> Iterator[Entry]:
    """Yield the settings of one file of a group, in order. choice: the GROUP=CHOICE for the entries.

    The training head is the only part inside a part that is a setting, because its value may be null.
    """
    inside = "".join(f"{name}." for name in section_of(group, file)) if group else ""
    comments: dict[str, str] = {}
    for key, value, comment in keys_of_text("\n".join(body(file))):
        dotted = inside + key
        comments[dotted] = comment
        if dotted == "objective.head._target_":
            whole = f"{{_target_:{value},_partial_:true}}"
            yield Entry("objective.head", whole, comments["objective.head"], "objective.head", choice)
        is_hydras = dotted.startswith("hydra.") and dotted != "hydra.run.dir"
        if value and not is_hydras and not last_part(key).startswith("_"):
            yield Entry(dotted, value, comment, dotted, choice)


def keys_of_command(kind: Kind) -> dict[str, list[str]]:
    """Return {group or key: the GROUP=CHOICEs that have it} of a kind of command; [""] if every command has it."""
    choices_by_key: dict[str, list[str]] = {group: [""] for group in groups(kind)}
    for setting in settings_of_command(kind):
        choices_by_key.setdefault(setting.key, []).append(setting.choice)
    return choices_by_key


# Near names


def nearest(name: str, ours: Collection[str]) -> str:
    """Return ` (did you mean NAME?)` with the names in `ours` that a wrong name may mean; "" if no name is near."""
    return did_you_mean(meant(name, ours))


def folders_beside(path: Path) -> list[str]:
    """Return the names of the folders beside a path; [] if it is in no folder."""
    return [folder.name for folder in path.parent.glob("*/")] if path.parent.is_dir() else []


def meant(name: str, ours: Collection[str]) -> list[str]:
    """Return the names in `ours` that a wrong name may mean, from the first function in GUESSES that finds a name.

    Return several choices if all end in the wrong name, and [] if no name is near.
    """
    for guess in GUESSES:
        guesses = guess(name, ours)
        if guesses:
            return guesses
    return []


def of_another_trainer(name: str, ours: Collection[str]) -> list[str]:
    """Return the key for another trainer's name: ["trainer.lr"] for learning_rate."""
    answer = answer_to(name, ours)
    return [answer.key] if answer and answer.key in ours else []


def of_a_choice(name: str, ours: Collection[str]) -> list[str]:
    """Return the choices that end in the given name: nonling/table1 and whitenedcse/table1 for table1."""
    return [known for known in ours if known.endswith((f"/{name}", f"={name}"))]


def nearly_in_the_same_part(name: str, ours: Collection[str]) -> list[str]:
    """Return the key of the same part with nearly the same last part: data.scores for data.score."""
    return in_the_same_part(name, ours, 0.85)


def in_the_same_part(name: str, ours: Collection[str], cutoff: float) -> list[str]:
    """Return the key of the same part with the most similar last part. cutoff: the least similarity, up to 1."""
    part, dot, last = name.lower().rpartition(".")
    by_last = {last_part(known): known for known in ours if dot and known.rpartition(".")[0] == part}
    return [by_last[end] for end in difflib.get_close_matches(last, by_last, 1, cutoff)]


def with_the_last_part(name: str, ours: Collection[str]) -> list[str]:
    """Return the only key with the last part of the given name: objective.mlm_weight for trainer.mlm_weight."""
    alike = [known for known in ours if last_part(known) == last_part(name.lower())]
    return alike if len(alike) == 1 else []


def begun(name: str, ours: Collection[str]) -> list[str]:
    """Return the only name in `ours` that begins with the given name: trainer.accumulate for trainer.accum."""
    longer = [known for known in ours if known.startswith(name.lower())]
    return longer if len(longer) == 1 else []


def with_the_same_start(name: str, ours: Collection[str]) -> list[str]:
    """Return the only name with the first four letters of a short key: objective.temperature for objective.tempp."""
    part, dot, key = name.rpartition(".")
    alike = [known for known in ours if dot and 4 < len(key) < 7 and known.startswith(f"{part}.{key[:4]}")]
    return alike if len(alike) == 1 else []


def with_more(name: str, ours: Collection[str]) -> list[str]:
    """Return the longest name in `ours` with which the given name begins: bert for bert_base."""
    longest = max((known for known in ours if name.lower().startswith(f"{known}_")), key=len, default="")
    return [longest] if longest else []


def near_another_trainers(name: str, ours: Collection[str]) -> list[str]:
    """Return the key for another trainer's name that is misspelt: ["model.pooling"] for pooler_typ."""
    near = difflib.get_close_matches(simplified(last_part(name)), rows_by_name(), 1, 0.88)
    return of_another_trainer(near[0], ours) if near else []


def spelled_alike(name: str, ours: Collection[str]) -> list[str]:
    """Return the name with the most similar spelling: trainer.batch_size for trainer.batchsize.

    If the part of a key exists, only the last part of the key is compared: all keys of a part begin alike.
    """
    part = name.lower().rpartition(".")[0]
    if part and any(known.startswith(f"{part}.") for known in ours):
        return in_the_same_part(name, ours, 0.7)
    return difflib.get_close_matches(name.lower(), ours, 1, 0.7)


def with_a_last_part_alike(name: str, ours: Collection[str]) -> list[str]:
    """Return the name with the most similar last part: objective.temperature for trainer.temperature."""
    by_last = {last_part(known): known for known in ours}
    return [by_last[end] for end in difflib.get_close_matches(last_part(name.lower()), by_last, 1, 0.7)]


GUESSES = (
    of_another_trainer,
    of_a_choice,
    nearly_in_the_same_part,
    with_the_last_part,
    begun,
    near_another_trainers,
    with_the_same_start,
    with_more,
    spelled_alike,
    with_a_last_part_alike,
)
"""The functions that guess a name, the surest first. Each function returns a list of names in `ours`, [] for none."""


# Other trainers' names, in other_trainers.yaml


class Answer(NamedTuple):
    """A row of other_trainers.yaml: a trainer's arguments with one meaning, their counterparts in cse, and a note.

    type: the arguments of cse to type instead; "" if there are none. values: {pattern of a value: arguments of cse};
    None if the argument of cse gets the value unchanged. note: the differences. kind, choose, default, times,
    not_with, only_with, only_for: see the top of other_trainers.yaml.
    """

    trainer: str
    arguments: list[str]
    type: str
    note: str
    kind: Kind
    values: dict[str, str] | None
    choose: str
    default: str
    times: str
    not_with: str
    only_with: str
    only_for: str

    @property
    def first(self) -> str:
        """The first argument of cse: a KEY, or a KEY=VALUE."""
        return self.type.partition(" ")[0]

    @property
    def key(self) -> str:
        """The setting's key, or the group, of the first argument of cse."""
        return self.first.partition("=")[0]

    def sentence(self) -> str:
        """Return the row's arguments of cse and its note as text for a terminal."""
        return ": ".join(part for part in (self.type, self.note.replace("`", "")) if part)

    def arguments_for(self, value: str) -> list[str] | None:
        """Return the arguments of cse for a trainer's value ("": no value); None if only the note names arguments."""
        if self.values is None:
            if "=" in self.type and value.lower() in ("false", "0"):  # a switch that is off
                return []
            return [text if "=" in text else f"{text}={value or 'true'}" for text in self.type.split()]
        for pattern, arguments in self.values.items():
            match = re.fullmatch(pattern, value)
            if match:
                inverse = f"{1 / number:.9g}" if (number := number_in(value)) else ""
                texts = [match.expand(text).replace("{1/}", inverse) for text in arguments.split()]
                return [text.replace("{}", value) for text in texts]
        return None


@cache
def trainers() -> dict[str, tuple[str, list[Answer]]]:
    """Return {trainer: (a sentence about the trainer, its rows)}, in the table's order."""
    import yaml

    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        trainer: (part["about"], [row(trainer, part, names) for names in part["arguments"]])
        for trainer, part in table.items()
    }


def row(trainer: str, part: Mapping[str, Any], names: str) -> Answer:
    """Return the table's row of the arguments `names`. The note also has cse's arguments for each one-word value."""
    given = part["arguments"][names]
    columns: dict[str, Any] = {"type": given} if isinstance(given, str) else given
    values = {str(value): ours for value, ours in columns.get("values", {}).items()}
    named = [
        f"`{value}` is {' '.join(f'`{one}`' for one in ours.split())}"
        for value, ours in values.items()
        if ours and re.fullmatch(r"\w[\w-]*", value)
    ]
    by_hand = "note" in columns and part.get("by_hand", False)
    return Answer(
        trainer,
        str(names).split(", "),
        columns["type"],
        note="; ".join(text for text in (", ".join(named), columns.get("note", "")) if text),
        kind=KINDS[part.get("program", PROGRAMS["train"])],
        values=values if "values" in columns or by_hand else None,
        choose=part.get("choose", ""),
        default=columns.get("default", ""),
        times=columns.get("times", ""),
        not_with=columns.get("not_with", ""),
        only_with=columns.get("only_with", ""),
        only_for=columns.get("only_for", ""),
    )


@cache
def rows_by_name() -> dict[str, list[Answer]]:
    """Return {name: rows} for each name that a person may give: a trainer's argument, or only its last part.

    An argument without a note is left out if the setting of cse has the same name.
    """
    by_name: dict[str, list[Answer]] = defaultdict(list)
    for _, rows in trainers().values():
        for answer in rows:
            full = {*map(simplified, answer.arguments)}
            ours = {last_part(answer.key)}
            last = {simplified(last_part(argument)) for argument in answer.arguments} - full - ours
            for name in last | (full if answer.note else full - ours):
                by_name[name].append(answer)
    return by_name


def last_part(name: str) -> str:
    """Return the part of a dotted name after the last dot."""
    return name.rpartition(".")[2]


def simplified(name: str) -> str:
    """Return a name in the form in which the table is searched: lower case, with underscores for dashes and blanks."""
    return name.strip("-").lower().replace("-", "_").replace(" ", "_")


def answer_to(
    name: str, ours: Collection[str] = (), kind: Kind | None = None, named: Collection[str] = ()
) -> Answer | None:
    """Return the table's row on a name; else a row on the name's last part; else None.

    A row on the last part is left out if cse's key ends in the same part. Among several rows, prefer a row for this
    kind of command, then a row of a trainer in `named`, then a row whose setting is in `ours`.
    """
    last = simplified(last_part(name))
    of_last = [answer for answer in rows_by_name().get(last, []) if last_part(answer.key) != last]
    rows = rows_by_name().get(simplified(name), of_last)
    order = sorted(rows, key=lambda row: (row.kind != kind, row.trainer not in named, row.key not in ours))
    return order[0] if order else None


def note_on(name: str, ours: Collection[str], kind: Kind) -> str:
    """Return the sentence of the table's row on a name; "" if the table has no note on the name."""
    answer = answer_to(name, ours, kind)
    return answer.sentence() if answer and answer.note else ""


def sentences_with(word: str) -> list[str]:
    """Return the table's sentences about trainers, and about arguments, that contain a word."""
    whole = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)", re.IGNORECASE)
    sentences: list[str] = []
    for trainer, (about, rows) in trainers().items():
        about_it = f"{trainer}: {about.replace('`', '')}"
        if whole.search(about_it):
            sentences.append(about_it)
        sentences += [answer.sentence() for answer in rows if whole.search(answer.note)]
    return sentences


def value_here(setting: str, value: str) -> str:
    """Return cse's value of a setting for another trainer's value; "" if no note has the other trainer's value."""
    theirs = re.escape(value)
    pattern = re.compile(rf"(?:`{theirs}`|(?<![\w`]){theirs}) is `(?:\w+\.)*{re.escape(setting)}=(\w+)`")
    for _, rows in trainers().values():
        for answer in rows:
            match = pattern.search(answer.note)
            if match and last_part(answer.key) == setting:
                return match[1]
    return ""
