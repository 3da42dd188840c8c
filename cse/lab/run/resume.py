"""`resume=FOLDER` and `rerun=FOLDER`: a run that begins with the settings of an earlier run. Read in this order:

    earlier_run            returns the run that the arguments name
    config_of_run          returns the config: the run's settings (recorded_settings) override the settings of conf/
                           for the same choices (laid_over), and the arguments override both (override)
    complete_arguments     returns arguments that would start this run without naming the earlier run
    log_ignored_variables  logs the environment variables that this run ignores
    resume_hint            returns how to continue a stopped run

When all parts are built, check_resumed or check_repeated (cse.lab.run.unchanged) compares the inputs with the record in
the folder. Hydra composes nothing from the folder, and a reference in run.yaml is refused: no code there is executed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from cse.errors import UserError
from cse.lab.folder.contents import RUN, read_run_file
from cse.lab.folder.runs import newest_run, read_run
from cse.lab.folder.status import line_to_resume
from cse.lab.run.code_in_settings import call_with, functions_in, refuse_foreign_parts
from cse.lab.run.job import Job
from cse.lab.run.run_log import log_fields
from cse.lab.settings.arguments import RUN_ALONE, Argument, shell_line, spell_argument, texts_of, values_of
from cse.lab.settings.compose import complete_sources, composed, without_hydra
from cse.lab.settings.groups import Kind, choices, file_of, groups, is_group
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.references import VARIABLE, fill_in_environment, resolved, written_values
from cse.lab.settings.roles import keys_with
from cse.lab.settings.values import PlainConfig, flattened, nodes_in
from cse.ranges import Mark


class EarlierRun(NamedTuple):
    """A run that an argument names.

    key: "resume" continues the run, "rerun" repeats it in a new folder, and "checkpoint" (of cse-eval) scores it.
    """

    key: Literal["resume", "rerun", "checkpoint"]
    folder: Path

    def __str__(self) -> str:
        """Return the argument KEY=FOLDER."""
        return f"{self.key}={self.folder}"


def earlier_run(arguments: Sequence[Argument], kind: Kind) -> EarlierRun | None:
    """Return the run that the arguments resume or repeat; None for a new run, for resume=auto, and for cse-eval.

    Raises UserError if the arguments name two runs.
    """
    values = values_of(arguments) if kind == "train" else {}
    resume, rerun = values.get("resume", ""), values.get("rerun", "")
    continued = EarlierRun("resume", Path(resume)) if resume not in ("", "null", "auto") else None
    repeated = EarlierRun("rerun", Path(rerun)) if rerun not in ("", "null") else None
    if continued and repeated:
        raise UserError(f"{continued} continues a run, and {repeated} starts a new run: give only one of them")
    return continued or repeated


def config_of_run(run: EarlierRun, arguments: Sequence[Argument]) -> DictConfig:
    """Return the config of an earlier run, changed by the arguments. Only the arguments decide the node `hydra`.

    Raises UserError for a folder without a run, recorded settings with references, a part that is neither in conf/ nor
    in the arguments, an argument that is a choice, and a key that the config lacks.
    """
    recorded = recorded_settings(run)
    refuse_what_is_set(run, recorded, arguments)
    chosen = [*recorded_choices(recorded), *texts_of(arguments_about_folder(run, arguments))]
    with explaining([*chosen, *texts_of(arguments)], "train"):  # a hint for a key depends on the run's choices
        fresh = composed("train", chosen)
        config = laid_over(fresh, recorded)
        if run.key == "rerun":
            config.rerun = str(run.folder)
        elif run.key == "resume":
            config.resume = "auto"
        override(config, [argument for argument in arguments if not is_about_start(argument)])
        complete_sources(config)
        fill_in_environment(config)
    refuse_foreign_parts(str(run), config, fresh, texts_of(arguments))
    return config


def recorded_settings(run: EarlierRun) -> PlainConfig:
    """Return the settings in a run's run.yaml. Raises UserError if the file has no settings or has a reference."""
    file = run.folder / RUN
    if not run.folder.exists():
        raise UserError(f"{run}: there is no such folder")
    if not file.is_file():
        raise UserError(f"{run}: this folder has no {RUN}, so it is not a run{newest_run(run.folder)}")
    try:
        settings = read_run_file(file)["config"]
        if not all(isinstance(settings.get(key), dict) for key in ("trainer", "data")):
            raise ValueError("no settings of cse-train")
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({error}): restore it from a copy, or start a new run") from error
    for key, value in nodes_in(settings):
        if isinstance(value, str) and "${" in value:
            raise UserError(f"{file}: {key}={value} is a reference, but a run's settings are values: write the value")
    return settings


def is_about_start(argument: Argument) -> bool:
    """Return whether an argument names the earlier run or is for Hydra. All other arguments change settings."""
    return argument.key in ("resume", "rerun") or argument.key.startswith("hydra")


def refuse_what_is_set(run: EarlierRun, recorded: PlainConfig, arguments: Sequence[Argument]) -> None:
    """Raise UserError for an argument that is a choice or that changes smoke: both need a new run."""
    for argument in arguments:
        if is_group(argument.key) and not is_about_start(argument):
            raise UserError(f"{argument} is a choice, but {run} accepts only single keys: start a new run")
        if argument.key == "smoke" and argument.parsed is not bool(recorded.get("smoke")):
            complete = complete_arguments(run, arguments)
            if "sweep" not in values_of(complete):  # only the command of a sweep's job needs RUN_ALONE
                complete = [argument for argument in complete if argument != RUN_ALONE]
            anew = shell_line("cse-train", *texts_of(complete))
            raise UserError(f"{argument} cannot change {run}: a run's data and sizes are fixed; for a new run: {anew}")


