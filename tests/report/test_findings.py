"""Claims as data: the papers' own numbers are held to them, and invented runs whose answer is known."""

import numpy as np
import pytest
from made_up_tables import spec_of
from scipy import stats

from cse.cli.reporting import settings
from cse.config.groups import choices
from cse.errors import UserError
from cse.record.runs import read_runs
from cse.report import findings, published, statistics
from cse.report.spec import parse, scored_by
from cse.report.statistics import Intervals
from cse.report.sweep import of_sweep as report_of
from cse.report.table import build
from cse.report.verdicts import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_RUN, NOT_SEEN
from cse.sweep import jobs

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


def of_sweep(name):
    """(spec, published table or None) of a sweep."""
    block = jobs.read(name).report
    printed = published.table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, printed, name, tolerance=0.1, seed_sd=0.9)
    return spec, printed


@pytest.mark.parametrize("name", choices("sweep"))
def test_the_printed_numbers_are_held_to_the_claims(name):
    """Every claim names rows and columns that there are; which of them the paper's own numbers contradict is known."""
    spec, printed = of_sweep(name)
    table = build(spec, printed, [], [], Intervals(0.95, "t")) if printed else None
    judged = findings.judged(spec.claims, spec, table, [], 0.95)
    assert (len(spec.claims) >= 1) != (name in NONE)
    assert {finding.verdict for finding in judged} <= {NOT_RUN}
    assert {(name, f.claim.says) for f in judged if f.supported is False} == {
        (sweep, says) for sweep, says in NOT_AS_PRINTED if sweep == name.removesuffix("_vicreg")
    } or name == "noncontrastive/table1_vicreg"
    assert all(len(f.claim.source) > 8 for f in judged)


TABLE = """
paper: whitenedcse
table: table5
rows: objective.m
columns: {STS-Avg.: test/sts/average}
claims:
  - {says: three beats two, source: here, more: {row: "3"}, than: {row: "2"}}
  - {says: two beats five, source: here, more: {row: "2"}, than: {row: "5"}}
  - {says: five beats four, source: here, more: {row: "5"}, than: {row: "4"}}
  - {says: five is like four, source: here, alike: {row: "5"}, to: {row: "4"}, within: 2.0, control: three beats two}
  - {says: two is beaten by all, source: here, less: {row: "2"}, than: {row: ["3", "4", "5"]}}
  - {says: it rises, source: here, rises: {where: {model: bert}, metric: test/sts/average}, along: objective.m}
"""
SCORES = {
    2: [70.0, 70.6, 69.8, 70.4],
    3: [72.5, 72.8, 72.1, 72.6],
    4: [71.5, 71.8, 71.2, 71.4],
    5: [71.4, 71.8, 71.3, 71.5],
}


@pytest.fixture
def judged(leave, tmp_path):
    """judged(text, scores) -> {claim: finding} of invented runs: the scores of each m, a seed each."""

    def make(text=TABLE, scores=SCORES):
        for m, of in scores.items():
            for seed, score in enumerate(of):
                if not (tmp_path / "runs" / f"{m}-{seed}").exists():
                    config = {"objective.m": m, "seed": seed, "model": "bert"}
                    leave(f"{m}-{seed}", config, {"test/sts/average": score})
        spec, printed = spec_of(text)
        runs = read_runs([tmp_path / "runs"])
        table = build(spec, printed, runs, [], Intervals(0.95, "t"))
        found = findings.judged(spec.claims, spec, table, runs, 0.95)
        return {finding.claim.says: finding for finding in found}

    return make


