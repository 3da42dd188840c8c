"""DeCLUTR's spans: the authors' own, their invariants, and texts made of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from cse.augmentation.spans import Spans, sample_spans
from cse.errors import UserError

# The first three documents that the authors' sampler draws after np.random.seed(0), lengths 32..512:
# (n, A, P, strategy) -> [(anchors, positives), ...].
AUTHORS = {
    (2048, 2, 2, "all"): [
        ([(595, 1003), (1565, 1924)], [(838, 909), (840, 1132), (1552, 1692), (1797, 1935)]),
        ([(1032, 1525), (42, 498)], [(1071, 1289), (1315, 1462), (131, 334), (373, 680)]),
        ([(606, 877), (1571, 2030)], [(389, 606), (769, 983), (1473, 1607), (1460, 1603)]),
    ],
    (2048, 2, 2, "adjacent"): [
        ([(595, 1003), (1565, 1924)], [(524, 595), (1003, 1295), (1425, 1565), (1413, 1565)]),
        ([(550, 782), (1548, 1972)], [(782, 1000), (782, 1130), (1194, 1548), (1296, 1548)]),
        ([(69, 490), (1666, 1999)], [(490, 632), (490, 800), (1505, 1666), (1580, 1666)]),
    ],
    (2048, 2, 2, "subsuming"): [
        ([(595, 1003), (1565, 1924)], [(909, 972), (620, 855), (1692, 1797), (1679, 1783)]),
        ([(1032, 1525), (84, 489)], [(1289, 1499), (1114, 1256), (288, 456), (363, 427)]),
        ([(1536, 2010), (606, 1004)], [(1578, 1796), (1579, 1739), (761, 936), (686, 836)]),
    ],
    (2048, 1, 1, "all"): [
        ([(595, 1003)], [(838, 909)]),
        ([(589, 1013)], [(654, 1020)]),
        ([(1678, 1950)], [(1729, 1880)]),
    ],
    (5000, 2, 2, "all"): [
        ([(1557, 1965), (29, 372)], [(1650, 1750), (1499, 1629), (127, 267), (370, 508)]),
        ([(3080, 3573), (1044, 1500)], [(3119, 3337), (3363, 3510), (1017, 1224), (1139, 1417)]),
        ([(2654, 2925), (1556, 2015)], [(2437, 2654), (2817, 3031), (2014, 2334), (1565, 1730)]),
    ],
}


def toy(dim):
    """Shrinks the spans for tests of every augmentation (tests/toys.py)."""
    return ["augmentation.min_length=4", "augmentation.max_length=8"]


def spans(**changes):
    options = {"anchors": 2, "positives": 2, "strategy": "all", "min_length": 4, "max_length": 16, "unit": "words",
               "on_short": "error", "anchor_start": "jitter", "adjacent_bug": False, "model_dropout": None}  # fmt: skip
    return Spans(**(options | changes))


def document(n):
    return " ".join(f"w{i}" for i in range(n))


def numbers(text):
    return [int(word[1:]) for word in text.split()]


@pytest.mark.parametrize(("case", "expected"), AUTHORS.items())
def test_spans_are_those_of_the_authors_sampler(case, expected):
    rng = np.random.RandomState(0)  # as np.random.seed(0)
    assert [sample_spans(*case, rng, adjacent_bug=True) for _ in range(3)] == expected


def test_all_starts_of_a_positive_are_equally_likely():
    # Every span has 2 of the 9 units: a positive starts from 2 before the anchor up to its end, inside the document.
    rng = np.random.default_rng(0)
    starts = {}
    for _ in range(6000):
        anchors, positives = sample_spans(9, 1, 1, "all", rng, 2, 2)
        starts.setdefault(anchors[0][0], []).append(positives[0][0])
    assert sorted(starts) == [0, 2, 4, 6]
    for anchor, drawn in starts.items():
        places, counts = np.unique(drawn, return_counts=True)
        assert places.tolist() == list(range(max(0, anchor - 2), min(anchor + 2, 7) + 1))
        assert counts / len(drawn) == pytest.approx([1 / len(places)] * len(places), abs=0.05)


@st.composite
def cases(draw):
    min_length = draw(st.integers(1, 20))
    max_length = draw(st.integers(min_length, 40))
    anchors = draw(st.integers(1, 5))
    num_units = 2 * anchors * max_length + draw(st.integers(0, 100))
    return num_units, anchors, draw(st.integers(1, 3)), min_length, max_length, draw(st.integers(0, 2**32 - 1))


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(["all", "adjacent", "subsuming"]), st.sampled_from(["jitter", "block_start"]))
def test_spans_keep_their_lengths_places_and_distances(case, strategy, anchor_start):
    n, num_anchors, num_positives, shortest, longest, seed = case
    for rng in (np.random.default_rng(seed), np.random.RandomState(seed)):
        anchors, positives = sample_spans(n, num_anchors, num_positives, strategy, rng, shortest, longest, anchor_start)
        assert (len(anchors), len(positives)) == (num_anchors, num_anchors * num_positives)
        for start, end in anchors + positives:
            assert 0 <= start < end <= n
            assert shortest <= end - start <= longest
        ordered = sorted(anchors)
        for (_, end), (start, _) in itertools.pairwise(ordered):
            assert start - end >= longest
        for i, (start, end) in enumerate(positives):
            anchor_start_, anchor_end = anchors[i // num_positives]
            assert start <= anchor_end  # they touch or overlap
            assert end >= anchor_start_
            if strategy == "subsuming":
                assert anchor_start_ <= start
                assert end <= anchor_end
            if strategy == "adjacent":
                assert end == anchor_start_ or start == anchor_end
        if anchor_start == "block_start":
            assert {start % longest for start, _ in anchors} == {0}


class Edges(np.random.RandomState):
    """A generator whose anchor is (1, 3) of 8 units and whose positives have one unit: the case of the bug."""

    def beta(self, a, b):
        return 0.5 if a == 4 else 0.0

    def randint(self, low, high):
        return {2: 0, 3: 1}[high]  # the first block; its second unit

    def choice(self, places):
        return places[0]


def test_the_authors_bug_never_reaches_the_start_of_the_document():
    arguments = 8, 1, 1, "adjacent", Edges(), 1, 4
    anchors, fixed = sample_spans(*arguments)
    assert anchors == [(1, 3)]
    assert fixed == [(0, 1)]  # the unit before the anchor is the document's first
    assert sample_spans(*arguments, adjacent_bug=True)[1] == [(3, 4)]


def test_views_are_texts_of_the_document():
    text = " \n".join(["  w0", *(f"w{i}" for i in range(1, 64))]) + "\t"
    anchors, positives = spans(strategy="subsuming").views(text, 2, np.random.default_rng(3))
    expected = sample_spans(64, 2, 2, "subsuming", np.random.default_rng(3), 4, 16)
    assert [numbers(a) for a in anchors] == [list(range(*span)) for span in expected[0]]
    assert [numbers(p) for p in positives] == [list(range(*span)) for span in expected[1]]


STEMS, ENDS = ["walk", "talk", "jump", "paint"], ["ing", "ed", "er", "'t", ", so"]


def tokenizer_of(kind: str) -> PreTrainedTokenizerFast:
    """Word pieces as BERT's, byte-level BPE as GPT-2's, or BPE with a mark for blanks as Llama's."""
    if kind == "bert":
        vocabulary = ["[UNK]", *STEMS, *"abcdefghijklmnopqrstuvwxyz',", "so", "##ing", "##ed", "##er"]
        core = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
        core.pre_tokenizer, core.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    else:
        core = Tokenizer(models.BPE(unk_token="[UNK]"))
        trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False)
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        if kind == "llama":
            core.pre_tokenizer = pre_tokenizers.Metaspace()
        core.train_from_iterator([f" {stem}{end}" for stem in STEMS for end in ENDS], trainer)
        if kind == "llama":  # whose whole text is one word to the tokenizer
            core.pre_tokenizer = None
            core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]")


