"""A user's own data with cse and with sentence-transformers' trainer: search, similarity and time.

    python -m benchmarks.bench_own_data [--shared ../shared/own_data] [--work own_data] [--seeds 42 43 44]
                                        [--test-seed 20] [--kinds qa all]

The folder --shared has make.py, which makes the data, reference.py, which trains with sentence-transformers, and
score.py, which scores both encoders on products that no training row names. make.py makes the test data and the
training data with different seeds. Both sides have the same epochs, batch size, learning rate and maximum length, and
select on the same pairs. cse trains with and without objective.symmetric, and only dev scores choose between the two.
Each job leaves its result in --work, and a second call runs only the missing jobs. The machine should do nothing else,
because the jobs are timed. They run one after the other.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean

from benchmarks.peers import PACKAGE
from benchmarks.results import SHARED, real_data, table, write_section

SCHEDULE = ["batch_size=32", "lr=5e-5", "max_length=64", "warmup=0", "epochs=3", "eval_every=13", "no_duplicates=true"]
NAMES = {"reference": "sentence-transformers", "plain": "cse", "symmetric": "cse, objective.symmetric=true"}
MEASURES = {"nDCG@10": "ndcg", "Spearman": "spearman", "s a step": "step_seconds", "s in all": "seconds"}


def sources_of(kind: str, data: Path) -> list[str]:
    """The arguments for the (question, answer) pairs alone (qa), or for all three data sets with two losses (all)."""
    if kind == "qa":
        return ["data=text", f"data.path={data}/qa.csv", "data.columns=[question,answer]"]
    triplets = f"{{path:{data}/trip.csv,columns:[anchor,positive,neg1,neg2,neg3]}}"
    scored = f"{{path:{data}/pairs_train.csv,columns:[a,b],scores:score,score_range:[1,5],objective:cosent}}"
    qa = f"{{path:{data}/qa.csv,columns:[question,answer]}}"
    return ["data=mixture", f"data.sources={{qa:{qa},triplets:{triplets},scored:{scored}}}"]


def ours(kind: str, seed: int, data: Path, folder: Path, symmetric: bool) -> list[str]:
    """The command that trains with cse."""
    words = [f"model.name={PACKAGE}", *(f"trainer.{word}" for word in SCHEDULE), "objective=simcse_sup"]
    words += ["objective.head=null", f"objective.symmetric={str(symmetric).lower()}", *sources_of(kind, data)]
    words += ["eval=pairs", f"eval.dev={data}/pairs_dev.csv", "eval.columns=[a,b]", "eval.score=score"]
    words += ["trainer.select=pairs", "tracker=none", f"seed={seed}", f"hydra.run.dir={folder}/run"]
    return [str(Path(sys.executable).parent / "cse-train"), *words, f"paths.cache={folder}/cache"]


def timed(command: list[str], log: Path) -> float:
    """Run a command, with its output in `log`. Return the command's seconds."""
    started = time.perf_counter()
    with open(log, "w") as output:
        subprocess.run(command, check=True, stdout=output, stderr=subprocess.STDOUT)
    return time.perf_counter() - started


def result_of(job: str, shared: Path, work: Path) -> dict[str, float]:
    """Return the result of a job KIND-SIDE-SEED. Without a stored result, train, score and store the result."""
    kept = work / "jobs" / job / "result.json"
    if kept.exists():
        return json.loads(kept.read_text())
    kind, side, seed = job.split("-")
    folder, data = kept.parent, work / "data"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if side == "reference":
        script = [sys.executable, str(shared / "reference.py"), str(data), str(folder / "run"), kind, seed]
        seconds = timed(script, folder / "log")
        said = (folder / "log").read_text()
        result = {"step_seconds": 1 / float(re.findall(r"'train_steps_per_second': '?([\d.e-]+)", said)[-1])}
    else:
        seconds = timed(ours(kind, int(seed), data, folder, side == "symmetric"), folder / "log")
        ended = json.loads((folder / "run" / "results.json").read_text())
        result = {"step_seconds": ended["seconds"] / ended["steps"]}
        result["dev"] = ended["metrics"]["dev/pairs/pairs_dev/spearman"]
    score = [sys.executable, str(shared / "score.py"), str(work / "test"), str(folder / "run" / "best")]
    printed = subprocess.run(score, check=True, capture_output=True, text=True).stdout
    ndcg, spearman = re.findall(r"[\d.]+(?=  |\n|$)", printed.replace("nDCG@10", ""))[-2:]
    result |= {"ndcg": float(ndcg), "spearman": float(spearman), "seconds": seconds}
    kept.write_text(json.dumps(result))
    print(job, result, flush=True)
    return result


def rows_of(kind: str, seeds: list[int], shared: Path, work: Path) -> list[list[str]]:
    """Return a row of the table for each side: the mean over seeds, and each seed's number. Dev selects cse's row."""
    found = {side: [result_of(f"{kind}-{side}-{seed}", shared, work) for seed in seeds] for side in NAMES}
    dev = {side: fmean(one["dev"] for one in results) for side, results in found.items() if side != "reference"}
    chosen = max(dev, key=lambda side: dev[side])
    rows = []
    for side, results in found.items():
        cells = []
        for key in MEASURES.values():
            numbers = [one[key] for one in results]
            cells.append(f"{fmean(numbers):.3g} ({', '.join(f'{number:.3g}' for number in numbers)})")
        name = f"{NAMES[side]} (chosen by dev)" if side == chosen else NAMES[side]
        rows.append([kind, name, f"{dev[side]:.2f}" if side in dev else "", *cells])
    return rows


def main() -> None:
    """Make the data, run the missing jobs, and write the section."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--shared", type=real_data, default=str(SHARED.with_name("own_data")))
    arguments.add_argument("--work", type=Path, default=Path("own_data"))
    arguments.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44])
    arguments.add_argument("--kinds", nargs="+", choices=["qa", "all"], default=["qa", "all"])
    arguments.add_argument("--test-seed", type=int, default=20)
    given = arguments.parse_args()
    shared, work = given.shared.resolve(), given.work.resolve()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    for name, seed in (("data", 7), ("test", given.test_seed)):
        if not (work / name / "cls_test.csv").exists():  # the last file that make.py writes
            subprocess.run([sys.executable, str(shared / "make.py"), str(work / name), str(seed)], check=True)
    rows = [row for kind in given.kinds for row in rows_of(kind, given.seeds, shared, work)]
    about = (
        f"all-MiniLM-L6-v2, 3 epochs, batch 32, rate 5e-5, 64 tokens; {len(given.seeds)} seeds, the mean and each. "
        f"Test: seed {given.test_seed} of make.py, products that no training row names. "
        "Each trainer has its default precision: cse bf16 if the CPU supports it, sentence-transformers fp32. "
        "Seconds a step are of training; sentence-transformers' include its dev scores and checkpoints. "
        "s in all is the whole command, with imports and scores.\n\n"
    )
    body = about + table(["data", "trainer", "dev Spearman", *MEASURES], rows)
    write_section("Data of one's own", "python -m benchmarks.bench_own_data", body)
    print(body)


if __name__ == "__main__":
    main()
