"""The views of rows: augmented, checked, and each draw keyed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cse.augmentation.dropout import Dropout
from cse.augmentation.repetition import Repetition
from cse.augmentation.shuffle import Shuffle
from cse.augmentation.spans import Spans
from cse.data import views as views_module
from cse.data.rows import TextRows
from cse.data.views import Views
from cse.errors import UserError
from cse.model.tokenizer import Tokenizer
from cse.types import Augmentation


class Backwards(Augmentation):
    """The words in the reverse order."""

    level, model_dropout = "text", None

    def views(self, text, num_views, rng):
        return [" ".join(text.split()[::-1])] * num_views


def test_repeated_pieces_leave_room_for_a_prefix(batches_of):
    """A tokenizer without a longest text, or a prefix, let a row grow beyond the encoder's positions."""
    augmentation = Repetition(1.0, "wordpieces", "paper", None)
    views = batches_of(augmentation=augmentation, prefix="kadan lofel ").views
    views.tokenizer.positions = 16
    tight = Views(views.text, views.tokenizer, augmentation, num_views=2, masking="none", mask=views.mask,
                  max_length=16, seed=1)  # fmt: skip
    rows = [np.array([2, 5, 6, *range(7, 7 + n), 3], np.int32) for n in (4, 8, 12) for _ in range(40)]
    made = [tight._augmented(ids, 0, np.random.default_rng(i)) for i, ids in enumerate(rows)]
    assert max(map(len, made)) == 16


def test_views_that_are_cut_are_said(batches_of, caplog):
    spans = Spans(1, 1, "all", 3, 4, "words", "skip", "jitter", adjacent_bug=False, model_dropout=None)
    for max_length, said in ((32, ""), (4, "trainer.max_length=4")):
        batches = batches_of(rows=60, augmentation=spans, max_length=max_length)
        batches.views.check_texts(batches.row_numbers)
        assert bool(caplog.text) == bool(said)
        assert said in caplog.text


def test_a_prefix_is_not_shuffled_with_its_text(batches_of):
    plain, prefixed = (
        batches_of(augmentation=Shuffle(1.0, "round", 2, "count", None), prefix=prefix)
        for prefix in ("", "kafel migor: ")
    )
    prefix = prefixed.views.tokenizer.hf("kafel migor: ", add_special_tokens=False)["input_ids"]
    assert len(prefix) > 1
    made = (batches.views.unmasked(np.arange(10), 0) for batches in (prefixed, plain))
    for with_prefix, without in zip(*made, strict=True):
        for long, short in zip(with_prefix, without, strict=True):
            assert long.ids.tolist() == [short.ids[0], *prefix, *short.ids[1:]]


@pytest.mark.parametrize("level", ["tokens", "text"])
@pytest.mark.parametrize("document", ["lofel kadan migor: ", ""])
def test_columns_after_the_first_have_the_prefix_of_documents(batches_of, level, document):
    """Each prefix stays in its place, and only the text behind it is shuffled."""
    augmentation = Shuffle(1.0, "round", 2, "count", None) if level == "tokens" else Backwards()
    batches_of = partial(batches_of, columns=3, num_views=3, augmentation=augmentation)
    plain, sided = batches_of(), batches_of(prefixes=("kafel: ", document))
    ids_of = lambda prefix: sided.views.tokenizer.hf(prefix, add_special_tokens=False)["input_ids"]  # noqa: E731
    prefixes = [ids_of("kafel: "), ids_of(document), ids_of(document)]
    made = (batches.views.unmasked(np.arange(10), 0) for batches in (plain, sided))
    for views in zip(*made, prefixes, strict=True):
        for short, long in zip(*views[:2], strict=True):
            assert long.ids.tolist() == [short.ids[0], *views[2], *short.ids[1:]]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("unit", ["wordpieces", "words"])
