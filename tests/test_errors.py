"""One error for several missing things."""

import pytest

from cse.errors import MissingResource, UserError, collecting, combine


def test_each_missing_thing_is_named_once():
    model, scores, words = map(MissingResource, ("model.name=x; use another", "SentEval; give a folder", "wordnet"))
    nested = combine([scores, scores, words])
    assert str(nested) == "SentEval; give a folder\nwordnet"
    assert str(combine([model, nested])) == "model.name=x; use another\nSentEval; give a folder\nwordnet"


def test_only_what_is_missing_is_collected():
    missing: list[MissingResource] = []
    for name in ("a model", "a text"):
        with collecting(missing):
            raise MissingResource(name)
    assert str(combine(missing)) == "a model\na text"
    with pytest.raises(UserError, match="a mistake"), collecting(missing):
        raise UserError("a mistake")
