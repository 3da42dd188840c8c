"""Batches: every row once an epoch, the same for any number of processes and from any step on."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from cse.augmentation.dropout import Dropout
from cse.augmentation.masking import Masking
from cse.augmentation.repetition import Repetition
from cse.augmentation.shuffle import Shuffle
from cse.augmentation.spans import Spans
from cse.data import views as views_module
from cse.data.loader import Batches
from cse.data.readers import ScoreColumn
from cse.data.text import Text
from cse.data.views import Views
from cse.errors import UserError
from cse.model.tokenizer import Tokenizer
from cse.types import Augmentation, Document

WORDS = ["kadan", "lofel", "migor", "nuler", "permon", "stazu", "tridan"]


class Backwards(Augmentation):
    """The words in the reverse order."""

    level, model_dropout = "text", None

    def views(self, text, num_views, rng):
        return [" ".join(text.split()[::-1])] * num_views


@pytest.fixture
def make(tmp_path, tiny_tokenizer):
    def build(rows: int = 30, columns: int = 1, augmentation=None, num_views: int = 2, masking: str = "none", **more):
        def sentences():
            rng = np.random.default_rng(0)
            for i in range(rows):
                words = list(rng.choice(WORDS, rng.integers(1, 9)))
                yield tuple(" ".join([f"{i}", *words, "abc"[column]]) for column in range(columns))

        names = [f"c{i}" for i in range(columns)] if columns > 1 else None
        text = Text("made", str(tmp_path), rows=sentences, identity=f"{rows}x{columns}", columns=names).read()
        query, document = more.pop("prefixes", (more.pop("prefix", ""), None))
        tokenizer = Tokenizer(tiny_tokenizer, 64, query)
        if document is not None:
            tokenizer.prefixes, tokenizer.documents_follow = {Document: document}, True
        text = text.tokenized(tokenizer, 32)
        mask = Masking(0.3, 0.8, 0.1)
        mask.bind(tiny_tokenizer)
        views = {"max_length": more.pop("max_length", 32), "seed": more.pop("seed", 1)}
        views = Views(text, tokenizer, augmentation or Dropout(None), num_views=num_views, masking=masking,
                      mask=mask.masked, **views)  # fmt: skip
        return Batches(views, **{"batch_size": 4, "drop_last": False, "rank": 0, "world": 1} | more)

    return build


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
def test_a_last_batch_of_fewer_rows_than_the_loss_needs_is_left_out(make, rows, steps, caplog):
    """A whitening over fewer rows than its groups have channels would end the run after an epoch."""
    caplog.set_level("INFO")
    batches = make(rows=rows, batch_size=12, min_rows=2 if rows == 26 else 5)
    assert batches.steps_per_epoch == steps
    assert ("left out" in caplog.text) == (rows == 25)
    assert {len(batches.row_numbers_of(step)) for step in range(2 * steps)} <= {12, rows - 24}
    two = [make(rows=rows, batch_size=12, min_rows=5, world=2, rank=rank) for rank in (0, 1)]
    assert all(len(two[0].row_numbers_of(step)) >= 6 for step in range(two[0].steps_per_epoch))


@pytest.mark.parametrize("rows", [29, 30, 31, 32])
def test_no_batch_has_more_rows_than_the_batch_size(make, rows):
    """Four processes shared a last batch of two or three rows as eight, where a full batch has four."""
    batches = make(rows=rows, world=4)
    assert {len(batches.row_numbers_of(step)) for step in range(2 * batches.steps_per_epoch)} == {4}


def test_repeated_pieces_leave_room_for_a_prefix(make):
    """A tokenizer without a longest text, or a prefix, let a row grow beyond the encoder's positions."""
    augmentation = Repetition(1.0, "wordpieces", "paper", None)
    views = make(augmentation=augmentation, prefix="kadan lofel ").views
    views.tokenizer.positions = 16
    tight = Views(views.text, views.tokenizer, augmentation, num_views=2, masking="none", mask=views.mask,
                  max_length=16, seed=1)  # fmt: skip
    rows = [np.array([2, 5, 6, *range(7, 7 + n), 3], np.int32) for n in (4, 8, 12) for _ in range(40)]
    made = [tight._augmented(ids, 0, np.random.default_rng(i)) for i, ids in enumerate(rows)]
    assert max(map(len, made)) == 16


