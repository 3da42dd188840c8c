"""cse-train: one line, one experiment."""

import os
import sys
from pathlib import Path

from omegaconf import DictConfig

from cse.cli import compose, streams
from cse.errors import Interrupted
from cse.run import slurm


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    slurm.hold()
    streams.outlast()
    compose.adopt_own_choices()
    from cse.cli.help import TRAIN, answered

    if answered("train", TRAIN):
        return
    from cse.sweep import line

    if line.is_many(sys.argv[1:]):
        slurm.release()
        compose.many("train", sys.argv[1:])
    slurm.join()
    compose.command("train", train, sys.argv[1:])
    if "RANK" in os.environ:  # not after a failure: the other processes may be inside a collective
        from cse.run.launch import leave

        leave()


def train(cfg: DictConfig) -> float | None:
    """One Hydra job. Returns the selection score, for a search."""
    from hydra.core.hydra_config import HydraConfig

    from cse.run.launch import fit, launch

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    cfg = fit(cfg, folder, chosen=hydra.runtime.choices, overrides=hydra.overrides.task)
    try:
        return launch(cfg, folder)
    except Interrupted:
        if os.environ.get("RANK", "0") != "0":  # the first says it; srun --kill-on-bad-exit would end it for our code
            sys.exit(0)
        raise


if __name__ == "__main__":
    main()
