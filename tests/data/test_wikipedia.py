import hashlib
from collections import Counter
from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from toy_hub import parquet

from cse.data.wikipedia import sample, sentence_splitter, wikipedia
from cse.errors import UserError
from cse.sources.catalogue import DATASETS

CONF = Path(__file__).parents[2] / "conf/data/wikipedia.yaml"
NOUNS = ["river", "castle", "bridge", "village", "mountain", "harbour", "church", "railway"]
OPTIONS = {"min_units": 5, "max_units": 60, "unit": "words"}


def article(number):
    """A heading, two paragraphs of sentences that only this article has, one that all have, a list."""
    noun, other = NOUNS[number % 8], NOUNS[number * 3 % 7]
    return (
        f"The {noun} society\n\nThe {noun} number {number} lies near the old {other} of the town. It was built by "
        f"Dr. Miller, i.e. the {number} man of the town, for the {other}. All of the towns have many people.\n\n"
        f'"The {noun} {number} is large," said Mrs. Smith of the {other} society. Short one.\n'
        f"List of {other} names without an end {number}"
    )


ARTICLES = [article(number) for number in range(300)]


def test_a_sample_repeats_and_depends_on_the_seed():
    some = ARTICLES[:40]
    first = sample(some, 50, 0, **OPTIONS)
    assert len(first) == 50
    assert sample(iter(some), 50, 0, **OPTIONS) == first
    assert sample(some[::-1], 50, 0, **OPTIONS) == first  # whatever the order
    assert sample(some, 50, 1, **OPTIONS) != first
    assert sample(some, 51, 0, **OPTIONS)[:50] == first


def test_sentences_are_distinct_and_complete():
    everything = sample(ARTICLES, 901, 0, **OPTIONS)
    assert len(set(everything)) == 901  # three of each article's own and the common one
    assert "All of the towns have many people." in everything
    assert "It was built by Dr. Miller, i.e. the 7 man of the town, for the river." in everything
    assert not [s for s in everything if s.startswith(("List", "Short"))]
    with pytest.raises(UserError, match=r"300 articles have 901 .* 902"):
        sample(ARTICLES, 902, 0, **OPTIONS)


def test_every_sentence_is_equally_likely_however_often_it_occurs(monkeypatch):
    seen, split = Counter(), sentence_splitter(ARTICLES[:40])
    monkeypatch.setattr("cse.data.wikipedia.sentence_splitter", lambda texts: split)  # it learns from the texts, slowly
    for seed in range(60):
        seen.update(sample(ARTICLES[:40], 24, seed, **OPTIONS))  # of 121
    assert len(seen) == 121
    assert seen["All of the towns have many people."] == pytest.approx(60 * 24 / 121, abs=10)
    assert max(seen.values()) < 28


@pytest.mark.parametrize(("unit", "length", "low", "high"), [
    ("words", lambda one: len(one.split()), 12, 12), ("characters", lambda one: len(one.replace(" ", "")), 40, 50),
])  # fmt: skip
def test_every_sentence_has_a_length_within_the_limits(unit, length, low, high):
    found = sample(ARTICLES, 100, 0, min_units=low, max_units=high, unit=unit)
    assert all(low <= length(sentence) <= high for sentence in found)


def test_chinese_sentences_are_split_without_spaces():
    split = sentence_splitter(ARTICLES)
    assert list(split("他说：“你好！”然后走了。真的？是。")) == ["他说：“你好！”", "然后走了。", "真的？", "是。"]
    assert list(split("One  thing here.\nAnother")) == ["One thing here.", "Another"]


@pytest.fixture
def dump(toy_hub):
    """A hub whose German Wikipedia is ARTICLES."""
    part = "- config_name: 20231101.de\n  data_files:\n  - split: train\n    path: 20231101.de/train-*\n"
    card = f"---\nconfigs:\n{part}---\n"
    files = {
        "README.md": card.encode(),
        "20231101.de/train-00000-of-00001.parquet": parquet(id=[str(i) for i in range(300)], text=ARTICLES),
    }
    toy_hub.add("datasets/wikimedia/wikipedia", files)
    return toy_hub


def config(tmp_path, **rows):
    data = OmegaConf.merge(OmegaConf.load(CONF), {"rows": rows})
    return OmegaConf.create({"data": data, "paths": {"cache": str(tmp_path)}}).data


def test_the_configured_text_samples_the_dump_once(dump, tmp_path, caplog):
    options = config(tmp_path, language="de", n=50, share=1.0)
    with caplog.at_level("INFO"):
        text = instantiate(options).read()
    expected = sample(ARTICLES, 50, 0, **OPTIONS)
    assert [text.text(i) for i in range(len(text))] == expected
    assert hashlib.sha256("\n".join(expected).encode()).hexdigest() in caplog.text
    assert any(f"/revision/{DATASETS['wikipedia'].revision}" in line for line in dump.requests)
    asked = len(dump.requests)
    instantiate(options).read()  # the second time from the cache
    assert len(dump.requests) == asked
    assert "de/n=50/seed=0/share=1.0/5-60-words" in options.identity


def test_a_share_uses_about_that_many_articles(dump):
    """40 % of 300 articles, chosen by the hash of their id."""
    assert len(set(wikipedia("de", "20231101", 50, 0, 0.4, **OPTIONS))) == 50
    with pytest.raises(UserError) as error:
        list(wikipedia("de", "20231101", 901, 0, 0.4, **OPTIONS))
    assert int(str(error.value).split()[1]) == pytest.approx(120, abs=25)


def test_an_unknown_language_is_named(dump, tmp_path):
    with pytest.raises(UserError, match=r"20231101\.xx"):
        instantiate(config(tmp_path, language="xx")).read()
