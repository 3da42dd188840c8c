"""How long a user waits for `cse-train --help`, `--cfg job` and the first training step of a run.

    python -m benchmarks.bench_startup [--repeats 5] [--shared ../shared/data] [--lines 10000000]

The benchmark measures wall-clock time, with a new process each time. The time of the first step ends at the line of
step 1 in metrics.jsonl. It includes libraries, text, encoder and the untrained encoder's score on STS-B dev. The first
run has an empty cache, so it reads the text. A later run has a full cache. Without the real data, no run is measured.

--lines N adds the first step on a file of 100,000 synthetic sentences, and on a file of N sentences. The encoder has
one layer, and there is no evaluation. The first run with a file reads the file; later runs read the cache. Ten million
lines take 3 GB.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.peers import PACKAGE, write_sentences
from benchmarks.results import SHARED, spread, table, write_section
from cse.sources.encoder import locate

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")


def wall(arguments: list[str]) -> float:
    """Return the seconds from a command's start to its end."""
    started = time.perf_counter()
    subprocess.run([CSE_TRAIN, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def first_step(shared: Path, cache: str) -> dict[str, float]:
    """Return the seconds from a run's start to its first score, its first step and its end, by name."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            CSE_TRAIN, "model=minilm", "model.pooling=cls", "data=text",
            f"data.path={shared}/text/wiki_sentences.txt.gz", "eval=stsb",
            f"paths.senteval={shared}/senteval", f"paths.cache={cache}", "tracker=none", "trainer.max_steps=1",
            f"hydra.run.dir={folder}/run",
        ]  # fmt: skip
        started = time.time()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ended = time.time()
        events = map(json.loads, (Path(folder) / "run/metrics.jsonl").read_text().splitlines())
        times = {(e["step"], "train/loss" in e): e["time"] for e in events if e["event"] == "metrics"}
    return {
        "score of the untrained encoder": times[0, False] - started,
        "first step": times[1, True] - started,
        "end of a run of one step, scored and exported": ended - started,
    }


def first_step_of_lines(text: Path, cache: Path) -> float:
    """Return the seconds from a run's start to its first step, on a file of plain text."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            CSE_TRAIN, "model=minilm", "model.num_layers=1", "data=text", f"data.path={text}", f"paths.cache={cache}",
            "eval=[]", "tracker=none", "trainer.max_steps=20", "trainer.log_every=1", f"hydra.run.dir={folder}/run",
        ]  # fmt: skip
        started = time.time()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        events = map(json.loads, (Path(folder) / "run/metrics.jsonl").read_text().splitlines())
        return min(event["time"] for event in events if "train/loss" in event) - started


def first_steps(lines: int, repeats: int) -> dict[str, list[float]]:
    """Return the times of first_step_of_lines for 100,000 and for `lines` lines, with an empty and a full cache."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (100_000, lines):
            text, cache = Path(folder) / f"{count}.txt", Path(folder) / "cache"
            write_sentences(locate(PACKAGE), text, count)
            times[f"the first step of {count:,} lines, read for the first time"] = [first_step_of_lines(text, cache)]
            again = [first_step_of_lines(text, cache) for _ in range(repeats)]
            times[f"the first step of {count:,} lines, read before"] = again
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--shared", type=Path, default=SHARED)
    arguments.add_argument("--lines", type=int)
    given = arguments.parse_args()
    short = {"cse-train --help": ["--help"], "cse-train --cfg job": ["--cfg", "job"]}
    times: dict[str, list[float]] = {name: [] for name in short}
    for _ in range(given.repeats):
        for name, words in short.items():
            times[name].append(wall(words))
    about = f"Seconds: the median of {given.repeats}, with minimum and maximum."
    if given.shared.is_dir():
        with tempfile.TemporaryDirectory() as cache:
            cold = first_step(given.shared, cache)
            warm = [first_step(given.shared, cache) for _ in range(given.repeats)]
        times |= {f"model=minilm, {name}": [one[name] for one in warm] for name in cold}
        times["the same first step, text not yet in the cache"] = [cold["first step"]]
    else:
        about += f" No run: {given.shared} is not there."
    if given.lines:
        times |= first_steps(given.lines, given.repeats)
    body = f"{about}\n\n{table(['from the command to', 'seconds'], [[name, spread(t)] for name, t in times.items()])}"
    command = f"python -m benchmarks.bench_startup --repeats {given.repeats}"
    if given.lines:
        command += f" --lines {given.lines}"
    write_section("Start-up", command, body)
    print(body)


if __name__ == "__main__":
    main()
