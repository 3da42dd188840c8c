"""The names of settings and of folders of runs, as tables write them.

`short_names` names the columns of a table and `format_settings` fills its cells. `label_of` names a whole setting, and
`folders_below` the folders of its runs. All these names may be given on the command line
(cse.lab.report.any_runs.typed_names).
"""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from cse.lab.folder.runs import Run
from cse.lab.report.formats import first_few
from cse.lab.report.numbers.keys_that_differ import NAMES
from cse.lab.settings.arguments import quoted
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import format_value, in_one_form, number_in

OWN_COLUMNS = ("done", "runs", "folder", "partial", "remarks", "difference", "p", "equivalent", "seeds", "n")
"""The columns of tables that are not keys. No key gets one of these names as its short name."""


def short_names(keys: Sequence[str], dot: str = ".", taken: Collection[str] = ()) -> dict[str, str]:
    """{key: its shortest ending that no other key has}: trainer.lr is lr.

    dot: the separator of a key's parts. taken: endings that already name something else.
    """
    names = [*keys, *taken]

    def is_alone(ending: str) -> bool:
        return sum((dot + name).endswith(dot + ending) for name in names) == 1

    shortened = {}
    for key in keys:
        parts = key.split(dot)
        endings = (dot.join(parts[-count:]) for count in range(1, len(parts) + 1))
        shortened[key] = next(filter(is_alone, endings), key)
    return shortened


def format_settings(runs: Sequence[Run], key: str) -> list[str]:
    """The value of each run at a key, in the form for tables.

    If different paths would look the same, each is shortened to its shortest unique ending.
    """
    texts = [format_setting(run, key) for run in runs]
    paths = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) >= len(set(paths)):
        return texts
    endings = short_names(list(dict.fromkeys(paths)), "/")
    return [endings[path] for path in paths]


def format_setting(run: Run, key: str) -> str:
    """A run's value in the form for tables; "" for no value. Text that looks like null or a number is in quotes."""
    if not run.has(key):
        return ""
    value = run.get(key)
    if key in NAMES:
        return format_value(value)  # whole: several papers have a figure3
    is_name = role_of(key).is_verbatim or key in run.choices
    return quoted(value) if isinstance(value, str) and not is_name and is_misread(value) else format_short(value)


def is_misread(text: str) -> bool:
    """Whether a text looks like null, true, false or a number, but is text."""
    return text.lower() in ("null", "true", "false") or (number_in(text) is not None and in_one_form(text) == text)


def format_short(value: object) -> str:
    """A value in the form of the command line. A path is shortened to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def label_of(run: Run, names: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """The label of a setting, its values: lr=3e-05, model=bert; "all" without keys.

    run: any run of the setting. names: {dotted key: its short name}. texts: the values in the form for tables, by
    dotted key; "" for no value.
    """
    values = [f"{name}={in_label(run.get(key), texts[key])}" for key, name in names.items() if texts[key] != ""]
    return ", ".join(values) or "all"


SPLITS = re.compile(r"[,=\[\]{}]|^['\"]")
"""Signs at which a reader of a label would split a value."""


def in_label(value: object, text: str) -> str:
    """A value in the form for labels: in quotes if the label would otherwise be split inside the value."""
    return quoted(text) if isinstance(value, str) and SPLITS.search(text) and text != quoted(value) else text


PLAIN = re.compile(r"[^']*('[\w./:@%+-]*'[^']*)*")
"""A text that a shell reads as one word if it is put in quotes, though it has pairs of quotes inside."""


def in_shell(label: str) -> str:
    """A label as one argument for a shell.

    If the texts inside the label's own quotes need no quotes in a shell, plain quotes go around the label:
    'targets=['query']'.
    """
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    holding = [folder for folder in folders if run.folder.is_relative_to(folder)]
    return max(holding, key=lambda folder: len(folder.parts))


def folder_below(run: Run, folders: Iterable[Path]) -> str:
    """The name of a run's folder in tables: the path below the searched folder. folders: all searched folders."""
    searched = innermost_folder(run, folders)
    return str(run.folder.relative_to(searched) if run.folder != searched else searched)


def folders_below(runs: Sequence[Run], folders: Sequence[Path]) -> str:
    """The folders of a setting's runs in one cell: the common beginning of all names with a *, else the first few
    names.
    """
    names = [folder_below(run, folders) for run in runs]
    if len(names) == 1:
        return names[0]
    shared = common_beginning(names)
    return f"{shared}*" if shared else first_few(names)


def common_beginning(names: Sequence[str]) -> str:
    """The letters with which all names begin."""
    first, last = min(names), max(names)  # the two that differ soonest
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