def test_views_that_are_cut_are_said(make, caplog):
    spans = Spans(1, 1, "all", 3, 4, "words", "skip", "jitter", adjacent_bug=False, model_dropout=None)
    for max_length, said in ((32, ""), (4, "trainer.max_length=4")):
        batches = make(rows=60, augmentation=spans, max_length=max_length)
        batches.views.check_texts(batches.row_numbers)
        assert bool(caplog.text) == bool(said)
        assert said in caplog.text


def test_an_epoch_has_every_row_once_in_an_order_of_its_own(make):
    batches = make(rows=30)
    assert batches.steps_per_epoch == 8
    seen = [row for step in range(8) for row in views_of(batches[step])[0]]
    assert len(seen) == len(set(seen)) == 30
    assert make(rows=30, drop_last=True).steps_per_epoch == 7
    assert make(rows=29).steps_per_epoch == 7  # one sentence alone has no negatives
    two = [make(rows=30, world=2, rank=rank) for rank in (0, 1)]
    assert two[0].steps_per_epoch == make(rows=30).steps_per_epoch  # on any number of processes
    assert [part[7].sizes[0] for part in two] == [2, 2]
    assert {*make(rows=30).row_numbers_of(7)} < {*two[0].row_numbers_of(7)}
    assert rows_of(batches[0]) != rows_of(batches[8])
    assert rows_of(batches[0]) != rows_of(make(rows=30, seed=2)[0])


@pytest.mark.parametrize("masking", ["none", "first"])
def test_each_epoch_and_view_augments_and_masks_a_row_anew(make, masking):
    augmentation = Shuffle(1.0, "round", 2, "count", None) if masking == "none" else None
    batches = make(rows=30, augmentation=augmentation, masking=masking)
    epochs = [{row for step in range(8 * epoch, 8 * epoch + 8) for row in rows_of(batches[step])} for epoch in (0, 1)]
    assert len(epochs[0] - epochs[1]) > 15
    if masking == "none":
        one, two = batches.views.unmasked(np.arange(30), 0)
        assert sum(a.ids.tolist() != b.ids.tolist() for a, b in zip(one, two, strict=True)) > 15


@pytest.mark.parametrize("masking", ["none", "first", "copies"])
def test_two_processes_make_the_same_global_batch(make, masking):
    options = {"rows": 32, "augmentation": Shuffle(0.5, "round", 2, "count", None), "masking": masking}
    whole = make(**options)
    halves = [make(**options, rank=rank, world=2) for rank in range(2)]
    for step in (0, 3, 9):
        first, second = (views_of(half[step]) for half in halves)
        assert [a + b for a, b in zip(first, second, strict=True)] == views_of(whole[step])


def test_workers_make_the_same_batches_and_leave_the_random_state(make):
    batches = make(rows=30, augmentation=Shuffle(0.5, "round", 2, "count", None), masking="first")
    before = torch.get_rng_state()
    alone = [rows_of(batch) for batch in batches.loader(2, 9, workers=0, pin=False)]
    helped = [rows_of(batch) for batch in batches.loader(2, 9, workers=2, pin=False)]
    assert alone == helped == [rows_of(batches[step]) for step in range(2, 9)]
    assert torch.equal(before, torch.get_rng_state())


def test_each_view_is_a_column(make, tiny_tokenizer):
    views = views_of(make(rows=10, columns=3, num_views=3)[0])
    ends = [[tiny_tokenizer.convert_ids_to_tokens(ids[-2]) for ids, _ in view] for view in views]
    assert ends == [["a"] * 4, ["b"] * 4, ["c"] * 4]
    numbers = [[ids[1] for ids, _ in view] for view in views]
    assert numbers[0] == numbers[1] == numbers[2]


def test_copies_mask_every_view_and_first_masks_one(make):
    for masking, sizes, masked in (("copies", (4, 4, 8), slice(8, 16)), ("first", (4, 4), slice(4))):
        batch = make(rows=30, masking=masking)[0]
        hidden_B = (batch.tokens.labels_BT != -100).any(1)
        assert batch.sizes == sizes
        assert hidden_B[masked].any()
        hidden_B[masked] = False
        assert not hidden_B.any()
    restored = torch.where(batch.tokens.labels_BT != -100, batch.tokens.labels_BT, batch.tokens.ids_BT)
    torch.testing.assert_close(restored[:4], batch.tokens.ids_BT[4:])


def test_every_draw_is_keyed_by_seed_epoch_row_and_view_and_masking_has_its_own(make, monkeypatch):
    asked = []
    numpys = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda key: asked.append(key) or numpys(key))
    batches = make(rows=30, masking="copies", augmentation=Shuffle(1.0, "round", 2, "count", None))
    asked.clear()
    batches[9]  # of the second epoch
    rows = batches.row_numbers_of(9).tolist()
    assert sorted(asked) == sorted((1, 1, row, view) for row in rows for view in (0, 1, views_module.MASKING_STREAM))


