"""The effect of bf16 on score and time: SimCSE on MiniLM in float32 and under bf16 autocast, with the same seeds.

    python -m benchmarks.bench_precision [--steps 100] [--seeds 3] [--shared ../shared/data]

Needs the real data beside the checkout: Wikipedia sentences and STS-B.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.bench_aux import COMMON, mean_and_sd, train
from benchmarks.results import SHARED, real_data, spread, table, where, write_section

PRECISIONS = ("fp32", "bf16")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=100)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--shared", type=real_data, default=str(SHARED))
    given = arguments.parse_args()
    base = [*COMMON, f"data.path={given.shared}/text/wiki_sentences.txt.gz", f"paths.senteval={given.shared}/senteval",
            f"trainer.max_steps={given.steps}", f"trainer.eval_every={given.steps}", "trainer.batch_size=32",
            "trainer.log_every=1"]  # fmt: skip
    runs: dict[str, list[dict]] = {precision: [] for precision in PRECISIONS}
    with tempfile.TemporaryDirectory() as work:
        for seed in range(1, given.seeds + 1):
            for precision in PRECISIONS:  # in turn, so that both meet the same noise
                arguments_ = [*base, f"trainer.precision={precision}", f"seed={seed}", f"paths.cache={work}/cache"]
                runs[precision].append(train(arguments_, Path(work) / f"{precision} {seed}"))
                print(precision, seed, runs[precision][-1]["dev/stsb/spearman"], flush=True)
    ends = {p: [run["dev/stsb/spearman"][-1][1] for run in of] for p, of in runs.items()}
    rows = []
    for precision, of in runs.items():
        others = zip(ends[precision], ends["fp32"], strict=True)
        gaps = [abs(a - b) / b for run, other in zip(of, runs["fp32"], strict=True)
                for (_, a), (_, b) in zip(run["train/loss"][:10], other["train/loss"][:10], strict=True)]  # fmt: skip
        speed = [other["seconds"] / run["seconds"] for run, other in zip(of, runs["fp32"], strict=True)]
        starts = [run["dev/stsb/spearman"][0][1] for run in of]
        rows.append([precision, mean_and_sd(starts), mean_and_sd(ends[precision]),
                     ", ".join(f"{a - b:+.2f}" for a, b in others), f"{100 * float(np.mean(gaps)):.2g} %",
                     spread(speed)])  # fmt: skip
    note = f"""SimCSE, MiniLM with CLS pooling, batch 32, {given.steps} steps, STS-B dev Spearman x100, mean ± sd of
{given.seeds} seeds. Loss apart: mean relative distance of the first ten steps' losses from float32's. Speed: steps and
scores together, float32 = 1."""
    header = ["precision", "dev, step 0", "dev, end", "from float32, seed by seed", "loss apart", "speed"]
    command = f"python -m benchmarks.bench_precision --steps {given.steps} --seeds {given.seeds}"
    write_section(f"bf16 beside float32, {where()}", command, f"{note}\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