def test_an_augmentation_that_keeps_the_first_view_changes_only_the_others(batches_of, unit, columns):
    plain, repeated = (
        batches_of(columns=columns, augmentation=one) for one in (None, Repetition(1.0, unit, "paper", None))
    )
    before, after = plain.views.unmasked(np.arange(30), 0), repeated.views.unmasked(np.arange(30), 0)
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(before[0], after[0], strict=True))
    assert sum(len(b.ids) > len(a.ids) for a, b in zip(before[1], after[1], strict=True)) > 20


def test_without_special_tokens_the_ends_of_a_text_are_shuffled_too(batches_of, monkeypatch):
    monkeypatch.setattr(Tokenizer, "before_text", lambda self, column=0: 0)
    monkeypatch.setattr(Tokenizer, "after_text", lambda self, column=0: 0)
    plain, shuffled = batches_of(), batches_of(augmentation=Shuffle(1.0, "round", 2, "count", None))
    before, after = plain.views.unmasked(np.arange(30), 0), shuffled.views.unmasked(np.arange(30), 0)
    rows = [(a.ids, b.ids) for a, b in zip(before[0] + before[1], after[0] + after[1], strict=True)]
    assert all(sorted(a) == sorted(b) for a, b in rows)
    for end in (0, -1):
        assert sum(a[end] != b[end] for a, b in rows) > 30


@pytest.mark.parametrize("document", [None, "lofel kadan: "])
def test_the_ids_of_rows_are_those_of_a_call_of_the_tokenizer(batches_of, document):
    views = batches_of(columns=2, prefixes=("kafel: ", document), max_length=6).views
    for column in (0, 1):
        prefix = document if column and document is not None else "kafel: "
        texts = [prefix + views.text.text(row, column) for row in (3, 1)]
        made = views.ids_of(np.array([3, 1]), column)
        expected = views.tokenizer.hf(texts, truncation=True, max_length=6)["input_ids"]
        assert [ids.tolist() for ids in made] == expected
        with pytest.raises(ValueError, match="read-only"):
            made[0][0] = 0


def test_before_any_work_only_a_sample_is_tokenised(batches_of, monkeypatch):
    read = []
    texts_of = TextRows.texts_of
    monkeypatch.setattr(TextRows, "texts_of", lambda self, rows, column=0: read.extend(rows) or texts_of(self, rows))
    for sampled, rows in ((7, [0, 4, 8, 12, 17, 21, 25]), (30, [*range(30)]), (31, [*range(30)])):
        read.clear()
        monkeypatch.setattr(views_module, "SAMPLED_ROWS", sampled)
        monkeypatch.setattr(views_module, "TEXTS_PER_CALL", 4)
        batches = batches_of(rows=30)
        assert read == []
        batches.views.sample_ids(batches.row_numbers)
        assert read == rows
        lengths = [len(ids) for ids in batches.views.ids_of(np.array(rows), 0)]
        assert batches.views.lengths_nV.tolist() == [[length, length] for length in lengths]


@pytest.mark.parametrize(("sampled", "said"), [(5, "2 of 5 rows have"), (3, "1 of 3 rows, a sample of 5, have")])
def test_rows_without_a_token_that_the_vocabulary_knows_are_counted(prepared, tiny_tokenizer, caplog, monkeypatch,
                                                                    sampled, said):  # fmt: skip
    monkeypatch.setattr(views_module, "SAMPLED_ROWS", sampled)
    lines = ["kadan", "lofel \U0001f600", "\u4f60\u597d", "\U0001f600 \U0001f601", "migor"]
    tokenizer = Tokenizer(tiny_tokenizer, 64, prefix="kadan ")
    views = partial(Views, num_views=2, masking="none", mask=None, max_length=8, seed=1)
    views(prepared(lines), tokenizer, Dropout(None)).sample_ids(np.arange(5))
    said += " a text without any token of the vocabulary, the first: row"
    assert f"{said} {4 if sampled == 3 else 3}" in caplog.text
    caplog.clear()
    views(prepared(lines, limit=2), tokenizer, Dropout(None)).sample_ids(np.arange(2))
    assert not caplog.text


