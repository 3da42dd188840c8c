"""(b) The tokens per second, the share of the bf16 peak, and the memory of cse and of two other trainers.

cse is measured plain and compiled. All trainers run in the same process. For each shape and batch size, every trainer
trains on the same synthetic sentences (20 to 32 tokens, two views), with AdamW, lr 3e-5 and clipping at 1, in its own
loop. A number is the median over rounds of STEPS steps, after untimed rounds. The other trainers have neither DeCLUTR's
spans nor Barlow Twins' projector, so only cse is measured on these.
"""

import shutil
import statistics
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

from benchmarks import peers
from benchmarks.bench_speed import peak
from benchmarks.gpu.check import MEASURED, SKIPPED, Check, Result
from benchmarks.gpu.commands import train
from benchmarks.gpu.world import SHAPES_HERE, World

UNTIMED, STEPS, ROUNDS = 2, 20, 4  # untimed rounds, steps per round, timed rounds
PEERS: dict[str, Callable[..., peers.Turn]] = {
    "hugging face": peers.hugging_face, "sentence-transformers": peers.sentence_transformers,
}  # fmt: skip
BATCHES = (64, 256, 512)


def checks() -> list[Check]:
    cells = [(shape, batch) for batch in BATCHES for shape in ("bert", "minilm", "roberta_large")]
    made = [Check("the device's peak", measured_peak)]
    for shape, batch in cells:
        made.append(Check(f"{shape}, batch {batch}, ours", lambda w, s=shape, b=batch: ours(w, s, b, [])))
        made += [Check(f"{shape}, batch {batch}, {name}", lambda w, s=shape, b=batch, n=name: peer(w, s, b, n))
                 for name in PEERS]  # fmt: skip
    barlow = ["objective=barlow", "augmentation=dropout"]
    made += [
        Check("bert, Barlow at 8192, batch 256", lambda w: ours(w, "bert", 256, barlow)),
        Check("bert, DeCLUTR, 16 documents at 512 tokens", declutr),
    ]  # fmt: skip
    for shape, batch in (("bert", 64), ("bert", 256), ("minilm", 64), ("roberta_large", 64), ("bert", 512)):
        made.append(
            Check(f"{shape}, batch {batch}, ours compiled",
                  lambda w, s=shape, b=batch: ours(w, s, b, ["trainer.compile=true"]))
        )  # fmt: skip
    return made


def measured_peak(world: World) -> Result:
    """Measure the peak, by large square matrix products. The shares refer to this peak."""
    return Result(MEASURED, {"FLOP/s": world.measured("peak", lambda: peak("bf16"))})


def plan(world: World) -> tuple[int, int, int]:
    """(untimed rounds, steps a round, timed rounds)."""
    return (1, 2, 2) if world.tiny else (UNTIMED, STEPS, ROUNDS)


def rows_of(world: World, batch: int) -> int:
    untimed, steps, rounds = plan(world)
    return (untimed + rounds) * steps * batch


def ours(world: World, shape: str, batch: int, more: list[str]) -> Result:
    """Measure cse-train. Its rate is read from its own log."""
    batch = min(batch, 8) if world.tiny else batch
    small = ["objective.head.hidden=64", "objective.head.out=64"] if world.tiny and "objective=barlow" in more else []
    return timed(world, shape, [f"data.path={world.text(rows_of(world, batch))}", f"trainer.batch_size={batch}",
                                "trainer.max_length=32", *more, *small])  # fmt: skip


def declutr(world: World) -> Result:
    """Measure DeCLUTR with its language-model loss: 16 documents per step, two anchors of at most 512 tokens each."""
    documents, words = (8, (80, 100)) if world.tiny else (16, (1100, 1300))
    short = ["augmentation.min_length=4", "augmentation.max_length=16"] if world.tiny else []
    untimed, steps, rounds = plan(world)
    path = world.text((untimed + rounds) * steps * documents, words)
    return timed(world, "bert", [
        "objective=declutr", f"data.path={path}", f"trainer.batch_size={documents}", "augmentation.anchors=2",
        "augmentation.positives=2", "trainer.max_length=512", *short,
    ])  # fmt: skip


def timed(world: World, shape: str, more: list[str]) -> Result:
    untimed, steps, rounds = plan(world)
    run = train([
        "model=bert", f"model.name={world.encoder(shape)}", "data=text", f"paths.cache={world.folder}/cache",
        "eval=[]", "tracker=none", "trainer.select=null", "trainer.stop_on_collapse=false", "trainer.warmup=0",
        f"trainer.log_every={steps}", f"trainer.max_steps={(untimed + rounds) * steps}", "trainer.epochs=1",
        "trainer.eval_every=100000", "trainer.schedule=linear", *more,
    ], world.folder / "speed")  # fmt: skip
    rates = run.values("train/tokens_per_second")[untimed:]
    return Result(MEASURED, figures(world, shape, rates, run.peak_bytes))


def figures(world: World, shape: str, rates: list[float], peak_bytes: int) -> dict[str, Any]:
    """Return the numbers of a check. rates: the real tokens per second in each round.

    The share of the peak is for the linear layers on real tokens, forward and backward: 6 FLOP for each weight and
    token, and 12 width^2 weights in a layer.
    """
    width, layers, _ = SHAPES_HERE["tiny" if world.tiny else shape]
    rate = statistics.median(rates)
    return {
        "tokens/s": round(rate), "least": round(min(rates)), "most": round(max(rates)),
        "share of peak": 72 * layers * width**2 * rate / world.measured("peak", lambda: peak("bf16")),
        "GiB": peak_bytes / 2**30,
    }  # fmt: skip


def peer(world: World, shape: str, batch: int, name: str) -> Result:
    """Measure another trainer on the same sentences, in rounds of the same number of steps."""
    needed = ["sentence_transformers", "datasets"] if name == "sentence-transformers" else []
    if missing := [package for package in needed if find_spec(package) is None]:
        return Result(SKIPPED, why=f"{', '.join(missing)} is not installed")
    batch = min(batch, 8) if world.tiny else batch
    untimed, steps, rounds = plan(world)
    sentences = world.text(rows_of(world, batch)).read_text().splitlines()
    folder = world.folder / "peer"
    torch.manual_seed(0)
    turn = PEERS[name](world.encoder(shape), batch, rows_for(name, world, sentences), folder,
                       bf16=torch.cuda.is_available())  # fmt: skip
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    for _ in range(untimed):
        turn(steps)
    rates = []
    for first in range(untimed * steps, (untimed + rounds) * steps, steps):
        tokens = sum(2 * (len(s.split()) + 2) for s in sentences[first * batch : (first + steps) * batch])
        rates.append(tokens / turn(steps))
    shutil.rmtree(folder, ignore_errors=True)
    peak_bytes = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return Result(MEASURED, figures(world, shape, rates, peak_bytes))


def rows_for(name: str, world: World, sentences: list[str]) -> list[Any]:
    """Return the rows for a trainer: text for sentence-transformers, token ids for the plain Trainer.

    cse also tokenises before the step.
    """
    if name == "sentence-transformers":
        return sentences
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(world.encoder("bert"))(sentences)["input_ids"]
