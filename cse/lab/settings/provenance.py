"""Where a run's hyper-parameters come from: the recipes that apply to its choices, or a line that there is none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cse.lab.settings.groups import CONF_DIR, choices, file_of, first_comment
from cse.lab.settings.words import Word, values_of


def sources(chosen: Mapping[str, str | None], words: Sequence[Word]) -> list[str]:
    """A line for each recipe that applies, with the source that it names; later ones override earlier ones.

    chosen: the choice of each config group (Hydra's runtime choices). words: the line's.
    """
    objective, model, aux = str(chosen["objective"]), str(chosen["model"]), str(chosen["aux_modality"])
    named, recipe = values_of(words).get("model.name"), first_sentence("recipe", chosen["recipe"])
    encoder = named or model
    lines = [
        recipe
        or f"no recipe for {objective} + {encoder}: defaults of {path_of('objective', objective)} and "
        f"{path_of('trainer', str(chosen['trainer']))}",
        first_sentence("recipe/augmentation", chosen["recipe/augmentation"]),
    ]
    if aux != "none":
        lines += [
            first_sentence("recipe/aux_modality", chosen["recipe/aux_modality"])
            or f"no recipe for {aux} + {objective} + {encoder}: defaults of {path_of('aux_modality', aux)}"
        ]
    if recipe and named:
        lines += [f"these are for model={model}; this run trains model.name={named}"]
    lines += [f"then {word}" for word in words if word.key in ("experiment", "variant", "smoke")]
    return [line for line in lines if line]


def first_sentence(group: str, choice: str | None) -> str:
    """The first sentence of a choice's file, and the file; "" if there is none."""
    if choice is None or choice not in choices(group):
        return ""
    return f"{first_comment(group, choice)} ({path_of(group, choice)})"


def path_of(group: str, choice: str) -> Path:
    """The file of an existing choice: conf/GROUP/CHOICE.yaml, or where one's own lies."""
    file = file_of(group, choice)
    return file.relative_to(Path(CONF_DIR).parent) if file.is_relative_to(CONF_DIR) else file