def test_each_claims_p_is_holms_over_all_of_the_table(judged):
    """Of tests by scipy, claim after claim; of two that are alike, the worse of two one-sided ones."""
    two, three, four, five = (SCORES[m] for m in (2, 3, 4, 5))
    above, below = ([score + shift for score in five] for shift in (2.0, -2.0))
    alike = max(
        stats.ttest_ind(above, four, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(below, four, equal_var=False, alternative="less").pvalue,
    )
    by_seed = [[(m, SCORES[m][seed]) for m in SCORES] for seed in range(4)]
    raw = [
        welch(three, two),
        welch(two, five),
        welch(five, four),
        alike,
        max(welch(many, two) for many in (three, four, five)),
        statistics.rank_correlation(by_seed, 0.95).p,  # of permutations
    ]
    expected, least = {}, 0.0
    for rank, place in enumerate(sorted(range(6), key=raw.__getitem__)):
        least = expected[place] = max(least, min(1.0, raw[place] * (6 - rank)))
    found = list(judged().values())
    assert [one.found.p for one in found] == pytest.approx([expected[place] for place in range(6)])
    assert [one.verdict for one in found[:4]] == [HOLDS, CONTRADICTED, NOT_SEEN, HOLDS]
    interval = stats.ttest_ind(three, two, equal_var=False).confidence_interval(0.95)
    assert (found[0].found.effect, *found[0].found.interval) == pytest.approx((2.3, interval.low, interval.high))
    assert (found[0].found.n, found[0].found.test) == ("4 and 4 seeds", "Welch")


def welch(a, b):
    return stats.ttest_ind(a, b, equal_var=False).pvalue


def test_a_claim_of_several_parts_is_as_strong_as_its_weakest(judged):
    found = judged()["two is beaten by all"]
    assert found.verdict == HOLDS
    assert found.part == "5"  # by the largest p of the three
    assert found.parts == (3, 3)
    assert findings.by_part(found) == "3: HOLDS; 4: HOLDS; 5: HOLDS"
    weakest = max(welch(SCORES[m], SCORES[2]) for m in (3, 4, 5))
    assert found.found.p >= weakest
    assert found.supported  # Table 5: 77.81 is the least


def test_a_claim_is_contradicted_by_its_worst_part(judged):
    """Three parts are three chances to contradict: the surest one's p counts three times."""
    head, _, _ = TABLE.partition("  - {")
    claim = '  - {says: it, source: here, less: {row: "3"}, than: {row: ["2", "4", "5"]}}'
    (found,) = judged(head + claim).values()
    surest = min(welch(SCORES[m], SCORES[3]) for m in (2, 4, 5))
    assert found.verdict == CONTRADICTED
    assert found.found.p == pytest.approx(3 * surest)


def test_the_parts_of_a_claim_that_does_not_hold_have_verdicts_of_their_own(judged):
    head, _, _ = TABLE.partition("  - {")
    claim = '  - {says: it, source: here, more: {row: "5"}, than: {row: ["2", "3", "4"]}}'
    (found,) = judged(head + claim).values()
    assert findings.by_part(found) == "2: HOLDS; 3: CONTRADICTED; 4: NOT SEEN"


def test_a_claim_that_rests_on_altered_scores_is_marked(judged, leave):
    leave("2-0", {"objective.m": 2, "seed": 0, "model": "bert"}, {"test/sts/average": 70.0}, altered="sts")
    found = judged()
    marked = {says for says, one in found.items() if "†" in findings.facts(one)["ours"]}
    assert marked == {"three beats two", "two beats five", "two is beaten by all", "it rises"}
    assert "†" in findings.headline(list(found.values()))
    assert findings.findings_frame(list(found.values()))["data"].tolist().count("partial") == 4


def test_a_trend_is_a_rank_correlation_over_runs_and_a_falling_one_the_same_turned(judged):
    rises, falls = (judged(TABLE.replace("rises:", f"{form}:"))["it rises"] for form in ("rises", "falls"))
    rhos = [stats.spearmanr(list(SCORES), [of[seed] for of in SCORES.values()]).statistic for seed in range(4)]
    assert rises.found.effect == pytest.approx(np.mean(rhos), abs=1e-3)  # a seed with a tie weighs a little less
    assert rises.found.interval[0] < np.mean(rhos) < rises.found.interval[1]
    assert (falls.found.effect, falls.found.p) == (-rises.found.effect, pytest.approx(rises.found.p))
    assert falls.found.interval == pytest.approx((-rises.found.interval[1], -rises.found.interval[0]))


@pytest.mark.parametrize(
    ("left", "right", "within", "verdict"),
    [
        ("5", "4", 2.0, HOLDS),  # apart by .03, spread .2: equivalence is shown, not merely no difference seen
        ("5", "4", 0.01, NOT_SEEN),
        ("4", "3", 1.1, NOT_SEEN),  # apart by 1.03: however far the other end of the range is
        ("3", "4", 1.1, NOT_SEEN),
        ("3", "2", 1.0, CONTRADICTED),
    ],
)
def test_alike_is_two_one_sided_tests(judged, left, right, within, verdict):
    rows = f'alike: {{row: "{left}"}}, to: {{row: "{right}"}}, within: {within}'
    found = judged(TABLE.replace('alike: {row: "5"}, to: {row: "4"}, within: 2.0', rows))["five is like four"]
    assert found.verdict == verdict
    assert found.found.effect == pytest.approx(np.mean(SCORES[int(left)]) - np.mean(SCORES[int(right)]))


def test_alike_needs_its_positive_control_to_hold(judged):
    """Runs that could not have shown a difference are alike whatever is done."""
    seen = judged()["five is like four"]
    assert seen.verdict == HOLDS
    unseen = judged(TABLE.replace("control: three beats two", "control: five beats four"))["five is like four"]
    assert (unseen.verdict, unseen.why) == (NOT_JUDGED, "its positive control was not seen to hold: five beats four")
    assert np.isnan(unseen.found.p)
    assert unseen.found.effect == seen.found.effect
    without = judged(TABLE.replace(", control: three beats two", ""))["five is like four"]
    assert without.verdict == NOT_JUDGED


@pytest.mark.parametrize(
    ("left", "right", "within", "verdict"),
    [("5", "4", 1.0, HOLDS), ("5", "4", 0.01, NOT_SEEN), ("2", "3", 1.0, CONTRADICTED)],
)
def test_no_less_is_tested_against_its_margin(judged, left, right, within, verdict):
    rows = f'no_less: {{row: "{left}"}}, than: {{row: "{right}"}}, within: {within}'
    found = judged(TABLE.replace('alike: {row: "5"}, to: {row: "4"}, within: 2.0', rows))["five is like four"]
    assert found.verdict == verdict
    unseen = TABLE.replace("control: three beats two", "control: five beats four")
    assert judged(unseen.replace('alike: {row: "5"}, to:', 'no_less: {row: "5"}, than:'))["five is like four"].why


def test_fewer_than_three_seeds_of_a_side_are_no_test(judged):
    found = judged(scores={m: of[: 2 if m == 2 else 4] for m, of in SCORES.items()})
    assert found["three beats two"].verdict == NOT_JUDGED
    assert found["three beats two"].why == "4 and 2 seeds, where each trained side needs 3"
    assert found["five is like four"].verdict == NOT_JUDGED  # its control is not judged
    assert found["two is beaten by all"].verdict_text == NOT_JUDGED
    assert found["five beats four"].verdict == NOT_SEEN
    assert findings.headline(list(found.values())) == "6 claims: 4 NOT JUDGED, 2 NOT SEEN."


def test_another_setting_and_another_score_are_no_test(judged):
    away = TABLE.replace("claims:", "setting: {model: roberta}\nclaims:")
    told = judged(away)
    assert {one.verdict for one in told.values()} == {NOT_JUDGED}
    assert told["three beats two"].why == "another setting than the paper's: model=bert"
    assert told["three beats two"].found.effect == pytest.approx(2.3)
    bad = TABLE.replace("{says: three beats two,", "{says: three beats two, quantity: speed,")
    assert "the paper measured speed" in judged(bad)["three beats two"].why
    spec, _ = spec_of(TABLE)
    other = scored_by(spec, "dev/demo/average").claims
    assert {one.quantity for one in other} == {"test/sts/average"}


@pytest.mark.parametrize(("points", "p"), [(3, 2 / 6), (4, 2 / 24), (5, 2 / 120)])
def test_the_p_of_few_points_in_order_is_the_share_of_such_orders(points, p):
    """Either way round: two of n!."""
    found = statistics.rank_correlation([[(x, x**2) for x in range(points)]], 0.95)
    assert (found.effect, found.p, found.least) == (pytest.approx(1), pytest.approx(p), pytest.approx(p))


def test_a_trend_is_permuted_within_seeds():
    """What all runs of a seed share moves nothing; equal x exchange nothing."""
    seeds = [[(x, 100 * seed + x) for x in (1, 2, 3)] for seed in range(3)]
    found = statistics.rank_correlation(seeds, 0.95)
    assert (found.effect, found.p, found.least) == (pytest.approx(1), pytest.approx(2 / 6**3), pytest.approx(2 / 6**3))
    tied = statistics.rank_correlation([[(1, 5.0), (1, 6.0), (2, 7.0)]] * 2, 0.95)
    assert tied.p == pytest.approx(2 / 3**2) == tied.least


def test_a_trend_whose_points_can_reach_no_such_p_is_not_judged(judged):
    few = {m: SCORES[m][:3] if m == 2 else SCORES[m][:1] for m in (2, 3)}
    found = judged(scores=few | {4: SCORES[4][:1]})["it rises"]
    assert found.verdict == NOT_JUDGED
    assert found.why == "its points can reach no p below 0.33"


def test_an_encoder_without_a_seed_is_one_number_on_either_side():
    seeds, one = {"0": 71.0, "1": 72.0, "2": 71.5}, {"None": 70.0}
    above, below = statistics.compare_seeds(seeds, one, 0.95), statistics.compare_seeds(one, seeds, 0.95)
    assert (above.effect, below.effect) == (1.5, -1.5)
    assert above.test == below.test == "one-sample t"
    assert above.p == below.p == pytest.approx(stats.ttest_1samp([71.0, 72.0, 71.5], 70.0).pvalue)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{says: a, source: b}", "0: .*more and than"),
        ('{says: a, source: b, alike: {row: "3"}, to: {row: "2"}, within: 1, control: c}', "0.control: 'c'"),
        ('{says: a, source: b, more: {row: "3"}, than: {row: "2"}, control: a}', "0: .*control"),
        ('{source: b, more: {row: "3"}, than: {row: "2"}}', "0.says"),
        ('{says: a, source: b, more: {row: "3"}, than: {row: "9"}}', "0.row: '9'"),
        ('{says: a, source: b, alike: {row: "3"}, to: {row: "2"}}', "0: .*within"),
        ('{says: a, source: b, more: {line: "3"}, than: {row: "2"}}', "0.left.line"),
        ('{says: a, source: b, more: {row: "3"}, than: {row: "2"}, p: 1}', "0.p"),
        ("more", "0: "),
    ],
)
def test_a_mistake_names_the_claim(judged, bad, told):
    with pytest.raises(UserError, match=rf"^sweeps/it.yaml: report.claims.{told}"):
        judged(TABLE.partition("claims:")[0] + f"claims:\n  - {bad}\n")


