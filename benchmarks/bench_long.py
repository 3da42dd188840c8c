"""A long run, watched from outside: do its memory, open files, step time or metrics.jsonl grow with steps or rows?

    python -m benchmarks.bench_long [--steps 20000] [--rows 5000000] [--every 500] [--folder FOLDER]

The run is a separate process: SimCSE with batches of 16, on synthetic text, with an encoder of one layer of width 64.
Every --every steps, the run is scored on synthetic pairs (STS-B and geometry) and saved. At the end it draws its plots.
The benchmark reads /proc twice a second, so it needs Linux. Memory is RssAnon. This number leaves out the pages of
memory-mapped files, because the system can take these pages back.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import table, write_section

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")
BLOCK = 10_000  # rows written at a time: the same rows in another order


def write_text(path: Path, rows: int) -> None:
    """Write `rows` sentences of 6 to 12 synthetic words."""
    from cse.sources.synthetic import sentence

    rng = random.Random(0)
    lines = [sentence(rng, rng.randint(6, 12)) for _ in range(BLOCK)]
    with open(path, "w") as file:
        for start in range(0, rows, BLOCK):
            rng.shuffle(lines)
            file.write("\n".join(lines[: rows - start]) + "\n")


def command(folder: Path, steps: int, every: int) -> list[str]:
    """Return the command of the run, which reads the text, encoder and pairs that `main` wrote into the folder."""
    return [
        CSE_TRAIN, "model=bert", f"model.name={folder}/encoder", "model.num_layers=null", "data=text",
        f"data.path={folder}/text.txt", f"paths.cache={folder}/cache", "eval=[stsb,geometry]", "allow_partial=true",
        f"paths.senteval={folder}/senteval", "trainer.watch=[geometry]", "tracker=none", "trainer.epochs=1",
        f"trainer.max_steps={steps}", "trainer.batch_size=16", "trainer.max_length=16", f"trainer.eval_every={every}",
        "trainer.log_every=10", "trainer.keep_last=true", f"hydra.run.dir={folder}/run",
    ]  # fmt: skip


def look(process: int, run: Path) -> dict[str, float] | None:
    """Return the current memory, open files and log size of the process; None if the process has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text().splitlines()
        files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    except OSError:
        return None
    kilobytes = {line.partition(":")[0]: int(line.split()[1]) for line in status if line.startswith("Rss")}
    if not kilobytes:
        return None
    log = run / "metrics.jsonl"
    size = log.stat().st_size if log.exists() else 0
    return {"time": time.time(), "memory": kilobytes["RssAnon"] / 1024, "files": files, "log": size}


def watch(line: list[str], run: Path) -> list[dict[str, float]]:
    """Run the command to its end, and look at the process twice a second. Raises CalledProcessError if it fails."""
    seen = []
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if now := look(process.pid, run):
                seen.append(now)
            time.sleep(0.5)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, line)
    return seen


def parts(seen: list[dict[str, float]], run: Path) -> dict[str, list[list[str]]]:
    """Return the rows of three tables: while the text is prepared, while the run trains, and at the end."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    events: list[dict[str, Any]] = [event for event in lines if event["event"] == "metrics" and "train/loss" in event]
    steps, times = (np.array([event[key] for event in events]) for key in ("step", "time"))
    before = [one for one in seen if one["log"] == 0]
    during = [one for one in seen if times[0] <= one["time"] <= times[-1]]
    at = np.interp([one["time"] for one in during], times, steps)
    tenth = steps[-1] / 10
    rate = np.diff(times) / np.diff(steps) * 1000
    columns = {
        "memory, MiB": (at, np.array([one["memory"] for one in during])),
        "open files": (at, np.array([one["files"] for one in during])),
        "a step, ms": (steps[1:], rate),
        "metrics.jsonl, KiB": (at, np.array([one["log"] for one in during]) / 1024),
    }
    rows = []
    for name, (x, y) in columns.items():
        late = x > tenth  # the first tenth is for caches to fill
        slope = 1000 * np.polyfit(x[late], y[late], 1)[0]
        ends = [np.median(y[(x > low * tenth) & (x <= (low + 1) * tenth)]) for low in (1, 5, 9)]
        rows.append([name, *(f"{value:,.2f}" for value in ends), f"{slope:+.3f}"])
    state = (run / "last/state.safetensors").stat().st_size / 1024
    memory = [one["memory"] for one in before]
    prepared = [["minutes from the start to the first score", f"{(times[0] - seen[0]['time']) / 60:.1f}"],
                ["memory, MiB, most", f"{max(memory):,.0f}"],
                ["open files, most", f"{max(one['files'] for one in before)}"]]  # fmt: skip
    ended = [["seconds from the last step to the end", f"{seen[-1]['time'] - times[-1]:.1f}"],
             ["memory, MiB, most", f"{max(one['memory'] for one in seen):,.0f}"],
             ["last/, KiB", f"{state:,.0f}"],
             ["pictures", str(len(list((run / 'plots').glob('*.png'))))]]  # fmt: skip
    return {"prepared": prepared, "trained": rows, "ended": ended}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=20_000)
    arguments.add_argument("--rows", type=int, default=5_000_000)
    arguments.add_argument("--every", type=int, default=500)
    arguments.add_argument("--folder", type=Path, help="where the text, its cache and the run are made, and kept")
    given = arguments.parse_args()
    from cse.sources import synthetic

    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "text.txt", given.rows)
        for name in ("encoder", "senteval"):
            (folder / name).mkdir()
        synthetic.write_encoder(folder / "encoder", "bert", 64)
        synthetic.write_senteval(folder / "senteval")
        seen = watch(command(folder, given.steps, given.every), folder / "run")
        found = parts(seen, folder / "run")
    size = f"{given.rows:,} rows, {given.steps:,} steps"
    about = (
        f"{size}, with an evaluation and a checkpoint every {given.every} steps. Values are medians over the second, "
        "the sixth and the last tenth of the steps. The slope is by least squares from the second tenth on."
    )
    tenths = ["while it trains", "second tenth", "sixth tenth", "last tenth", "slope per 1,000 steps"]
    tables = [
        table(["while the text is prepared", ""], found["prepared"]),
        table(tenths, found["trained"]),
        table(["at the end", ""], found["ended"]),
    ]
    body = "\n\n".join([about, *tables])
    write_section("A long run", f"python -m benchmarks.bench_long --steps {given.steps} --rows {given.rows}", body)
    print(body)


if __name__ == "__main__":
    main()
