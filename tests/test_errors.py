"""One error for several missing things."""

from cse.errors import MissingResource, combine


def test_each_missing_thing_is_named_once():
    model, scores, words = map(MissingResource, ("model.name=x; use another", "SentEval; give a folder", "wordnet"))
    nested = combine([scores, scores, words])
    assert str(nested) == "SentEval; give a folder\nwordnet"
    assert str(combine([model, nested])) == "model.name=x; use another\nSentEval; give a folder\nwordnet"
