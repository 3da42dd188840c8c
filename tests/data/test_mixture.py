"""Whose batch is next: keyed, balanced, and the same on any number of processes."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cse.augmentation.none import Identity
from cse.data.loader import Batches
from cse.data.mixture import MixedBatches, Mixture, Source
from cse.data.views import Views
from cse.errors import UserError
from cse.model.tokenizer import Tokenizer


@pytest.fixture
def mixed(tmp_path, tiny_tokenizer):
    """A function that prepares a mixture of pairs and triplets, of so many rows each."""

    def batches(pairs: int = 40, triplets: int = 24, weights=None, seed: int = 1, rank: int = 0, world: int = 1):
        sources = {}
        for name, rows, columns in (("pairs", pairs, ["a", "b"]), ("triplets", triplets, ["a", "b", "c"])):
            path = tmp_path / f"{name}{rows}.csv"
            lines = [",".join(f"{name} {column} {row}" for column in columns) for row in range(rows)]
            path.write_text("\n".join([",".join(columns), *lines]))
            sources[name] = Source(path=str(path), columns=columns)
        mixture = Mixture("mixture", sources, weights, str(tmp_path / "cache"))
        made = {}
        for name, text in mixture.sources.items():
            tokenizer = Tokenizer(tiny_tokenizer, 64)
            rows = text.read()
            views = Views(rows, tokenizer, Identity(None), num_views=rows.num_columns, masking="none", mask=None,
                          max_length=32, seed=seed)  # fmt: skip
            made[name] = Batches(views, batch_size=8, drop_last=False, rank=rank, world=world)
        return MixedBatches(made, mixture.weights)

    return batches


def places(batches: MixedBatches, epochs: int = 1) -> list[tuple[int, int]]:
    return [batches.place_of(step) for step in range(epochs * batches.steps_per_epoch)]


def test_an_epoch_has_each_batch_of_each_source_once_in_an_order_of_its_own(mixed):
    batches = mixed()
    assert batches.steps_per_epoch == 5 + 3
    first, second = places(batches), places(batches, 2)[8:]
    assert Counter(first) == Counter([(0, i) for i in range(5)] + [(1, i) for i in range(3)])
    assert Counter(second) == Counter([(0, i) for i in range(5, 10)] + [(1, i) for i in range(3, 6)])
    assert [source for source, _ in first] != [source for source, _ in second]
    assert places(mixed()) == first
    assert places(mixed(seed=2)) != first
    assert [batches.place_of(step) for step in reversed(range(16))] == places(batches, 2)[::-1]  # from any step on


def test_a_batch_is_of_one_source_and_names_it(mixed):
    batches = mixed()
    for step, (source, number) in enumerate(places(batches)):
        batch, own = batches[step], batches.batches[source][number]
        assert batch.source == ["pairs", "triplets"][source]
        assert len(batch.sizes) == 2 + source
        torch.testing.assert_close(batch.tokens.ids_BT, own.tokens.ids_BT)


def test_weights_share_an_epoch_and_a_source_wraps_into_its_own_next_epoch(mixed):
    batches = mixed(weights={"pairs": 1, "triplets": 3})
    assert (batches.steps_per_epoch, batches.shares.tolist()) == (8, [2, 6])
    two = places(batches, 2)
    assert Counter(two) == Counter([(0, i) for i in range(4)] + [(1, i) for i in range(12)])
    rows = [batches.batches[1].row_numbers_of(number) for number in range(6)]  # two epochs of the triplets
    assert sorted(np.concatenate(rows[:3])) == sorted(np.concatenate(rows[3:])) == [*range(24)]


def test_two_processes_have_halves_of_the_same_batches(mixed):
    whole, halves = mixed(), [mixed(world=2, rank=rank) for rank in (0, 1)]
    for step in range(16):
        assert {half.place_of(step) for half in halves} == {whole.place_of(step)}
        parts = [half[step] for half in halves]
        assert {part.source for part in parts} == {whole[step].source}
        assert [sum(sizes) for sizes in zip(*(part.sizes for part in parts), strict=True)] == [*whole[step].sizes]


def test_workers_make_the_same_batches_from_any_step_on(mixed):
    batches = mixed()
    here = [batches[step] for step in range(3, 12)]
    for one, other in zip(batches.loader(3, 12, 2, pin=False), here, strict=True):
        assert one.source == other.source
        torch.testing.assert_close(one.tokens.ids_BT, other.tokens.ids_BT)


def test_a_record_has_all_sources_together_and_each_by_name(mixed):
    batches = mixed()
    about, inputs = batches.provenance(), batches.inputs()
    assert (about["name"], about["rows"], about["left_out"]) == ("mixture", 64, 0)
    assert {name: one["rows"] for name, one in about["sources"].items()} == {"pairs": 40, "triplets": 24}
    assert about["sha256"] == inputs
    assert len(inputs) == 2


def test_weights_that_no_batch_can_have_are_refused(mixed, tmp_path):
    with pytest.raises(UserError, match=r"data\.weights\.pairs=1 gives this source none of 8 batches"):
        mixed(weights={"pairs": 1, "triplets": 999})
    text = SimpleNamespace()
    with pytest.raises(UserError, match="a number for each of a, b"):
        Mixture("mixture", {"a": text, "b": text}, {"a": 1.0}, str(tmp_path))
    with pytest.raises(UserError, match="nli: a published corpus"):
        Mixture("mixture", {"nli": text}, None, str(tmp_path))
