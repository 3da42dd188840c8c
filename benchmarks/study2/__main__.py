"""The second study's results, made from its raw data.

python -m benchmarks.study2                       # write RESULTS.md from runs.csv, and a picture if a block is complete
python -m benchmarks.study2 --collect FOLDER ...  # first add the runs of these folders to runs.csv
"""

import argparse
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from benchmarks.results import table
from benchmarks.study2.answer import ANSWER, ARMS, DOUBTS, PICTURE, RATES, SECOND
from benchmarks.study2.picture import draw
from benchmarks.study2.runs import (
    BLOCKS,
    REPLICATED,
    THREE,
    Judged,
    alike,
    collect,
    compared,
    complete,
    finished,
    judged,
    marked,
    on,
    read,
    tuned,
)
from cse.lab.report.numbers.statistics import Effect, compare_pairs

HERE = Path(__file__).parent


@cache
def names() -> dict[str, str]:
    """Return {arm: its name in the reports of the study's sweeps}."""
    found: dict[str, str] = {}
    for prefix, sweep in (("", "methods"), ("documents/", "documents")):
        block = yaml.safe_load((HERE.parents[1] / "sweeps" / "study2" / f"{sweep}.yaml").read_text(encoding="utf-8"))
        found |= {prefix + row["case"]: name for name, row in block["report"]["rows"].items()}
    return found


def described(text: str, runs: pd.DataFrame) -> str:
    """Return the text with numbers filled in: the gains by shuffle and EDA, other differences, selection scores."""
    there = complete(runs)
    means = there.groupby("arm")[["average", "dev"]].mean()
    score = means.average
    gain = {one: score[f"{one}_shuffle"] - score[f"{one}_dropout"] for one in THREE}
    above = {arm: abs(score[arm] - score[f"simcse_{arm.partition('_')[2]}"]) for arm in BLOCKS[0]}
    eda = {one: score[f"{one}_eda"] - score[f"{one}_dropout"] for one in THREE}
    eda["simcse"] = compared(runs, "simcse_eda", "simcse_dropout").size
    declutr, contrastive, mlm = BLOCKS[3]
    half, whitened, alone, over = (
        compared(runs, *arms).size
        for arms in (("simcse_dropout", "half"), ("whitenedcse_dropout", "simcse_dropout"), (contrastive, declutr),
                     (declutr, mlm))
    )  # fmt: skip
    start = finished(runs, "baseline").set_index(["arm", "weights"]).average.loc["untouched_mean"]
    harm = start[alike(runs, [mlm]).weights.unique()].mean() - score[mlm]
    loss = score["whitenedcse_dropout"] - score["whitenedcse_shuffle"]
    beside = {arm: compared(runs, arm, "simcse_dropout").size for arm in ("images", "sound")}
    by_seed = {arm: compared(runs, arm, "simcse_dropout", compare_pairs) for arm in beside}
    paired = {arm: difference_of(effect) for arm, effect in by_seed.items()}
    return text.format(
        gain=gain, above=above, dev=means.dev, eda=eda, half=half, loss=loss, whitened=whitened, beside=beside,
        paired=paired, images=tuned(runs).loc["images", 1e-4], alone=alone, mlm=over, harm=harm,
        spread=there[there.arm == "simcse_dropout"].average.std(),
    )  # fmt: skip


def row_of_arm(mine: pd.DataFrame) -> list[str]:
    """Return an arm's row of the page: its learning rate, and the mean and sd of each score over the arm's runs."""

    def number(key: str, digits: int) -> str:
        spread = f" ± {mine[key].std():.{digits}f}" if len(mine) > 1 else ""
        return "not scored" if mine[key].isna().any() else f"{mine[key].mean():.{digits}f}{spread}"

    rate = "" if mine.rate.isna().any() else f"{mine.rate.iloc[0]:g}"
    return [names()[mine.arm.iloc[0]], rate, number("average", 2), number("alignment", 3), number("uniformity", 3)]


