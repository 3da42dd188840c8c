"""What a shell offers for GROUP=: every choice, sweeps and own ones included, at once. The rest is Hydra's to complete.

Hydra's own completion reads the folders of conf/ alone: it knows neither the folder of sweeps nor CSE_CONF, offers the
files that are only included by others, and takes the / in PAPER/TABLE for a path.
"""

import os
from collections.abc import Mapping, Sequence


def completions(offered: Mapping[str, list[str]], arguments: Sequence[str]) -> list[str] | None:
    """What may stand where the cursor is; None where it is not the value of a group, or no shell asks.

    offered: the choices of each group. The shell gives its line in COMP_LINE.
    """
    if not any(argument.startswith("query=") for argument in arguments):
        return None
    word = os.environ.get("COMP_LINE", "").rpartition(" ")[2]
    group, equals, begun = word.partition("=")
    if not equals or group not in offered:
        return None
    before, comma, last = begun.rpartition(",") if group == "eval" or "," in begun else ("", "", begun)
    opened = "[" if last.startswith("[") else ""
    typed = f"{group}={before}{comma}{opened}"
    return [f"{typed}{choice}" for choice in offered[group] if choice.startswith(last.removeprefix("["))]
