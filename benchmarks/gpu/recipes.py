"""(c) The time of a whole recipe: cse-train for some steps with evaluations, extrapolated to the paper's length."""

import statistics

from benchmarks.bench_speed import RECIPE_EVALUATIONS, RECIPE_STEPS, evaluations_and_save
from benchmarks.gpu.check import MEASURED, Check, Result
from benchmarks.gpu.commands import train
from benchmarks.gpu.world import World

STEPS, EVERY = 500, 125


def checks() -> list[Check]:
    return [
        Check("SimCSE-BERT", lambda w: recipe(w, ["objective=simcse"], 64, RECIPE_STEPS, RECIPE_EVALUATIONS)),
        Check("SimCSE-BERT compiled", lambda w: recipe(w, ["objective=simcse", "trainer.compile=true"], 64,
                                                       RECIPE_STEPS, RECIPE_EVALUATIONS)),
        Check("Barlow-BERT", lambda w: recipe(w, barlow(w), 256, 2 * 3906, 2 * 3906 // 60)),
        Check("Barlow-BERT compiled", lambda w: recipe(w, [*barlow(w), "trainer.compile=true"], 256, 2 * 3906,
                                                       2 * 3906 // 60)),
    ]  # fmt: skip


def barlow(world: World) -> list[str]:
    small = ["objective.head.hidden=64", "objective.head.out=64"] if world.tiny else []
    return ["objective=barlow", "augmentation=dropout", *small]


def recipe(world: World, objective: list[str], batch: int, steps: int, evaluations: int) -> Result:
    """Measure some steps and evaluations, and extrapolate. steps, evaluations: the numbers in the whole recipe."""
    done, every, batch = (4, 2, 8) if world.tiny else (STEPS, EVERY, batch)
    run = train([
        "model=bert", f"model.name={world.encoder('bert')}", "data=text", f"data.path={world.text((done + 1) * batch)}",
        f"paths.cache={world.folder}/cache", f"paths.senteval={world.senteval()}", "eval=stsb", "allow_partial=true",
        "tracker=none", "trainer.stop_on_collapse=false", f"trainer.batch_size={batch}", f"trainer.max_steps={done}",
        "trainer.epochs=1", f"trainer.eval_every={every}", f"trainer.log_every={every}", *objective,
    ], world.folder / "recipe")  # fmt: skip
    timed, save = evaluations_and_save(run.events, run.results["seconds"])
    step, evaluation = run.results["seconds"] / done, statistics.median(timed)
    whole = steps * step + evaluations * (evaluation + save)
    return Result(MEASURED, {
        "seconds a step": step, "seconds an evaluation": evaluation, "seconds to keep best/ and last/": save,
        "whole recipe, minutes": whole / 60, "share of the steps": steps * step / whole, "GiB": run.peak_bytes / 2**30,
    })  # fmt: skip
