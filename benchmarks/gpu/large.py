"""(e) Batches larger than memory: steps of 65,536 sentences, in chunks of rows or of tokens."""

import statistics

import torch
from torch import Tensor

from benchmarks.bench_cost import objective_of, seconds
from benchmarks.gpu.check import MEASURED, Check, Result
from benchmarks.gpu.world import World, batch_for
from cse.model.load import load_encoder
from cse.training.optim import adamw, clip_gradients
from cse.training.step import Chunks, chunked_step

BATCH, LONGEST, STEPS = 65_536, 32, 2
ROWS = (256, 1024, 4096)
TOKENS = (8_192, 32_768, 131_072)


def checks() -> list[Check]:
    return [
        *(Check(f"SimCSE-BERT, chunks of {rows:,} rows", lambda w, r=rows: large(w, Chunks(rows=r))) for rows in ROWS),
        *(Check(f"SimCSE-BERT, chunks of {n:,} tokens", lambda w, n=n: large(w, Chunks(tokens=n))) for n in TOKENS),
    ]


def large(world: World, chunks: Chunks) -> Result:
    """Seconds of a step, tokens a second and memory, with two views of every row."""
    batch, steps = (64, 1) if world.tiny else (BATCH, STEPS)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    encoder = load_encoder(world.encoder("bert"), "cls", dropout=0.1).to(world.device)
    objective = objective_of(["objective=simcse"], encoder.dim, batch)
    optimizer = adamw([encoder, objective], 3e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, no_decay=[])
    rows = batch_for(objective, batch, len(world.words), LONGEST)

    def step() -> None:
        with torch.autocast(world.device, torch.bfloat16, enabled=world.device == "cuda"):
            chunked_step(encoder, objective, rows, Tensor.backward, "exact", chunks=chunks)
        clip_gradients([encoder, objective], 1.0)
        optimizer.step()
        optimizer.zero_grad()

    times = [seconds(step) for _ in range(1 + steps)][1:]
    took = statistics.median(times)
    peak_bytes = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return Result(MEASURED, {
        "batch": batch, "seconds a step": took, "tokens/s": round(int(rows.tokens.mask_BT.sum()) / took),
        "GiB": peak_bytes / 2**30,
    })  # fmt: skip
