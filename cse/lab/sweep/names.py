"""The names of folders: of a job, and of all jobs of a command.

A job's name has arguments in short, for the eye, and then a hash: seed_1-0a1b2c3d. Only the hash decides: two commands
that mean the same job give the same hash, and a job that is done is not run again. The hash is over arguments, in any
order:

    a job of a sweep      the arguments of its case and of its command that decide its numbers
    a job of no sweep     the arguments of its command that decide its numbers, and its program

names_a_job of cse.lab.settings.roles.Role says which keys decide a job's numbers. The axes of a command decide as well,
so that two of its jobs never share a folder.

The jobs of a sweep lie in runs/PAPER/TABLE. The jobs of a command without a sweep lie in multirun/AXES-SETTINGS-HASH.
That hash is over the program, the axes' keys and every other argument that decides, so a longer axis (seed=1,2,3
instead of seed=1,2) keeps the folder.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from cse.lab.settings.arguments import Argument
from cse.lab.settings.roles import role_of

SLUG = 80
"""The most characters of a folder's name before its hash."""


def decisive(arguments: Iterable[Argument], axis_keys: Sequence[str]) -> list[Argument]:
    """The arguments that decide a job's numbers, and its command's axes."""
    return [argument for argument in arguments if role_of(argument.key).names_a_job or argument.key in axis_keys]


def folder_name(shown: Sequence[Argument], hashed: Iterable[str], first: str = "") -> str:
    """A folder's name: `first`, the arguments `shown` in short, and the hash of others."""
    lasts = [argument.key.split(".")[-1] for argument in shown]
    parts = [first] if first else []
    for last, argument in zip(lasts, shown, strict=True):
        value = argument.value.rpartition("/")[2].strip("[]{}'\"") or "none"  # the last part of a path is enough
        parts.append(f"{last if lasts.count(last) == 1 else argument.key}_{value}")
    text = as_file_name("-".join(parts)) or "run"
    return f"{text[:SLUG]}-{hash_of(hashed)}"


def existing_name(folder: Path, name: str, case: str = "", cases: Iterable[str] = ()) -> str:
    """The name of the job's folder in `folder`, which has the same hash; without such a folder the name itself.

    Another command may have shown other arguments. case: the job's case, one of the sweep's `cases`, which may share a
    hash.
    """
    hashed = name.rpartition("-")[2]
    names = [path.name for path in folder.glob(f"*-{hashed}") if case_in_name(path.name, cases) == as_file_name(case)]
    return min(names) if names and name not in names else name


def case_in_name(name: str, cases: Iterable[str]) -> str:
    """The case at the beginning of a folder's name; "" for none. Of `more` and `more-data` it is the longer."""
    longest = ""
    for case in map(as_file_name, cases):
        if name.startswith(f"{case}-") and len(case) > len(longest):
            longest = case
    return longest


def as_file_name(text: str) -> str:
    """The text without what a folder's name cannot have."""
    return re.sub(r"[^\w.+-]+", "_", text)


def hash_of(texts: Iterable[str]) -> str:
    """Eight hexadecimal digits that identify texts in any order."""
    return hashlib.sha1(" ".join(sorted(texts)).encode()).hexdigest()[:8]