def test_an_id_above_the_number_of_tokens_is_one_of_a_vocabulary_with_gaps(batches_of, gapped_tokenizer):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return np.insert(ids, 1, 70_001)

    batches = batches_of(augmentation=Mine())
    batches.views.tokenizer = Tokenizer(gapped_tokenizer, 64)
    assert batches.views.unmasked(np.arange(2), 0)[1][0].ids[1] == 70_001


@pytest.mark.parametrize(("made", "said"), [
    *((made, r"Mine\.views must return 2 views")
      for made in ("ab", ["a"], ["a", None], ["a", []], ["a", ["b", 1]], None)),
    *((made, r"Mine\.views .* positives=1")
      for made in (["a", ["b", "c"]], [["a", "b"], "c"], [["a"], ["b", "c", "d"]])),
])  # fmt: skip
def test_views_that_are_no_texts_or_of_other_sizes_than_it_says_are_refused_by_class(batches_of, made, said):
    class Mine(Augmentation):
        level = "text"

        def views(self, text, num_views, rng):
            return made

    with pytest.raises(UserError, match=said):
        batches_of(augmentation=Mine()).views.unmasked(np.arange(2), 0)


@pytest.mark.parametrize("made", [None, [1, 2], np.zeros(3), np.zeros((1, 3), int), np.zeros(0, int)])
def test_tokens_that_are_no_ids_are_refused_by_class(batches_of, made):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return made

    with pytest.raises(UserError, match=r"Mine\.tokens must return a one-dimensional NumPy array"):
        batches_of(augmentation=Mine()).views.unmasked(np.arange(2), 0)


@pytest.mark.parametrize(("made", "said"), [
    (lambda ids: ids[1:-1], "the first and the last"), (lambda ids: ids[:-1], "the first and the last"),
    (lambda ids: ids[:1], "two or more"), (lambda ids: np.insert(ids, 1, 10**6), "0 to "),
    (lambda ids: np.insert(ids, 1, -100), "0 to "), (lambda ids: ids[np.r_[0, [1] * 60, -1]], "40 tokens at most"),
])  # fmt: skip
def test_tokens_without_the_special_ones_or_that_no_tokenizer_has_are_refused(batches_of, made, said):
    class Mine(Augmentation):
        def tokens(self, ids, rng):
            return made(ids)

    batches = batches_of(augmentation=Mine())
    batches.views.tokenizer.positions = 40
    with pytest.raises(UserError, match=rf"Mine\.tokens must .*{said}"):
        batches.views.unmasked(np.arange(2), 0)


def test_an_augmentation_that_leaves_no_text_is_refused(batches_of):
    class Mine(Augmentation):
        level = "text"

        def views(self, text, num_views, rng):
            return [text, " " if rng.random() < self.share else text]

    mine = Mine()
    mine.share = 0.5
    batches_of(augmentation=mine).views.check_texts(np.arange(30))
    mine.share = 1.0
    with pytest.raises(UserError, match=r"Mine\.views left no text in any of 16 rows"):
        batches_of(augmentation=mine).views.check_texts(np.arange(30))


@pytest.mark.parametrize("augmentation", [Shuffle(1.0, "round", 2, "count", None), Backwards()])
def test_a_missing_text_is_marked_and_not_augmented(batches_of, augmentation):
    batches = batches_of(rows=12, columns=3, num_views=3, augmentation=augmentation)
    missing_NC = np.zeros((12, 3), bool)
    missing_NC[:, 2] = True
    missing_NC[::3, 2] = False
    batches.views.text = replace(batches.text, missing_NC=missing_NC)
    if augmentation.level == "text":
        batches.views.check_texts(batches.row_numbers)
    views = batches.views.unmasked(np.arange(12), 0)
    plain = [batches.views.ids_of(np.arange(12), column) for column in range(3)]
    same = [
        [np.array_equal(one.ids, ids) for one, ids in zip(*both, strict=True)]
        for both in zip(views, plain, strict=True)
    ]
    assert set(np.flatnonzero(missing_NC[:, 2])) <= set(np.flatnonzero(same[2]))
    assert not all(same[2])
    batch, rows = batches[0], batches.row_numbers_of(0)
    assert batch.known["missing_B"].tolist() == missing_NC[rows].T.flatten().tolist()
