"""Groups compose freely: every objective with every augmentation and backbone trains, or is refused in one sentence."""

import json

import pytest
from made_up import WORDS, made_up_sentences

SMALL = {  # what shrinks each objective to a toy
    "simcse": [],
    "simcse_sup": [],
    "whitenedcse": [],  # groups of two channels, below: a batch of 8 has to hold a group
    "declutr": [],
    "mlm": [],
    "barlow": ["objective.head.hidden=64", "objective.head.out=64"],
    "vicreg": ["objective.head.hidden=64", "objective.head.out=64"],
}
AUGMENTATIONS = {
    "dropout": [],
    "shuffle": [],
    "eda": [],
    "spans": ["augmentation.min_length=4", "augmentation.max_length=8"],
    "none": [],
}
SPANNING = ("declutr", "mlm")


def refused(objective: str, augmentation: str) -> bool:
    """Spans are anchors and, for each, several positives: only DeCLUTR averages these. MLM reads the anchors alone."""
    return augmentation == "spans" and objective not in SPANNING


@pytest.fixture(scope="session")
def documents(tmp_path_factory):
    """60 documents of 80 nonsense words."""
    path = tmp_path_factory.mktemp("documents") / "documents.txt"
    path.write_text("\n".join(" ".join(WORDS[(i + 3 * j) % len(WORDS)] for j in range(80)) for i in range(60)) + "\n")
    return path


@pytest.fixture(scope="session")
def triplets(tmp_path_factory):
    path = tmp_path_factory.mktemp("triplets") / "triplets.csv"
    columns = [made_up_sentences(60, seed) for seed in (1, 2, 3)]
    rows = "\n".join(",".join(row) for row in zip(*columns, strict=True))
    path.write_text(f"sent0,sent1,hard_neg\n{rows}\n")
    return path


def data_for(objective: str, augmentation: str, documents, triplets) -> list[str]:
    if objective == "simcse_sup":
        return [f"data.path={triplets}", "data.columns=[sent0,sent1,hard_neg]"]
    if augmentation == "spans":
        return [f"data.path={documents}"]
    if augmentation == "none" and objective not in SPANNING:
        names = "[sent0,sent1,hard_neg]" if objective == "whitenedcse" else "[sent0,sent1]"
        return [f"data.path={triplets}", f"data.columns={names}"]
    return []


@pytest.mark.parametrize("model", ["tiny_bert", "tiny_roberta", pytest.param("minilm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
@pytest.mark.parametrize("objective", SMALL)
def test_every_objective_with_every_augmentation(
    request, objective, augmentation, model, small_run, cse_train, tmp_path, documents, triplets, wordnet_folder, capsys
):
    name = request.getfixturevalue(model)
    kept = [a for a in small_run if not a.startswith(("model", "trainer.max_steps", "trainer.eval_every"))]
    arguments = [
        *kept, f"model={'roberta' if model == 'tiny_roberta' else 'bert'}", f"model.name={name}",
        f"objective={objective}", f"augmentation={augmentation}", *SMALL[objective], *AUGMENTATIONS[augmentation],
        *data_for(objective, augmentation, documents, triplets), "trainer.max_steps=3", "trainer.eval_every=3",
        "trainer.max_length=32", "trainer.lr=1e-4", "trainer.select=null", f"paths.wordnet={wordnet_folder}",
    ]  # fmt: skip
    if objective == "whitenedcse":
        arguments.append(f"objective.whitening.num_groups={192 if model == 'minilm' else 16}")
    code = cse_train(arguments)
    if augmentation == "spans" and objective in ("barlow", "vicreg", "simcse"):  # one positive an anchor is meant
        assert code == 2
        assert "set augmentation.positives=1" in capsys.readouterr().err
        code = cse_train([*arguments, "augmentation.positives=1"])
    elif refused(objective, augmentation):
        err = capsys.readouterr().err.strip()
        assert code == 2
        assert len(err.splitlines()) == 1, err
        return
    assert code == 0
    events = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [event for event in events if "train/loss" in event]
    assert len(steps) == 3
    assert all(abs(event["train/loss"]) < 1e6 for event in steps)  # None, for NaN, would raise
    assert all(event["train/grad_norm"] > 0 for event in steps)
    assert moved(tmp_path / "run", name)


@pytest.mark.parametrize("modality", ["images", "sounds"])
@pytest.mark.parametrize("objective", SMALL)
def test_every_objective_beside_images_and_sound(
    request, objective, modality, small_run, cse_train, tmp_path, documents, triplets
):
    augmentation = "spans" if objective in SPANNING else "dropout"
    arguments = [
        *small_run, *request.getfixturevalue(modality), f"objective={objective}", f"augmentation={augmentation}",
        *SMALL[objective], *AUGMENTATIONS[augmentation], *data_for(objective, augmentation, documents, triplets),
        "trainer.max_steps=2", "trainer.eval_every=2", "trainer.select=null",
    ]  # fmt: skip
    if objective == "whitenedcse":
        arguments.append("objective.whitening.num_groups=16")
    assert cse_train(arguments) == 0
    events = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [event for event in events if "train/loss" in event]
    assert len(steps) == 2
    for name in ("train/loss", "train/aux/loss"):
        assert all(abs(event[name]) < 1e6 for event in steps)
    assert all(event["train/aux/grad_norm"] > 0 for event in steps)


def moved(run, name: str) -> bool:
    """Whether the exported encoder's weights differ from the ones that training started with."""
    import torch

    from cse.model.load import load_encoder

    before, after = load_encoder(name, "cls").backbone, load_encoder(str(run / "best"), None).backbone
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    return any(not torch.equal(a, b) for a, b in pairs)
