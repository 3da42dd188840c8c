"""Groups compose freely: every objective with every augmentation and backbone trains, or is refused in one sentence."""

import json
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from toys import composed, run_of

from cse.config.groups import choices
from cse.model.load import load_encoder

TEXTS = ["kadan lofel miga", "sta nu"]


ONE_POSITIVE = "augmentation.positives=1"


def refusal(arguments: list[str], dim: int) -> str | None:
    """What is told of an objective and an augmentation that do not fit (cse/types.py), None where they do."""
    parts = composed(*arguments)
    objective, augmentation = instantiate(parts.objective, dim=dim), instantiate(parts.augmentation)
    if augmentation.positives > 1 and objective.num_views > 1 and not objective.averages_positives:
        return f"set {ONE_POSITIVE}"
    most = augmentation.max_views
    return "views of a row" if most is not None and objective.num_views > most else None


def losses(folder: Path) -> list[dict]:
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [event for event in events if "train/loss" in event]


@pytest.mark.parametrize("model", ["tiny_bert", "tiny_roberta", pytest.param("minilm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("augmentation", choices("augmentation"))
@pytest.mark.parametrize("objective", choices("objective"))
def test_every_objective_with_every_augmentation(
    request, objective, augmentation, model, small_run, cse_train, tmp_path, documents, triplets, wordnet_folder, capsys
):
    name, dim = request.getfixturevalue(model), 384 if model == "minilm" else 32
    kept = [a for a in small_run if not a.startswith(("model", "data", "trainer.max_steps", "trainer.eval_every"))]
    arguments = [
        *kept, f"model={'roberta' if model == 'tiny_roberta' else 'bert'}", f"model.name={name}",
        *run_of(objective, augmentation, dim, documents, triplets), "trainer.max_steps=3", "trainer.eval_every=3",
        "trainer.lr=1e-4", "trainer.select=null", f"paths.wordnet={wordnet_folder}",
    ]  # fmt: skip
    while (reason := refusal(arguments, dim)) is not None:
        assert cse_train(arguments) == 2
        err = capsys.readouterr().err.strip()
        assert len(err.splitlines()) == 1, err
        assert reason in err
        if ONE_POSITIVE not in reason:
            return
        arguments.append(ONE_POSITIVE)
    assert cse_train(arguments) == 0
    steps = losses(tmp_path / "run")
    assert len(steps) == 3
    assert all(abs(event["train/loss"]) < 1e6 for event in steps)  # None, for NaN, would raise
    assert all(event["train/grad_norm"] > 0 for event in steps)
    assert moved(tmp_path / "run", name)


@pytest.mark.parametrize("modality", ["images", "sounds"])
@pytest.mark.parametrize("objective", choices("objective"))
def test_every_objective_beside_images_and_sound(
    request, objective, modality, small_run, cse_train, tmp_path, documents, triplets
):
    kept = [a for a in small_run if not a.startswith("data")]
    arguments = [
        *kept, *request.getfixturevalue(modality), *run_of(objective, None, 32, documents, triplets),
        "trainer.max_steps=2", "trainer.eval_every=2", "trainer.select=null",
    ]  # fmt: skip
    assert cse_train(arguments) == 0
    steps = losses(tmp_path / "run")
    assert len(steps) == 2
    for name in ("train/loss", "train/aux/loss"):
        assert all(abs(event[name]) < 1e6 for event in steps)
    assert all(event["train/aux/grad_norm"] > 0 for event in steps)


@pytest.mark.parametrize("objective", choices("objective"))
def test_every_objective_resumes_and_exports(objective, small_run, cse_train, tmp_path, documents, triplets):
    """Stopped after two steps and resumed it ends with the same bits; best/ is the same encoder for others."""
    kept = [a for a in small_run if not a.startswith(("data", "hydra.run.dir", "trainer.max_steps"))]
    common = [*kept, *run_of(objective, None, 32, documents, triplets), "trainer.lr=1e-3",
              "trainer.select=dev/stsb/spearman"]  # fmt: skip
    straight, paused = tmp_path / "straight", tmp_path / "paused"
    assert cse_train([*common, f"hydra.run.dir={straight}", "trainer.max_steps=4"]) == 0
    assert cse_train([*common, f"hydra.run.dir={paused}", "trainer.max_steps=2"]) == 0
    assert cse_train([*common, f"hydra.run.dir={paused}", "trainer.max_steps=4", "resume=auto"]) == 0
    for file in ("last/state.safetensors", "best/model.safetensors"):
        one, other = load_file(straight / file), load_file(paused / file)
        assert one.keys() == other.keys()
        assert [name for name in one if not torch.equal(one[name], other[name])] == []
    theirs = SentenceTransformer(str(straight / "best"), device="cpu").encode(TEXTS)
    ours = load_encoder(str(straight / "best"), None).encode(TEXTS)
    torch.testing.assert_close(torch.tensor(theirs), torch.tensor(ours), rtol=1e-4, atol=1e-5)


def moved(run, name: str) -> bool:
    """Whether the exported encoder's weights differ from the ones that training started with."""
    before, after = load_encoder(name, "cls").backbone, load_encoder(str(run / "best"), None).backbone
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    return any(not torch.equal(a, b) for a, b in pairs)
