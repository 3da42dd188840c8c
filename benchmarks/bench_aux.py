"""SimCSE with images or sound: does the encoder learn their classes, how does the STS-B score change, what is the cost?

    python -m benchmarks.bench_aux [--steps 100] [--seeds 3] [--layers N] [--part learn|cost] [--parallel 1]
                                   [--shared ../shared/data]

The benchmark needs the real data beside the checkout: Wikipedia sentences, STS-B, natural_small, cifar10_small and
speech_small. Training leaves out every third class or speaker, and every fifth picture or clip of the other classes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator

from benchmarks.peers import precisions
from benchmarks.results import HERE, SHARED, real_data, spread, table, where, write_section
from cse.lab.run import build
from cse.lab.settings.compose import composed
from cse.training import checkpoint

COMMON = ["model=minilm", "model.pooling=cls", "data=text", "eval=stsb", "tracker=none", "objective=simcse"]
NEW = ["aux_modality.init=random", "aux_modality.data.workers=1"]
IMAGES = ["aux_modality=visual", *NEW, "aux_modality.data.classes=null", "aux_modality.data.per_class=null"]
SOUND = ["aux_modality=audio", *NEW]
BATCH, RATE = 32, "1e-5"  # sentences; the learning rate of the pictures or clips
SECOND = {"visual": 12, "audio": 6}  # pictures or clips
KINDS = {
    "natural_small": ("images/natural_small", IMAGES),
    "cifar10_small at 224": ("images/cifar10_small", [*IMAGES, "aux_modality.data.resize=224"]),
    "speech_small": ("audio/speech_small", SOUND),
}
GALLERY, QUERIES = 16, 40  # the most files per class in the gallery, and in each set of queries
# for nearest neighbours: settings that give each picture or clip once, unchanged
AS_IT_IS = {
    "visual": ["crop_scale=[1,1]", "flip_probability=0", "jitter_probability=0", "gray_probability=0"],
    "audio": ["mixup=0", "frequency_mask=0", "time_mask=0"],
}


def split(source: Path, work: Path) -> None:
    """Link the training files into work/kept, and some of them also into work/gallery.

    Link other files of the same classes into work/held, and files of other classes into work/unseen.
    """
    for number, folder in enumerate(sorted(path for path in source.iterdir() if path.is_dir())):
        files = sorted(folder.iterdir())
        kept = [] if number % 3 == 2 else [file for place, file in enumerate(files) if place % 5 != 4]
        away = [file for file in files if file not in kept][:QUERIES]
        parts = {"kept": kept, "gallery": kept[:GALLERY], "held" if kept else "unseen": away}
        for name, chosen in parts.items():
            for file in chosen:
                link = work / name / folder.name / file.name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file.resolve())


def train(arguments: list[str], folder: Path) -> dict:
    """Run cse-train. Returns its curves."""
    command = [str(Path(sys.executable).parent / "cse-train"), *arguments, f"hydra.run.dir={folder}"]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(ended.stderr)
    return curves(folder)


def curves(folder: Path) -> dict:
    """Return {metric: [(step, value)]} of a finished run; "seconds" has the time of training."""
    found: dict = {"seconds": json.loads((folder / "results.json").read_text())["seconds"]}
    for event in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()):
        for name, value in event.items():
            if isinstance(value, float):
                found.setdefault(name, []).append((event["step"], value))
    return found


@torch.no_grad()
def neighbours(arguments: list[str], folder: Path, work: Path) -> dict[str, list[float]]:
    """Return the accuracy x100 of the nearest neighbour, by cosines of the encoder's CLS: [before, after training].

    held: new files of the trained classes, with neighbours in the gallery of training files. unseen: files of other
    classes, with neighbours among the same files.
    """
    kind = "audio" if "aux_modality=audio" in arguments else "visual"
    views = {}
    for name in ("gallery", "held", "unseen"):
        count = sum(1 for file in (work / name).rglob("*") if file.is_file())
        plain = [*AS_IT_IS[kind], f"batch_size={count}", f"folder={work / name}"]
        changed = [f"aux_modality.data.{change}" for change in plain]
        config = composed("train", [a for a in arguments if "aux_modality.data.batch_size" not in a] + changed)
        parts = build.build(config, Accelerator())
        views[name] = next(parts.aux.batches(0, rank=0, world=1))  # type: ignore[union-attr]
    encoder, aux = parts.encoder.eval(), parts.aux.eval()  # type: ignore[union-attr]

    def embedded(name: str) -> tuple[torch.Tensor, torch.Tensor]:
        x_BTD, labels_B = aux.tokens(views[name])
        rows = [encoder(x_BTD=x_BTD[start : start + 16]).pooled_BD for start in range(0, len(labels_B), 16)]
        return torch.nn.functional.normalize(torch.cat(rows)[: len(labels_B)], dim=-1), labels_B

    def accuracies() -> tuple[float, float]:
        (gallery_GD, labels_G), (held_HD, labels_H), (unseen_UD, labels_U) = map(embedded, views)
        held = labels_G[(held_HD @ gallery_GD.T).argmax(1)] == labels_H
        unseen = labels_U[(unseen_UD @ unseen_UD.T).fill_diagonal_(-2).argmax(1)] == labels_U
        return 100 * held.float().mean().item(), 100 * unseen.float().mean().item()

    before = accuracies()
    tensors, _ = checkpoint.read_last(folder)
    checkpoint.restore(tensors, {"encoder": encoder, "aux": aux}, {})
    return dict(zip(("held", "unseen"), map(list, zip(before, accuracies(), strict=True)), strict=True))


def mean_and_sd(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


def learn(shared: Path, work: Path, steps: int, seeds: int, layers: int | None, parallel: int) -> None:
    base = [*COMMON, f"data.path={shared}/text/wiki_sentences.txt.gz", f"paths.senteval={shared}/senteval",
            f"paths.cache={work}/cache", f"trainer.max_steps={steps}", f"trainer.eval_every={steps}",
            "trainer.log_every=1", "trainer.precision=bf16", "trainer.keep_last=true",
            f"model.num_layers={layers or 'null'}"]  # fmt: skip
    of_all: dict[str, list[dict]] = {}
    rows = []
    for name, (place, settings) in {"text alone": ("", []), **KINDS}.items():
        here = work / name.replace(",", "").replace(" ", "_")  # as Hydra takes it
        more = [f"trainer.batch_size={BATCH}"]
        if place:
            split(shared / place, here)
            batch = SECOND["audio" if settings is SOUND else "visual"]
            more += [*settings, f"aux_modality.lr={RATE}", f"aux_modality.data.batch_size={batch}",
                     f"aux_modality.data.folder={here / 'kept'}"]  # fmt: skip
        arguments = [[*base, *more, f"seed={seed}"] for seed in range(1, seeds + 1)]
        folders = [here / f"run_{seed}" for seed in range(1, seeds + 1)]
        with ThreadPoolExecutor(parallel) as pool:
            runs = list(pool.map(train, arguments, folders))
        found = [neighbours(*run, here) for run in zip(arguments, folders, strict=True)] if place else []
        print(name, [run["dev/stsb/spearman"] for run in runs], found, flush=True)
        of_all[name] = runs
        row = [name, mean_and_sd([run["dev/stsb/spearman"][0][1] for run in runs]),
               mean_and_sd([run["dev/stsb/spearman"][-1][1] for run in runs])]  # fmt: skip
        row += [f"{ends(runs, key, 0)} -> {ends(runs, key, -1)}" if key in runs[0] else ""
                for key in ("train/loss", "train/aux/loss")]  # fmt: skip
        row += [" -> ".join(mean_and_sd([near[which][end] for near in found]) for end in (0, 1)) if place else ""
                for which in ("held", "unseen")]  # fmt: skip
        rows.append(row)
    draw(of_all)
    header = ["beside the text", "STS-B dev, step 0", "at the end", "text loss", "second loss",
              "nearest neighbour, new files, %", "new classes, %"]  # fmt: skip
    cut = f", its first {layers} layers" if layers else ""
    note = f"""MiniLM{cut}, CLS pooling, batch {BATCH}, bf16, new patch embedding; mean ± sd over {seeds} seeds. Each
