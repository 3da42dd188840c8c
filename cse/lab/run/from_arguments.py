"""From the arguments of a command to the settings of a job.

unchecked_config  returns the composed config, or the config of an earlier run
checked_config    returns the same config, checked and read-only
config_of         does both steps, for a caller that starts no job
cfg_of_new_run    returns the settings of a new run, with notes on its recipes; with smoke=true, the sizes are small
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.lab.run.evaluators import selected_score
from cse.lab.run.resume import EarlierRun, config_of_run, earlier_run
from cse.lab.run.smoke import shrink
from cse.lab.run.this_process import prepare_libraries
from cse.lab.settings.arguments import Argument, keys_of_person, texts_of, values_of
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import CONF_DIR, Kind, choices, file_of, groups
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.provenance import recorded_overridden


def config_of(kind: Kind, arguments: Sequence[Argument]) -> DictConfig:
    """Return the checked config of one job's arguments. Raises UserError, but not for a missing file or encoder."""
    with explaining(texts_of(without_added(arguments)), kind):
        config = unchecked_config(kind, arguments, earlier_run(arguments, kind))
        prepare_libraries()
        return checked_config(config, kind)


def without_added(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that a person or a sweep gave, without the arguments that cse adds."""
    return [argument for argument in arguments if argument.by != "cse"]


def unchecked_config(kind: Kind, arguments: Sequence[Argument], run: EarlierRun | None) -> DictConfig:
    """Return the config that the arguments give. run: the run that the arguments resume or repeat.

    Raises UserError or Hydra's errors.
    """
    return config_of_run(run, arguments) if run else composed(kind, texts_of(arguments))


def checked_config(config: DictConfig, kind: Kind) -> DictConfig:
    """Return the config, read-only, with each value converted to the type that its part takes.

    trainer.select gets the full name of its score. Imports the parts. Raises UserError, or OmegaConf's error for a
    reference to a key that does not exist.
    """
    from cse.lab.settings.check import validate_command

    config = validate_command(config, kind)
    if kind == "train":
        config.trainer.select = selected_score(config)
    OmegaConf.set_readonly(config, True)
    return config


def cfg_of_new_run(config: DictConfig, kind: Kind, arguments: Sequence[Argument]) -> DictConfig:
    """Return the settings that a new run uses and records. config: the checked config."""
    chosen = config.hydra.runtime.choices
    cfg = without_hydra(config)
    with open_dict(cfg):
        if kind == "train":
            cfg.sources = [*recipe_notes(chosen, arguments), *recorded_overridden(config)]
        cfg.choices = choice_of_each_group(kind, chosen, arguments, map(str, cfg.eval))
    shrink(cfg, keys_of_person(argument for argument in arguments if not argument.deletes))
    return cfg


def choice_of_each_group(
    kind: Kind, chosen: Mapping[str, str | None], arguments: Sequence[Argument], evaluators: Iterable[str]
) -> dict[str, str]:
    """Return {"objective": "simcse", "eval": "stsb,sts", ...}: the choices in the form that a run records.

    chosen: Hydra's runtime choices, which lack each group with a list of choices, such as eval=[stsb,sts].
    """
    names = {group: chosen.get(group) for group in groups(kind) if choices(group) != ["default"]}
    given = values_of(arguments)
    for group in ("experiment", "variant"):
        names[group] = given.get(group, "").strip("[]")
    names["eval"] = ",".join(evaluators)
    return {group: name for group, name in names.items() if name}


def recipe_notes(chosen: Mapping[str, str | None], arguments: Sequence[Argument]) -> list[str]:
    """Return notes on a run's recipes, with their sources, then on its experiment, variant and smoke test.

    A later choice overrides an earlier choice. chosen: the choice of each group (Hydra's runtime choices).
    """
    objective, model, aux = str(chosen["objective"]), str(chosen["model"]), str(chosen["aux_modality"])
    named, recipe = values_of(arguments).get("model.name"), note_of_choice("recipe", chosen["recipe"])
    encoder = named or model
    notes = [recipe]
    if not recipe:
        files = f"{path_of('objective', objective)} and {path_of('trainer', str(chosen['trainer']))}"
        notes = [f"no recipe for {objective} + {encoder}: defaults of {files}"]
    notes.append(note_of_choice("recipe/augmentation", chosen["recipe/augmentation"]))
    if aux != "none":
        none = f"no recipe for {aux} + {objective} + {encoder}: defaults of {path_of('aux_modality', aux)}"
        notes.append(note_of_choice("recipe/aux_modality", chosen["recipe/aux_modality"]) or none)
    if recipe and named:
        notes.append(f"the recipe is for model={model}; this run trains model.name={named}")
    notes += [f"then {argument}" for argument in arguments if argument.key in ("experiment", "variant", "smoke")]
    return [note for note in notes if note]


def note_of_choice(group: str, choice: str | None) -> str:
    """Return the first sentence of the comment in a choice's file, and the path; "" if the group lacks the choice."""
    if choice is None or choice not in choices(group):
        return ""
    return f"{first_sentence(file_of(group, choice))} ({path_of(group, choice)})"


def path_of(group: str, choice: str) -> Path:
    """Return the path of a choice's file: conf/GROUP/CHOICE.yaml, or the path in the user's own folder."""
    file = file_of(group, choice)
    return file.relative_to(Path(CONF_DIR).parent) if file.is_relative_to(CONF_DIR) else file
