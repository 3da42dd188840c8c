"""(d) The cost of pictures and sound: a joint step relative to a text step, and its share spent waiting for data."""

import os
import statistics

from benchmarks.gpu.check import MEASURED, Check, Result
from benchmarks.gpu.commands import train
from benchmarks.gpu.world import World

STEPS, ROUNDS, UNTIMED = 20, 5, 1


def checks() -> list[Check]:
    return [
        Check("text alone", lambda w: joint(w, [])),
        Check("text and pictures", lambda w: joint(w, pictures(w, workers(w)))),
        Check("text and sound", lambda w: joint(w, sound(w, workers(w)))),
    ]


def workers(world: World) -> int:
    return 0 if world.tiny else max(1, (os.cpu_count() or 2) - 2)


def pictures(world: World, workers: int = 0) -> list[str]:
    small = ["aux_modality.data.size=32", "aux_modality.data.batch_size=8"] if world.tiny else []
    return ["aux_modality=visual", "aux_modality.init=random", f"paths.images={world.pictures()}",
            f"aux_modality.data.workers={workers}", *small]  # fmt: skip


def sound(world: World, workers: int = 0) -> list[str]:
    small = ["aux_modality.data.batch_size=4"] if world.tiny else []
    return ["aux_modality=audio", f"paths.audio={world.clips()}", f"aux_modality.data.workers={workers}", *small]


def joint(world: World, more: list[str]) -> Result:
    """Seconds per step at the papers' batches (64 sentences, 48 pictures or clips), and relative to text alone."""
    steps, rounds, batch = (2, 2, 8) if world.tiny else (STEPS, ROUNDS, 64)
    total = (UNTIMED + rounds) * steps
    run = train([
        "model=bert", f"model.name={world.encoder('bert')}", "data=text", f"data.path={world.text(total * batch)}",
        f"paths.cache={world.folder}/cache", "eval=[]", "tracker=none", "trainer.select=null",
        "trainer.stop_on_collapse=false", f"trainer.batch_size={batch}", f"trainer.log_every={steps}",
        f"trainer.max_steps={total}", "trainer.eval_every=100000", *more,
    ], world.folder / "joint")  # fmt: skip
    clock = [event["time"] for event in run.events if "train/loss" in event]
    seconds = [(after - before) / steps for before, after in zip(clock[UNTIMED - 1 :], clock[UNTIMED:], strict=False)]
    step = statistics.median(seconds)
    waiting = run.values("train/aux/waiting_share")[UNTIMED:]
    return Result(MEASURED, {
        "seconds a step": step, "least": min(seconds), "most": max(seconds),
        "over text alone": step / world.measured("text alone", lambda: step),
        "share spent waiting": statistics.median(waiting) if waiting else 0.0, "GiB": run.peak_bytes / 2**30,
    })  # fmt: skip