def recorded_choices(recorded: PlainConfig) -> list[str]:
    """Return GROUP=CHOICE of each recorded choice that conf/ still has."""
    made = flattened(recorded)
    texts = []
    for group in groups("train"):
        known = [name for name in str(made.get(f"choices.{group}")).split(",") if name in choices(group)]
        if len(known) == 1:
            texts.append(f"{group}={known[0]}")
        elif known:
            texts.append(f"{group}=[{','.join(known)}]")
    return texts


def arguments_about_folder(run: EarlierRun, arguments: Sequence[Argument]) -> list[Argument]:
    """Return Hydra's arguments: for a repeated run also resume=, for a resumed run without hydra.run.dir."""
    of_hydra = [argument for argument in arguments if argument.key.startswith("hydra")]
    if run.key == "rerun":  # with resume=auto, a later start continues the new run in the new run's folder
        return [*of_hydra, *(argument for argument in arguments if argument.key == "resume")]
    return [argument for argument in of_hydra if argument.key != "hydra.run.dir"]


def laid_over(fresh: DictConfig, recorded: PlainConfig) -> DictConfig:
    """Return the config of recorded settings, with some values of `fresh`.

    fresh: the config that conf/ gives for the run's choices. `fresh` gives the settings that each start decides anew.
    `fresh` also replaces each recorded folder of `paths` that does not exist here.
    """
    config = OmegaConf.create({**recorded, "hydra": fresh.hydra})
    config.trainer = {**resolved(fresh.trainer), **recorded["trainer"]}  # fresh has keys that are newer than the run
    restore_references(config, fresh)
    for key in keys_with(Mark.ONCE, resolved(without_hydra(fresh))):
        OmegaConf.update(config, key, OmegaConf.select(fresh, key))
    for name, here in fresh.paths.items():
        place = OmegaConf.select(config, f"paths.{name}")
        if here and place and not Path(place).expanduser().exists():
            config.paths[name] = here
    return config


def restore_references(config: DictConfig, fresh: DictConfig) -> None:
    """Restore each reference of conf/ that still gives the recorded value.

    A run records values without references: eval.stsb.senteval has the value of paths.senteval. With the reference,
    eval.stsb.senteval follows a new value of paths.senteval.
    """
    for key, reference in written_values(without_hydra(fresh)).items():
        own = OmegaConf.select(config, key, default=reference)
        if "${" not in str(reference) or own == reference:
            continue
        OmegaConf.update(config, key, reference)
        with suppress(OmegaConfBaseException):  # for a reference to a key or variable that does not exist here
            if OmegaConf.select(config, key) == own:
                continue
        OmegaConf.update(config, key, own, merge=False)


def override(config: DictConfig, arguments: Sequence[Argument]) -> None:
    """Apply the arguments as in a new run: `+` adds a key, and `~` deletes a key. Raises OmegaConf's errors."""
    OmegaConf.set_struct(config, True)
    for argument in arguments:
        if argument.deletes:
            delete_key(config, argument)
        else:
            OmegaConf.update(config, argument.key, argument.parsed, force_add=argument.adds)


def delete_key(config: DictConfig, argument: Argument) -> None:
    """Delete the key of ~KEY or ~KEY=VALUE. Raises UserError if the config lacks the key or has another value."""
    here, given = OmegaConf.select(config, argument.key), argument.parsed
    if here is None or given not in (None, here):
        raise UserError(f"{argument}: the run has no such setting to delete")
    parent, _, name = argument.key.rpartition(".")
    with open_dict(config):
        del OmegaConf.select(config, parent)[name]


def complete_arguments(run: EarlierRun, arguments: Sequence[Argument]) -> list[Argument]:
    """Return arguments that would start this run without naming the earlier run.

    First come the arguments of the earlier run that no given argument replaces, then the given arguments.
    """
    given = [argument for argument in arguments if argument.key != run.key]
    replaced = {"resume", "rerun", *(argument.key for argument in given)}
    own = [argument for argument in read_run(run.folder).arguments if argument.key not in replaced]
    return [*(argument for argument in own if argument == RUN_ALONE or not argument.key.startswith("hydra")), *given]


# Messages for the user


def log_ignored_variables(run: EarlierRun, config: DictConfig, given: Sequence[Argument]) -> None:
    """Log each environment variable that this run ignores, because the run keeps the earlier value of the setting."""
    kept, changed = flattened(resolved(without_hydra(config))), values_of(given)
    for key, variable in variables_of_settings().items():
        value, own = os.environ.get(variable), kept.get(key)
        written = ",".join(own) if isinstance(own, list) else str(own)
        if not value or value == written or key in changed or key not in kept:
            continue
        keeps, instead = spell_argument(key, own), spell_argument(key, value)
        told = f"{variable}={value} in the environment is ignored: the run keeps {keeps}; give {instead} to change it"
        log_fields(**{run.key: told})


def variables_of_settings() -> dict[str, str]:
    """Return {key: environment variable} of each setting of conf/ whose value comes from an environment variable."""
    variables = {}
    for group, choice in (("paths", "default"), ("tracker", "wandb")):
        for key, value in written_values(OmegaConf.load(file_of(group, choice))).items():
            if variable := VARIABLE.fullmatch(str(value)):
                variables[f"{group}.{key}"] = variable[1]
    return variables


def resume_hint(job: Job) -> str:
    """Return the end of a message about a run that stopped early: how to continue the run."""
    if not job.writes:
        return "nothing was trained"
    functions = functions_in(resolved(job.cfg))
    again = call_with(f"resume={job.folder}", functions) if functions else line_to_resume(job.folder)
    if (job.folder / "last").is_dir():
        return f"to continue: {again}"
    if (job.folder / RUN).is_file():
        return f"nothing is saved yet; to start again: {again}"
    return "nothing is saved yet"
