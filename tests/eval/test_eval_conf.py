"""Every evaluator's YAML: its header, class and keys; several evaluators compose."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_class, instantiate
from omegaconf import OmegaConf

from cse.config.groups import CONF_DIR, choices
from cse.errors import UserError
from cse.run.build import build_evaluators
from cse.sources.made_up import write_senteval

CONF = Path(CONF_DIR)
NAMES = choices("eval")


@pytest.fixture(scope="module")
def all_of_them():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=[f"eval=[{','.join(NAMES)}]"]).eval


@pytest.mark.parametrize("name", NAMES)
def test_a_yaml_has_its_package_its_class_and_all_arguments(name, all_of_them):
    assert (CONF / "eval" / f"{name}.yaml").read_text().startswith(f"# @package eval.{name}\n")
    node = all_of_them[name]
    found = get_class(node._target_)
    assert found.__name__ == "".join(part.capitalize() for part in name.split("_"))
    given = {key for key in node if key not in ("_target_", "_convert_")}
    assert given == set(inspect.signature(found).parameters)


@pytest.mark.parametrize("settings", [{"name": "demo"}, {"name": "stsb"}, {"name": "stsb", "with_sickr": True},
                                      {"name": "geometry", "threshold": 2}])  # fmt: skip
def test_scores_names_all_scores_of_a_split(settings, all_of_them, tmp_path):
    write_senteval(tmp_path)
    name = settings.pop("name")
    places = {} if name == "demo" else {"senteval": str(tmp_path), "allow_partial": True}
    evaluator = instantiate(all_of_them[name], **places, **settings)
    rng = np.random.default_rng(0)
    given = evaluator(lambda texts: rng.standard_normal((len(texts), 8), np.float32), "dev")
    assert set(evaluator.scores("dev")) == set(given)


def test_a_yaml_without_its_package_is_refused():
    node = OmegaConf.create({"_target_": "cse.eval.demo.Demo"})
    with pytest.raises(UserError, match=r"cse\.eval\.demo\.Demo .*# @package eval\.NAME"):
        build_evaluators(node)
