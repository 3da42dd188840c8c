"""Bootstrap over items: the same numbers as with repeated rows, and pairs of runs compared by it."""

import numpy as np
import pytest
from made_up_tables import judged, parsed
from scipy.stats import bootstrap, spearmanr
from sklearn.metrics import f1_score

from cse.eval.items import keep_items
from cse.lab.report.any_runs.differences import compare_settings
from cse.lab.report.any_runs.differences_table import differences_frame, differences_section
from cse.lab.report.numbers import resampling
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_TESTED
from cse.score import Items, Score

METRIC = "test/sts/average"


def test_scores_of_resamples_are_the_libraries():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=60).round(1), rng.normal(size=60).round()  # with ties on both sides
    classes, gold = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    for _ in range(20):
        items = Items("spearman", a, b)
        drawn = resampling.draw_items(items, rng)
        assert resampling.score_on(items, drawn) == pytest.approx(100 * spearmanr(a[drawn], b[drawn])[0])
        right = (classes == gold)[drawn].mean()
        assert resampling.score_on(Items("accuracy", classes, gold), drawn) == pytest.approx(100 * right)
        f1 = f1_score(gold[drawn], classes[drawn])
        assert resampling.score_on(Items("f1", classes, gold), drawn) == pytest.approx(100 * f1)


def test_pairs_that_share_documents_vary_more_than_pairs_of_their_own():
    left, right = np.triu_indices(20, 1)
    rng = np.random.default_rng(0)
    gold = rng.normal(size=20)[left] * rng.normal(size=20)[right]
    alone = Items("spearman", gold + rng.normal(size=len(gold)), gold)
    shared = Items("spearman", alone.values_N, gold, np.stack([left, right]))
    assert len(resampling.draw_items(shared, rng)) != len(gold)  # a pair counts as often as both documents were drawn
    assert resampling.resample(shared, 0).std() > 1.5 * resampling.resample(alone, 0).std()


@pytest.mark.parametrize("kind", ["spearman", "accuracy"])
def test_a_difference_is_scipys_paired_bootstrap(kind):
    """Two encoders that err on the same items differ less by chance than two that each have items of their own."""
    rng = np.random.default_rng(3)
    gold, common = rng.normal(size=250), rng.normal(size=250)
    left, right = (gold + 0.6 * common + 0.3 * rng.normal(size=250) for _ in range(2))
    if kind == "accuracy":
        left, right, gold = left > 0.3, right > 0.3, gold > 0.3

    def score(values, gold):
        return 100 * (np.mean(values == gold) if kind == "accuracy" else spearmanr(values, gold)[0])

    one, other = (resampling.resample(Items(kind, values, gold), 0) for values in (left, right))
    low, high = np.quantile(one - other, (0.05, 0.95))
    theirs = bootstrap(
        (left, right, gold), lambda a, b, gold: score(a, gold) - score(b, gold), paired=True, vectorized=False,
        confidence_level=0.9, method="percentile", n_resamples=600, rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.15 * width)
    apart = resampling.resample(Items(kind, right, gold), 1)  # other resamples, as if of other items
    assert np.ptp(np.quantile(one - apart, (0.05, 0.95))) > 1.3 * width


def test_p_counts_the_resamples_on_the_rarer_side():
    assert resampling.p_of_resamples(np.ones(99)) == pytest.approx(2 / 100)  # never less than they can tell
    spread = np.arange(-4.0, 15.0)  # 5 of 19 at or below 0, 7 at or below 2
    told = (
        resampling.p_of_resamples(spread),
        resampling.p_of_resamples(spread, 2.0),
        resampling.p_of_resamples(spread, 5.0),
    )
    assert told == pytest.approx((2 * 6 / 20, 2 * 8 / 20, 1.0))


def given(noise, seed):
    """What an encoder of some noise makes of two tasks: scores with their items, and the average."""
    truth, rng = np.random.default_rng(0), np.random.default_rng(seed)
    golds = {"A/spearman": truth.normal(size=400), "B/spearman": truth.normal(size=300)}
    made = {name: Items("spearman", gold + noise * rng.normal(size=len(gold)), gold) for name, gold in golds.items()}
    behind = made | {"average": list(made)}
    average = float(np.mean([100 * spearmanr(one.values_N, one.gold_N)[0] for one in made.values()]))
    return [Score(name, 0.0, items=items).within("test/sts/") for name, items in behind.items()], average


