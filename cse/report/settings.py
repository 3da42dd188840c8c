"""In which settings runs differ, and what each is called in few words: the columns of a comparison."""

from collections.abc import Iterable, Sequence

from cse.config.keys import is_science
from cse.record.runs import Run, plain, varying


def differing(runs: Sequence[Run], seed: str) -> list[str]:
    """The dotted keys, and groups, that tell the runs apart but for their seed, those that somebody typed first.

    A key that nobody typed stands here only where the others leave something unsaid, so that what follows from a typed
    value (a recipe's settings, `schedule_steps: ${trainer.max_steps}`, `data.seed: ${seed}`) is not said again.
    """
    typed = [key for key in typed_keys(runs) if counts(key, seed) and not follows(runs, [], key)]
    cases = [key for key in typed if key == "case"]  # a sweep's case is the name of several settings at once

    def named_by_case(key: str) -> bool:
        known = [*cases, seed] if key == "checkpoint" else cases  # each seed's run is a checkpoint of its own
        return bool(cases) and follows(runs, known, key)

    chosen = cases + [key for key in typed if key not in cases and not named_by_case(key)]
    for key in varying(list(runs), seed):
        if counts(key, seed) and key not in chosen and not follows(runs, [*chosen, seed], key):
            chosen.append(key)
    return chosen


def counts(key: str, seed: str) -> bool:
    """Whether a key may be a column."""
    return key != seed and is_science(key)


def typed_keys(runs: Iterable[Run]) -> list[str]:
    """Every key on the runs' command lines, without Hydra's signs (+key, ~key)."""
    words = (override.partition("=")[0] for run in runs for override in run.overrides)
    return list(dict.fromkeys(word.lstrip("+") for word in words if not word.startswith("~")))


def follows(runs: Iterable[Run], keys: Sequence[str], key: str) -> bool:
    """Whether runs that are alike in `keys` are alike in `key` too: its value then follows from theirs."""
    seen: dict[str, str] = {}
    for run in runs:
        value = repr(plain(run.get(key)))
        if seen.setdefault(repr([plain(run.get(one)) for one in keys]), value) != value:
            return False
    return True


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """{key: the fewest of its last words that no other key ends with}: trainer.lr is lr."""
    names = {}
    for key in keys:
        words = key.split(".")
        ends = (".".join(words[-count:]) for count in range(1, len(words) + 1))
        names[key] = next((end for end in ends if sum(f".{one}".endswith(f".{end}") for one in keys) == 1), key)
    return names


def shown(value: object) -> str:
    """A value as the command line writes it; of a path its end."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or value == "None":  # Hydra's name for no choice of a group
        return "null"
    return value.rpartition("/")[2] if isinstance(value, str) else str(value)
