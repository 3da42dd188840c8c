"""The seconds per training step of cse, of sentence-transformers' trainer and of a plain Hugging Face Trainer, in fp32
and, if the machine computes bf16 in hardware, in bf16.

    python -m benchmarks.bench_speed [--model minilm|bert] [--batch 64|256] [--length 32] [--steps N] [--rounds N]
    python -m benchmarks.bench_speed --processes 2 [--model minilm|bert] [--batch 64] [--steps N] [--rounds N]
    python -m benchmarks.bench_speed --recipe [--steps 300] [--model minilm|bert] [--shared ../shared/data]

Without options, the benchmark measures both shapes with both batch sizes, in 20 minutes on two cores. Weights and
sentences are random, because the time does not depend on them. Each row has a sentence twice, of at most 32 tokens
(--length) and 26 on average. The three trainers train on the same rows in the same order, a few steps each in turn,
with AdamW (fused), a linear schedule and clipping at 1. BERT with batch 256 in both precisions needs more than 24 GB.

--quick        only tests whether the trainers run
--processes N  compares cse in N processes of one thread each with cse in one process of N threads. The global batch is
               the same. MiniLM with batch 64 takes two minutes
--recipe       runs cse-train for some steps with three evaluations, and extrapolates to SimCSE's 15,625 steps with 125
               evaluations
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.bench_cost import SHAPES, device
from benchmarks.peers import LONGEST, OURS, contestants, ours, precisions, save_model, synchronized, write_sentences
from benchmarks.results import SHARED, spread, table, where, write_section
from cse.lab.run import this_process
from cse.tensors import Precision
from cse.training.distributed import join_processes, leave_processes

PLAN = {  # untimed steps, steps per round, rounds; a step of BERT with batch 256 takes a minute, so none is untimed
    ("minilm", 64): (3, 2, 5), ("minilm", 256): (2, 1, 3), ("bert", 64): (1, 1, 3), ("bert", 256): (0, 1, 2),
}  # fmt: skip
GPU_PLAN = 20, 100, 5
RECIPE_STEPS, RECIPE_EVALUATIONS = 15_625, 125
SCORE_EVERY = 125  # steps between two evaluations in the recipe


def work(model: str, batches: Any, steps: int) -> dict[str, float]:
    """Return the floating-point operations of linear layers and attention in a step, as the mean of `steps` steps.

    The numbers are for forward and backward together:
    - real: for real tokens only
    - padded: for every cell of the padded batch, as the other trainers compute
    - packed: for cse on a CPU. Linear layers compute real tokens, and attention computes the padded batch. After the
      last layer's attention, only CLS is computed

    With width D and N tokens, a linear layer has 2 N D^2 operations for each output of width D. A layer has 4 such
    outputs in attention, and 8 in feed-forward. Attention's scores, and their product with the values, have 4 D
    operations for each pair of positions.
    """
    width, layers, _ = SHAPES[model]
    total = {"real": 0.0, "padded": 0.0, "packed": 0.0}
    for step in range(steps):
        mask_BT = batches[step].tokens.mask_BT
        lengths_B, cells, rows = mask_BT.sum(1), mask_BT.numel(), len(mask_BT)
        real, pairs = int(lengths_B.sum()), cells * mask_BT.shape[1]
        total["real"] += layers * (24 * real * width**2 + 4 * width * int(lengths_B.square().sum()))
        total["padded"] += layers * (24 * cells * width**2 + 4 * width * pairs)
        total["packed"] += (layers - 1) * (24 * real * width**2 + 4 * width * pairs)
        total["packed"] += 4 * real * width**2 + 20 * rows * width**2 + 4 * width * cells
    return {name: 3 * flop / steps for name, flop in total.items()}


def peak(precision: str) -> float:
    """Return the FLOP/s of a large square matrix product in a precision: the best of 5 products."""
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    size = 8192 if torch.cuda.is_available() else 2048
    a, b = (torch.randn(size, size, device=device(), dtype=dtype) for _ in range(2))
    times = []
    for _ in range(6):
        started = synchronized()
        a @ b
        times.append(synchronized() - started)
    return 2 * size**3 / min(times[1:])


def measure(model: str, batch: int, length: int, *, warm: int, steps: int, rounds: int) -> tuple[str, str]:
    """Measure one shape and batch size, in rounds in which the trainers take turns. Return (facts as text, table)."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        turns, batches = contestants(model, batch, warm + rounds * steps, Path(folder), length)
        for turn in turns.values() if warm else ():
            turn(warm)
        seconds: dict[tuple[str, str], list[float]] = {one: [] for one in turns}
        peaks: dict[str, list[float]] = {precision: [] for precision in precisions()}
        for number in range(rounds):
            for precision, found in peaks.items():
                found.append(peak(precision))
            for one in list(turns) if number % 2 == 0 else reversed(turns):
                seconds[one].append(turns[one](steps) / steps)
        flop = work(model, batches, steps * rounds)
        tokens = statistics.mean(int(batches[s].tokens.mask_BT.sum()) for s in range(steps * rounds))
    rows = []
    for (name, precision), times in seconds.items():
        done = flop["packed" if name == OURS and device() == "cpu" else "padded"]
        rows.append([
            f"{name}, {precision}", spread(times), f"{tokens / statistics.median(times):,.0f}",
            *(spread([t / o for t, o in zip(times, seconds[OURS, of], strict=True)]) for of in peaks),
            *(spread([f / t / p for t, p in zip(times, peaks[precision], strict=True)]) for f in (flop["real"], done)),
        ])  # fmt: skip
    sustained = ", ".join(f"{spread([p / 1e9 for p in found])} in {name}" for name, found in peaks.items())
    about = (
        f"{rounds} rounds of {steps} steps each; {tokens:,.0f} real tokens a step. Peak of matrix products, GFLOP/s: "
        f"{sustained}. GFLOP a step: {flop['real'] / 1e9:,.0f} for the real tokens, "
        f"{flop['padded'] / 1e9:,.0f} for the padded batch, {flop['packed'] / 1e9:,.0f} for our code on a CPU. "
        '"Of peak" is relative to the peak of the row\'s precision.'
    )
    header = ["", "seconds a step", "real tokens/s", *(f"time, ours in {of} = 1" for of in peaks),
              "of peak, real tokens", "of peak, work done"]  # fmt: skip
    return about, table(header, rows)


