"""Every objective, chunked or not, with images or sound, on a GPU that is not there (tests/fake_card.py)."""

import json
import os
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from fake_card import DEVICE, Card, OnCard
from killed import assert_same_tensors, train_to
from safetensors.torch import load_file
from toy_batches import batch_for
from toys import composed, objectives, run_of

from cse.lab.run.build import make_objective
from cse.lab.run.instantiate import make
from cse.lab.settings.groups import choices
from cse.training.momentum import MomentumEncoder
from cse.training.update import Update, geometry

DIM, ROWS = 32, 8
OBJECTIVES = objectives(DIM)
WAYS = {"plain": [], "chunk": ["trainer.chunk=5"], "chunk_tokens": ["trainer.chunk_tokens=40"],
        "accumulate": ["trainer.accumulate=2"]}  # fmt: skip
MODALITIES = ("text", "images", "sounds")
EVERY = list(product(OBJECTIVES, WAYS, MODALITIES))
PAIRS = [(name, way, MODALITIES[(one + other) % 3])
         for one, name in enumerate(OBJECTIVES) for other, way in enumerate(WAYS)]  # fmt: skip
FAST = PAIRS[::9]  # every way and modality
KERNELS = Path(__file__).with_name("kernels.json")
WRITE = "KERNELS=write python -m pytest -q tests/training/test_card.py -k kernels"


@pytest.fixture(autouse=True)
def _card(monkeypatch):
    monkeypatch.setattr("cse.device.is_gpu", lambda device: device.type == DEVICE.type)


@pytest.fixture(scope="session")
def modality(images, sounds, tmp_path_factory):
    """A function from text, images or sounds to the second modality's arguments."""
    workers, cache = "aux_modality.data.workers=0", f"paths.cache={tmp_path_factory.mktemp('cache')}"
    return {"text": [], "images": [*images, workers, cache], "sounds": [*sounds, workers, cache]}.__getitem__


@pytest.fixture
def trained(tiny_bert, modality):
    """A function that makes two updates and returns the metrics of the second, which must not wait on a card."""

    def train(name: str, way: str, second: str, card: Card | None = None):
        words = ["model=bert", f"model.name={tiny_bert}", "model.pooling=cls", "model.packed=false", "data=text"]
        config = composed(*words, f"trainer.batch_size={ROWS}", *OBJECTIVES[name], *WAYS[way], *modality(second))
        torch.manual_seed(0)
        encoder, objective = make(config.model, dropout=0.1, mlm=True), make_objective(config.objective, DIM)
        if second != "text" and objective.head is None:
            config.aux_modality.head_mode = "own"
        aux = make(config.aux_modality, dim=DIM) if second != "text" else None
        if aux is not None:
            aux.bind(text_head=objective.head)
        modules = {"encoder": encoder, "objective": objective} | ({} if aux is None else {"aux": aux})
        if objective.momentum is not None:
            modules["momentum"] = MomentumEncoder(encoder, objective.momentum)
        for module in modules.values():
            module.to("cpu" if card is None else DEVICE)
        parts = SimpleNamespace(trainer=make(config.trainer), encoder=encoder, objective=objective, aux=aux)
        update = Update(parts, modules, Accelerator(cpu=True), steps=10, seed=0)
        batches = (batch_for(objective, rows, seed) for seed, rows in enumerate((8, 8, 7, 6, 8, 8)))
        others = None if aux is None else aux.batches(0)
        for step in range(2):
            if card is not None:
                card.kernels.clear()
                card.waits.clear()
            metrics, views = update(step, batches, others)
        if card is not None:
            assert not card.waits, card.waits
            strangers = [
                p for m in modules.values() for p in [*m.parameters(), *m.buffers()] if not isinstance(p, OnCard)
            ]
            assert not strangers
        geometry(views)
        return {n: float(value) for n, value in metrics.items()}

    return train


@pytest.mark.parametrize("case", FAST, ids="-".join)
def test_two_updates_on_the_card_equal_the_cpus_without_a_wait(case, trained):
    with Card() as card:
        there = trained(*case, card)
    assert there == pytest.approx(trained(*case), rel=1e-3, abs=1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("case", sorted({*EVERY} - {*FAST}), ids="-".join)
def test_two_updates_of_all_cases(case, trained):
    test_two_updates_on_the_card_equal_the_cpus_without_a_wait(case, trained)


def test_batches_for_graphs_are_widened_without_a_wait(trained, monkeypatch):
    """On the card, Dynamo traces nothing: the plain encoder takes the wide batches."""
    monkeypatch.setitem(WAYS, "graphs", ["trainer.compile=graphs", "trainer.max_length=11"])
    widths = []

    def compiled(encoder, graphs):
        assert graphs
        encoder.register_forward_pre_hook(lambda _, given: widths.append(given[0].ids_BT.shape))
        return encoder

    monkeypatch.setattr("cse.training.update.compiled", compiled)
    with Card() as card:
        there = trained("simcse", "graphs", "text", card)
    assert there == pytest.approx(trained("simcse", "graphs", "text"), rel=1e-3, abs=1e-5)
    assert widths == 4 * [(16, 11)]


def test_the_number_of_kernels_of_an_update_is_the_recorded_one(trained):
    """A deliberate change of these numbers is written by WRITE. A new objective is not in the table until then."""
    known, writes = json.loads(KERNELS.read_text()), os.environ.get("KERNELS") == "write"
    found = {}
    for name in choices("objective") if writes else known:
        with Card() as card:
            trained(name, "plain", "text", card)
        found[name] = card.kernels.total()
    if writes:
        KERNELS.write_text(json.dumps(found, indent=1) + "\n")
    assert writes or found == known, f"the operators of an update changed; if they should: {WRITE}"


@pytest.fixture
def on_card(monkeypatch):
    """A function that puts the runs that follow on the card (True) or on the CPU (False)."""

    def start(**asked):
        accelerator = Accelerator(**asked)
        accelerator.state.device = DEVICE
        return accelerator

    return lambda chosen: monkeypatch.setattr("cse.lab.run.train.Accelerator", start if chosen else Accelerator)


@pytest.mark.parametrize(("name", "way", "second"), [
    ("simcse", "plain", "text"),
    pytest.param("declutr_memory", "chunk", "images", marks=pytest.mark.nightly),
    pytest.param("whitenedcse_ema", "accumulate", "sounds", marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_whole_run_on_the_card_equals_the_cpus(name, way, second, modality, small_run, documents, triplets, tmp_path,
                                                 cse_train, on_card):  # fmt: skip
    """Logged, scored, saved, stopped, resumed and exported; more steps make no more waits."""
    waits = {}
    line = [*small_run, *run_of(name.partition("_")[0], None, DIM, documents, triplets), *OBJECTIVES[name], *WAYS[way],
            *modality(second), "model.packed=false", "trainer.epochs=4", "trainer.schedule_steps=20",
            "trainer.log_every=100", "trainer.eval_every=100", "trainer.stop_on_collapse=false"]  # fmt: skip
    for place, steps in (("cpu", 5), ("card", 3), ("longer", 5), ("card", 5)):
        on_card(place != "cpu")
        with Card() as card:
            train_to(cse_train, line, tmp_path / place, steps)
        waits[place, steps] = card.waits.total()
    assert waits["longer", 5] == waits["card", 3] > waits["cpu", 5] == 0
    on_the_card = assert_same_tensors(tmp_path / "longer", tmp_path / "card")
    on_the_cpu = load_file(tmp_path / "cpu/last/state.safetensors")
    torch.testing.assert_close(on_the_card, on_the_cpu, rtol=1e-3, atol=1e-4)
