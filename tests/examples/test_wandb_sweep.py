"""examples/wandb_sweep.yaml works as it stands: W&B reads it, and its agent starts what it proposes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from toy_wandb import ToyWandb

EXAMPLE = Path(__file__).parents[2] / "examples" / "wandb_sweep.yaml"


@pytest.mark.parametrize("number", range(3))
def test_an_agent_of_wandb_can_start_its_sweep(number, cse_train, tmp_path):
    """The command as W&B's own agent writes it, on smoke=true's small world."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    sweep = yaml.safe_load(EXAMPLE.read_text())
    chosen = {key: values_of(parameter) for key, parameter in sweep["parameters"].items()}
    args = {key: {"value": values[number % len(values)]} for key, values in chosen.items()}
    assert sweep["metric"]["name"] == args["trainer.select"]["value"]
    program, macro = sweep["command"]
    assert (program, macro) == ("cse-train", "${args}")
    words = create_sweep_command_args({"args": args})["args"]
    assert all(word.startswith("--") for word in words)
    small = ["smoke=true", "dry_run=true", f"paths.cache={tmp_path}/cache", f"hydra.run.dir={tmp_path}/run"]
    assert cse_train([*words, *small]) == 0


@pytest.mark.nightly
def test_wandb_sweep_and_agent_run_it(tmp_path):
    """As README and the file say, against a small server; what it proposes is small, too."""
    toy = ToyWandb()
    sweep = yaml.safe_load(EXAMPLE.read_text())
    chosen = {key: values_of(parameter)[0] for key, parameter in sweep["parameters"].items()}
    toy.jobs = [{**chosen, "smoke": True}]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    environment = inherited | {
        "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "WANDB_BASE_URL": toy.url, "WANDB_API_KEY": "0" * 40,
    }  # fmt: skip
    try:
        for line in (["sweep", EXAMPLE], ["agent", "--count", "1", "me/cse/sweep7"]):
            done = subprocess.run(["wandb", *line], env=environment, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    finally:
        toy.server.shutdown()
        toy.server.server_close()
    assert yaml.safe_load(toy.sweep)["command"] == sweep["command"]
    first = next(variables for name, variables in toy.queries if name == "UpsertBucket")
    assert (first["name"], first["displayName"]) == ("run0", "simcse-minilm-s1")
    (kept,) = tmp_path.glob("outputs/*/*/wandb/run.json")  # a later resume goes on in the agent's run
    identity = json.loads(kept.read_text())
    assert (identity["id"], identity["sweep_id"]) == ("run0", "sweep7")
    results = json.loads((kept.parents[1] / "results.json").read_text())
    assert results["status"] == "done"


def values_of(parameter):
    if "values" in parameter:
        return parameter["values"]
    return [parameter["value"]] if "value" in parameter else [parameter["min"], parameter["max"]]
