"""A report's block: what is wrong with it is said in one sentence, and the sweeps' own say what their columns are."""

import pytest
import yaml
from made_up_tables import TABLE3, spec_of

from cse.errors import UserError
from cse.report import published
from cse.report.spec import parse
from cse.sweep import jobs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "dev/stsb/spearman"}, "is of the test split, and the two are never read as one"),
        ({"rows": {"SimCSE-BERT": {}}}, "report.rows: 'SimCSE-BERT'"),
        ({"columns": {"Average": "test/x"}}, "report.columns: 'Average' is not one of Avg."),
        ({"tabel": 1}, "report.tabel"),
        ({"aggregate": "median"}, "report.aggregate"),
        ({"aggregate": "best"}, "report.select is missing"),
        ({"metric": None}, "has no metric"),
        ({"baseline": "SimCSE"}, "report.baseline: 'SimCSE'"),
        ({"columns": {"Avg.": {"metrik": "test/x"}}}, "report.columns.Avg..metrik"),
    ],
)
def test_a_mistake_in_the_block_is_one_sentence(change, message):
    block = {**yaml.safe_load(TABLE3), **change}
    with pytest.raises(UserError, match=message.replace(".", r"\.")) as caught:
        spec_of(yaml.safe_dump(block))
    assert str(caught.value).startswith("sweeps/it.yaml: ")
    assert "\n" not in str(caught.value)


def test_geometry_is_judged_in_its_own_unit():
    """Of Table 2's last columns: .1 of an STS average, or its seeds, say nothing of a distance's logarithm."""
    block = jobs.read("noncontrastive/table2").report
    printed = published.table(block["paper"], block["table"])
    columns = parse(block, printed, "sweeps/it.yaml", tolerance=0.1, seed_sd=0.9).columns
    assert (columns["alignment"].tolerance, columns["uniformity"].tolerance) == (0.01, 0.05)
    assert printed.column_decimals == {"alignment": 2, "uniformity": 2}
