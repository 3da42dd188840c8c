"""The CPU time, the peak memory and the page's size of `cse-report runs=FOLDER` on synthetic runs.

    python -m benchmarks.bench_report [--runs 10000]

The config of every run is one composed config with another learning rate, batch size, pooling or seed. A setting has
five seeds. A run has four scores, and a curve of eight steps. The report runs in a separate process.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.results import table, write_section

SCORES = ("dev/stsb/spearman", "test/stsb/spearman", "test/sts/average", "test/sts/STS12/spearman")


def make(folder: Path, runs: int) -> None:
    """Fill a folder with synthetic runs, which have the files of cse-train's runs except weights and pictures."""
    from cse.lab.settings.compose import composed, without_hydra
    from cse.lab.settings.references import resolved

    settings, random_ = resolved(without_hydra(composed("train", ["objective=barlow"]))), random.Random(0)
    for number in range(runs):
        setting, seed = divmod(number, 5)
        values = {
            "trainer.lr": round(1e-6 * (1 + setting % 50), 8),
            "trainer.batch_size": 8 * (1 + setting // 50 % 10),
            "model.pooling": ("cls", "mean", "avg", "max")[setting // 500 % 4],
            "seed": seed,
        }
        words = [f"{key}={value}" for key, value in values.items()]
        own = json.loads(json.dumps(settings))
        for key, value in values.items():
            group, _, name = key.rpartition(".")
            (own[group] if group else own)[name] = value
        scores = {name: random_.gauss(75, 1) for name in SCORES}
        results = {
            "status": "done", "config": own, "seed": seed, "command": " ".join(["cse-train", *words]),
            "git_commit": "0" * 40, "versions": {"python": "3.11.7", "torch": "2.11.0"}, "device": "cpu", "steps": 80,
            "metrics": scores, "best_step": 80, "wall_seconds": 60.0,
            "data": {"stsb": {"protocol": "made up", "files": {}}},
        }  # fmt: skip
        events = [
            {"event": "metrics", "step": step, "time": step, "train/loss": random_.random()}
            | ({SCORES[0]: random_.gauss(75, 1)} if step % 20 == 0 else {})
            for step in range(10, 90, 10)
        ]
        run = folder / f"run_{number:05d}"
        run.mkdir(parents=True)
        (run / "results.json").write_text(json.dumps(results, indent=2))
        (run / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def measured(runs: int) -> list[str]:
    """Return a row of the table: number of runs, seconds of CPU time, GB at the peak, MB of the page."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "runs", runs)
        code = "import sys; sys.argv[0] = 'cse-report'; from cse.lab.commands.report import main; main()"
        words = [f"runs={folder}/runs", f"out={folder}/out"]
        log = os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT)
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", code, *words],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)],
        )
        _, status, usage = os.wait4(process, 0)
        if status:
            sys.exit((Path(folder) / "log").read_text()[-2000:])
        page = (Path(folder) / "out" / "report.html").stat().st_size
    return [
        f"{runs:,}",
        f"{usage.ru_utime + usage.ru_stime:.1f}",
        f"{usage.ru_maxrss / 2**20:.2f}",
        f"{page / 1e6:.1f}",
    ]


def main() -> None:
    """Measure 1,000 runs and as many as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    most = parser.parse_args().runs
    rows = [measured(runs) for runs in sorted({min(1000, most), most})]
    text = table(["runs", "seconds of CPU", "GiB at the peak", "MB of the page"], rows)
    print(text)
    write_section("cse-report over many runs", f"python -m benchmarks.bench_report --runs {most}", text)


if __name__ == "__main__":
    main()
