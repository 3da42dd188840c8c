"""Values of settings that are the same."""

import pytest

from cse.lab.settings.values import same, same_as_any


@pytest.mark.parametrize(
    ("value", "other", "equal"),
    [(32, "32", True), ("1e-3", 0.001, True), (True, "true", True), (True, 1, False), (None, 0, False),
     ([1, 2], ["1", 2.0], True), (2, [1, 2], False)],
)  # fmt: skip
def test_values_are_the_same_however_yaml_wrote_them(value, other, equal):
    assert same(value, other) == equal


def test_a_value_is_the_same_as_one_of_several():
    assert same_as_any(2, ["1", 2.0])
    assert not same_as_any(3, [1, 2])
    assert same_as_any([1, 2], [1, 2])