def turns_in(pipe: Any, group: dict[str, str], threads: int, setting: tuple[str, int, Path, Precision]) -> None:
    """Work as one process of a run of cse. For each number from the pipe, train so many steps, and send the seconds.

    group: the environment variables of a launcher. setting: the arguments of `ours`.
    """
    os.environ.update(group)
    this_process.quiet()
    if group:
        join_processes()  # sets a number of threads, so it comes before set_num_threads
    torch.set_num_threads(threads)
    turn, _ = ours(*setting)
    while steps := pipe.recv():
        pipe.send(turn(steps))
    leave_processes()


def processes(model: str, batch: int, count: int, warm: int, steps: int, rounds: int) -> tuple[str, str]:
    """Measure one process of `count` threads and `count` processes of one thread, in turn. Returns: see `measure`."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = save_model(model, Path(folder) / "model")
        write_sentences(source, Path(folder) / "text.txt", (warm + rounds * steps + 2) * batch)
        for precision in precisions():
            setting = source, batch, Path(folder), precision
            sides = {world: started(world, count // world, setting) for world in (1, count)}
            times: dict[int, list[float]] = {world: [] for world in sides}
            for number in range(rounds + 1):
                for world in list(sides) if number % 2 == 0 else reversed(sides):
                    turn = steps if number else max(1, warm)
                    for pipe in sides[world]:
                        pipe.send(turn)
                    times[world].append(max(pipe.recv() for pipe in sides[world]) / turn)
            for pipe in sides[1] + sides[count]:
                pipe.send(0)
            one = times[1][1:]
            for world, (_, *found) in times.items():
                threads = count // world
                name = f"{world} process{'es' * (world > 1)} of {threads} thread{'s' * (threads > 1)}, {precision}"
                rows.append([name, spread(found), spread([t / o for t, o in zip(found, one, strict=True)])])
    about = f"Ours, with a global batch of {batch}; {rounds} rounds of {steps} steps each, in turn."
    return about, table(["", "seconds a step", "time, one process = 1"], rows)


def started(world: int, threads: int, setting: tuple[str, int, Path, Precision]) -> list[Any]:
    """Start the processes of one run. Return a pipe to each process."""
    context, pipes = multiprocessing.get_context("spawn"), []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{free.getsockname()[1]}", "WORLD_SIZE": f"{world}"}
    for rank in range(world):
        group = {} if world == 1 else shared | {"RANK": f"{rank}", "LOCAL_RANK": f"{rank}"}
        pipe, theirs = context.Pipe()
        context.Process(target=turns_in, args=(theirs, group, threads, setting), daemon=True).start()
        theirs.close()  # else this process would wait for ever for a process that has failed
        pipes.append(pipe)
    return pipes


def recipe(model: str, steps: int, shared: Path) -> tuple[str, str]:
    """Measure a step, an evaluation and a save of cse-train, and extrapolate to 15,625 steps with 125 evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        weights = (
            ["model=minilm", "model.pooling=cls"]
            if model == "minilm"
            else ["model=bert", f"model.name={save_model(model, Path(folder) / 'model')}"]
        )
        command = [
            str(Path(sys.executable).parent / "cse-train"), *weights, "data=text", "eval=stsb", "tracker=none",
            f"data.path={shared}/text/wiki_sentences.txt.gz", f"paths.senteval={shared}/senteval",
            f"paths.cache={folder}/cache", f"hydra.run.dir={folder}/run", f"trainer.max_steps={steps}",
            f"trainer.eval_every={max(1, steps // 30) * 10}",  # steps that are logged; this line starts the clock
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        results = json.loads((Path(folder) / "run/results.json").read_text())
        lines = (Path(folder) / "run/metrics.jsonl").read_text().splitlines()
        share = encoder_share(f"{folder}/run/best", shared)
    events = [event for event in map(json.loads, lines) if event["event"] == "metrics"]
    evaluations, save = evaluations_and_save(events, results["seconds"])
    step, evaluation = results["seconds"] / steps, statistics.median(evaluations)
    whole = RECIPE_STEPS * step + RECIPE_EVALUATIONS * (evaluation + save)
    rows = [
        ["a step", f"{step:.4g} s", f"{RECIPE_STEPS * step / whole:.2%}"],
        ["an evaluation on STS-B dev", f"{spread(evaluations)} s", f"{RECIPE_EVALUATIONS * evaluation / whole:.2%}"],
        ["saving best/ and last/", f"{save:.3g} s", f"{RECIPE_EVALUATIONS * save / whole:.2%}"],
    ]
    about = (
        f"{steps} steps of batch {results['config']['trainer']['batch_size']} in "
        f"{results['precision']} and {len(evaluations)} evaluations were measured. "
        f"For {RECIPE_STEPS:,} steps and {RECIPE_EVALUATIONS} evaluations they give, extrapolated, "
        f"**{whole / 3600:.2f} hours** ({whole:,.0f} s). An evaluation every {SCORE_EVERY} steps takes "
        f"{evaluation / (SCORE_EVERY * step):.2%} of the time of these steps. {share:.2%} of an evaluation is the "
        "encoder's pass."
    )
    return about, table(["", "seconds", "share of the whole"], rows)


def evaluations_and_save(events: list[dict[str, Any]], seconds: float) -> tuple[list[float], float]:
    """Return (the seconds of each evaluation, the seconds of a save), from the times in the log.

    A scored step is logged before its evaluation, and its score is logged after. So the time between the two lines is
    the evaluation. The saves take the remaining time between the first and the last score. seconds: the time of all
    steps.
    """
    scored = [i for i, event in enumerate(events) if "dev/stsb/spearman" in event and event["step"] > 0]
    evaluations = [events[i]["time"] - events[i - 1]["time"] for i in scored]
    started = next(event["time"] for event in events if "dev/stsb/spearman" in event)
    between = events[scored[-1]]["time"] - started - seconds - sum(evaluations)
    return evaluations, between / max(1, len(scored) - 1)


def encoder_share(folder: str, shared: Path) -> float:
    """Return the share of the encoder in the time of an evaluation after the first one. The rest is scoring."""
    from cse.eval.sts import Stsb
    from cse.model.load import load_encoder

    encoder = load_encoder(folder, pooling=None).to(device())
    evaluator = Stsb(str(shared / "senteval"), with_sickr=False, allow_partial=False)
    evaluator.prepare()
    inside: list[float] = []

    def encode(texts: list[str]) -> Any:
        started = synchronized()
        rows = encoder.encode(texts)
        inside.append(synchronized() - started)
        return rows

    for _ in range(2):
        inside.clear()
        started = synchronized()
        evaluator(encode, "dev")
        whole = synchronized() - started
    return sum(inside) / whole


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", choices=SHAPES)
    arguments.add_argument("--batch", type=int)
    arguments.add_argument("--length", type=int, default=LONGEST, help="the most tokens of a sentence")
    arguments.add_argument("--steps", type=int)
    arguments.add_argument("--rounds", type=int)
    arguments.add_argument("--quick", action="store_true", help="one step of a batch of 8; nothing is written")
    arguments.add_argument("--processes", type=int, help="one run in so many processes, beside one process")
    arguments.add_argument("--recipe", action="store_true", help="cse-train itself, extrapolated to SimCSE's recipe")
    arguments.add_argument("--shared", type=Path, default=SHARED)
    given = arguments.parse_args()
    this_process.quiet()
    command = " ".join(["python -m benchmarks.bench_speed", *sys.argv[1:]])
    if given.recipe:
        if not given.shared.is_dir():
            sys.exit(f"{given.shared} is not there: --recipe needs the real data")
        model = given.model or "minilm"
        about, body = recipe(model, given.steps or 300, given.shared)
        print(f"{about}\n\n{body}")
        write_section(f"The whole SimCSE recipe, {model} shape, {where()}", command, f"{about}\n\n{body}")
        return
    if given.processes:
        model, batch = given.model or "minilm", given.batch or 64
        warm, steps, rounds = (0, 1, 1) if given.quick else PLAN.get((model, batch), PLAN[model, 256])
        steps, rounds = given.steps or steps, given.rounds or rounds
        title = f"{given.processes} processes, {model} shape, batch {batch}, {where()}"
        about, body = processes(model, batch, given.processes, warm=warm, steps=steps, rounds=rounds)
        print(f"{about}\n\n{body}")
        if not given.quick:
            write_section(title, command, f"{about}\n\n{body}")
        return
    of_tokens = "" if given.length == LONGEST else f" of {given.length} tokens"
    for (model, batch), plan in PLAN.items():
        if given.model not in (None, model) or given.batch not in (None, batch) or (given.quick and batch > 64):
            continue
        warm, steps, rounds = GPU_PLAN if torch.cuda.is_available() else plan
        steps, rounds = given.steps or steps, given.rounds or rounds
        if given.quick:
            batch, warm, steps, rounds = 8, 0, 1, 1
        about, body = measure(model, batch, given.length, warm=warm, steps=steps, rounds=rounds)
        title = f"Training speed, {model} shape, batch {batch}{of_tokens}, {where()}"
        print(f"\n{title}: {about}\n\n{body}", flush=True)
        if not given.quick:
            write_section(title, command, f"{about}\n\n{body}")


if __name__ == "__main__":
    main()