def difference_of(found: Effect) -> str:
    """Return a difference with its interval as text; "" if nothing was compared."""
    return "" if found.size is None else "{:+.2f} [{:+.2f}, {:+.2f}]".format(*found[:3])


def numbers_of(claim: Judged) -> tuple[str, str]:
    """Return (difference with interval, raw and corrected p) of a claim as text; ("", "") if nothing was compared."""
    p = "" if claim.found.size is None else f"{claim.found.p:.3g}, {claim.corrected:.3g}"
    return difference_of(claim.found), p


def replicated(runs: pd.DataFrame) -> list[list[str]]:
    """Return a row for each difference in REPLICATED, with its value on both encoders.

    Return [] if no block is complete on the second encoder.
    """
    if complete(on(runs, "encoder2")).empty:
        return []
    found = []
    for name, more, less in REPLICATED:
        both = [compared(on(runs, encoder), more, less) for encoder in ("encoder1", "encoder2")]
        found.append([name, *(difference_of(effect) for effect in both)])
    return found


PURPOSES = {"baseline": "the untouched encoder", "counted": "the analysis", "tuning": "tuning"}


def page(runs: pd.DataFrame) -> str:
    """Return the text of RESULTS.md: the answer so far, the arms and claims of complete blocks, the learning rates."""
    counts, again = runs.groupby(["encoder", "role", "state"]).size(), replicated(runs)
    runs = on(runs, "encoder1")
    claims, there = judged(runs), complete(runs)
    started = [[encoder, PURPOSES[role], state, f"{count}"] for (encoder, role, state), count in counts.items()]
    arms = [row_of_arm(mine) for _, mine in there.groupby("arm", sort=False)]
    starts = finished(runs, "baseline")
    untouched = [row_of_arm(mine) for _, mine in starts[starts.weights.isin(there.weights)].groupby("arm")]
    judgements = [[one.says, *numbers_of(one), one.verdict] for one in claims]
    rates = tuned(runs)
    grid = [[arm, *(found.get(rate, "") for rate in rates.columns)] for arm, found in marked(rates).items()]
    parts = [
        "# Which part helps: the objective, the augmentation or the second modality?",
        *([described(ANSWER, runs), PICTURE] if arms else ["No block is complete, so no claim is tested yet."]),
        "`python -m benchmarks.study2` makes this page from [runs.csv](runs.csv), with the rules of the\n"
        "[protocol](PROTOCOL.md). These runs were started:",
        table(["encoder", "purpose", "state", "runs"], started),
        *(["## Arms", ARMS, table(["arm", "rate", "STS average", "alignment", "uniformity"], arms + untouched)]
          if arms else []),
        "## Claims",
        "The test is Welch's t-test, two-sided. Holm's correction is over all ten claims; an incomplete claim has\n"
        "p = 1. NOT SEEN: no statistically significant difference.",
        table(["claim", "difference, 95 % interval", "raw p, Holm-corrected p", "verdict"], judgements),
        *(["## On a second encoder", SECOND, table(["difference", "on encoder 1", "on encoder 2"], again)]
          if again else []),
        *(["## Rates", RATES, table(["arm", *(f"{rate:g}" for rate in rates.columns)], grid)] if len(grid) else []),
        *(["## Limits", described(DOUBTS, runs)] if arms else []),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--collect", type=Path, nargs="+", default=[], metavar="FOLDER")
    given = arguments.parse_args()
    file = HERE / "runs.csv"
    runs = read(file)
    if given.collect:
        runs = collect(given.collect, runs)
        runs.to_csv(file, index=False)
    (HERE / "RESULTS.md").write_text(page(runs), encoding="utf-8")
    first = on(runs, "encoder1")
    if len(there := complete(first)):
        draw(there, finished(first, "baseline").groupby("arm").average.mean())


if __name__ == "__main__":
    main()
