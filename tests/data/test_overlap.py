"""Training texts that occur in the evaluation sets."""

import json

import pytest

from cse.data.overlap import NEAR, grams_of, in_words, near_duplicates, normalised, overlap
from cse.types import Evaluator


class Fixed(Evaluator):
    """Scores these texts."""

    def __init__(self, *texts):
        self.given = texts

    def texts(self):
        return self.given


pytest.importorskip("datasketch")

LINES = ["A man is playing.", "a man is PLAYING", "Nothing like it.", "Don't go!", "ﬁne café", "..."]


def test_texts_are_found_exactly_and_apart_from_case_and_punctuation(prepared):
    sts, demo = Fixed("A man is playing .", "A man is playing.", "do n't go"), Fixed("FINE CAFÉ", "!!!")
    found = overlap(prepared(LINES, limit=6), {"sts": sts, "demo": demo, "mteb": Fixed()})
    assert found == {
        "texts": 6,
        "exact": 1,
        "normalised": 4,
        "sets": {
            "sts": {"texts": 3, "exact": 1, "normalised": 3},
            "demo": {"texts": 2, "exact": 0, "normalised": 1},
        },
        "unread": ["mteb"],
        "near": (4, 6),
    }
    assert all(part in in_words(found) for part in ("1 of 6", "sts 3", "demo 1", "mteb"))


def test_only_rows_in_use_are_counted_and_the_count_is_kept(prepared):
    sets = {"sts": Fixed("A man is playing", "Don't go")}
    text = prepared(LINES, limit=3)
    found = overlap(text, sets)
    assert (found["texts"], found["normalised"]) == (3, 2)
    (kept,) = text.cache.glob("*.overlap.json")
    kept.write_text(json.dumps({**found, "exact": 7}))
    assert overlap(text, sets)["exact"] == 7  # read, not counted again
    assert overlap(text, {"sts": Fixed("Don't go")})["exact"] == 0  # other sets, another count
    for empty, rows in (("keep", 7), ("skip", 6)):
        assert overlap(prepared([*LINES, "\u200b"], empty=empty), sets)["texts"] == rows


def test_unicode_that_folds_to_ascii_matches_its_ascii():
    assert normalised("ﬁne — “Café_1”".encode()) == "finecafé1".encode()
    assert normalised("ＡＢＣ１".encode()) == normalised(b"a-b c 1") == b"abc1"


def test_near_duplicates_are_those_that_share_their_n_grams():
    """Held to Jaccard's index of every pair; one word of thirty is changed, or half of them."""
    words = [f"{number * 7919 % 10007}".encode() for number in range(300)]
    texts = [b"".join(words[start : start + 30]) for start in range(0, 300, 30)]
    sample = [texts[0].replace(words[3], b"xy"), texts[1][: len(texts[1]) // 2] + texts[2], texts[3], b"another text"]
    pairs = [[len(grams_of(a) & grams_of(b)) / len(grams_of(a) | grams_of(b)) for b in texts] for a in sample]
    assert near_duplicates(sample, set(texts)) == sum(max(of) >= NEAR for of in pairs) == 2
