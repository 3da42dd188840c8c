"""EDA's four operations: how often, where and on which words they act."""

from collections import Counter

import numpy as np
import pytest

from cse.augmentation.eda import STOP_WORDS, Eda, clean, delete, insert, replace_synonyms, swap

SYNONYMS = {"dog": ("cad", "hound"), "house": ("family",), "runs": ("flows", "hunt down"), "the": ("a",)}
WORDS = [f"w{chr(97 + i)}" for i in range(20)]  # twenty distinct words without synonyms


def synonyms(word):
    return SYNONYMS.get(word, ())


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def eda(wordnet_folder, tmp_path):
    def make(alpha=0.1, ops="one", clean="reference"):
        return Eda(alpha, ops, clean, 0.0, str(wordnet_folder), str(tmp_path / "cache"))

    return make


def test_stop_words_are_the_authors_127():
    assert len(STOP_WORDS) == 127
    assert {"i", "don", "t", "s", "yourselves", "now"} < STOP_WORDS
    assert not {"dog", "us", "would"} & STOP_WORDS


def test_replace_changes_n_words_wherever_they_occur():
    """But no stop word, and no word without synonyms."""
    words = ["the", "dog", "wa", "runs", "the", "dog", "house"]
    seen = Counter()
    for seed in range(600):
        out = replace_synonyms(words, 1, synonyms, rng(seed))
        ((word, new),) = {(old, new) for old, new in zip(words, out, strict=True) if old != new}
        assert out.count(new) == words.count(word)
        seen[word, new] += 1
    expected = {("dog", "cad"): 100, ("dog", "hound"): 100, ("runs", "flows"): 100, ("runs", "hunt down"): 100}
    assert dict(seen) == pytest.approx(expected | {("house", "family"): 200}, abs=45)
    every = replace_synonyms(words, 5, synonyms, rng())
    assert [every[i] == words[i] for i in range(7)] == [True, False, True, False, True, False, False]


def test_insert_adds_n_synonyms_of_words_that_have_some():
    words = ["wb", "dog", "wa"]
    places = Counter()
    for seed in range(900):
        out = insert(words, 1, synonyms, rng(seed))
        if len(out) == 3:  # nine draws without the dog
            assert out == words
            continue
        (new,) = set(out) - set(words)
        assert new in SYNONYMS["dog"]
        places[out.index(new)] += 1
    # It gives up with probability (2/3)^9 = .026, and inserts before a random word, never at the end.
    assert sum(places.values()) == pytest.approx(900 * (1 - (2 / 3) ** 9), abs=20)
    assert [places[i] for i in range(4)] == pytest.approx([292, 292, 292, 0], abs=60)
    assert len(insert(["dog"], 4, synonyms, rng())) == 5
    assert insert(WORDS, 3, synonyms, rng()) == WORDS


def test_swap_permutes_and_gives_up_after_three_draws():
    """A swap of two words succeeds unless the second place is drawn like the first three times."""
    changed = sum(swap(["a", "b"], 1, rng(seed)) == ["b", "a"] for seed in range(4000))
    assert changed / 4000 == pytest.approx(1 - 1 / 8, abs=0.02)
    for swaps in (1, 3):
        outs = [swap(WORDS, swaps, rng(seed)) for seed in range(100)]
        assert all(sorted(out) == WORDS for out in outs)
        assert max(sum(a != b for a, b in zip(WORDS, out, strict=True)) for out in outs) == 2 * swaps


def test_delete_removes_each_word_with_probability_p_but_never_all():
    generator = rng()
    assert np.mean([len(delete(WORDS, 0.2, generator)) for _ in range(5000)]) == pytest.approx(20 * 0.8, abs=0.1)
    assert Counter(delete(["a", "b"], 1.0, rng(s))[0] for s in range(400))["a"] == pytest.approx(200, abs=45)
    out = delete(WORDS, 0.5, generator)
    assert out == [word for word in WORDS if word in out]  # the order stays