def ids_of(hf: PreTrainedTokenizerFast, text: str) -> str:
    return " ".join(["", *map(str, hf(text, add_special_tokens=False)["input_ids"]), ""])


@pytest.mark.parametrize("strategy", ["all", "adjacent", "subsuming"])
@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_the_tokens_of_a_span_of_word_pieces_are_the_documents(kind, strategy):
    """DeCLUTR#214: a span that begins inside a word was decoded and tokenised again, into other tokens."""
    hf, rng = tokenizer_of(kind), np.random.default_rng(0)
    text = " ".join(STEMS[rng.integers(4)] + ENDS[rng.integers(5)] for _ in range(90))
    augmentation = spans(unit="wordpieces", strategy=strategy)
    augmentation.bind(hf)
    whole = ids_of(hf, text if kind == "llama" else " " + text)
    made = [span for _ in range(40) for view in augmentation.views(text, 2, rng) for span in view]
    assert all(ids_of(hf, span) in whole for span in made)
    lengths = [len(hf(span, add_special_tokens=False)["input_ids"]) for span in made]
    assert min(lengths) >= 2
    assert max(lengths) <= 16 + 5  # a word more than the longest


def test_spans_of_word_pieces_inside_one_long_word():
    """As where a script has no blanks: spans move by no more than their length."""
    hf = tokenizer_of("llama")
    augmentation = spans(unit="wordpieces")
    augmentation.bind(hf)
    text = "".join("walkted"[i % 7] for i in range(400))
    anchors, positives = augmentation.views(text, 2, np.random.default_rng(0))
    assert all(0 < len(span) < 200 and span in text for span in anchors + positives)
    with pytest.raises(UserError, match=r"22 .*64"):
        augmentation.views("  so".join(["so"] * 11) + " ", 2, np.random.default_rng(0))  # with single spaces


class Documents:
    def __init__(self, *lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)

    def text(self, i):
        return document(self.lengths[i])

    def measured(self, number_of, key):
        return np.array([number_of(self.text(i)) for i in range(len(self))])


def test_short_documents_are_refused_skipped_or_give_shorter_spans():
    documents = Documents(64, 63, 10, 200, 16)
    for changes, told in (({}, "3 of 5 .*64 words"), ({"max_length": 300, "on_short": "skip"}, "5 of 5")):
        with pytest.raises(UserError, match=told):
            spans(**changes).usable_rows(documents)
    with pytest.raises(UserError, match="max_length=10"):  # enough for nine of ten
        spans().usable_rows(Documents(10, *[40] * 19))
    assert spans().usable_rows(Documents(64, 100)).tolist() == [0, 1]
    assert spans(on_short="skip").usable_rows(documents).tolist() == [0, 3]
    shrink = spans(on_short="shrink", strategy="adjacent")
    assert shrink.usable_rows(documents).tolist() == [0, 1, 3, 4]
    for seed in range(50):
        anchors, positives = shrink.views(document(40), 2, np.random.default_rng(seed))
        assert all(4 <= len(numbers(span)) <= 10 for span in anchors + positives)
        shrink.views(document(16), 2, np.random.default_rng(seed))
    with pytest.raises(UserError):
        shrink.views(document(15), 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"min_length": 20}, "min_length=20"), ({"min_length": 16, "adjacent_bug": True}, "adjacent_bug")],
)
def test_a_wrong_option_is_named(changes, key):
    with pytest.raises(UserError, match=key):
        spans(**changes)
