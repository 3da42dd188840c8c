"""What a word may have meant: another trainer's name for a setting of ours, or a near spelling.

`nearest` is the hint in a refusal, `meant` the name in it: the first of GUESSES that has one.
"""

import difflib
from collections.abc import Collection, Sequence

from cse.lab.settings.other_trainers import answer_to, last_part


def topic(word: str, known: Collection[str] = ()) -> str | None:
    """What the table of other trainers' arguments says about a word; None if it says nothing beyond our name for it."""
    answer = answer_to(word, known)
    return answer.sentence() if answer and answer.note else None


def nearest(name: str, known: Sequence[str]) -> str:
    """` (did you mean KEY?)` with the known name that a word meant, or ""."""
    guess = meant(name, known)
    return f" (did you mean {guess}?)" if guess else ""


def meant(name: str, known: Sequence[str]) -> str:
    """The known name that a word meant; "" if none is near."""
    return next((guess for look in GUESSES if (guess := look(name, known))), "")


def of_another_trainer(name: str, known: Sequence[str]) -> str:
    """`learning_rate` is trainer.lr elsewhere."""
    answer = answer_to(name, known)
    return answer.key if answer and answer.key in known else ""


def of_a_choice(name: str, known: Sequence[str]) -> str:
    """`table1` is nonling/table1 or whitenedcse/table1."""
    return " or ".join(one for one in known if one.endswith((f"/{name}", f"={name}")))


def with_the_last_part(name: str, known: Sequence[str]) -> str:
    """`trainer.mlm_weight` is objective.mlm_weight, if no other key ends so."""
    same = [one for one in known if last_part(one) == last_part(name.lower())]
    return same[0] if len(same) == 1 else ""


def begun(name: str, known: Sequence[str]) -> str:
    """`trainer.accum` is trainer.accumulate, if no other key begins so."""
    found = [one for one in known if one.startswith(name.lower())]
    return found[0] if len(found) == 1 else ""


def spelled_alike(name: str, known: Sequence[str]) -> str:
    """`trainer.batchsize` is trainer.batch_size."""
    return "".join(difflib.get_close_matches(name.lower(), known, 1, 0.6))


def with_a_last_part_alike(name: str, known: Sequence[str]) -> str:
    """`trainer.temperature` is objective.temperature, which is not spelled like it as a whole."""
    by_last = {last_part(one): one for one in known}
    return "".join(by_last[end] for end in difflib.get_close_matches(last_part(name.lower()), list(by_last), 1, 0.7))


GUESSES = (of_another_trainer, of_a_choice, with_the_last_part, begun, spelled_alike, with_a_last_part_alike)
"""The ways to guess what a word meant, the surest first."""