def test_a_view_is_made_by_one_of_the_four_chosen_uniformly(eda):
    augmentation = eda(alpha=0.1)
    text = "house " + " ".join(WORDS)  # 21 words: n = 2; only "house" has a synonym, "family"
    seen = Counter()
    for seed in range(4000):
        words = augmentation.views(text, 1, rng(seed))[0].split()
        if words == text.split():
            seen["unchanged"] += 1  # RI that never drew the house, RD that deleted nothing
        elif sorted(words) == sorted(text.split()):
            seen["swap"] += 1
        elif "family" not in words:
            seen["delete"] += 1
        else:
            seen["insert" if "house" in words else "replace"] += 1
    deleted_nothing, inserted_nothing = 0.25 * 0.9**21, 0.25 * (20 / 21) ** 18
    expected = {"swap": 0.25, "replace": 0.25, "delete": 0.25 - deleted_nothing, "insert": 0.25 - inserted_nothing}
    expected["unchanged"] = deleted_nothing + inserted_nothing
    assert {name: count / 4000 for name, count in seen.items()} == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("length", [4, 18])
def test_a_text_of_under_twenty_words_is_edited_once(eda, length):
    """0.1 times 4 words is 0.4, which counts as 1; 0.1 times 18 is 1.8, which is cut to 1. In the quarter of the views
    that are swaps, two words have changed places."""
    augmentation, words = eda(alpha=0.1), WORDS[:length]
    views = [augmentation.views(" ".join(words), 1, rng(seed))[0].split() for seed in range(400)]
    swapped = [view for view in views if view != words and sorted(view) == sorted(words)]
    assert len(swapped) / 400 == pytest.approx(0.25, abs=0.07)
    assert {sum(a != b for a, b in zip(words, view, strict=True)) for view in swapped} == {2}


def test_ops_all_applies_all_four(eda):
    words = eda(alpha=0.5, ops="all").views("dog " * 10, 1, rng(1))[0].split()
    assert "dog" not in words  # replaced everywhere
    assert 1 <= len(words) < 25


def test_clean_reference_lower_cases_and_none_keeps_words(eda):
    words = clean("It's a “Well-known” dog’s U.S. day, 7\tCafé\n").split()
    assert words == ["its", "a", "well", "known", "dogs", "u", "s", "day", "caf"]
    texts = [eda(alpha=0.05, clean="none").views("The Dog, isn't a dog.", 1, rng(s))[0] for s in range(60)]
    assert "The Dog, isn't a dog." in texts
    assert all(set(text.split()) <= {"The", "Dog,", "isn't", "a", "dog."} for text in texts)
    assert any("hound" in text.split() for text in eda(clean="none").views("The Dog", 40, rng()))


@pytest.mark.parametrize("text", ["", " ", "1984.", "中文。"])
def test_a_text_without_letters_is_unchanged(eda, text):
    assert eda().views(text, 2, rng()) == [text, text]


def test_another_wordnet_changes_the_inputs(eda, wordnet_folder):
    """A run that is resumed compares its inputs."""
    before = eda().inputs()
    assert eda().inputs() == before
    noun = wordnet_folder / "data.noun"
    noun.write_bytes(noun.read_bytes().replace(b"cad", b"dac"))
    assert eda().inputs() != before


@pytest.mark.parametrize(("rows", "clean", "told"), [
    (["ein Hund läuft", "a dog"], "reference", True), (["собака бежит"], "reference", True),
    (["a dog", "it's 12, so?"], "reference", False), (["ein Hund läuft"], "none", False),
])  # fmt: skip
def test_letters_that_cleaning_drops_are_said(eda, caplog, rows, clean, told):
    class Texts(list):
        def text(self, i, column=0):
            return self[i]

    assert eda(clean=clean).usable_rows(Texts(rows)).tolist() == [*range(len(rows))]
    assert ("augmentation.clean=none" in caplog.text) == told
