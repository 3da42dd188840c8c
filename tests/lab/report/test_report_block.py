"""A mistake in a sweep's `report:` block is one sentence that names the key."""

import pytest
import yaml
from made_up_tables import TABLE3, parsed

from cse.errors import UserError

OURS, BASE = ({"row": f"{name}-BERT-base"} for name in ("VisualCSE", "SimCSE"))
MORE = {"says": "a", "source": "b", "more": OURS, "than": BASE}
OF_COLUMNS = {"says": "a", "source": "b", "more": {"column": "Avg."}, "than": {"column": "Avg."}}
NAMES = [OURS["row"], BASE["row"]]
BOTH, THREE = {"row": NAMES}, {"row": [*NAMES, OURS["row"]]}
ALIKE = {"says": "a", "source": "b", "alike": OURS, "to": BASE}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"metric": "dev/stsb/spearman"}, "Avg. is filled by dev/stsb/spearman"),  # the table is of the test split
        ({"rows": {"SimCSE-BERT": {}}}, "report.rows: 'SimCSE-BERT'"),
        ({"columns": {"Average": "test/x"}}, "report.columns: 'Average'"),
        ({"tabel": 1}, "report.tabel"),
        ({"aggregate": "median"}, "report.aggregate"),
        ({"aggregate": "best"}, "report.select"),
        ({"metric": None}, ".*report.metric"),
        ({"baseline": "SimCSE"}, "report.baseline: 'SimCSE'"),
        ({"columns": {"Avg.": {"metrik": "test/x"}}}, "report.columns.Avg..metrik"),
        ({"paper": "nonlin", "table": None, "rows": None, "baseline": None}, "report.paper: 'nonlin'"),
        ({"table": "table33"}, "nonling has no table 'table33'"),
        ({"rows": {"SimCSE-BERT-base": {"config": "trainer.lr"}}}, "report.rows.SimCSE-BERT-base.config"),
        ({"rows": {"SimCSE-BERT-base": {"where": {}, "tolerance": 1}}}, "report.rows.SimCSE-BERT-base.tolerance"),
        ({"rows": None, "baseline": None, "claims": [OF_COLUMNS]}, "report.claims.0: .*report.rows is missing"),
        *(
            ({"claims": [claim]}, f"report.claims.0{named}")
            for claim, named in (
                ({"says": "a", "source": "b", "more": OURS}, ': .*"more" and "than"'),
                (ALIKE | {"within": 1, "control": "c"}, ".control: 'c'"),
                (MORE | {"along": "x"}, ".along"),
                (MORE | {"control": "a"}, ": .*control"),
                ({key: MORE[key] for key in ("source", "more", "than")}, ".says"),
                (MORE | {"than": {"row": "9"}}, ".row: '9'"),
                (ALIKE, ": .*within"),
                (MORE | {"more": {"line": "3"}}, ".more.line"),
                (MORE | {"p": 1}, ".p"),
                (MORE | {"more": BOTH, "than": THREE}, ": 'a' compares 2 numbers with 3"),
                ("more", ": "),
            )
        ),
        *(
            ({"figures": [yaml.safe_load(figure)]}, f"report.figures.0{named}")
            for figure, named in (
                ("{kind: pie, name: a}", ".kind"),
                ("{kind: curve, name: a b, x: l, y: m}", ".name"),
                ("{kind: curve, name: a, x: l}", ": .*y"),
                ("{kind: path, name: a, x: l, y: b, bins: 3}", ": .*bins"),
                ("{kind: curve, name: a, x: l, y: b, statistics: [mode]}", ".statistics.0"),
                ("{kind: cosines, name: a, evaluator: b, split: dev, edges: [5, 0]}", ": .*edges"),
                ("{kind: curve, name: a, x: l, y: b, level: [head], series: {none: {k: none}}}", ": .*head"),
                ("{kind: curve, name: a, x: l, y: b, level: [head]}", ": .*head"),
                ("{kind: curve, name: figure2, x: l, y: dev/stsb/spearman}", ": figure2 shows dev scores"),
            )
        ),
    ],
)
def test_a_mistake_in_the_block_is_one_sentence(change, named):
    with pytest.raises(UserError, match=rf"^sweeps/it\.yaml: {named}.*\Z"):
        parsed({**yaml.safe_load(TABLE3), **change})


def test_a_level_may_be_any_value_of_the_key_that_makes_the_series():
    """Its runs say which values there are; the letters of the key's name are none."""
    figure = {"kind": "curve", "name": "a", "x": "l", "y": "b", "level": ["none"], "series": "objective.head"}
    block, _ = parsed({**yaml.safe_load(TABLE3), "figures": [figure]})
    (plot,) = block.figures
    assert plot.level == ("none",)
