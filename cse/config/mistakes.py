"""Sentences for mistakes on a line: an error of Hydra's in our words, a key or a choice that does not exist."""

import re
from collections.abc import Sequence

from cse.config.groups import choices, groups
from cse.config.search import keys
from cse.config.suggest import TOPICS, meant, nearest

INSTEAD = {
    "model": "any encoder of the hub, or a folder, is model.name={}",
    "data": "a file of yours, or a hub dataset, is data=text data.path={}",
}
"""What a group offers beside its choices."""


def explain(error: Exception, words: Sequence[str], command: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: its own, unless that names neither key nor choices."""
    from hydra.errors import OverrideParseException

    text = str(error).partition("Config search path")[0]
    if refused := re.match("UserError raised while resolving interpolation: (.*)", text):
        return refused[1]
    if match := re.search(r"(?:Could not override '|is not in struct\s+full_key: )([^'\s]+)", text):
        return no_key(match[1], command)
    if match := re.search(r"Could not (?:find|load) '(?!hydra/)([^'/]+)/([^']+)'", text):
        return no_choice(match[1], match[2])
    if match := re.search(r"Could not find '(hydra/\w+)/([^']+)'\s+Available options in [^:]*:(.*)", text, re.DOTALL):
        return f"{match[1]}={match[2]} is not a choice; it has {', '.join(match[3].split())}"
    if "does not support sweep type" in text:
        ranges = [word for word in words if "interval(" in word]
        return f"{' '.join(ranges)}: a range needs a search: hydra/sweeper=smac"
    if isinstance(error, OverrideParseException):
        choosing = [f"{group}={one}" for group in groups(command) for one in choices(group)]
        bare = "" if "=" in error.override else nearest(error.override, [*keys(command), *choosing])
        return f"{error.override} cannot be read; a setting is KEY=VALUE, a list KEY=[A,B], text KEY='\"A, B\"'{bare}"
    own = text.partition("See https")[0]
    return "; ".join(line.strip() for line in own.splitlines() if line.strip() and "object_type=" not in line)


def no_key(key: str, command: str) -> str:
    """The message for a key that the line's choices lack: which choices have it, or the nearest key."""
    known = keys(command)
    having = known.get(meant(key, known) or key, ())
    if having and "" not in having:
        return f"there is no key {key}; {meant(key, known) or key} belongs to {', '.join(having)}"
    alike = re.compile(rf"eval\.\w+\.{re.escape(key.rpartition('.')[2])}")
    if key.startswith("eval.") and (own := list(filter(alike.fullmatch, known))):
        return f"there is no key {key}; there is {', '.join(own)}"
    return f"there is no key {key}" + (f"; {TOPICS[key]}" if key in TOPICS else nearest(key, list(known)))


def no_choice(group: str, choice: str) -> str:
    """The message for a choice that the group lacks: the nearest one, and all that it has."""
    is_own = group in INSTEAD and re.search(r"[-/.]", choice)  # looks like a file, a folder or a name on the hub
    hint = f"; {INSTEAD[group].format(choice)}" if is_own else nearest(choice, choices(group))
    return f"{group}={choice} is not a choice{hint}; it has {', '.join(choices(group))}"
