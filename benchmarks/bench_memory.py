"""The peak memory and the seconds per row of a training step, by batch size: plain, and in chunks of 64 rows.

    python -m benchmarks.bench_memory [--layers 1] [--width 192] [--batches 256,1024,4096,16384,65536]
                                      [--chunk 64] [--objectives simcse,barlow] [--memory GiB] [--seconds 120]

The encoder is small: by default one layer of half MiniLM's width. A row has two views of 26 tokens on average. The
optimizer is AdamW. Each cell of the table has a separate process, which reads its peak after the step (resident memory,
or torch's peak on a GPU). A step is given up if it needs more memory than --memory (default: 80 % of the free memory),
or more time than --seconds. Larger batches of the same column are then not tried. The parent process imports torch only
after the last cell, because the peak of a child process starts at the parent's peak.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.results import table, write_section

OBJECTIVES = {
    "simcse": ["objective=simcse"],
    "barlow": ["objective=barlow", "objective.head.hidden=512", "objective.head.out=512"],
}

STARTING = 30.0  # seconds for imports, in addition to --seconds


def one(objective_name: str, batch: int, layers: int, width: int, chunk: int, limit: float | None) -> dict[str, Any]:
    """Make the encoder, take one step, and return its memory and time. batch=0: no step. chunk=0: a plain step.

    Call this function in a new process.
    """
    import resource

    import torch
    from transformers import BertConfig, BertModel

    from benchmarks.bench_cost import batch_of, device, objective_of, seconds
    from cse.model.encoder import Encoder
    from cse.training.optim import adamw, clip_gradients
    from cse.training.step import Chunks, chunked_step, plain_step

    gpu = torch.cuda.is_available()
    limit = limit or 0.8 * (torch.cuda.mem_get_info()[0] if gpu else available())
    if gpu:
        torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    else:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))  # an allocation beyond the limit raises
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 32, intermediate_size=4 * width
    )
    backbone = BertModel(config, add_pooling_layer=False)
    encoder: Any = Encoder(backbone, None, "cls", packed=True).train().to(device())  # type: ignore[arg-type]
    objective = objective_of(OBJECTIVES[objective_name], encoder.dim, max(batch, 2))
    optimizer = adamw([encoder, objective], 3e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, no_decay=[])
    took = 0.0
    if batch:
        rows = batch_of(batch, 2)

        def step() -> None:
            with torch.autocast(device(), torch.bfloat16, enabled=gpu):
                if chunk:
                    chunked_step(encoder, objective, rows, torch.Tensor.backward, "exact", chunks=Chunks(rows=chunk))
                else:
                    plain_step(encoder, objective, rows, torch.Tensor.backward, "exact")
            clip_gradients([encoder, objective], 1.0)
            optimizer.step()

        took = seconds(step)
    scale = 1 if sys.platform == "darwin" else 1024  # the unit of ru_maxrss, in bytes
    peak = torch.cuda.max_memory_allocated() if gpu else scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"bytes": peak, "seconds": took, "limit": limit, "device": device()}


def available() -> int:
    """Return the number of bytes that a new process can get."""
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else []
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    return free[0] if free else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def apart(objective: str, batch: int, given: Any, chunk: int) -> dict[str, Any] | str:
    """Return the result of `one` in a new process, or why there is no result."""
    command = [
        sys.executable, __file__, "--one", objective, "--batches", str(batch), "--layers", str(given.layers),
        "--width", str(given.width), "--chunk", str(chunk), *(["--memory", str(given.memory)] if given.memory else []),
    ]  # fmt: skip
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=given.seconds + STARTING)
    except subprocess.TimeoutExpired:
        return f"over {given.seconds:g} s"
    if ended.returncode == 0:
        return json.loads(ended.stdout.splitlines()[-1])
    if "memory" in ended.stderr.splitlines()[-1].lower():
        return "does not fit"
    raise RuntimeError(ended.stderr)


def column(objective: str, given: Any, chunk: int) -> list[str]:
    """Return a cell for each batch size: the peak and the time per row, or why the size has no numbers."""
    cells: list[str] = []
    tried: dict[str, Any] | str = {}
    for batch in given.batches:
        if isinstance(tried, str):
            cells.append("not tried")
            continue
        tried = apart(objective, batch, given, chunk)
        if isinstance(tried, str):
            cells.append(tried)
        else:
            cells.append(f"{tried['bytes'] / 2**20:,.0f} MiB, {1000 * tried['seconds'] / batch:.3g} ms")
        print(f"{objective}, {f'chunk {chunk}' if chunk else 'plain'}, {batch}: {cells[-1]}", flush=True)
    return cells


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--layers", type=int, default=1)
    arguments.add_argument("--width", type=int, default=192, help="a multiple of 32")
    arguments.add_argument("--batches", type=lambda text: [int(n) for n in text.split(",")],
                           default=[256, 1024, 4096, 16384, 65536])  # fmt: skip
    arguments.add_argument("--chunk", type=int, default=64)
    arguments.add_argument("--objectives", type=lambda text: text.split(","), default=list(OBJECTIVES))
    arguments.add_argument("--memory", type=float, help="GiB")
    arguments.add_argument("--seconds", type=float, default=120.0)
    arguments.add_argument("--one", choices=OBJECTIVES, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one:
        limit = given.memory and given.memory * 2**30
        print(json.dumps(one(given.one, given.batches[0], given.layers, given.width, given.chunk, limit)))
        return
    alone = apart(given.objectives[0], 0, given, 0)
    if isinstance(alone, str):
        sys.exit(f"an encoder without a step {alone}")
    given.memory = alone["limit"] / 2**30  # the same for every cell
    columns = {
        f"{objective}, {f'in chunks of {chunk}' if chunk else 'plain'}": column(objective, given, chunk)
        for objective in given.objectives
        for chunk in (0, given.chunk)
    }
    rows = [[f"{batch:,}", *cells] for batch, *cells in zip(given.batches, *columns.values(), strict=True)]
    body = table(["batch", *columns], rows)
    about = (
        f"Peak memory of one step, and time per row. The encoder has {given.layers} layer(s) of width {given.width}; a "
        f"row has two views. Libraries, encoder and objective alone hold {alone['bytes'] / 2**20:,.0f} MiB. A batch "
        f"was given up above {given.memory:.1f} GiB or {given.seconds:g} s. Barlow's projector is 512 wide. In chunks "
        "too, the objective gets the whole batch: SimCSE gets its embeddings and computes similarities in blocks, "
        "Barlow gets the projector's B x P."
    )
    place = {"cuda": "on the GPU", "cpu": "on the CPU"}[alone["device"]]
    command = " ".join(["python -m benchmarks.bench_memory", *sys.argv[1:]])
    write_section(f"Memory against the batch, {place}", command, f"{about}\n\n{body}")
    print(f"{about}\n\n{body}")


if __name__ == "__main__":
    main()
