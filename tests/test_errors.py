"""One error for several missing things."""

import pytest

from cse.errors import MissingResource, UserError, collecting, combine, first_line, in_short, within


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


def test_a_name_in_a_librarys_text_is_not_renamed():
    library = ValueError("set `weights_only`")
    for text in (in_short(library), first_line(library)):
        with pytest.raises(UserError) as refused, within("part"):
            raise UserError(f"not a checkpoint of `init` ({text})", key="weights")
        assert "set weights_only" in str(refused.value)
        assert "part.weights: not a checkpoint of part.init" in str(refused.value)
