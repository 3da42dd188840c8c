"""What a person may have meant by a word that names no setting: standard library only."""

import re
from pathlib import Path

from cse.config.groups import choices, groups
from cse.config.search import settings
from cse.config.synonyms import meant

OWN = {
    "model": "any encoder of the hub, or a folder, is model.name={}",
    "data": "a file of yours, or a hub dataset, is data=text data.path={}",
}
"""What a group takes beside its choices."""


def elsewhere(key: str, config_name: str) -> str:
    """The words `it belongs to GROUP=CHOICE` for a key that only other choices have, or nothing."""
    ours = meant(key, [one.key for one in settings(config_name)]) or key
    having = list(dict.fromkeys(one.choice for one in settings(config_name) if one.key == ours and one.choice))
    named = f"{ours} belongs" if ours != key else "it belongs"
    return f"; {named} to {', '.join(having)}" if having else ""


def newest_run(folder: Path) -> str:
    """The words that name the newest run in a folder of runs, as outputs/ or outputs/DATE, or nothing."""
    runs = [*folder.glob("*/.hydra"), *folder.glob("*/*/.hydra")]
    return f"; the newest run in it is {max(runs, key=lambda run: run.stat().st_mtime).parent}" if runs else ""


def of_ones_own(group: str, choice: str) -> str:
    """The words that say what else a group takes, for a name that looks like a file, a folder or the hub's; and which
    group has the choice that this one lacks."""
    if group in OWN and re.search(r"[-/.]", choice):
        return f"; {OWN[group].format(choice)}"
    others = [other for other in groups("train") if choice in choices(other)]
    return f"; did you mean {others[0]}={choice}?" if others else ""
