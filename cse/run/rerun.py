"""`rerun=FOLDER`: check that the new run learns from the same bytes as that run, but for what the line changes."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from cse.config.keys import is_science
from cse.dotted import Config, flattened
from cse.errors import UserError
from cse.record.results import code_digest
from cse.record.runs import read_run
from cse.run.resume import Origin, settings_of

if TYPE_CHECKING:  # importing torch is slow
    from cse.training.loop import Training

log = logging.getLogger("cse")

READ_BY = ("data", "augmentation", "aux_modality", "model", "objective")
"""The groups whose settings decide what a run reads: if one was changed, the inputs may be others."""

READ_WITH = {"model.": "model.name", "objective.teacher_pooling": "objective.teacher="}
"""Settings that change the digest of an input even if its files are the same: {key: the input's name}."""


def check_same_inputs(config: Config, training: "Training") -> None:
    """Raise UserError, naming the first, if an input's bytes are not those of the run that is run again.

    A file of another name is what the line asked for; the same file with other content is refused.
    """
    from cse.training.checkpoint import explain_damage, read_about, state_of
    from cse.training.settings import CONFIGURATION, WEIGHTS

    if config["rerun"] is None:
        return
    folder = Path(config["rerun"])
    about = read_about(folder)
    if "inputs" not in about:
        log.warning(
            "rerun      %s does not record what it learned from (no last/): its inputs are not compared", folder
        )
        return
    with explain_damage(folder):
        state_of(about)
    then, now = flattened(settings_of(Origin("rerun", folder))), flattened(config)
    changed = {key for key in then.keys() | now.keys() if is_science(key) and then.get(key) != now.get(key)}
    differ = [name for name, digest in about["inputs"].items() if training.inputs.get(name, digest) != digest]
    if not {key.partition(".")[0] for key in changed} & set(READ_BY):
        of_newer_runs = {CONFIGURATION, WEIGHTS}
        differ += sorted((about["inputs"].keys() ^ training.inputs.keys()) - of_newer_runs)
    meant = [name for key, name in READ_WITH.items() if any(one.startswith(key) for one in changed)]
    differ = [name for name in differ if not any(one in name for one in meant)]
    for name, files in about.get("dev_data", {}).items():
        present = training.dev_data.get(name, {})
        differ += [f"{file} of eval={name}" for file, known in files.items() if present.get(file, known) != known]
    if differ:
        more = f" and {len(differ) - 1} more" if len(differ) > 1 else ""
        raise UserError(
            f"rerun={folder}: {differ[0]}{more} changed since that run: put back what was there, or start a new run"
        )
    log.info("rerun      %s: the same %d inputs, by digest", folder, len(about["inputs"]))
    before = read_run(folder).results
    if before.get("code") != code_digest():
        log.warning(
            "rerun      the code is not that run's, of commit %s: other numbers may come", before.get("git_commit")
        )
