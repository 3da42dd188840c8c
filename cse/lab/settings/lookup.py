"""Look up a name: among our settings and choices, among near names of ours, and among other trainers' names.

1. `settings_of_command` and `all_choices` list our names, read from the text of conf/.
2. `nearest` is the hint in an error: our name for a wrong name. `meant` finds our name.
3. `answer_to` finds another trainer's name in other_trainers.yaml. `note_on` says what differs in cse.

Nothing slow is imported.
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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

TABLE = Path(__file__).with_name("other_trainers.yaml")


class Entry(NamedTuple):
    """A setting, with its value and its comment, or a choice of a group.

    key, value: for a choice, its group and its name. name: the name for searches: a setting's key or a choice's name.
    choice: the GROUP=CHOICE that sets a setting; "" if every command has the setting.
    """

    key: str
    value: str
    comment: str
    name: str
    choice: str = ""


def all_choices(kind: Kind) -> Iterator[Entry]:
    """Each group's choices with their first sentences."""
    for group in groups(kind):
        for choice in choices(group):
            if choice != "default":
                yield Entry(group, choice, first_sentence(file_of(group, choice)), choice)


def settings_of_command(kind: Kind) -> Iterator[Entry]:
    """Every setting of a kind of command and of every choice of its groups."""
    own = settings_of_file(Path(CONF_DIR, f"{kind}.yaml"), "", "")
    yield from (setting for setting in own if setting.value != "{}")  # eval: {}, to which each evaluator adds its own
    for group in groups(kind):
        for choice in choices(group) if group not in GLOBAL_GROUPS else ():
            name = "" if choice == "default" else f"{group}={choice}"
            by_key: dict[str, Entry] = {}
            for file in included(file_of(group, choice)):
                by_key |= {setting.key: setting for setting in settings_of_file(file, group, name)}
            yield from by_key.values()


def settings_of_file(file: Path, group: str, choice: str) -> Iterator[Entry]:
    """The settings of one file, in order."""
    inside = "".join(f"{name}." for name in section_of(group, file)) if group else ""
    for key, value, comment in keys_of_text("\n".join(body(file))):
        dotted = inside + key
        is_hydras = dotted.startswith("hydra.") and dotted != "hydra.run.dir"
        if value and not is_hydras and not last_part(key).startswith("_"):
            yield Entry(dotted, value, comment, dotted, choice)


def keys_of_command(kind: Kind) -> dict[str, list[str]]:
    """Every group and setting of a kind of command, with the GROUP=CHOICEs that set it; "" if every command has it."""
    choices_by_key: dict[str, list[str]] = {group: [""] for group in groups(kind)}
    for setting in settings_of_command(kind):
        choices_by_key.setdefault(setting.key, []).append(setting.choice)
    return choices_by_key


# Near names


def nearest(name: str, ours: Collection[str]) -> str:
    """` (did you mean NAME?)` with our name for a wrong name, or ""."""
    return did_you_mean(meant(name, ours))


def did_you_mean(names: Sequence[str]) -> str:
    """` (did you mean NAME or NAME?)`, for the end of an error; "" without a name."""
    return f" (did you mean {' or '.join(names)}?)" if names else ""


def meant(name: str, ours: Collection[str]) -> list[str]:
    """Our names for a wrong name: the result of the first of GUESSES that finds one.

    Several choices if they share the name; [] if no name is near.
    """
    for guess in GUESSES:
        guesses = guess(name, ours)
        if guesses:
            return guesses
    return []


def of_another_trainer(name: str, ours: Collection[str]) -> list[str]:
    """`learning_rate` is another trainer's name for trainer.lr."""
    answer = answer_to(name, ours)
    return [answer.key] if answer and answer.key in ours else []


def of_a_choice(name: str, ours: Collection[str]) -> list[str]:
    """`table1` is nonling/table1 or whitenedcse/table1."""
    return [known for known in ours if known.endswith((f"/{name}", f"={name}"))]


def with_the_last_part(name: str, ours: Collection[str]) -> list[str]:
    """`trainer.mlm_weight` is objective.mlm_weight, if no other key ends so."""
    alike = [known for known in ours if last_part(known) == last_part(name.lower())]
    return alike if len(alike) == 1 else []


def begun(name: str, ours: Collection[str]) -> list[str]:
    """`trainer.accum` is trainer.accumulate, if no other key begins so."""
    longer = [known for known in ours if known.startswith(name.lower())]
    return longer if len(longer) == 1 else []


def with_more(name: str, ours: Collection[str]) -> list[str]:
    """`bert_base` is bert."""
    longest = max((known for known in ours if name.lower().startswith(f"{known}_")), key=len, default="")
    return [longest] if longest else []


def spelled_alike(name: str, ours: Collection[str]) -> list[str]:
    """`trainer.batchsize` is trainer.batch_size."""
    return difflib.get_close_matches(name.lower(), ours, 1, 0.6)


