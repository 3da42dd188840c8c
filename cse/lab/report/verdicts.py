"""The verdicts of a sweep's report, on the cells of the paper's table and on the paper's claims.

cse.lab.report.paper.cells decides the verdict on a cell. cse.lab.report.paper.claims decides the verdict on a claim.
cse.lab.report.show.look has the colours of verdicts.
"""

PASS, WITHIN_SEED_NOISE, DIFFERS, ONE_SEED = "PASS", "WITHIN SEED NOISE", "DIFFERS", "ONE SEED"
OTHER_SETTING, PUBLISHED_ONLY, NOT_RUN = "OTHER SETTING", "PUBLISHED ONLY", "NOT RUN"
HOLDS, CONTRADICTED, INCONCLUSIVE, NOT_TESTED = "HOLDS", "CONTRADICTED", "INCONCLUSIVE", "NOT TESTED"
SEE_FIGURE = "SEE FIGURE"

MEANINGS = {
    PASS: "the means agree within the tolerance",
    WITHIN_SEED_NOISE: "the published number is in the range that we expect for further runs of ours",
    DIFFERS: "the difference is larger than seeds explain",
    ONE_SEED: "there is one run, and the spread over seeds is unknown",
    OTHER_SETTING: "not the paper's experiment (a note below the table says why), so the numbers are not compared",
    PUBLISHED_ONLY: "a model of other authors, which cse never runs",
    NOT_RUN: "there is no run for the cell, or for a cell of the claim",
    HOLDS: "of a claim: the seeds support the claim",
    CONTRADICTED: "of a claim: the seeds show the opposite",
    INCONCLUSIVE: "of a claim: the test neither supports nor contradicts it",
    NOT_TESTED: "of a claim: these runs do not test it, for the reason given",
    SEE_FIGURE: "of a claim about a figure: compare it with the curve",
}
"""The meaning of each verdict, for the page. A verdict on a cell compares our mean with the published number."""
