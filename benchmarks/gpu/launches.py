"""(0) Why does a small step wait for its host (launches, saves), and do CUDA graphs prevent these waits?

A step of BERT base with 64 sentences has about 1,645 kernels (`bench_host --part operators`), and the host launches
each kernel. The order of the checks matters: the speed of graphs has a meaning only if their losses equal the plain
losses, and if a step waits for nothing.
"""

import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.check import MEASURED, Check, Result
from benchmarks.gpu.commands import train
from benchmarks.gpu.correctness import compiled, resumed, waits
from benchmarks.gpu.speed import ours
from benchmarks.gpu.world import World

GRAPHS = ["trainer.compile=graphs"]
NO_CPU = "CUDA graphs are for GPUs"
SLOW = "a CPU compiles for minutes, and then is slower"
WARM, PROFILED, TIMED = 5, 5, 50  # steps: graphs are recorded in the first ones


def checks() -> list[Check]:
    return [
        Check("bert, a step's launches", lambda w: launches(w, "bert", [])),
        Check("bert, a step's launches with graphs", lambda w: launches(w, "bert", GRAPHS), NO_CPU),
        Check("graphs equal plain over 20 steps", lambda w: compiled(w, "graphs"), NO_CPU),
        Check("a step with graphs waits for nothing", lambda w: waits(w, GRAPHS), NO_CPU),
        Check("bert, batch 64, plain", lambda w: ours(w, "bert", 64, [])),
        Check("bert, batch 64, graphs", lambda w: ours(w, "bert", 64, GRAPHS), NO_CPU),
        Check("resume is bit-identical with graphs", lambda w: resumed(w, GRAPHS), NO_CPU),
        Check("minilm, a step's launches", lambda w: launches(w, "minilm", [])),
        Check("minilm, a step's launches with graphs", lambda w: launches(w, "minilm", GRAPHS), NO_CPU),
        Check("bert, ten saves of last/ in 100 steps", lambda w: saves(w, 0)),
        Check("bert, a save a minute", lambda w: saves(w, 60)),
        Check("bert, a step's launches compiled", lambda w: launches(w, "bert", ["trainer.compile=true"]), SLOW),
    ]


def launches(world: World, shape: str, more: list[str]) -> Result:
    """Measure a step: its kernels and their time on the device, the host's launches, and the seconds of the step.

    On a CPU there are no kernels and no launches.
    """
    warm, profiled, timed = (1, 1, 2) if world.tiny else (WARM, PROFILED, TIMED)
    training = training_of(world, shape, warm + profiled + timed, more)
    batches, aux_batches = training.batches(), training.aux_batches()

    def take(first: int, count: int) -> float:
        """Do these steps, and return the seconds until the device has finished."""
        started = time.perf_counter()
        for step in range(first, first + count):
            metrics, _ = training.update(step, batches, aux_batches)
        float(metrics["loss"])  # waits for a GPU
        return time.perf_counter() - started

    take(0, warm)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        take(warm, profiled)
    step = take(warm + profiled, timed) / timed
    events = seen.events() or []
    kernels = [e for e in events if e.device_type == DeviceType.CUDA and not e.is_user_annotation]
    host = [
        event for event in events if event.name.startswith(("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch"))
    ]
    busy = sum(event.time_range.elapsed_us() for event in kernels) / 1e6 / profiled
    return Result(MEASURED, {
        "kernels": len(kernels) // profiled, "launches": len(host) // profiled, "seconds of kernels": busy,
        "seconds a step": step, "busy": busy / step,
    })  # fmt: skip


def training_of(world: World, shape: str, steps: int, more: list[str]) -> Any:
    """Return a training of SimCSE with 64 sentences per step, on the world's device, before its first step."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    from cse.lab.run.build import build
    from cse.lab.settings.compose import composed
    from cse.training.loop import Training

    torch._dynamo.reset()
    AcceleratorState._reset_state(reset_partial_state=True)  # else it keeps the state of an earlier run
    batch = 8 if world.tiny else 64
    config = composed("train", [
        "model=bert", f"model.name={world.encoder(shape)}", "data=text", f"data.path={world.text(steps * batch)}",
        f"paths.cache={world.folder}/cache", "eval=[]", "trainer.select=null", "trainer.workers=0",
        f"trainer.batch_size={batch}", *more,
    ])  # fmt: skip
    accelerator = Accelerator(mixed_precision="bf16" if world.device == "cuda" else "no")
    training = Training(build(config, accelerator), accelerator, Path(world.folder), identity={})
    training.start(seed=0, resume=False)
    return training


def saves(world: World, seconds: int) -> Result:
    """Measure the seconds per step, from the times of log lines. A save may be due at each line, every ten steps.

    The disk writes during the next steps. seconds: the value of trainer.save_seconds.
    """
    every, batch = (2, 8) if world.tiny else (10, 64)
    run = train([
        "model=bert", f"model.name={world.encoder('bert')}", "data=text", f"data.path={world.text(10 * every * batch)}",
        f"paths.cache={world.folder}/cache", "eval=[]", "tracker=none", "trainer.select=null",
        "trainer.stop_on_collapse=false", f"trainer.batch_size={batch}", f"trainer.log_every={every}",
        f"trainer.save_every={every}", f"trainer.save_seconds={seconds}", "trainer.eval_every=100000",
    ], world.folder / "saves")  # fmt: skip
    clock = [event["time"] for event in run.events if "train/loss" in event]
    between = [after - before for before, after in pairwise(clock)]
    return Result(MEASURED, {"seconds a step": statistics.median(between) / every, "most": max(between) / every})