def test_no_score_stands_for_geometry():
    """A claim about uniformity or the mean cosine is not judged by a score of quality."""
    spec, _ = of_sweep("noncontrastive/figure4")
    told = [claim.left["metric"] for claim in scored_by(spec, "dev/demo/average").claims]
    assert told == ["dev/demo/average"] * 3 + ["test/geometry/mean_cosine"] * 2
    spec, _ = of_sweep("noncontrastive/table2")
    assert list(scored_by(spec, "dev/demo/average").columns) == ["Avg."]


SPEARMAN = "dev/stsb/spearman"


@pytest.fixture
def figure(leave, tmp_path):
    """figure(*(case, rate, score)) -> the findings of noncontrastive/figure1, over Barlow Twins' runs."""

    def make(*runs):
        for case, rate, score in runs:
            config = {"case": case, "seed": 0, "objective.lambd": 0.005, "trainer.lr": rate}
            leave(f"{case}-{rate}", config, {SPEARMAN: score}, choices={"objective": "barlow", "model": "bert"})
        folder = tmp_path / "runs"
        report = report_of(settings(["sweep=noncontrastive/figure1", f"runs={folder}"]), [folder], tmp_path)
        return report.findings

    return make


def test_what_was_tried_on_one_side_alone_does_not_speak_for_it(figure):
    """EDA, 20 points worse, ran at the middle rate only: the rates differ by a point, over dropout's runs."""
    _, smallest, _ = figure(("dropout_0.05", 1e-5, 79.0), ("dropout_0.05", 2e-5, 80.0), ("eda_0.1", 2e-5, 60.0))
    assert smallest.found.effect == pytest.approx(1.0)


