"""What the hub shows and searches by: languages, and scores for leaderboards."""

import pytest

from cse.lab.sharing import hub_metadata
from cse.score import Score


@pytest.mark.parametrize(("data", "typed", "base", "said"), [
    ("wiki1m", None, "de", ["en"]), ("wiki1m", None, "en", "en"), ("wiki1m", None, ["de", "en"], ["de", "en"]),
    ("wikipedia", None, "en", ["de"]), ("text", None, "en", None), ("text", ["de"], "en", ["de"]),
    ("wiki1m", ["fr"], "en", ["fr"]), ("wiki1m", None, None, ["en"]),
])  # fmt: skip
def test_the_card_has_the_languages_of_the_text(data, typed, base, said):
    rows = {"rows": {"language": "de"}} if data == "wikipedia" else {}
    config = {"data": {"name": data} | rows, "card": {"languages": typed}}
    assert hub_metadata.languages_of(config, base) == said


def test_leaderboards_see_each_task_by_its_name_and_no_score_of_training_rows():
    scores = [
        Score("test/transfer/TREC/accuracy", 90.0, items=None), Score("test/transfer/TREC/dev_accuracy", 91.0),
        Score("test/transfer/average", 90.0, items=["test/transfer/TREC/accuracy"]),
        Score("test/sts/average", 70.0, items=[["test/sts/STS12/spearman"]]),
        Score("test/demo/recall@10", 70.0), Score("test/geometry/uniformity", -2.0),
    ]  # fmt: skip
    assert [one.task_type for one in hub_metadata.index_of(scores)] == [
        "text-classification", "text-classification", "sentence-similarity", "text-retrieval", "feature-extraction",
    ]  # fmt: skip
