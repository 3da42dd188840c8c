"""Rows of a function of the user's own: what is wrong with it or with a row is one sentence."""

from functools import partial

import pytest

from cse.data.function import check_row, rows_by
from cse.errors import RunError, UserError


def split(lines):
    for line in lines:
        first, second = line.split(",")
        yield first, second


def test_an_error_in_the_function_is_named_with_the_last_good_row():
    rows = rows_by(partial(split, lines=["a,b", "c,d", "e"]), "data=mine")
    assert [next(rows), next(rows)] == [("a", "b"), ("c", "d")]
    with pytest.raises(UserError, match=r"^data=mine, after row 2: .*\.split raised ValueError: ") as refused:
        next(rows)
    assert isinstance(refused.value.__cause__, ValueError)


@pytest.mark.parametrize("kind", [UserError, RunError])
def test_a_sentence_of_the_function_itself_stays(kind):
    def refuse():
        raise kind("there is no letter")

    with pytest.raises(kind, match=r"^there is no letter$"):
        next(rows_by(refuse, "data=mine"))


def test_an_object_that_is_called_gives_rows_too_and_is_named_by_its_class():
    class Rows:
        def __call__(self):
            yield "a", "b"
            raise ValueError("no more")

    rows = rows_by(Rows(), "data=mine")
    assert next(rows) == ("a", "b")
    with pytest.raises(UserError, match=r"\.Rows raised ValueError: no more"):
        next(rows)


def nothing(): ...


@pytest.mark.parametrize(("made", "said"), [(nothing, "nothing must yield rows.* None"), (split([]), "_partial_")])
def test_what_yields_no_rows_is_refused(made, said):
    with pytest.raises(UserError, match=f"^data=mine: .*{said}"):
        next(rows_by(made, "data=mine"))


@pytest.mark.parametrize(("row", "said"), [
    (("a", None), "b is None, of type NoneType"), (("a", 5), "b is 5, of type int"), ("ab", "'ab' is str, not a tuple"),
    (("a",), r"a tuple of length 1, but columns=\[a,b\] asks for 2"), (None, "None is NoneType, not a tuple"),
    (("a", "b", "c"), r"a tuple of length 3, but columns=\[a,b\] asks for 2"),
])  # fmt: skip
def test_a_row_that_is_no_text_for_each_column_says_what_it_is(row, said):
    with pytest.raises(UserError, match=f"^data=mine, row 2: {said}"):
        check_row(row, ["a", "b"], "data=mine, row 2")
