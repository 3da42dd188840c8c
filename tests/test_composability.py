"""Groups compose freely: every two choices of AXES meet in a run that trains, or are refused in one sentence."""

from itertools import combinations, product
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from killed import assert_same_tensors, logged, train_to
from sentence_transformers import SentenceTransformer
from toys import composed, run_of

from cse.lab.run.build import make_objective
from cse.lab.settings.groups import choices
from cse.model.load import load_encoder

TEXTS = ["kadan lofel miga", "sta nu"]
ONE_POSITIVE = "augmentation.positives=1"
AXES: dict[str, list[str]] = {
    "objective": choices("objective"),
    "augmentation": choices("augmentation"),
    "beside": ["text", "images", "sounds"],
    "batch": ["", "trainer.chunk=3", "trainer.chunk_tokens=40", "trainer.accumulate=2"],
    "trained": ["", "model.lora={r:4,alpha:8,dropout:0.2}", "trainer.precision=bf16"],
    "pooling": ["model.pooling=cls", "model.pooling=mean"],
}


def pairwise(axes: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """A few rows, each with one choice per axis, that contain every pair of choices of two axes. Greedy."""
    pairs = {row: set(combinations(enumerate(row), 2)) for row in product(*axes.values())}
    missing = set().union(*pairs.values())
    rows = []
    while missing:
        rows.append(max(pairs, key=lambda row: len(pairs[row] & missing)))
        missing -= pairs[rows[-1]]
    return rows


ROWS = pairwise(AXES)
ALONE = {row[0]: row for row in reversed(ROWS)}  # one row of each objective
CASES = [
    pytest.param(row, id=", ".join(filter(None, row)), marks=[] if row is ALONE[row[0]] else pytest.mark.nightly)
    for row in ROWS
]


def refusal(arguments: list[str]) -> str | None:
    """What the error names if an objective and an augmentation do not fit (cse/types.py); None if they do."""
    parts = composed(*arguments)
    if "num_views" in parts.objective and parts.objective.num_views is None:
        parts.objective.num_views = len(parts.data.columns)  # one view for each column
    objective, augmentation = make_objective(parts.objective, 32), instantiate(parts.augmentation)
    if augmentation.positives > 1 and objective.num_views > 1 and not objective.averages_positives:
        return ONE_POSITIVE
    if "min_length" in parts.augmentation and len(parts.data.columns or ()) == objective.num_views == 2:
        return "words"  # spans of documents, and the pairs here are sentences
    if augmentation.keeps_first and objective.num_views == 1:
        return "augmentation="  # which would change nothing
    most = augmentation.max_views
    return "views" if most is not None and objective.num_views > most else None


@pytest.fixture
def words(request, small_run, documents, triplets, wordnet_folder):
    """words(row, augmentation) -> the line of a row of AXES, with that augmentation."""

    def line(row: tuple[str, ...], augmentation: str | None) -> list[str]:
        objective, _, beside, *more = row
        replaced = ("data", "trainer.max_steps", "trainer.eval_every", "hydra.run.dir")
        kept = [argument for argument in small_run if not argument.startswith(replaced)]
        modality = [] if beside == "text" else request.getfixturevalue(beside)
        return [
            *kept, *modality, *run_of(objective, augmentation, 32, documents, triplets), *filter(None, more),
            "trainer.eval_every=2", "trainer.epochs=2", "trainer.lr=1e-3", "trainer.select=dev/stsb/spearman",
            "trainer.watch=[]", f"paths.wordnet={wordnet_folder}",
        ]  # fmt: skip

    return line


def test_every_choice_trains_every_day():
    assert {choice for row in ALONE.values() for choice in row} == {choice for axis in AXES.values() for choice in axis}


@pytest.mark.parametrize("row", CASES)
def test_every_two_choices_train_together(words, cse_train, tiny_bert, tmp_path, capsys, row):
    """Once for each objective, a stop after two of four steps changes nothing, and others load best/ as we do."""
    arguments = words(row, row[1])
    while named := refusal(arguments):
        assert cse_train([*arguments, f"hydra.run.dir={tmp_path}/refused"]) == 2
        err = capsys.readouterr().err.strip()
        assert len(err.splitlines()) == 1, err
        assert named in err
        arguments = [*arguments, ONE_POSITIVE] if named == ONE_POSITIVE else words(row, None)
    straight = train_to(cse_train, arguments, tmp_path / "straight", 4)
    check_numbers(straight, beside=row[2] != "text")
    ours = load_encoder(str(straight / "best"), None)
    before = load_encoder(tiny_bert, "cls").backbone.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, ours.backbone.parameters(), strict=True))
    if row is ALONE[row[0]]:
        theirs = SentenceTransformer(str(straight / "best"), device="cpu").encode(TEXTS)
        torch.testing.assert_close(torch.tensor(theirs), torch.tensor(ours.encode(TEXTS)), rtol=1e-4, atol=1e-5)
        paused = train_to(cse_train, arguments, tmp_path / "paused", 2, 4)
        assert_same_tensors(straight, paused, "best/model.safetensors")
        parts = {name.partition("/")[0] for name in assert_same_tensors(straight, paused)}
        assert parts >= ({"aux", "aux_optimizer"} if row[2] != "text" else set())  # with its own random streams


def check_numbers(folder: Path, beside: bool) -> None:
    """Every step has a finite loss and a gradient, also for a second modality."""
    steps = [event for event in logged(folder) if "train/loss" in event]
    assert len(steps) == 4
    for part in ("train/", "train/aux/") if beside else ("train/",):
        assert all(abs(step[f"{part}loss"]) < 1e6 for step in steps)  # None, for NaN, would raise
        assert all(step[f"{part}grad_norm"] > 0 for step in steps)
