"""What a number of seeds can show."""

import math

import pytest

from cse.report.seeds import pooled_sd, power, seeds_for, smallest_difference


@pytest.mark.parametrize(("sd", "seeds", "smallest"), [(0.2, 3, 0.61), (0.2, 5, 0.40), (0.2, 8, 0.30), (0.39, 3, 1.20)])
def test_differences_and_seeds_have_known_values_and_invert_each_other(sd, seeds, smallest):
    found = smallest_difference(sd, seeds)
    assert found == pytest.approx(smallest, abs=0.006)
    assert power(found, sd, seeds) == pytest.approx(0.8, abs=1e-6)
    assert seeds_for(found * 1.0001, sd) == seeds
    assert seeds_for(found * 0.99, sd) == seeds + 1


def test_the_pooled_deviation_weighs_groups_by_degrees_of_freedom():
    """Squares around the means 2 and 11: 2 with one degree of freedom, 6 with two."""
    assert pooled_sd([[1.0, 3.0], [10.0, 10.0, 13.0]]) == pytest.approx(math.sqrt((2 + 6) / 3))
