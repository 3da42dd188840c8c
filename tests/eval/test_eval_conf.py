"""Every evaluator's YAML: its header and class; several evaluators compose."""

from pathlib import Path

import pytest
import toys
from hydra.utils import get_class

from cse.errors import UserError
from cse.lab.settings.check import validate_command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import CONF_DIR, choices

NAMES = choices("eval")


@pytest.mark.parametrize("name", NAMES)
def test_a_yaml_has_its_package_and_its_class(name):
    assert Path(CONF_DIR, "eval", f"{name}.yaml").read_text().startswith(f"# @package eval.{name}\n")
    together = toys.composed(f"eval=[{','.join(NAMES)}]").eval
    assert get_class(together[name]._target_).__name__ == "".join(part.capitalize() for part in name.split("_"))


def test_a_yaml_without_its_package_is_refused():
    config = composed("train", [])
    config.eval = {"_target_": "cse.eval.demo.Demo"}
    with pytest.raises(UserError, match=r"cse\.eval\.demo\.Demo.*# @package eval\.NAME"):
        validate_command(config, "train")