def with_a_last_part_alike(name: str, ours: Collection[str]) -> list[str]:
    """`trainer.temperature` is objective.temperature: only the last part is alike."""
    by_last = {last_part(known): known for known in ours}
    return [by_last[end] for end in difflib.get_close_matches(last_part(name.lower()), by_last, 1, 0.7)]


GUESSES = (of_another_trainer, of_a_choice, with_the_last_part, begun, with_more, spelled_alike, with_a_last_part_alike)
"""The ways to guess, the surest first."""


# Other trainers' names, in other_trainers.yaml


class Answer(NamedTuple):
    """A row of the table: a trainer's arguments with one meaning, our arguments for it, and the differences.

    type: one or more of our arguments; "" if nothing here corresponds. values: {pattern of a value: our arguments};
    None if our argument gets the value unchanged. kind, choose, default, times: see the top of the table.
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

    @property
    def first(self) -> str:
        """Our first argument: a KEY, or a KEY=VALUE."""
        return self.type.partition(" ")[0]

    @property
    def key(self) -> str:
        """The setting, or the group, of our first argument."""
        return self.first.partition("=")[0]

    def sentence(self) -> str:
        """Our arguments and the differences, for a terminal."""
        return ": ".join(part for part in (self.type, self.note.replace("`", "")) if part)

    def arguments_for(self, value: str) -> list[str] | None:
        """Our arguments for a value of the trainer's argument; None if only the note has them. value: "" for none."""
        if self.values is None:
            if "=" in self.type and value.lower() in ("false", "0"):  # a switch that is off
                return []
            return [text if "=" in text else f"{text}={value or 'true'}" for text in self.type.split()]
        for pattern, arguments in self.values.items():
            if re.fullmatch(pattern, value):
                return [text.replace("{}", value) for text in arguments.split()]
        return None


@cache
def trainers() -> dict[str, tuple[str, list[Answer]]]:
    """{trainer: (a sentence about the trainer, its rows)}, in the table's order."""
    import yaml

    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        trainer: (part["about"], [row(trainer, part, names) for names in part["arguments"]])
        for trainer, part in table.items()
    }


def row(trainer: str, part: Mapping[str, Any], names: str) -> Answer:
    """The row of these arguments in a trainer's part of the table. The note also has our arguments for plain values."""
    given = part["arguments"][names]
    columns: dict[str, Any] = {"type": given} if isinstance(given, str) else given
    values = {str(value): ours for value, ours in columns.get("values", {}).items()}
    named = [
        f"{value} is {' '.join(f'`{one}`' for one in ours.split())}"
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
    )


@cache
def rows_by_name() -> dict[str, list[Answer]]:
    """The rows of each name that a person may give: a trainer's argument, with its group and without.

    An argument without a note is left out if our setting has the same name.
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
    """The part of a dotted name after the last dot."""
    return name.rpartition(".")[2]


def simplified(name: str) -> str:
    """A name in the form for searches of the table: in lower case, with underscores for dashes and blanks."""
    return name.strip("-").lower().replace("-", "_").replace(" ", "_")


def answer_to(name: str, ours: Collection[str] = (), kind: Kind | None = None) -> Answer | None:
    """The row of a name, or of its last part if our setting has another name. None without a row.

    If there are several rows, a row for this kind of command comes first, then a row whose setting is in `ours`.
    """
    last = simplified(last_part(name))
    of_last = [answer for answer in rows_by_name().get(last, []) if last_part(answer.key) != last]
    rows = rows_by_name().get(simplified(name), of_last)
    order = sorted(rows, key=lambda answer: (answer.kind != kind, answer.key not in ours))
    return order[0] if order else None


def note_on(name: str, ours: Collection[str], kind: Kind) -> str:
    """The table's note on a name; "" if the table has only our name for it."""
    answer = answer_to(name, ours, kind)
    return answer.sentence() if answer and answer.note else ""


def sentences_with(word: str) -> list[str]:
    """The sentences of the table about trainers and arguments that contain a word."""
    whole = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)", re.IGNORECASE)
    sentences: list[str] = []
    for trainer, (about, rows) in trainers().items():
        about_it = f"{trainer}: {about.replace('`', '')}"
        if whole.search(about_it):
            sentences.append(about_it)
        sentences += [answer.sentence() for answer in rows if whole.search(answer.note)]
    return sentences


def value_here(setting: str, value: str) -> str:
    """Our value of a setting for another trainer's value; "" if no note gives it."""
    pattern = re.compile(rf"(?<!\w){re.escape(value)}`? is `(?:\w+\.)*{re.escape(setting)}=(\w+)`")
    for _, rows in trainers().values():
        for answer in rows:
            match = pattern.search(answer.note)
            if match and last_part(answer.key) == setting:
                return match[1]
    return ""
