"""A mistake in a sweep's `report:` block is one sentence that names the key."""

import pytest
import yaml
from made_up_tables import TABLE3, parsed

from cse.errors import UserError


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"metric": "dev/stsb/spearman"}, "filled by dev/stsb/spearman"),  # the table is of the test split
        ({"rows": {"SimCSE-BERT": {}}}, "report.rows: 'SimCSE-BERT'"),
        ({"columns": {"Average": "test/x"}}, "report.columns: 'Average'"),
        ({"tabel": 1}, "report.tabel"),
        ({"aggregate": "median"}, "report.aggregate"),
        ({"aggregate": "best"}, "report.select"),
        ({"metric": None}, "report.metric"),
        ({"baseline": "SimCSE"}, "report.baseline: 'SimCSE'"),
        ({"columns": {"Avg.": {"metrik": "test/x"}}}, "report.columns.Avg..metrik"),
    ],
)
def test_a_mistake_in_the_block_is_one_sentence(change, named):
    with pytest.raises(UserError, match=r"^sweeps/it\.yaml: .+\Z") as caught:
        parsed({**yaml.safe_load(TABLE3), **change})
    assert named in str(caught.value)
