"""Batches: every row once an epoch, the same for any number of processes and from any step on."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.data import get_worker_info

from cse.augmentation.shuffle import Shuffle
from cse.data import views as views_module
from cse.data.columns import ScoreColumn
from cse.data.loader import Batches
from cse.data.rows import TextRows
from cse.errors import UserError
from cse.model import tokenizer as tokenizer_module


def rows_of(batch) -> list[tuple]:
    """(ids, labels or None) of each row, without padding."""
    tokens, lengths_B = batch.tokens, batch.tokens.mask_BT.sum(1).tolist()
    cut = lambda x_BT: [tuple(row[:n]) for row, n in zip(x_BT.tolist(), lengths_B, strict=True)]  # noqa: E731
    labels = [None] * len(lengths_B) if tokens.labels_BT is None else cut(tokens.labels_BT)
    return list(zip(cut(tokens.ids_BT), labels, strict=True))


def views_of(batch) -> list[list[tuple]]:
    """The rows of each view."""
    rows = iter(rows_of(batch))
    return [[next(rows) for _ in range(size)] for size in batch.sizes]


@pytest.mark.parametrize(("rows", "steps"), [(30, 3), (26, 3), (25, 2), (24, 2)])
def test_a_last_batch_of_fewer_rows_than_the_loss_needs_is_left_out(batches_of, rows, steps, caplog):
    """A whitening over fewer rows than its groups have channels would end the run after an epoch."""
    caplog.set_level("INFO")
    batches = batches_of(rows=rows, batch_size=12, min_rows=2 if rows == 26 else 5)
    assert batches.steps_per_epoch == steps
    assert ("left out" in caplog.text) == (rows == 25)
    assert {len(batches.row_numbers_of(step)) for step in range(2 * steps)} <= {12, rows - 24}
    two = [batches_of(rows=rows, batch_size=12, min_rows=5, world=2, rank=rank) for rank in (0, 1)]
    assert all(len(two[0].row_numbers_of(step)) >= 6 for step in range(two[0].steps_per_epoch))


@pytest.mark.parametrize("rows", [29, 30, 31, 32])
def test_no_batch_has_more_rows_than_the_batch_size(batches_of, rows):
    """Four processes shared a last batch of two or three rows as eight, where a full batch has four."""
    batches = batches_of(rows=rows, world=4)
    assert {len(batches.row_numbers_of(step)) for step in range(2 * batches.steps_per_epoch)} == {4}


def test_an_epoch_has_every_row_once_in_an_order_of_its_own(batches_of):
    batches = batches_of(rows=30)
    assert batches.steps_per_epoch == 8
    seen = [row for step in range(8) for row in views_of(batches[step])[0]]
    assert len(seen) == len(set(seen)) == 30
    assert batches_of(rows=30, drop_last=True).steps_per_epoch == 7
    assert batches_of(rows=29).steps_per_epoch == 7  # one sentence alone has no negatives
    two = [batches_of(rows=30, world=2, rank=rank) for rank in (0, 1)]
    assert two[0].steps_per_epoch == batches_of(rows=30).steps_per_epoch  # on any number of processes
    assert [part[7].sizes[0] for part in two] == [2, 2]
    assert {*batches_of(rows=30).row_numbers_of(7)} < {*two[0].row_numbers_of(7)}
    assert rows_of(batches[0]) != rows_of(batches[8])
    assert rows_of(batches[0]) != rows_of(batches_of(rows=30, seed=2)[0])


@pytest.mark.parametrize("masking", ["none", "first"])
def test_each_epoch_and_view_augments_and_masks_a_row_anew(batches_of, masking):
    augmentation = Shuffle(1.0, "round", 2, "count", None) if masking == "none" else None
    batches = batches_of(rows=30, augmentation=augmentation, masking=masking)
    epochs = [{row for step in range(8 * epoch, 8 * epoch + 8) for row in rows_of(batches[step])} for epoch in (0, 1)]
    assert len(epochs[0] - epochs[1]) > 15
    if masking == "none":
        one, two = batches.views.unmasked(np.arange(30), 0)
        assert sum(a.ids.tolist() != b.ids.tolist() for a, b in zip(one, two, strict=True)) > 15


@pytest.mark.parametrize("masking", ["none", "first", "copies"])
def test_two_processes_make_the_same_global_batch(batches_of, masking):
    options = {"rows": 32, "augmentation": Shuffle(0.5, "round", 2, "count", None), "masking": masking}
    whole = batches_of(**options)
    halves = [batches_of(**options, rank=rank, world=2) for rank in range(2)]
    for step in (0, 3, 9):
        first, second = (views_of(half[step]) for half in halves)
        assert [a + b for a, b in zip(first, second, strict=True)] == views_of(whole[step])


def test_workers_make_the_same_batches_and_leave_the_random_state(batches_of):
    batches = batches_of(rows=30, augmentation=Shuffle(0.5, "round", 2, "count", None), masking="first")
    before = torch.get_rng_state()
    alone = [rows_of(batch) for batch in batches.loader(2, 9, workers=0, pin=False)]
    helped = [rows_of(batch) for batch in batches.loader(2, 9, workers=2, pin=False)]
    assert alone == helped == [rows_of(batches[step]) for step in range(2, 9)]
    assert torch.equal(before, torch.get_rng_state())


def test_workers_get_their_rows_and_have_no_order_of_their_own(batches_of, monkeypatch):
    def first(batches: Batches, epoch: int) -> np.ndarray:
        if get_worker_info():
            raise UserError("a worker makes an order")
        return permutation(batches, epoch)

    permutation = Batches._permutation
    monkeypatch.setattr(Batches, "_permutation", first)
    assert len([*batches_of(rows=30).loader(6, 10, workers=2, pin=False)]) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_worker_logs_is_logged_once(batches_of, workers, caplog, monkeypatch):
    monkeypatch.setattr(tokenizer_module, "HEAD", 50)
    monkeypatch.setattr(tokenizer_module, "MOST", 200)
    monkeypatch.setattr(TextRows, "texts_of", lambda self, rows_B, column=0: ["k" * 1000 for _ in rows_B])
    assert len([*batches_of(rows=30).loader(0, 9, workers, pin=False)]) == 9
    assert [(record.name, record.levelname) for record in caplog.records] == [("cse.model.tokenizer", "WARNING")]
    assert "1,000 characters" in caplog.text


def test_each_view_is_a_column(batches_of, tiny_tokenizer):
    views = views_of(batches_of(rows=10, columns=3, num_views=3)[0])
    ends = [[tiny_tokenizer.convert_ids_to_tokens(ids[-2]) for ids, _ in view] for view in views]
    assert ends == [["a"] * 4, ["b"] * 4, ["c"] * 4]
    numbers = [[ids[1] for ids, _ in view] for view in views]
    assert numbers[0] == numbers[1] == numbers[2]


def test_copies_mask_every_view_and_first_masks_one(batches_of):
    for masking, sizes, masked in (("copies", (4, 4, 8), slice(8, 16)), ("first", (4, 4), slice(4))):
        batch = batches_of(rows=30, masking=masking)[0]
        hidden_B = (batch.tokens.labels_BT != -100).any(1)
        assert batch.sizes == sizes
        assert hidden_B[masked].any()
        hidden_B[masked] = False
        assert not hidden_B.any()
    restored = torch.where(batch.tokens.labels_BT != -100, batch.tokens.labels_BT, batch.tokens.ids_BT)
    torch.testing.assert_close(restored[:4], batch.tokens.ids_BT[4:])


def test_every_draw_is_keyed_by_seed_epoch_row_and_view_and_masking_has_its_own(batches_of, monkeypatch):
    asked = []
    numpys = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda key: asked.append(key) or numpys(key))
    batches = batches_of(rows=30, masking="copies", augmentation=Shuffle(1.0, "round", 2, "count", None))
    asked.clear()
    batches[9]  # of the second epoch
    rows = batches.row_numbers_of(9).tolist()
    assert sorted(asked) == sorted((1, 1, row, view) for row in rows for view in (0, 1, views_module.MASKING_STREAM))


@pytest.mark.parametrize("masking", ["none", "first", "copies"])
def test_what_an_objective_reads_of_a_row_is_beside_its_ids(batches_of, masking):
    """In every view, also if two processes share the batch, or masked copies are a view."""
    options = {"rows": 32, "masking": masking, "columns": 2}
    assert batches_of(**options)[0].known == {}
    teacher = lambda rows, columns: np.stack([rows, columns], 1).astype(np.float32)  # noqa: E731
    for rank in range(2):
        batches = batches_of(**options, rank=rank, world=2, teacher=teacher)
        scored = {"scores": ScoreColumn("score", None), "targets_N": np.arange(32, dtype=np.float32) / 32}
        batches.views.text = replace(batches.text, **scored)
        known, ids = batches[3].known, rows_of(batches[3])
        mine = np.split(batches.row_numbers_of(3), 2)[rank].tolist()
        copies = [row for row in mine for _ in range(2)] if masking == "copies" else []
        columns = [0] * len(mine) + [1] * len(mine) + [0, 1] * (len(copies) // 2)
        assert (known["targets_B"] * 32).tolist() == mine + mine + copies
        assert known["teacher_BE"].tolist() == [list(pair) for pair in zip(mine + mine + copies, columns, strict=True)]
        assert len(ids) == len(columns)


@pytest.mark.parametrize(("rows", "usual"), [(2, 2), (7, 3), (40, 20), (1000, 64)])
def test_a_batch_larger_than_the_data_is_refused_with_a_batch_size_that_fits(batches_of, rows, usual):
    with pytest.raises(UserError, match=rf"such as trainer\.batch_size={usual}; .* then has {rows // usual} batches"):
        batches_of(rows=rows, batch_size=1024)
    assert batches_of(rows=rows, batch_size=usual, drop_last=True).steps_per_epoch == rows // usual


def test_a_batch_size_that_the_rows_or_the_processes_cannot_fill_is_refused(batches_of):
    for few in ({"rows": 3}, {"rows": 10, "world": 3}):
        with pytest.raises(UserError, match=r"trainer\.batch_size=4"):
            batches_of(**few)
