"""Several things that are missing, said in one sentence."""

from cse.errors import MissingResource, combine

OFFLINE = "is not in the cache, and the hub is not asked"


def test_a_reason_is_given_once_and_a_sentence_once():
    model = MissingResource(f"model.name=x: the model x {OFFLINE}; use another", OFFLINE)
    scores = MissingResource(f"SentEval: the dataset s {OFFLINE}; give a folder", OFFLINE)
    words = MissingResource("wordnet is not here")
    nested = combine([scores, scores, words])
    assert str(nested) == f"SentEval: the dataset s {OFFLINE}; give a folder; and wordnet is not here"
    told = str(combine([model, nested], " (try the demo)"))
    assert told == (
        f"model.name=x: the model x {OFFLINE}; use another; and SentEval: the dataset s likewise; give a folder; "
        "and wordnet is not here (try the demo)"
    )
    assert str(combine([MissingResource("one")], " (try the demo)")) == "one"
