"""Claims judged by invented runs whose answer is known."""

import numpy as np
import pytest
from made_up_tables import judged as judged_claims
from made_up_tables import parsed
from scipy import stats

from cse.lab.report.paper.claims_table import claim_facts, claims_frame, claims_section, headline
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_RUN, NOT_TESTED, SEE_FIGURE
from cse.lab.sections import markdown

TEST = "test/sts/average"
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
  - {says: it rises, source: here}
"""
SCORES = {2: [70.0, 70.6, 69.8, 70.4], 3: [72.5, 72.8, 72.1, 72.6], 4: [71.5, 71.8, 71.2, 71.4],
          5: [71.4, 71.8, 71.3, 71.5]}  # fmt: skip


HEAD = TABLE.partition("  - {")[0]
OTHER = {"more": "than", "alike": "to"}
ALIKE = 'alike: {row: "5"}, to: {row: "4"}, within: 2.0'


@pytest.fixture
def judged(leave, tmp_path, runs):
    """judged(text, scores) -> {claim: its row} of invented runs: the scores of each m, a seed each."""

    def make(text=TABLE, scores=SCORES):
        for m, of in scores.items():
            for seed, score in enumerate(of):
                if not (tmp_path / "runs" / f"{m}-{seed}").exists():
                    leave(f"{m}-{seed}", {"objective.m": m, "seed": seed, "model": "bert"}, {TEST: score})
        block, printed = parsed(text)
        found = judged_claims(block, printed, runs())
        return {one.claim.says: one for one in found}

    return make


def welch(a, b):
    return stats.ttest_ind(a, b, equal_var=False).pvalue


def test_each_claims_p_is_holms_over_all_of_the_table(judged):
    """Of tests by scipy, claim after claim; of two that are alike, the worse of two one-sided ones."""
    two, three, four, five = (SCORES[m] for m in (2, 3, 4, 5))
    above, below = ([score + shift for score in five] for shift in (2.0, -2.0))
    alike = max(
        stats.ttest_ind(above, four, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(below, four, equal_var=False, alternative="less").pvalue,
    )
    raw = [
        welch(three, two),
        welch(two, five),
        welch(five, four),
        alike,
        max(welch(many, two) for many in (three, four, five)),
    ]
    expected, least = {}, 0.0
    for rank, place in enumerate(sorted(range(5), key=raw.__getitem__)):
        least = expected[place] = max(least, min(1.0, raw[place] * (5 - rank)))
    *found, of_figure = judged().values()
    p_values = [(one.p_of_claim, one.p_holm) for one in found]
    assert p_values == [pytest.approx((raw[at], expected[at])) for at in range(5)]
    assert of_figure.verdict == SEE_FIGURE
    assert [one.verdict for one in found[:4]] == [HOLDS, CONTRADICTED, INCONCLUSIVE, HOLDS]
    interval = stats.ttest_ind(three, two, equal_var=False).confidence_interval(0.95)
    effect = found[0].effect
    assert (effect.size, effect.low, effect.high) == pytest.approx((2.3, interval.low, interval.high))
    assert (effect.n, effect.test) == ("4 and 4 seeds", "Welch")


@pytest.mark.parametrize(("form", "supports"), [("within: 2.0, control: three beats two", True), ("", None)])
def test_equal_published_numbers_support_a_claim_with_a_margin(judged, form, supports):
    claim = f'{{says: it, source: here, more: {{row: "3"}}, than: {{row: "3"}}, {form}}}'
    assert judged(f"{TABLE}  - {claim}")["it"].published_supports is supports


def test_a_claim_of_several_parts_is_as_strong_as_its_weakest(judged):
    found = judged()["two is beaten by all"]
    assert (found.verdict, found.parts_measured, len(found.parts)) == (HOLDS, 3, 3)
    assert found.deciding.name == "5"  # by the largest p of the three
    assert claim_facts(found)["each part"] == "3: HOLDS; 4: HOLDS; 5: HOLDS"
    assert found.p_holm >= max(welch(SCORES[m], SCORES[2]) for m in (3, 4, 5))
    assert found.published_supports  # Table 5: 77.81 is the least


def test_a_claim_is_contradicted_by_its_worst_part(judged):
    """Three parts are three chances to contradict: the surest one's p counts three times."""
    found = judged(HEAD + '  - {says: it, source: here, less: {row: "3"}, than: {row: ["2", "4", "5"]}}')["it"]
    surest = min(welch(SCORES[m], SCORES[3]) for m in (2, 4, 5))
    assert (found.verdict, found.p_holm) == (CONTRADICTED, pytest.approx(3 * surest))


def test_the_parts_of_a_claim_that_does_not_hold_have_verdicts_of_their_own(judged):
    found = judged(HEAD + '  - {says: it, source: here, more: {row: "5"}, than: {row: ["2", "3", "4"]}}')["it"]
    assert claim_facts(found)["each part"] == "2: HOLDS; 3: CONTRADICTED; 4: INCONCLUSIVE"


def test_a_claim_that_rests_on_modified_scores_is_marked(judged, leave):
    leave("2-0", {"objective.m": 2, "seed": 0, "model": "bert"}, {TEST: 70.0}, modified="sts")
    found = judged()
    claims = claims_frame(list(found.values()))
    marked = {name for name, one in found.items() if "†" in claim_facts(one)["ours"]}
    assert marked == {"three beats two", "two beats five", "two is beaten by all"}
    assert "†" in headline(list(found.values()))
    assert claims["data"].tolist().count("partial") == 3


