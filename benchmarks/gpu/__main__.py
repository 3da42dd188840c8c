"""python -m benchmarks.gpu: test a GPU machine, part by part. The package's docstring describes the parts.

    python -m benchmarks.gpu [--parts correctness,speed] [--out DIR] [--tiny] [--seconds 540] [--only REGEX] [--record]

Writes DIR/<part>.json after every check, then DIR/gpu.json and DIR/gpu.md with all parts that DIR holds. Exit code 1
if a check failed or a part ended early.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.gpu import page
from benchmarks.gpu.check import FAILED
from benchmarks.gpu.commands import ROOT, environment
from benchmarks.gpu.part import PARTS
from benchmarks.results import where, write_section
from cse.files import write_text

GRACE = 60.0  # seconds for a part's last check to end


def run_part(name: str, given: argparse.Namespace) -> str:
    """Run one part in a new process. Return why it ended early; "" if it did not."""
    command = [sys.executable, "-m", "benchmarks.gpu.part", name, "--out", str(given.out), "--seconds",
               str(given.seconds), "--only", given.only, *(["--tiny"] if given.tiny else [])]  # fmt: skip
    try:
        ended = subprocess.run(command, cwd=ROOT, timeout=given.seconds + GRACE, env=environment())
    except subprocess.TimeoutExpired:
        return f"{name}: stopped after {given.seconds + GRACE:g} seconds"
    return f"{name}: ended with {ended.returncode}" if ended.returncode else ""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--parts", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    arguments.add_argument("--out", type=Path, default=Path("outputs/gpu"))
    arguments.add_argument("--tiny", action="store_true", help="toy sizes, minutes on a CPU: does everything run?")
    arguments.add_argument("--seconds", type=float, default=540.0, help="after these, a part starts no check")
    arguments.add_argument("--only", default="", help="only checks whose name matches this regular expression")
    arguments.add_argument("--record", action="store_true", help="also write the section into benchmarks/RESULTS.md")
    given = arguments.parse_args()
    given.out = given.out.resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = given.parts.split(",")
    if unknown := [part for part in chosen if part not in PARTS]:
        arguments.error(f"--parts: {unknown[0]} is not one of {', '.join(PARTS)}")
    facts = page.about() | {"clocks before": page.clocks()}
    early = [said for part in chosen if (said := run_part(part, given))]
    facts |= {"clocks after": page.clocks(), "ended early": early}
    rows = page.collected(given.out, list(PARTS))
    write_text(given.out / "gpu.json", json.dumps({"about": facts, "checks": rows}, indent=1) + "\n")
    body = page.section(facts, rows)
    write_text(given.out / "gpu.md", body)
    if given.record:
        write_section(f"python -m benchmarks.gpu, {where()}", "python -m benchmarks.gpu", body)
    print("\n".join([body, *early]))
    return 1 if early or any(row["status"] == FAILED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
