"""Why the dotted name of a `_target_` leads nowhere, in words for whoever wrote it."""

import sys
from pathlib import Path

from cse.config.compose import nearest


def why_not_imported(target: str, error: Exception) -> str:
    """One sentence for Hydra's error about a target: what is missing, and what to do.

    The target is a module's attribute; the module may be missing, lack the attribute, or fail as it is imported.
    """
    cause = error.__cause__
    module, _, name = target.rpartition(".")
    if (
        not isinstance(cause, ModuleNotFoundError)
        or cause.name is None
        or not f"{target}.".startswith(f"{cause.name}.")
    ):
        return f"it cannot be imported: {cause!r}" if cause else "it is no dotted name of a class or a function"
    if cause.name == target and module in sys.modules:
        public = [known for known in vars(sys.modules[module]) if not known.startswith("_")]
        return f"{module} has no {name}{nearest(name, public)}"
    top = cause.name.partition(".")[0]
    if top in sys.modules:
        return f"there is no module {cause.name}"
    if Path(top).is_dir() or Path(f"{top}.py").is_file():
        return f"the module {top} lies here, and is not looked for here: put PYTHONPATH=. before the command"
    return f"there is no module {top}: PYTHONPATH=FOLDER names the folder that holds it, or install it with pip"
