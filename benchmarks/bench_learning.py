"""Does every objective learn? MiniLM's STS-B dev score before and after some steps of each objective, on real text.

    python -m benchmarks.bench_learning [--steps 100] [--only mlm ...] [--shared ../shared/data]

The benchmark needs the real data beside the checkout: Wikipedia sentences, documents, NLI triplets and STS-B.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import precisions
from benchmarks.results import RESULTS, SHARED, commit, real_data, table, write_section

TITLE = "Every objective learns"
HEADER = ["objective", "batch x steps", "lr", "loss, first", "loss, last", "dev, step 0", "half", "end", "best gain",
          "commit"]  # fmt: skip
WIKI, NLI, DOCUMENTS = "text/wiki_sentences.txt.gz", "text/nli.csv.gz", "text/documents.txt.gz"
SPANS = ["trainer.batch_size=16"]  # documents with two anchors and four positives each (conf/recipe/declutr_minilm)
RUNS = {
    "simcse": (WIKI, ["objective=simcse"]),
    "simcse_sup": (NLI, ["objective=simcse_sup", "data.columns=[sent0,sent1,hard_neg]"]),
    "whitenedcse": (WIKI, ["objective=whitenedcse"]),
    "declutr": (DOCUMENTS, ["objective=declutr", *SPANS]),
    "declutr, contrastive alone": (DOCUMENTS, ["objective=declutr", "objective.mlm_weight=0", *SPANS]),
    "mlm": (DOCUMENTS, ["objective=mlm", *SPANS]),
    "barlow, shuffle": (WIKI, ["objective=barlow", "augmentation=shuffle", "trainer.lr=3e-5"]),
    "vicreg, shuffle": (WIKI, ["objective=vicreg", "augmentation=shuffle", "trainer.lr=3e-5"]),
}


def run(name: str, steps: int, shared: Path, cache: str) -> list[str]:
    """Train with an objective, and return the run's row of the table."""
    text, overrides = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(Path(sys.executable).parent / "cse-train"), "model=minilm", "model.pooling=cls", "data=text",
            f"data.path={shared / text}", "eval=stsb", f"paths.senteval={shared / 'senteval'}",
            f"paths.cache={cache}", "tracker=none",
            f"trainer.max_steps={steps}", f"trainer.eval_every={steps // 2}", "trainer.select=dev/stsb/spearman",
            *([] if SPANS[0] in overrides else ["trainer.batch_size=32"]), *overrides, f"hydra.run.dir={folder}/run",
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        results = json.loads((Path(folder) / "run/results.json").read_text())
        lines = (Path(folder) / "run/metrics.jsonl").read_text().splitlines()
    scores = [event["dev/stsb/spearman"] for event in map(json.loads, lines) if "dev/stsb/spearman" in event]
    losses = [event["train/loss"] for event in map(json.loads, lines) if "train/loss" in event]
    trainer = results["config"]["trainer"]
    return [
        name, f"{trainer['batch_size']} x {steps}", f"{trainer['lr']:g}", f"{losses[0]:.3g}", f"{losses[-1]:.3g}",
        f"{scores[0]:.2f}", f"{scores[1]:.2f}", f"{scores[2]:.2f}", f"{max(scores[1:]) - scores[0]:+.2f}", commit(),
    ]  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=100)
    arguments.add_argument("--only", choices=RUNS, nargs="+", default=list(RUNS))
    arguments.add_argument("--shared", type=real_data, default=str(SHARED))
    given = arguments.parse_args()
    rows = kept() if given.only != list(RUNS) else {}
    with tempfile.TemporaryDirectory() as cache:
        for name in given.only:
            rows[name] = run(name, given.steps, given.shared, cache)
            print(" | ".join(rows[name]), flush=True)
            write([rows[key] for key in RUNS if key in rows], given.steps)


def kept() -> dict[str, list[str]]:
    """Return {objective: row} from earlier runs. A row has the commit of its measurement."""
    section = RESULTS.read_text().partition(f"## {TITLE}")[2].partition("\n## ")[0] if RESULTS.exists() else ""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return {line[0]: line for line in lines if line[0] in RUNS and len(line) == len(HEADER)}


def write(rows: list[list[str]], steps: int) -> None:
    """Write the section with the rows so far. If the benchmark is interrupted, the section says so."""
    note = f"MiniLM with CLS pooling, STS-B dev Spearman x100, seed 42, one run each, in {precisions()[-1]}"
    cut = "" if len(rows) == len(RUNS) else f"; {len(rows)} of {len(RUNS)} runs so far"
    write_section(
        TITLE, f"python -m benchmarks.bench_learning --steps {steps}", f"{note}{cut}.\n\n{table(HEADER, rows)}"
    )


if __name__ == "__main__":
    main()