@pytest.mark.parametrize(("scale", "ours"), [(1.0, "+2.30"), (0.01, "+0.0230")])
def test_differences_have_the_decimals_of_their_scores(judged, scale, ours):
    scores = {m: [scale * score for score in of_m] for m, of_m in SCORES.items()}
    claim = judged(scores=scores)["three beats two"]
    assert claim_facts(claim)["ours"] == ours


@pytest.mark.parametrize(
    ("form", "left", "right", "within", "verdict"),
    [
        ("alike", "5", "4", 2.0, HOLDS),  # apart by .03, spread .2: shown to be alike, not merely no difference seen
        ("alike", "5", "4", 0.01, INCONCLUSIVE),
        ("alike", "4", "3", 1.1, INCONCLUSIVE),  # apart by 1.03: however far the other end of the range is
        ("alike", "3", "4", 1.1, INCONCLUSIVE),
        ("alike", "3", "2", 1.0, CONTRADICTED),
        ("more", "5", "4", 1.0, HOLDS),
        ("more", "5", "4", 0.01, INCONCLUSIVE),
        ("more", "2", "3", 1.0, CONTRADICTED),
    ],
)
def test_likeness_is_tested_against_its_margin(judged, form, left, right, within, verdict):
    rows = f'{form}: {{row: "{left}"}}, {OTHER[form]}: {{row: "{right}"}}, within: {within}'
    found = judged(TABLE.replace(ALIKE, rows))["five is like four"]
    assert found.verdict == verdict
    assert found.effect.size == pytest.approx(np.mean(SCORES[int(left)]) - np.mean(SCORES[int(right)]))


@pytest.mark.parametrize("form", ["alike", "more"])
def test_likeness_needs_its_positive_control_to_hold(judged, form):
    """Runs that could not have shown a difference are alike whatever is done."""
    text = TABLE.replace(ALIKE, f'{form}: {{row: "5"}}, {OTHER[form]}: {{row: "4"}}, within: 2.0')
    seen = judged(text)["five is like four"]
    assert seen.verdict == HOLDS
    unseen = judged(text.replace("control: three beats two", "control: five beats four"))["five is like four"]
    assert unseen.verdict == NOT_TESTED
    assert "five beats four" in unseen.why_not_tested
    assert np.isnan(unseen.p_holm)
    assert unseen.effect == seen.effect
    assert judged(text.replace(", control: three beats two", ""))["five is like four"].verdict == NOT_TESTED


def test_fewer_than_three_seeds_of_a_side_are_no_test(judged):
    found = judged(scores={m: of[: 2 if m == 2 else 4] for m, of in SCORES.items()})
    assert found["three beats two"].verdict == NOT_TESTED
    assert "4 and 2" in found["three beats two"].why_not_tested
    assert found["five is like four"].verdict == NOT_TESTED  # its control is not judged
    assert found["two is beaten by all"].verdict == NOT_TESTED
    assert found["five beats four"].verdict == INCONCLUSIVE
    assert headline(list(found.values())) == "6 claims: 1 SEE FIGURE, 4 NOT TESTED, 1 INCONCLUSIVE."


def test_another_setting_and_another_score_are_no_test(judged):
    found = judged(TABLE.replace("claims:", "setting: {model: roberta}\nclaims:"))
    assert [one.verdict for one in found.values()] == [*[NOT_TESTED] * 5, SEE_FIGURE]
    assert found["three beats two"].why_not_tested.endswith(": model=bert")
    assert found["three beats two"].effect.size == pytest.approx(2.3)
    other = judged(TABLE.replace("{says: three beats two,", "{says: three beats two, quantity: speed,"))
    assert "speed" in other["three beats two"].why_not_tested


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
  - {says: it rises with the rate, source: here}
"""


def test_a_verdict_says_what_it_does_not_rest_on(leave, runs):
    """RoBERTa was not run, and STS12 not scored. A claim about a figure is not judged."""
    for seed in range(3):
        for case, score in (("simcse_bert", 70), ("visual_bert", 75)):
            leave(f"{case}-{seed}", {"case": case, "seed": seed}, {TEST: score + seed * score / 1000})
    found = judged_claims(*parsed(PARTIAL), runs())
    both, sts12, rises = found
    assert (rises.verdict, claim_facts(rises)["missing"]) == (SEE_FIGURE, "")
    assert (both.verdict, both.verdict_with_parts) == (HOLDS, "HOLDS (1 of 2 parts)")
    assert claim_facts(both)["missing"] == "VisualCSE-RoBERTa-base with Avg.; SimCSE-RoBERTa-base with Avg."
    assert sts12.verdict == NOT_RUN
    assert "SimCSE-BERT-base with STS12" in claim_facts(sts12)["missing"]
    assert (sts12.effect.n, claim_facts(sts12)["p"]) == ("", "")
    for text in (claims_frame(found).to_csv(), markdown("Title", "", [claims_section(found)])):
        assert "HOLDS (1 of 2 parts)" in text
        assert "VisualCSE-RoBERTa-base with Avg." in text
