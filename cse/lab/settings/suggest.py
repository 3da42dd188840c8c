"""What a word may have meant: another trainer's name for a setting of ours, or a near spelling."""

import difflib
from collections.abc import Collection, Sequence

from cse.lab.settings.other_trainers import answer_to


def topic(word: str, known: Collection[str] = ()) -> str | None:
    """What the table of other trainers' arguments says about a word; None if it says nothing beyond our name for it."""
    answer = answer_to(word, known)
    return answer.sentence() if answer and answer.note else None


def by_other_trainers(name: str, known: Collection[str]) -> str | None:
    """The known setting that another trainer calls by this name, or None."""
    answer = answer_to(name, known)
    return answer.key if answer and answer.key in known else None


def meant(name: str, known: Sequence[str]) -> str:
    """The known name that a word meant: what another trainer calls so; else what is spelled most like it, or whose last
    part is, or what alone begins so. "" if none is near."""
    if ours := by_other_trainers(name, known):
        return ours
    name = name.lower()
    last = name.rpartition(".")[2]
    by_last = {one.rpartition(".")[2]: one for one in known}
    same = [one for one in known if one.rpartition(".")[2] == last]
    begun = [one for one in known if one.startswith(name)]
    if len(same) == 1:
        return same[0]
    if len(begun) == 1:
        return begun[0]
    if close := difflib.get_close_matches(name, known, 1, 0.6):
        return close[0]
    return "".join(by_last[end] for end in difflib.get_close_matches(last, list(by_last), 1, 0.7))


def nearest(name: str, known: Sequence[str]) -> str:
    """` (did you mean KEY?)` with the known name that a word meant, or ""."""
    inside = [one for one in known if one.endswith((f"/{name}", f"={name}"))]  # TABLE of PAPER/TABLE
    guess = by_other_trainers(name, known) or " or ".join(inside) or meant(name, known)
    return f" (did you mean {guess}?)" if guess else ""
