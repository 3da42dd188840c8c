"""From the arguments of a command to the settings of a run, in three steps. Each returns a DictConfig of its own.

config_of       config: what the arguments give, or that of the run which they resume or repeat
checked_config  settings: each value is checked against the part that takes it, which imports the parts; read-only
fitted          cfg: as a new run uses and records it, with notes on its recipes; small with smoke=true
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from cse.lab.run import resume, smoke, startup
from cse.lab.run.evaluators import selected_score
from cse.lab.settings.arguments import Argument, keys_of_person, texts_of, values_of
from cse.lab.settings.compose import composed, without_hydra
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import CONF_DIR, Kind, choices, file_of, groups
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.user_files import overridden, recorded_user_files


def checked_settings(kind: Kind, arguments: Sequence[Argument]) -> DictConfig:
    """The settings that the arguments of one job give, with Hydra's own node.

    Raises UserError.
    """
    with explaining(texts_of(without_added(arguments)), kind):
        config = config_of(kind, arguments)
        startup.before_libraries()
        return checked_config(config, kind)


def without_added(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments that a person or a sweep gave. cse itself adds some."""
    return [argument for argument in arguments if argument.by != "cse"]


def origin_of(kind: Kind, arguments: Sequence[Argument]) -> resume.Origin | None:
    """The run that the arguments resume or repeat; None for a new run, and for cse-eval."""
    return resume.started_from(arguments) if kind == "train" else None


def config_of(kind: Kind, arguments: Sequence[Argument]) -> DictConfig:
    """The config that the arguments give, with Hydra's own node in it."""
    origin = origin_of(kind, arguments)
    return resume.resumed(origin, arguments) if origin else composed(kind, texts_of(arguments))


def checked_config(config: DictConfig, kind: Kind) -> DictConfig:
    """The config with the values that its parts take, and with the score that trainer.select names in full.

    Raises UserError, or OmegaConf's error for a reference to no key.
    """
    from cse.lab.settings.check import validate_command

    settings = validate_command(config, kind)
    if kind == "train":
        settings.trainer.select = selected_score(settings)
    OmegaConf.set_readonly(settings, True)
    return settings


def fitted(settings: DictConfig, kind: Kind, arguments: Sequence[Argument]) -> DictConfig:
    """The settings as a new run records and uses them, without Hydra's node.

    settings: with that node, which has the choice of each group and the files of the user's own.
    """
    chosen, files = settings.hydra.runtime.choices, recorded_user_files(settings)
    cfg = without_hydra(settings)
    with open_dict(cfg):
        if kind == "train":
            notes = overridden(cfg, files, {argument.key for argument in arguments})
            cfg.sources = [*recipe_notes(chosen, arguments), *notes]
        cfg.choices = choice_of_each_group(kind, chosen, arguments, map(str, cfg.eval))
    smoke.fit(cfg, keys_of_person(arguments))
    return cfg


def choice_of_each_group(
    kind: Kind, chosen: Mapping[str, str | None], arguments: Sequence[Argument], evaluators: Iterable[str]
) -> dict[str, str]:
    """{"objective": "simcse", "eval": "stsb,sts", ...}, as a run records it.

    chosen: Hydra's runtime choices, which lack lists.
    """
    names = {group: chosen.get(group) for group in groups(kind) if choices(group) != ["default"]}
    given = values_of(arguments)
    for group in ("experiment", "variant"):
        names[group] = given.get(group, "").strip("[]")
    names["eval"] = ",".join(evaluators)
    return {group: name for group, name in names.items() if name}


def recipe_notes(chosen: Mapping[str, str | None], arguments: Sequence[Argument]) -> list[str]:
    """What each recipe that applies says of its source. A later recipe overrides an earlier one.

    chosen: the choice of each config group (Hydra's runtime choices).
    """
    objective, model, aux = str(chosen["objective"]), str(chosen["model"]), str(chosen["aux_modality"])
    named, recipe = values_of(arguments).get("model.name"), recipe_note("recipe", chosen["recipe"])
    encoder = named or model
    notes = [
        recipe
        or f"no recipe for {objective} + {encoder}: defaults of {path_of('objective', objective)} and "
        f"{path_of('trainer', str(chosen['trainer']))}",
        recipe_note("recipe/augmentation", chosen["recipe/augmentation"]),
    ]
    if aux != "none":
        notes += [
            recipe_note("recipe/aux_modality", chosen["recipe/aux_modality"])
            or f"no recipe for {aux} + {objective} + {encoder}: defaults of {path_of('aux_modality', aux)}"
        ]
    if recipe and named:
        notes += [f"these are for model={model}; this run trains model.name={named}"]
    notes += [f"then {argument}" for argument in arguments if argument.key in ("experiment", "variant", "smoke")]
    return [note for note in notes if note]


def recipe_note(group: str, choice: str | None) -> str:
    """The first sentence of a choice's file, and the file; "" if there is none."""
    if choice is None or choice not in choices(group):
        return ""
    return f"{first_sentence(file_of(group, choice))} ({path_of(group, choice)})"


def path_of(group: str, choice: str) -> Path:
    """The file of an existing choice: conf/GROUP/CHOICE.yaml, or where one's own lies."""
    file = file_of(group, choice)
    return file.relative_to(Path(CONF_DIR).parent) if file.is_relative_to(CONF_DIR) else file