@pytest.fixture
def scored(leave, monkeypatch):
    """scored(name, noise, seed): a run that kept its items; without a seed one that only scored, of its own draw."""
    monkeypatch.setattr(resampling, "RESAMPLES", 200)  # a thousand of seven runs would take seconds

    def make(name, noise, seed, draw=0):
        scores, average = given(noise, 10 * (seed or draw) + len(name))
        config = {"case": name.partition("-")[0]} | ({} if seed is None else {"seed": seed})
        keep_items(leave(name, config, {METRIC: average}), scores)

    return make


@pytest.fixture
def finding(runs):
    """finding(left, right) -> what the runs say of the claim that the left case is better than the right."""

    def make(left, right):
        rows = {"VisualCSE-BERT-base": {"case": left}, "SimCSE-BERT-base": {"case": right}}
        ours, theirs = ({"row": row} for row in rows)
        claim = {"says": "a claim", "source": "its source", "more": ours, "than": theirs}
        block = {"paper": "nonling", "table": "table1", "rows": rows, "columns": {"Avg.": METRIC}, "claims": [claim]}
        (one,) = judged(*parsed(block), runs())
        return one

    return make


def test_items_tell_of_encoders_that_are_only_scored_and_never_of_trained_ones(scored, finding):
    scored("good-1", 0.3, 1)
    scored("bad-1", 0.8, 1)
    trained = finding("good", "bad")
    assert (trained.verdict, "1 and 1" in trained.why_not_tested) == (NOT_TESTED, True)
    assert trained.effect.low is None
    for name, noise, seed in (("best-1", 0.3, 1), ("worst-1", 0.8, 1), ("like-1", 0.3, 2)):
        scored(name, noise, None, seed)
    better = finding("best", "worst")
    assert (better.verdict, better.effect.test, better.effect.n) == (HOLDS, "paired bootstrap over items", "700 items")
    assert 0 < better.effect.low < better.effect.size < better.effect.high
    assert finding("worst", "best").verdict == CONTRADICTED
    assert finding("best", "like").verdict == INCONCLUSIVE


def test_encoders_that_are_only_scored_need_their_items(leave, finding):
    for name in ("good", "bad"):
        leave(f"{name}-1", {"case": name}, {METRIC: 10.0})
    one = finding("good", "bad")
    assert (one.verdict, one.effect.low, one.effect.test) == (NOT_TESTED, None, "none")
    assert "test items" in one.why_not_tested


def test_items_of_other_truth_are_not_compared(leave, finding):
    gold = np.arange(40.0)
    for name, truth in (("good", gold), ("bad", -gold)):
        folder = leave(f"{name}-1", {"case": name}, {METRIC: 10.0})
        keep_items(folder, [Score(METRIC, 10.0, items=Items("spearman", gold, truth))])
    one = finding("good", "bad")
    assert (one.verdict, one.effect.test) == (NOT_TESTED, "none")
    assert "not the same" in one.why_not_tested


def test_runs_draw_the_same_items(scored, runs):
    scored("good-1", 0.3, 1)
    scored("same-1", 0.3, 1)
    seeds = ("test/sts/A/spearman", "test/sts/B/spearman")
    first, second = (resampling.resampled(run.folder, METRIC, seeds)[0] for run in runs())
    assert (first == second).all()
    assert first.std() > 0


@pytest.mark.parametrize("scores", [("test/x/a", "test/x/b"), ("test/x/mean of a", "test/x/mean of b")])
def test_two_scores_of_the_same_items_draw_the_same_items(tmp_path, monkeypatch, scores):
    """A claim may compare two scores of one encoder: where their items are the same, no resample tells them apart."""
    monkeypatch.setattr(resampling, "RESAMPLES", 20)
    rng = np.random.default_rng(0)
    first, second = (Items("spearman", rng.normal(size=50), rng.normal(size=50)) for _ in range(2))
    kept = {"a": first, "a2": second, "b": first, "b2": second}
    kept |= {"mean of a": ["test/x/a", "test/x/a2"], "mean of b": ["test/x/b", "test/x/b2"]}
    keep_items(tmp_path, [Score(f"test/x/{name}", 0.0, items=items) for name, items in kept.items()])
    effect = resampling.compare_items(*({tmp_path: name} for name in scores), 0.95)
    assert (effect.test, effect.low, effect.high, effect.p) == (resampling.OVER_ITEMS, 0.0, 0.0, 1.0)


