"""A run's own pictures, from what it left in its folder: loss, scores, geometry, and cosines by gold score."""

import json
from pathlib import Path
from typing import Any

from cse.files import replaced_file, write_text
from cse.tracking.jsonl import read_events


def draw(folder: Path, results: dict[str, Any]) -> dict[str, Path]:
    """Draw what there is data for into folder/plots. Returns the pictures by name."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    events = [event for event in read_events(folder / "metrics.jsonl") if event["event"] == "metrics"]
    pictures = {}

    def save(name: str, figure: Any) -> None:
        pictures[name] = folder / "plots" / f"{name}.png"
        with replaced_file(pictures[name]) as temporary:
            figure.savefig(temporary, dpi=120, bbox_inches="tight")
        plt.close(figure)

    losses = _curve(events, "train/loss")
    if losses:
        figure, axes = plt.subplots(figsize=(6, 3.5))
        axes.plot(*zip(*losses, strict=True))
        axes.set(xlabel="step", ylabel="training loss", title="Loss")
        if beside := _curve(events, "train/aux/loss"):  # images or sound: another unit, another axis
            axes.set(ylabel="training loss, text")
            right = axes.twinx()
            right.plot(*zip(*beside, strict=True), color="tab:orange")
            right.set_ylabel("training loss, second modality", color="tab:orange")
        save("loss", figure)
    names = [
        n
        for n in dict.fromkeys(k for e in events for k in e)
        if n.startswith("dev/") and "spearman" in n.split("/")[-1]
    ]
    select = results["config"]["trainer"]["select"]
    shown = [name for name in dict.fromkeys([select, *names]) if name and _curve(events, name)]
    if shown:
        figure, axes = plt.subplots(figsize=(6, 3.5))
        for name in shown:
            axes.plot(*zip(*_curve(events, name), strict=True), marker="o", markersize=3, label=name)
        axes.axvline(results["best_step"], color="grey", linestyle=":", label="kept")
        axes.set(xlabel="step", ylabel="score", title="Scores on dev; step 0 is the untrained encoder")
        axes.legend(fontsize=7)
        save("scores", figure)
    path = [(e["step"], e["train/alignment"], e["train/uniformity"]) for e in events if "train/alignment" in e]
    if path:
        steps, align, uniform = zip(*path, strict=True)
        figure, axes = plt.subplots(figsize=(5, 4))
        axes.plot(uniform, align, color="lightgrey", zorder=0)
        dots = axes.scatter(uniform, align, c=steps, s=14)
        figure.colorbar(dots, label="step")
        axes.set(xlabel="uniformity of a batch (lower is better)", ylabel="alignment of its views (lower is better)")
        save("alignment_uniformity", figure)
    for name, split, when in _cosines(folder):
        save(f"cosines_{name}_{split}", _histograms(plt, name, split, when))
    return pictures


def keep_cosines(folder: Path, when: str, evaluators: dict[str, Any], encode: Any) -> None:
    """Keep the cosines and gold scores of every evaluator that has pairs, as folder/plots/cosines_<when>.json.

    Before training only of the first split: it is about to be scored anyway, the others would cost encoder passes.
    """
    found = {
        name: {
            split: [list(map(float, part)) for part in evaluator.cosines(encode, split)]
            for split in (evaluator.splits[:1] if when == "before" else evaluator.splits)
        }
        for name, evaluator in evaluators.items()
        if hasattr(evaluator, "cosines")
    }
    write_text(folder / "plots" / f"cosines_{when}.json", json.dumps(found))


def _cosines(folder: Path) -> list[tuple[str, str, dict[str, list]]]:
    """(evaluator, split, {before: [cosines, gold], after: [cosines, gold]}) for every set of pairs."""
    files = {when: folder / "plots" / f"cosines_{when}.json" for when in ("before", "after")}
    if not all(file.exists() for file in files.values()):
        return []
    found = {when: json.loads(file.read_text()) for when, file in files.items()}
    return [
        (name, split, {when: found[when][name][split] for when in files})
        for name, splits in found["before"].items()
        for split in splits
    ]


def _histograms(plt: Any, name: str, split: str, when: dict[str, list]) -> Any:
    """Cosines in five buckets of the gold score, before and after training (as the papers' Figure 4)."""
    figure, grid = plt.subplots(5, 2, figsize=(7, 7), sharex=True, sharey="row")
    for column, (label, (cosines, gold)) in enumerate(when.items()):
        low, high = min(gold), max(gold)
        edges = [low + (high - low) * i / 5 for i in range(6)]
        for row in range(5):
            last = row == 4
            inside = [c for c, g in zip(cosines, gold, strict=True)
                      if edges[row] <= g < edges[row + 1] or (last and g == high)]  # fmt: skip
            grid[row, column].hist(inside, bins=40, range=(-0.2, 1.0))
            grid[row, column].set_yticks([])
            if column == 0:
                grid[row, 0].set_ylabel(f"{edges[row]:.1f}-{edges[row + 1]:.1f}", rotation=0, ha="right")
        grid[0, column].set_title(f"{label} training")
        grid[4, column].set_xlabel("cosine")
    figure.suptitle(f"{name} {split}: cosines by gold score")
    return figure


def _curve(events: list[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    """(step, value) of every event that has the metric."""
    return [(event["step"], event[name]) for event in events if event.get(name) is not None]
