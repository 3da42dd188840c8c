"""Where our training step spends its time: operators by self time.

    python -m benchmarks.bench_profile [--model minilm|bert] [--batch 64]

One profiled step after an untimed one, on the rows of bench_speed.py.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.bench_cost import SHAPES
from benchmarks.peers import contestants
from benchmarks.results import table, where, write_section

SHOWN = 12


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", choices=SHAPES, default="minilm")
    arguments.add_argument("--batch", type=int, default=64)
    given = arguments.parse_args()
    gpu = torch.cuda.is_available()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        turns, _ = contestants(given.model, given.batch, 2, Path(folder))
        turns["ours"](1)
        with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]) as found:
            turns["ours"](1)
    own = {event.key: event.self_device_time_total if gpu else event.self_cpu_time_total
           for event in found.key_averages()}  # fmt: skip
    whole = sum(own.values())
    most = sorted(own, key=lambda key: -own[key])[:SHOWN]
    rows = [[f"`{key}`", f"{own[key] / 1e6:.3f}", f"{own[key] / whole:.1%}"] for key in most]
    rows.append(["the rest", f"{sum(own[key] for key in own if key not in most) / 1e6:.3f}",
                 f"{1 - sum(own[key] for key in most) / whole:.1%}"])  # fmt: skip
    body = table(["operator", "seconds", "share"], rows)
    command = f"python -m benchmarks.bench_profile --model {given.model} --batch {given.batch}"
    write_section(f"What a step's time goes into, {given.model}, batch {given.batch}, {where()}", command,
                  f"Own time of each operator, {whole / 1e6:.2f} s in all.\n\n{body}")  # fmt: skip
    print(body)


if __name__ == "__main__":
    main()
