"""What a verdict leaves out: parts of a claim that were not run or not scored."""

from made_up_tables import spec_of

from cse.record.runs import read_runs
from cse.report import findings
from cse.report.spec import scored_by
from cse.report.statistics import Intervals
from cse.report.table import build
from cse.report.verdicts import NOT_RUN

PARTIAL = """
paper: nonling
table: table1
rows:
  SimCSE-BERT-base: {case: simcse_bert}
  VisualCSE-BERT-base: {case: visual_bert}
  SimCSE-RoBERTa-base: {case: simcse_roberta}
  VisualCSE-RoBERTa-base: {case: visual_roberta}
columns: {STS12: test/sts/STS12/spearman, Avg.: test/sts/average}
claims:
  - says: on both encoders
    source: here
    more: {row: &ours [VisualCSE-BERT-base, VisualCSE-RoBERTa-base], column: Avg.}
    than: {row: &theirs [SimCSE-BERT-base, SimCSE-RoBERTa-base], column: Avg.}
  - {says: on STS12, source: here, more: {row: *ours, column: STS12}, than: {row: *theirs, column: STS12}}
  - says: at each rate
    source: here
    more: {where: {case: visual_bert}, metric: test/sts/average}
    than: {where: {case: simcse_bert}, metric: test/sts/average}
    at: trainer.lr
  - {says: it rises, source: here, rises: {where: {case: simcse_bert}, metric: test/sts/average}, along: trainer.lr}
"""


def test_a_verdict_says_what_it_does_not_rest_on(leave, tmp_path):
    """RoBERTa was not run, STS12 not scored, and one rate is there on one side alone."""
    for seed in range(3):
        for case, lr, score in (("simcse_bert", 1e-5, 70), ("visual_bert", 1e-5, 75), ("visual_bert", 3e-5, 76)):
            config = {"case": case, "seed": seed, "trainer.lr": lr}
            leave(f"{case}-{lr}-{seed}", config, {"test/sts/average": score + seed * score / 1000})
    spec, printed = spec_of(PARTIAL)
    runs = read_runs([tmp_path / "runs"])
    table = build(spec, printed, runs, [], Intervals(0.95, "t"))
    found = findings.judged(spec.claims, spec, table, runs, 0.95)
    both, sts12, rates, rises = found
    assert both.verdict_text == "HOLDS (1 of 2 parts)"
    assert both.missing == "runs of VisualCSE-RoBERTa-base, SimCSE-RoBERTa-base"
    assert sts12.verdict_text == NOT_RUN
    assert sts12.missing == "runs of VisualCSE-RoBERTa-base, SimCSE-RoBERTa-base; scores: STS12"
    assert findings.facts(sts12)["n"] == ""
    assert rates.verdict_text == "HOLDS (1 of 2 parts)"
    assert rates.missing == "runs of case=simcse_bert, trainer.lr=3e-05"
    assert rises.missing == "three points, at two values or more"
    other = scored_by(spec, "test/sts/average")  # has no STS12 at all
    table = build(other, printed, runs, [], Intervals(0.95, "t"))
    assert findings.judged(spec.claims, other, table, runs, 0.95)[1] == sts12
    for text in (findings.findings_frame(found).to_csv(), findings.section(found)):
        assert "HOLDS (1 of 2 parts)" in text and "runs of case=simcse_bert" in text  # noqa: PT018
