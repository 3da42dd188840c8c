"""benchmarks/study2: its page is what runs.csv gives, and only complete blocks are read."""

import numpy as np
import pandas as pd
from run_folders import leave_run

from benchmarks.study2 import __main__ as main
from benchmarks.study2 import runs as study2

SCORED = {"dev": 70.0, "alignment": 0.1, "uniformity": -1.0, "seconds": 1.0, "step": 80, "encoder": "encoder1",
          "weights": "be45af5d", "precision": "bf16"}  # fmt: skip


def made_up(means: dict[str, float]) -> pd.DataFrame:
    """Ten counted runs of each arm, with a deviation of about half a point."""
    rng = np.random.default_rng(0)
    rows = [
        {**SCORED, "arm": arm, "role": "counted", "seed": seed, "rate": 1e-4, "average": mean + 0.5 * rng.normal(),
         "commit": "abc", "state": "done"}
        for arm, mean in means.items() for seed in study2.SEEDS
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=study2.COLUMNS)


def test_the_page_is_what_its_runs_give():
    runs = study2.read(main.HERE / "runs.csv")
    assert (main.HERE / "RESULTS.md").read_text() == main.page(runs)


def test_a_difference_of_two_points_is_seen_and_none_is_not():
    first = dict.fromkeys(study2.BLOCKS[0], 70.0) | {"simcse_shuffle": 72.0, "vicreg25_shuffle": 69.0}
    claims = {one.says: one for one in study2.judged(made_up(first))}
    words = [one.verdict for one in claims.values()]
    assert words[:4] == ["HOLDS", "FAILS", "FAILS", "NOT SEEN"]
    assert set(words[4:]) == {"not complete"}
    least = min(claims.values(), key=lambda one: one.corrected)
    assert least.corrected == 10 * least.found.p  # Holm over all ten


def test_a_block_that_lacks_a_run_is_not_read():
    runs = made_up(dict.fromkeys(study2.BLOCKS[0], 70.0)).iloc[:-1]
    assert study2.complete(runs).empty
    assert {one.verdict for one in study2.judged(runs)} == {"not complete"}
    assert "70." not in main.page(runs).partition("## Rates")[0]


def test_a_block_of_which_one_seed_has_two_starts_is_not_read():
    runs = made_up(dict.fromkeys(study2.BLOCKS[0], 70.0))
    assert [*study2.complete(runs).arm.unique()] == study2.BLOCKS[0]
    assert study2.complete(runs.assign(weights=[*runs.weights[:-1], "elsewhere"])).empty
    assert [*study2.complete(runs.assign(weights=runs.seed.astype(str))).arm.unique()] == study2.BLOCKS[0]


def test_both_sides_of_a_claim_start_from_the_same_weights_at_each_seed():
    first = made_up(dict.fromkeys(study2.BLOCKS[0], 70.0))
    second = made_up(dict.fromkeys(study2.BLOCKS[1], 72.0))
    late = first[(first.arm == "simcse_dropout") & (first.seed > 25)]
    second = second.assign(weights=["elsewhere" if seed > 25 else "be45af5d" for seed in second.seed])
    again = late.assign(weights="elsewhere", average=late.average + 20)
    claims = {one.says: one for one in study2.judged(pd.concat([first, second, again]))}
    there = study2.complete(pd.concat([first, second, again]))
    assert [*there.arm.unique()] == study2.BLOCKS[0] + study2.BLOCKS[1]
    assert there[there.arm == "simcse_dropout"].average.max() < 80  # block 1's own
    assert claims["SimCSE with shuffle is better than SimCSE with dropout"].verdict == "NOT SEEN"
    whitened = claims["WhitenedCSE is better than SimCSE"].found.size
    assert whitened is not None
    assert abs(whitened - (72 - 80)) < 1  # five of its ten SimCSE runs are 20 points higher
    without = {one.says: one.verdict for one in study2.judged(pd.concat([first, second]))}
    assert without["WhitenedCSE is better than SimCSE"] == "not complete"


def test_a_second_encoder_is_described_once_whole_and_moves_no_claim():
    first = made_up(dict.fromkeys(study2.BLOCKS[0], 70.0))
    second = made_up(dict.fromkeys(study2.BLOCKS[0], 70.0) | {"simcse_shuffle": 75.0}).assign(encoder="encoder2")
    both = pd.concat([first, second])
    rows = {says: on for says, *on in main.replicated(both)}
    assert len(rows) == len(study2.REPLICATED)
    ours, theirs = rows["SimCSE with shuffle is better than SimCSE with dropout"]
    assert abs(float(theirs.split()[0]) - float(ours.split()[0]) - 5) < 0.01
    assert repr(study2.judged(study2.on(both, "encoder1"))) == repr(study2.judged(first))  # NaN equals nothing
    assert main.replicated(pd.concat([first, second.iloc[:-1]])) == []


def test_the_smaller_of_two_like_rates_is_chosen_and_an_edge_is_marked():
    rates = pd.DataFrame(
        {3e-5: [70.0, 70.0, 70.0], 1e-4: [71.0, 69.95, 60.0], 3e-4: [71.05, 60.0, 50.0], 1e-3: [69.0, np.nan, np.nan]},
        index=["simcse_dropout", "simcse_shuffle", "vicreg_dropout"],
    )
    inside, edge, dropped = study2.marked(rates).values()
    assert inside == {3e-5: "70.00", 1e-4: "**71.00**", 3e-4: "71.05", 1e-3: "69.00"}
    assert edge == {3e-5: "70.00 (edge)", 1e-4: "69.95", 3e-4: "60.00"}
    lowest = pd.DataFrame({3e-6: [66.0], 1e-5: [64.0]}, index=["temperature_1"])
    assert study2.marked(lowest) == {"temperature_1": {3e-6: "**66.00**", 1e-5: "64.00"}}
    assert dropped == {3e-5: "70.00", 1e-4: "60.00", 3e-4: "50.00"}


def test_every_end_of_a_run_is_a_row_once(tmp_path):
    config = {"case": "images", "seed": 101, "model": {"name": str(tmp_path / "encoder1/best")},
              "trainer": {"lr": 1e-4}, "aux_modality": {"lr": 1e-5}}  # fmt: skip
    rows = pd.DataFrame(columns=study2.COLUMNS)
    (tmp_path / "encoder1" / "best").mkdir(parents=True)
    (tmp_path / "encoder1" / "best" / "model.safetensors").write_bytes(b"")
    done = {"status": "done", "metrics": {"dev/stsb/average": 71.1}, "steps": 80, "seconds": 9.7}
    for results in ({"status": "running"}, {"status": "failed", "seconds": 2.1}, {"status": "running"}, done, done):
        leave_run(tmp_path / "job", config, **results)
        rows = study2.collect([tmp_path], rows)
    assert [*rows.state] == ["failed", "done"]
    assert [*study2.finished(rows, "tuning").dev] == [71.1]
    assert [rows[key].iloc[1] for key in ("arm", "rate", "weights")] == ["images", 1e-5, "e3b0c442"]
