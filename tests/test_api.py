"""The commands as functions: cse.train, cse.load, cse.evaluate, cse.compose."""

import json
import logging
import subprocess
import sys

import numpy as np
import pytest
import yaml

import cse
from cse.errors import UserError


@pytest.fixture
def words(small_run):
    """The small run's words, without a folder."""
    return [word for word in small_run if not word.startswith("hydra.run.dir=")]


def test_a_run_gives_its_folder_scores_encoder_and_curve(words, tmp_path):
    root = logging.getLogger()
    before = list(root.handlers), root.level, list(sys.argv)
    run = cse.train(*words, "trainer.max_steps=2", seed=3, folder=tmp_path / "first")
    assert (list(root.handlers), root.level, list(sys.argv)) == before
    assert run.folder == tmp_path / "first"
    assert run.scores == json.loads((run.folder / "results.json").read_text())["metrics"]
    assert [step for step, _ in run.curve] == [0, 2]
    assert run.results["seed"] == 3
    assert run.results["command"].startswith("cse-train ")
    vectors = run.encoder().encode(["One sentence.", "Another one."])
    assert vectors.shape == (2, run.encoder().dim)
    log = (run.folder / "train.log").read_text()
    assert "encoder    " in log  # said before there was a folder
    assert "best step" in log

    hydra = {name: yaml.safe_load((run.folder / ".hydra" / f"{name}.yaml").read_text())
             for name in ("config", "hydra", "overrides")}  # fmt: skip
    assert "seed=3" in hydra["overrides"]
    assert hydra["config"]["trainer"]["max_steps"] == 2
    assert hydra["hydra"]["hydra"]["runtime"]["choices"]["objective"] == "simcse"
    assert yaml.safe_load((run.folder / "run.yaml").read_text())["config"] == run.results["config"]

    again = cse.train(*words, "trainer.max_steps=2", seed=3, folder=tmp_path / "again")
    assert again.scores == run.scores


def test_a_dry_run_leaves_nothing(words, tmp_path, capsys):
    run = cse.train(*words, dry_run=True, folder=tmp_path / "run")
    assert "encoder    " in capsys.readouterr().out
    assert not run.folder.exists()
    with pytest.raises(UserError, match="holds no run"):
        run.scores  # noqa: B018


def test_any_encode_can_be_evaluated(senteval, tiny_bert):
    told = [f"paths.senteval={senteval}", "allow_partial=true"]
    encoder = cse.load(tiny_bert, pooling="cls")
    by_object = cse.evaluate(encoder, ["stsb"], *told, splits=["dev"])
    assert set(by_object) == {"dev/stsb/spearman", "dev/stsb/pearson"}
    assert cse.evaluate(encoder.encode, "stsb", *told, splits=["dev"]) == by_object

    class Peer:
        def encode(self, sentences, **options) -> np.ndarray:
            return encoder.encode(list(sentences))

    assert cse.evaluate(Peer(), "stsb", *told, splits=["dev"]) == by_object


def test_compose_gives_the_commands_configuration():
    config = cse.compose("objective=barlow", model="roberta", seed=5)
    assert config.objective._target_ == "cse.objective.barlow.Barlow"
    assert config.seed == 5
    assert "hydra" not in config
    assert "checkpoint" in cse.compose(command="evaluate")


def test_importing_cse_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys, time; start = time.process_time(); import cse; print(time.process_time() - start); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'hydra', 'numpy', 'omegaconf')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0
    assert float(ended.stdout) < 0.2  # seconds of this process alone, however busy the machine is