step also has {SECOND["visual"]} pictures or {SECOND["audio"]} clips, with the published augmentation. Their learning
rate is {RATE}: the papers' rates, 1e-6 and 2e-7, are for 15,625 steps, not {steps}. Losses: the mean of the first tenth
of the steps -> the mean of the last tenth. Nearest neighbour, before -> after: accuracy on new files of the trained
classes, among {GALLERY} training files per class; and on new classes (speakers), among their own {QUERIES} files per
class."""
    command = " ".join(["python -m benchmarks.bench_aux", *sys.argv[1:]])
    write_section("Images and sound beside the text", command, f"{note}\n\n{table(header, rows)}")


def ends(runs: list[dict], key: str, end: int) -> str:
    """Return a metric's mean over the runs, in the first tenth (end=0) or the last tenth (end=-1) of the steps."""
    tenth = max(1, len(runs[0][key]) // 10)
    part = slice(None, tenth) if end == 0 else slice(-tenth, None)
    return f"{np.mean([value for run in runs for _, value in run[key][part]]):.3g}"


def draw(curves: dict[str, list[dict]]) -> None:
    """Draw both losses into aux_losses.png, which is not committed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    for axes, key in ((left, "train/loss"), (right, "train/aux/loss")):
        for number, (name, runs) in enumerate(curves.items()):  # the number gives the same colour in both panels
            if key in runs[0]:
                steps = [step for step, _ in runs[0][key]]
                axes.plot(
                    steps, np.mean([[value for _, value in run[key]] for run in runs], axis=0), f"C{number}", label=name
                )
        axes.set(xlabel="step", ylabel=key)
        axes.legend(fontsize=7)
    left.set_yscale("log")
    figure.tight_layout()
    figure.savefig(HERE / "aux_losses.png", dpi=110)


def cost(shared: Path, work: Path) -> None:
    """Compare a step with pictures or clips with a step of text alone, at the papers' batches of 64 and 48, in turn."""
    steps, rounds = (200, 3) if torch.cuda.is_available() else (3, 2)
    base = [*COMMON, f"data.path={shared}/text/wiki_sentences.txt.gz", f"paths.senteval={shared}/senteval",
            f"paths.cache={work}/cache", f"trainer.max_steps={steps}", "trainer.select=null",
            "trainer.batch_size=64", "trainer.log_every=1"]  # fmt: skip
    kinds = {"text alone": [], **{name: [*settings, f"aux_modality.data.folder={shared / place}",
                                         f"aux_modality.data.workers={max(1, (os.cpu_count() or 2) // 2)}"]
                                  for name, (place, settings) in KINDS.items()}}  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in kinds}
    waits: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(rounds):
        for name, settings in kinds.items():
            run = train([*base, *settings], work / f"cost_{turn}_{name.replace(' ', '_')}")
            times[name].append(run["seconds"] / steps)
            shares = [share for _, share in run.get("train/aux/waiting_share", [])]
            waits[name].append(100 * float(np.mean(shares[1:] or [0.0])))
    ratios = {name: [a / b for a, b in zip(times[name], times["text alone"], strict=True)] for name in kinds}

    rows = [[name, spread(times[name]), spread(ratios[name]), spread(waits[name])] for name in kinds]
    header = ["beside the text", "seconds a step", "ratio to text alone", "waiting for pictures or clips, % of a step"]
    note = f"""MiniLM, the papers' batches: 64 sentences in two views, 48 pictures or clips in two views, in
{precisions()[-1]}. {rounds} runs of {steps} steps each, in turn. The first step waits for the start of the workers;
"waiting" is about the other steps. Medians, with minimum and maximum."""
    write_section(f"What images and sound cost, {where()}", "python -m benchmarks.bench_aux --part cost",
                  f"{note}\n\n{table(header, rows)}")  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=100)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--layers", type=int, help="only MiniLM's first ones, sooner")
    arguments.add_argument("--parallel", type=int, default=1, help="seeds that train at the same time (learn)")
    arguments.add_argument("--part", choices=["learn", "cost"])
    arguments.add_argument("--shared", type=real_data, default=str(SHARED))
    given = arguments.parse_args()
    shared = given.shared.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if given.part != "cost":
            learn(shared, Path(folder), given.steps, given.seeds, given.layers, given.parallel)
        if given.part != "learn":
            cost(shared, Path(folder))


if __name__ == "__main__":
    main()