@pytest.mark.parametrize("masking", ["none", "first", "copies"])
def test_what_an_objective_reads_of_a_row_is_beside_its_ids(make, masking):
    """In every view, also if two processes share the batch, or masked copies are a view."""
    options = {"rows": 32, "masking": masking, "columns": 2}
    assert make(**options)[0].known == {}
    teacher = lambda rows, columns: np.stack([rows, columns], 1).astype(np.float32)  # noqa: E731
    for rank in range(2):
        batches = make(**options, rank=rank, world=2, teacher=teacher)
        scored = {"scores": ScoreColumn("score", None), "targets_N": np.arange(32, dtype=np.float32) / 32}
        batches.views.text = replace(batches.text, **scored)
        known, ids = batches[3].known, rows_of(batches[3])
        mine = np.split(batches.row_numbers_of(3), 2)[rank].tolist()
        copies = [row for row in mine for _ in range(2)] if masking == "copies" else []
        columns = [0] * len(mine) + [1] * len(mine) + [0, 1] * (len(copies) // 2)
        assert (known["targets_B"] * 32).tolist() == mine + mine + copies
        assert known["teacher_BE"].tolist() == [list(pair) for pair in zip(mine + mine + copies, columns, strict=True)]
        assert len(ids) == len(columns)


def test_a_batch_size_that_the_rows_or_the_processes_cannot_fill_is_refused(make):
    for few in ({"rows": 3}, {"rows": 10, "world": 3}):
        with pytest.raises(UserError, match=r"trainer\.batch_size=4"):
            make(**few)


def test_a_prefix_is_not_shuffled_with_its_text(make):
    plain, prefixed = (
        make(augmentation=Shuffle(1.0, "round", 2, "count", None), prefix=prefix) for prefix in ("", "kafel migor: ")
    )
    prefix = prefixed.views.tokenizer.hf("kafel migor: ", add_special_tokens=False)["input_ids"]
    assert len(prefix) > 1
    made = (batches.views.unmasked(np.arange(10), 0) for batches in (prefixed, plain))
    for with_prefix, without in zip(*made, strict=True):
        for long, short in zip(with_prefix, without, strict=True):
            assert long.ids.tolist() == [short.ids[0], *prefix, *short.ids[1:]]


@pytest.mark.parametrize("level", ["tokens", "text"])
@pytest.mark.parametrize("document", ["lofel kadan migor: ", ""])
def test_columns_after_the_first_have_the_prefix_of_documents(make, level, document):
    """Each prefix stays in its place, and only the text behind it is shuffled."""
    augmentation = Shuffle(1.0, "round", 2, "count", None) if level == "tokens" else Backwards()
    make = partial(make, columns=3, num_views=3, augmentation=augmentation)
    plain, sided = make(), make(prefixes=("kafel: ", document))
    ids_of = lambda prefix: sided.views.tokenizer.hf(prefix, add_special_tokens=False)["input_ids"]  # noqa: E731
    prefixes = [ids_of("kafel: "), ids_of(document), ids_of(document)]
    made = (batches.views.unmasked(np.arange(10), 0) for batches in (plain, sided))
    for views in zip(*made, prefixes, strict=True):
        for short, long in zip(*views[:2], strict=True):
            assert long.ids.tolist() == [short.ids[0], *views[2], *short.ids[1:]]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("unit", ["wordpieces", "words"])
def test_an_augmentation_that_keeps_the_first_view_changes_only_the_others(make, unit, columns):
    plain, repeated = (make(columns=columns, augmentation=one) for one in (None, Repetition(1.0, unit, "paper", None)))
    before, after = plain.views.unmasked(np.arange(30), 0), repeated.views.unmasked(np.arange(30), 0)
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(before[0], after[0], strict=True))
    assert sum(len(b.ids) > len(a.ids) for a, b in zip(before[1], after[1], strict=True)) > 20


