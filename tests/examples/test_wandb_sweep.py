"""cse-train understands the command that W&B's agent makes of examples/wandb_sweep.yaml."""

from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "wandb_sweep.yaml"


@pytest.mark.parametrize("number", range(3))
def test_an_agent_of_wandb_can_start_its_sweep(number, cse_train, tmp_path):
    """W&B's own code writes the command; smoke=true provides encoder and data."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    sweep = yaml.safe_load(EXAMPLE.read_text())
    chosen = {key: values_of(parameter) for key, parameter in sweep["parameters"].items()}
    args = {key: {"value": values[number % len(values)]} for key, values in chosen.items()}
    assert sweep["metric"]["name"] == args["trainer.select"]["value"]
    assert sweep["command"] == ["cse-train", "${args}"]
    words = create_sweep_command_args({"args": args})["args"]
    assert all(word.startswith("--") for word in words)
    small = ["smoke=true", "dry_run=true", f"paths.cache={tmp_path}/cache", f"hydra.run.dir={tmp_path}/run"]
    assert cse_train([*words, *small]) == 0


def values_of(parameter):
    if "values" in parameter:
        return parameter["values"]
    return [parameter["value"]] if "value" in parameter else [parameter["min"], parameter["max"]]