def test_likeness_of_encoders_that_are_only_scored_is_over_items(scored, compared):
    for name, noise in (("a", 0.3), ("b", 0.8)):
        scored(name, noise, None)
    within_one = differences_frame(compare_settings(compared(), None, 0.95, within=1))
    assert within_one["equivalent"].tolist() == ["no"]
    scored("trained-1", 0.8, 1)
    assert (
        "test items" in differences_section(compare_settings(compared(), None, 0.95)).notes[-1]
    )  # it has them, and they do not answer


@pytest.mark.parametrize("settings", [{"checkpoint": ("T/a", "T/b")}, {"checkpoint": ("T/a", "T/a/last")},
                                      {"checkpoint": ("T/a", "T/a"), "pooling": ("cls", "mean")},
                                      {"checkpoint": ("T/a", "hub/name")}])  # fmt: skip
def test_two_checkpoints_are_compared_over_items_whatever_seed_they_were_trained_with(
    leave, compared, monkeypatch, settings
):
    """And nothing is said of the methods: another seed may score otherwise."""
    monkeypatch.setattr(resampling, "RESAMPLES", 200)
    for number, (name, noise) in enumerate((("good", 0.3), ("bad", 0.8))):
        config = {key: values[number] for key, values in settings.items()}
        seed = None if config["checkpoint"].startswith("hub") else 1
        scores, average = given(noise, number)
        keep_items(leave(name, {**config, "seed": seed}, {METRIC: average}), scores)
    differences = compare_settings(compared(), None, 0.95)
    told = differences_section(differences)
    (row,) = differences_frame(differences).to_dict("records")
    assert (row["test"], row["of"], row["tied"]) == (resampling.OVER_ITEMS, "700 items", False)
    assert row["low"] < row["difference"] < row["high"]
    assert any("other seeds" in line for line in told.notes)


def test_seeds_of_a_case_are_seeds_though_cse_eval_scored_them(leave, compared):
    for case, base in (("a", 70.0), ("b", 72.0)):
        for seed in (1, 2, 3):
            config = {"case": case, "checkpoint": f"T/{case}-{seed}", "seed": seed}
            leave(f"{case}-{seed}", config, {METRIC: base + seed / 10})
    (row,) = differences_frame(compare_settings(compared(), None, 0.95)).to_dict("records")
    assert (row["test"], row["of"]) == ("Welch", "3 and 3 seeds")


def test_of_one_seed_a_side_a_comparison_shows_the_difference_and_tests_nothing(scored, compared):
    scored("good-1", 0.3, 1)
    scored("bad-1", 0.8, 1)
    differences = compare_settings(compared(), None, 0.95)
    told = differences_section(differences)
    assert list(told.table) == ["case", "difference", "n"]
    assert differences_frame(differences)["tied"].item() == ""
    assert len(told.notes) == 1  # too few seeds: no sign and no p that would need a word


@pytest.mark.parametrize(("digests", "gold", "told"), [
    (("a", "a"), np.ones(40), ""), (("a", "b"), np.arange(40), "not the same"), (("a", ""), np.arange(40), ""),
    (("a", ""), np.ones(40), "did not record"),
])  # fmt: skip
def test_items_of_other_texts_are_not_compared(leave, finding, digests, gold, told):
    """Without a digest, as an older edition kept them, only a truth that varies shows that they are the same."""
    for name, digest in zip(("good", "bad"), digests, strict=True):
        folder = leave(f"{name}-1", {"case": name}, {METRIC: 10.0})
        items = Items("accuracy", np.arange(40) % 3, gold, digest=digest)
        keep_items(folder, [Score(METRIC, 10.0, items=items)])
    one = finding("good", "bad")
    assert (one.effect.test == "none") == bool(told)
    assert told in (one.why_not_tested or "")


def test_a_run_without_a_digest_hides_no_other_texts():
    kept = [resampling.Resampled(np.ones(2), 40, truth=1, varied=True, texts=texts) for texts in ("", "a", "b", "a")]
    assert resampling.why_items_differ(kept) == "the test items of the two settings are not the same"
    assert resampling.why_items_differ([kept[0], kept[1], kept[3]]) == ""


def test_items_of_other_units_are_not_compared(leave, finding):
    for name, units in (("good", np.arange(40) // 2), ("bad", np.arange(40) // 4)):
        folder = leave(f"{name}-1", {"case": name}, {METRIC: 10.0})
        items = Items("accuracy", np.ones(40), np.arange(40), units[None])
        keep_items(folder, [Score(METRIC, 10.0, items=items)])
    assert "not the same" in finding("good", "bad").why_not_tested
