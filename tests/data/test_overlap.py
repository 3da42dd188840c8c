"""Training texts that occur in the evaluation sets."""

import json

from cse.data.overlap import normalised, overlap, overlap_in_words
from cse.types import Evaluator


class Fixed(Evaluator):
    """Scores these texts."""

    def prepare(self): ...

    def __call__(self, encode, split): ...

    def source(self): ...

    def __init__(self, *texts):
        self.given = texts

    def texts(self):
        return self.given


LINES = ["A man is playing.", "a man is PLAYING", "Nothing like it.", "Don't go!", "ﬁne café", "..."]


def test_texts_are_found_apart_from_case_and_punctuation(prepared):
    sts, demo = Fixed("A man is playing .", "A man is playing.", "do n't go"), Fixed("FINE CAFÉ", "!!!")
    found = overlap(prepared(LINES, limit=6), {"sts": sts, "demo": demo, "mteb": Fixed()})
    assert found == {
        "texts": 6,
        "found": 4,
        "sets": {"sts": 3, "demo": 1},
        "unread": ["mteb"],
        "duplicates": 0,
    }
    assert all(part in overlap_in_words(found) for part in ("4 of 6", "sts 3", "demo 1", "mteb"))


def test_only_rows_in_use_are_counted_and_the_count_is_kept(prepared):
    sets = {"sts": Fixed("A man is playing", "Don't go")}
    text = prepared(LINES, limit=3)
    found = overlap(text, sets)
    assert (found["texts"], found["found"]) == (3, 2)
    (kept,) = text.cache.glob("*.overlap.json")
    kept.write_text(json.dumps({**found, "found": 7}))
    assert overlap(text, sets)["found"] == 7  # read, not counted again
    assert overlap(text, {"sts": Fixed("Don't go")})["found"] == 0  # other sets, another count
    for empty, rows in (("keep", 7), ("skip", 6)):
        assert overlap(prepared([*LINES, "\u200b"], empty=empty), sets)["texts"] == rows


def test_unicode_that_folds_to_ascii_matches_its_ascii():
    assert normalised("ﬁne — “Café_1”".encode()) == "finecafé1".encode()
    assert normalised("ＡＢＣ１".encode()) == normalised(b"a-b c 1") == b"abc1"