def test_without_special_tokens_the_ends_of_a_text_are_shuffled_too(make, monkeypatch):
    monkeypatch.setattr(Tokenizer, "before_text", lambda self, column=0: 0)
    monkeypatch.setattr(Tokenizer, "after_text", lambda self, column=0: 0)
    plain, shuffled = make(), make(augmentation=Shuffle(1.0, "round", 2, "count", None))
    before, after = plain.views.unmasked(np.arange(30), 0), shuffled.views.unmasked(np.arange(30), 0)
    rows = [(a.ids, b.ids) for a, b in zip(before[0] + before[1], after[0] + after[1], strict=True)]
    assert all(sorted(a) == sorted(b) for a, b in rows)
    for end in (0, -1):
        assert sum(a[end] != b[end] for a, b in rows) > 30


def test_an_id_above_the_number_of_tokens_is_one_of_a_vocabulary_with_gaps(make, gapped_tokenizer):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return np.insert(ids, 1, 70_001)

    batches = make(augmentation=Mine())
    batches.views.tokenizer = Tokenizer(gapped_tokenizer, 64)
    assert batches.views.unmasked(np.arange(2), 0)[1][0].ids[1] == 70_001


@pytest.mark.parametrize(("made", "said"), [
    *((made, r"Mine\.views must return 2 views")
      for made in ("ab", ["a"], ["a", None], ["a", []], ["a", ["b", 1]], None)),
    *((made, r"Mine\.views .* positives is 1")
      for made in (["a", ["b", "c"]], [["a", "b"], "c"], [["a"], ["b", "c", "d"]])),
])  # fmt: skip
def test_views_that_are_no_texts_or_of_other_sizes_than_it_says_are_refused_by_class(make, made, said):
    class Mine(Augmentation):
        level = "text"

        def views(self, text, num_views, rng):
            return made

    with pytest.raises(UserError, match=said):
        make(augmentation=Mine()).views.unmasked(np.arange(2), 0)


@pytest.mark.parametrize("made", [None, [1, 2], np.zeros(3), np.zeros((1, 3), int), np.zeros(0, int)])
def test_tokens_that_are_no_ids_are_refused_by_class(make, made):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return made

    with pytest.raises(UserError, match=r"Mine\.tokens must return an array of ids"):
        make(augmentation=Mine()).views.unmasked(np.arange(2), 0)


@pytest.mark.parametrize(("made", "said"), [
    (lambda ids: ids[1:-1], "the first and the last"), (lambda ids: ids[:-1], "the first and the last"),
    (lambda ids: ids[:1], "two or more"), (lambda ids: np.insert(ids, 1, 10**6), "ids below"),
    (lambda ids: np.insert(ids, 1, -100), "ids below"), (lambda ids: ids[np.r_[0, [1] * 60, -1]], "40 tokens at most"),
])  # fmt: skip
def test_tokens_without_the_special_ones_or_that_no_tokenizer_has_are_refused(make, made, said):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return made(ids)

    batches = make(augmentation=Mine())
    batches.views.tokenizer.positions = 40
    with pytest.raises(UserError, match=rf"Mine\.tokens must .*{said}"):
        batches.views.unmasked(np.arange(2), 0)


def test_an_augmentation_that_leaves_no_text_is_refused(make):
    class Mine(Augmentation):
        level = "text"

        def views(self, text, num_views, rng):
            return [text, " " if rng.random() < self.share else text]

    mine = Mine()
    mine.share = 0.5
    make(augmentation=mine).views.check_texts(np.arange(30))
    mine.share = 1.0
    with pytest.raises(UserError, match=r"Mine\.views left no text in any of 16 rows"):
        make(augmentation=mine).views.check_texts(np.arange(30))


@pytest.mark.parametrize("augmentation", [Shuffle(1.0, "round", 2, "count", None), Backwards()])
def test_a_missing_text_is_marked_and_not_augmented(make, augmentation):
    batches = make(rows=12, columns=3, num_views=3, augmentation=augmentation)
    missing_NC = np.zeros((12, 3), bool)
    missing_NC[:, 2] = True
    missing_NC[::3, 2] = False
    batches.views.text = replace(batches.text, missing_NC=missing_NC)
    if augmentation.level == "text":
        batches.views.check_texts(batches.row_numbers)
    views = batches.views.unmasked(np.arange(12), 0)
    plain = [batches.text.ids_of(np.arange(12), column) for column in range(3)]
    same = [
        [np.array_equal(one.ids, ids) for one, ids in zip(*both, strict=True)]
        for both in zip(views, plain, strict=True)
    ]
    assert set(np.flatnonzero(missing_NC[:, 2])) <= set(np.flatnonzero(same[2]))
    assert not all(same[2])
    batch, rows = batches[0], batches.row_numbers_of(0)
    assert batch.known["missing_B"].tolist() == missing_NC[rows].T.flatten().tolist()
