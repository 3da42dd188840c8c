"""The time of each operator in our training step, without the operators that it calls.

    python -m benchmarks.bench_profile [--model minilm|bert] [--batch 64] [--precision bf16|fp32]

The benchmark profiles one step after three other steps. The rows are like the rows of bench_speed.py.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.bench_cost import SHAPES
from benchmarks.peers import PRECISIONS, ours, save_model, write_sentences
from benchmarks.results import table, where, write_section

SHOWN, WARM = 12, 3


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", choices=SHAPES, default="minilm")
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--precision", choices=PRECISIONS, default="bf16")
    given = arguments.parse_args()
    gpu = torch.cuda.is_available()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        source = save_model(given.model, Path(folder) / "model")
        write_sentences(source, Path(folder) / "text.txt", (WARM + 2) * given.batch)
        turn, _ = ours(source, given.batch, Path(folder), given.precision)
        turn(WARM)
        with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]) as found:
            turn(1)
    own = {event.key: event.self_device_time_total if gpu else event.self_cpu_time_total
           for event in found.key_averages()}  # fmt: skip
    whole = sum(own.values())
    most = sorted(own, key=lambda key: -own[key])[:SHOWN]
    rows = [[f"`{key}`", f"{own[key] / 1e6:.3f}", f"{own[key] / whole:.1%}"] for key in most]
    rows.append(["the rest", f"{sum(own[key] for key in own if key not in most) / 1e6:.3f}",
                 f"{1 - sum(own[key] for key in most) / whole:.1%}"])  # fmt: skip
    body = table(["operator", "seconds", "share"], rows)
    command = f"python -m benchmarks.bench_profile --model {given.model} --batch {given.batch}"
    command += f" --precision {given.precision}"
    title = f"Time of a step by operator, {given.model}, batch {given.batch}, {given.precision}, {where()}"
    write_section(
        title, command, f"The own time of each operator; a step takes {whole / 1e6:.2f} s in total.\n\n{body}"
    )
    print(body)


if __name__ == "__main__":
    main()