def test_sides_without_a_setting_in_common_are_not_compared(figure):
    _, smallest, _ = figure(("dropout_0.05", 1e-5, 79.0), ("eda_0.1", 2e-5, 60.0))
    assert smallest.verdict_text == NOT_RUN
    assert "the same case, model, objective.lambd" in smallest.missing


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
    assert both.missing == "VisualCSE-RoBERTa-base; SimCSE-RoBERTa-base"
    assert sts12.verdict_text == NOT_RUN
    assert "SimCSE-BERT-base with STS12" in sts12.missing
    assert findings.facts(sts12)["n"] == findings.facts(sts12)["p"] == ""
    assert rates.verdict_text == "HOLDS (1 of 2 parts)"
    assert rates.missing == "case=simcse_bert, trainer.lr=3e-05"
    assert rises.missing == "three points, at two values or more"
    other = scored_by(spec, "test/sts/average")  # has no STS12 at all
    table = build(other, printed, runs, [], Intervals(0.95, "t"))
    again = findings.judged(other.claims, other, table, runs, 0.95)[1]
    assert (again.verdict_text, again.missing) == (NOT_RUN, sts12.missing)
    for text in (findings.findings_frame(found).to_csv(), findings.section(found)):
        assert "HOLDS (1 of 2 parts)" in text and "case=simcse_bert, trainer.lr" in text  # noqa: PT018
