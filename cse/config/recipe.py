"""Where a run's values come from: the recipes that apply to its choices, or a line that none does."""

from collections.abc import Mapping, Sequence

from cse.config.groups import choices, first_comment
from cse.errors import UserError


def sources(chosen: Mapping[str, str | None], overrides: Sequence[str]) -> list[str]:
    """A line for each recipe that applies, with the source that it names; later ones override earlier ones.

    chosen: the choice of each config group (Hydra's runtime choices). overrides: the command line's words. Raises
    UserError for a recipe that the command line names and that does not exist.
    """
    objective, model, aux = str(chosen["objective"]), chosen["model"], str(chosen["aux_modality"])
    for group in ("recipe", "recipe/augmentation", "recipe/aux_modality"):
        choice = next((word.partition("=")[2] for word in overrides if word.startswith(f"{group}=")), None)
        if choice not in (None, "null", *choices(group)):
            raise UserError(f"{group}={choice} is not a choice; the choices: {', '.join(choices(group))}")
    lines = [
        described("recipe", chosen["recipe"])
        or f"no recipe for {objective} with {model}: objective/{objective} ({first_comment('objective', objective)}), "
        f"and trainer/{chosen['trainer']} for the values that it does not set"
    ]
    lines += [described("recipe/augmentation", chosen["recipe/augmentation"])]
    if aux != "none":
        lines += [
            described("recipe/aux_modality", chosen["recipe/aux_modality"])
            or f"no recipe for {aux} beside {objective} with {model}: aux_modality/{aux} "
            f"({first_comment('aux_modality', aux)})"
        ]
    lines += [f"then {word}" for word in overrides if word.startswith(("experiment=", "variant="))]
    return [line for line in lines if line]


def described(group: str, choice: str | None) -> str:
    """`NAME: its first sentence`; "" if there is no such file."""
    return f"{choice}: {first_comment(group, choice)}" if choice is not None and choice in choices(group) else ""
