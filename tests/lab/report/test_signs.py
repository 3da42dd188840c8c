"""Numbers as text."""

import math

import pytest

from cse.lab.report.formats import format_of


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([70.1, 65.57], ["70.10", "65.57"]),
        ([1.50127, 0.7071], ["1.50", "0.71"]),
        ([0.25, 0.0013], ["0.2500", "0.0013"]),
        ([0.0012, 3456.7], ["0.0012", "3456.7000"]),  # a loss near 0 beside seconds
        ([74.151, 3e-15], ["74.15", "0.00"]),  # what rounding of floats leaves
        ([-2.5, -0.004], ["-2.5000", "-0.0040"]),
        ([-1e-15, 70.0], ["0.00", "70.00"]),
        ([1e-6, -2.5e-7], ["1.00e-06", "-2.50e-07"]),
        ([0.0, math.nan, math.inf], ["0.00", "nan", "inf"]),
        ([1e6, 12.0], ["1000000.00", "12.00"]),
    ],
)
def test_a_column_of_numbers_has_one_format(values, texts):
    assert [f"{value:{format_of(values)}}" for value in values] == texts
