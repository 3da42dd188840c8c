"""The names of settings and of folders of runs, as tables write them.

`short_names` names the columns of a table. `format_settings` fills the cells. `label_of` names a whole setting.
`folders_below` names the folders of a setting's runs. The command line accepts all these names
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
    """Return {key: its shortest ending that no other key has}: lr for trainer.lr.

    dot: the separator of a key's parts. taken: names that no ending may equal.
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
    """Return the value of each run at a key, as tables show it.

    If different paths would look the same, each path is shortened to its shortest unique ending.
    """
    texts = [format_setting(run, key) for run in runs]
    paths = [format_value(run.get(key)).removesuffix("/best") if run.has(key) else "" for run in runs]
    if len(set(texts)) >= len(set(paths)):
        return texts
    endings = short_names(list(dict.fromkeys(paths)), "/")
    return [endings[path] for path in paths]


def format_setting(run: Run, key: str) -> str:
    """Return a run's value as tables show it; "" for no value. A text that looks like null or a number is in quotes."""
    if not run.has(key):
        return ""
    value = run.get(key)
    if key in NAMES:
        return format_value(value)  # not shortened: several papers have a figure3
    is_name = role_of(key).is_verbatim or key in run.choices
    return quoted(value) if isinstance(value, str) and not is_name and is_misread(value) else format_short(value)


def is_misread(text: str) -> bool:
    """Return whether a string looks like null, true, false or a number."""
    return text.lower() in ("null", "true", "false") or (number_in(text) is not None and in_one_form(text) == text)


def format_short(value: object) -> str:
    """Return a value as on the command line. A path is shortened to its last part."""
    if isinstance(value, float):
        return f"{value:g}"
    return value.removesuffix("/best").rpartition("/")[2] if isinstance(value, str) else format_value(value)


def label_of(run: Run, names: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Return the label of a setting, such as "lr=3e-05, model=bert"; "all" without keys.

    run: any run of the setting. names: {dotted key: its short name}. texts: {dotted key: its value as tables show it;
    "" for no value}. The text of a key that the run lacks is the name of an encoder without training.
    """
    values = [
        f"{name}={in_label(run.get(key), texts[key])}" if run.has(key) else texts[key]
        for key, name in names.items()
        if texts[key] != ""
    ]
    return ", ".join(values) or "all"


def name_of_untrained(run: Run) -> str:
    """Return the name of the encoder that cse-eval scored without training; "" for any other run.

    The name is `label=`; without a label, the model, with its pooling if the command gave one.
    """
    if run.program != "cse-eval" or run.get("checkpoint") or run.get("model.name") is None:
        return ""
    pooling = run.get("pooling")
    named = f"untrained {format_short(run.get('model') or run.get('model.name'))}"
    return str(run.get("label") or (f"{named} ({pooling} pooling)" if pooling else named))


SPLITS = re.compile(r"[,=\[\]{}]|^['\"]")
"""The characters at which the parser of a label would split a value."""


def in_label(value: object, text: str) -> str:
    """Return a value as labels show it: in quotes if the parser of a label would split the value."""
    return quoted(text) if isinstance(value, str) and SPLITS.search(text) and text != quoted(value) else text


PLAIN = re.compile(r"[^']*('[\w./:@%+-]*'[^']*)*")
"""A text that, put in single quotes, is one word for a shell. The text may itself have pairs of single quotes."""


def in_shell(label: str) -> str:
    """Return a label as one argument for a shell.

    If the texts inside the label's own quotes need no quotes in a shell, the result is the label between single quotes:
    'targets=['query']'.
    """
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """Return the innermost of these folders that holds the run."""
    holding = [folder for folder in folders if run.folder.is_relative_to(folder)]
    return max(holding, key=lambda folder: len(folder.parts))


def folder_below(run: Run, folders: Iterable[Path]) -> str:
    """Return a run's folder as tables show it: its path below the searched folder. folders: all searched folders."""
    searched = innermost_folder(run, folders)
    return str(run.folder.relative_to(searched) if run.folder != searched else searched)


def folders_below(runs: Sequence[Run], folders: Sequence[Path]) -> str:
    """Return the folders of a setting's runs as one text: their common beginning and a *, or the first few names."""
    names = [folder_below(run, folders) for run in runs]
    if len(names) == 1:
        return names[0]
    shared = common_beginning(names)
    return f"{shared}*" if shared else first_few(names)


def common_beginning(names: Sequence[str]) -> str:
    """Return the letters with which all names begin."""
    first, last = min(names), max(names)  # no two names differ earlier than these two
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
