"""The message for a wrong argument: where it points to help, this help says what was promised."""

import re

import pytest

from cse.lab.commands.help import help_on
from cse.lab.settings.groups import choices
from cse.lab.settings.mistakes import no_choice


@pytest.mark.parametrize("group", [
    "model", "objective", "sweep", "recipe", "recipe/augmentation", "recipe/aux_modality", "hydra/sweeper",
])  # fmt: skip
def test_the_help_that_a_refusal_names_lists_all_choices(group):
    names = choices(group)
    message = no_choice(group, f"{names[0]}x" if names else "x", "train")
    for topic in re.findall(r"--help (\S+)", message):
        assert all(name in help_on("train", topic) for name in names)
        assert names
