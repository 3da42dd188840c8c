"""Every evaluator's YAML: its header and class; several evaluators compose."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_class

from cse.config.check import validate
from cse.config.compose import composed
from cse.config.groups import CONF_DIR, choices
from cse.errors import UserError

CONF = Path(CONF_DIR)
NAMES = choices("eval")


@pytest.fixture(scope="module")
def all_of_them():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=[f"eval=[{','.join(NAMES)}]"]).eval


@pytest.mark.parametrize("name", NAMES)
def test_a_yaml_has_its_package_and_its_class(name, all_of_them):
    assert (CONF / "eval" / f"{name}.yaml").read_text().startswith(f"# @package eval.{name}\n")
    assert get_class(all_of_them[name]._target_).__name__ == "".join(part.capitalize() for part in name.split("_"))


def test_a_yaml_without_its_package_is_refused():
    config = composed("train", [])
    config.eval = {"_target_": "cse.eval.demo.Demo"}
    with pytest.raises(UserError, match=r"cse\.eval\.demo\.Demo.*# @package eval\.NAME"):
        validate(config, "train")
