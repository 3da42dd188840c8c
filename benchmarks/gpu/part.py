"""One part of the GPU benchmark, in its own process: python -m benchmarks.gpu.part NAME --out DIR [--tiny].

The program writes DIR/NAME.json after every check, so no result is lost if the process dies.
"""

import argparse
import json
import re
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu import correctness, evaluation, large, launches, modality, recipes, speed
from benchmarks.gpu.check import MEASURED, SKIPPED, Result, perform
from benchmarks.gpu.world import World
from cse.files import write_text
from cse.lab.run import this_process

PARTS = {
    "launches": launches.checks,
    "correctness": correctness.checks, "speed": speed.checks, "recipes": recipes.checks, "modality": modality.checks,
    "large": large.checks, "evaluation": evaluation.checks,
}  # fmt: skip


LIMITS = {"launches": 400.0}
"""The seconds after which a part starts no further check. --seconds is another limit, and the lower limit counts.

With this limit, the last check of the part ends within eight minutes.
"""


def measure(name: str, out: Path, tiny: bool, seconds: float, only: str) -> list[dict[str, Any]]:
    """Run the part's checks whose names match `only`, and return the results. After `seconds`, skip further checks."""
    began, most = time.perf_counter(), min(seconds, LIMITS.get(name, seconds))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), tiny)
        for check in PARTS[name]():
            if not re.search(only, check.name):
                continue
            started = time.perf_counter()
            if started - began > most:
                result = Result(SKIPPED, why=f"the part's {most:g} seconds were over")
            else:
                result = perform(check, world)
            took = round(time.perf_counter() - started, 2)
            rows.append({"part": name, "name": check.name, **asdict(result), "seconds": took})
            write_text(out / f"{name}.json", json.dumps(rows, indent=1) + "\n")
            said = result.why or ("" if result.status != MEASURED else str(result.figures))
            print(f"{name:12} {result.status:8} {check.name} ({took:g} s) {said}", flush=True)
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", choices=PARTS)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--tiny", action="store_true")
    arguments.add_argument("--seconds", type=float, default=540.0)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    this_process.quiet()
    given.out.mkdir(parents=True, exist_ok=True)
    measure(given.name, given.out, given.tiny, given.seconds, given.only)


if __name__ == "__main__":
    main()
