"""What a run says before it starts and when it is done."""

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np

from cse.data.loader import Batches

log = logging.getLogger("cse")


def announce(config: dict[str, Any], parts: Any, batches: Batches, accelerator: Any, folder: Path) -> None:
    """The run in a few lines: what, on what, how long, where."""
    trainer, encoder = config["trainer"], parts.encoder
    millions = sum(p.numel() for p in encoder.parameters()) / 1e6
    planned = max(1, round(trainer["epochs"] * (batches.steps_per_epoch // trainer["accumulate"])))
    steps = min(trainer["max_steps"] or planned, planned)
    aux = f" + {type(parts.aux).__name__}" if parts.aux is not None else ""
    log.info("objective  %s%s, %s", type(parts.objective).__name__, aux, type(parts.augmentation).__name__.lower())
    log.info("encoder    %s, %s pooling, %.1fM parameters", config["model"]["name"], encoder.pooling, millions)
    log.info("data       %s, %s rows", config["data"]["name"], f"{len(batches.rows):,}")
    log.info("schedule   %s of %s steps, batch %d, %s from lr %g", f"{steps:,}", f"{planned:,}", trainer["batch_size"],
             trainer["schedule"], trainer["lr"])  # fmt: skip
    precision = "fp32" if accelerator.mixed_precision == "no" else accelerator.mixed_precision
    log.info("device     %s, %s, %d process(es)", accelerator.device, precision, accelerator.num_processes)
    log.info("folder     %s", folder)


def preview(batches: Batches, rows: int) -> None:
    """Print what the model will see of the first rows of the first epoch."""
    decode = batches.tokenizer.hf.decode
    for row in batches.rows[:rows]:
        print(f"row {row}: {batches.text.text(int(row))[:300]}")  # noqa: T201
        for view, sequences in enumerate(batches.views(int(row), epoch=0)):
            for ids in sequences:
                print(f"  view {view}  {len(ids):3d} tokens  {decode(ids)}")  # noqa: T201
                print(f"          ids  {' '.join(map(str, ids))}")  # noqa: T201


def conclude(content: dict[str, Any], outcome: Any, trackers: Any, folder: Path) -> None:
    """The table before and after, the plots, the last words to every tracker, and how to load the encoder."""
    from cse.report.run_plots import draw

    before = outcome.curve[0][1] if outcome.curve else {}
    rows = [[name, before.get(name, math.nan), value] for name, value in content["metrics"].items()]
    for name, path in draw(folder, content["config"]["trainer"]["select"], content["best_step"]).items():
        trackers.image(f"plots/{name}", path, outcome.steps)
    trackers.table("scores", ["score", "step 0", f"step {content['best_step']}"], rows)
    trackers.finish(0, content["metrics"] | {"best_step": content["best_step"]})
    show(rows, ["score", "before", "after", "gain"])
    if content["config"]["note"]:
        log.info("\n%s", content["config"]["note"])
    untrained = before.get(content["config"]["trainer"]["select"], -math.inf)
    if outcome.best_score is not None and outcome.best_score <= untrained:
        log.warning("no step was better than the untrained encoder")
    log.info(
        "\nfolder     %s\nbest step  %d of %d, %.0f s of training, %s tokens/s\nload it with\n"
        "    from sentence_transformers import SentenceTransformer\n"
        '    model = SentenceTransformer("%s")\n'
        '    vectors = model.encode(["A sentence.", "Another one."])',
        folder, content["best_step"], outcome.steps, outcome.seconds, f"{outcome.tokens_per_second:,.0f}",
        folder / "best",
    )  # fmt: skip


def show(rows: list[list[Any]], columns: list[str]) -> None:
    """A table on the terminal, and in the log as plain lines."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold")
    for name, before, after in rows:
        gain = "" if np.isnan(before) else f"{after - before:+.2f}"
        table.add_row(name, "" if np.isnan(before) else f"{before:.2f}", f"{after:.2f}", gain)
    console = Console(width=100)
    with console.capture() as capture:
        console.print(table)
    log.info("\n%s", capture.get().rstrip())
