"""Claims as data: what is wrong with one is named, and the papers' own numbers are held to them."""

import pytest
from made_up_tables import judged, parsed

from cse.lab.report.verdicts import NOT_RUN, SEE_FIGURE
from cse.lab.settings.groups import choices
from cse.lab.sweep import sweeps

# Claims that the paper's own printed numbers do not bear out.
NOT_AS_PRINTED = {
    ("nonling/table2", "AudioCSE is better than SimCSE in each of the seven tasks"),  # "almost": SICK-R, STS12
    ("nonling/table_e1", "labels hardly matter to the loss of sound, BERT"),  # 77.00 and 77.85: as much as the method
    ("whitenedcse/table1", "WhitenedCSE is better than SimCSE in each of the seven tasks"),  # SICK-R: 71.33 < 72.23
    ("noncontrastive/table1", "a small dropout is better than EDA, in every row"),  # VICReg BERT q75: 74.8 < 75.1
    ("noncontrastive/table1", "dropout 0.05 is better than 0.2, in every row"),  # VICReg RoBERTa max: 81.2 < 81.6
    ("noncontrastive/table2", "training degrades alignment, BERT"),  # "typically": not with VICReg, .16 and .20
    ("noncontrastive/table2", "SimCSE improves uniformity the most, BERT"),  # -2.62; VICReg -2.67, Barlow Twins -3.08
}  # fmt: skip
NONE = {  # tables and figures of which the paper claims nothing that a run can show, or whose text could not be read
    "declutr/table_s3", "declutr/table_s4", "noncontrastive/table4", "nonling/table_c1",
    "beyond/prompteol",
}  # fmt: skip


@pytest.mark.parametrize("name", choices("sweep"))
def test_the_printed_numbers_are_held_to_the_claims(name):
    """Every claim names rows and columns that there are; which of them the paper's own numbers contradict is known.

    A column of geometry has a tolerance of its own: .1 of an STS average says nothing of a distance's logarithm.
    """
    block, printed = parsed(sweeps.load_sweep(name).report, name)
    found = judged(block, printed, [])
    assert (len(block.claims) >= 1) != (name in NONE)
    assert {one.verdict for one in found} <= {NOT_RUN, SEE_FIGURE}
    assert {(name, one.claim.says) for one in found if one.published_supports is False} == {
        (sweep, says) for sweep, says in NOT_AS_PRINTED if sweep == name.removesuffix("_vicreg")
    } or name == "noncontrastive/table1_vicreg"
    assert all(len(one.claim.source) > 8 for one in found)
    if block.table and not name.startswith("study"):  # which print no number
        assert all(column.tolerance for column in block.columns.values() if "/geometry/" in str(column.metric))
