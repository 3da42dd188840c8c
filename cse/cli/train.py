"""cse-train: one line, one experiment."""

import os
import sys

from omegaconf import DictConfig

from cse.cli import compose, streams
from cse.errors import UserError


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    streams.outlast()
    from cse.cli.help import TRAIN, answer

    if (help_text := answer("train", TRAIN, sys.argv[1:])) is not None:
        print(help_text)  # noqa: T201
        return
    from cse.run import slurm
    from cse.sweep import line

    if line.is_many(sys.argv[1:]):
        compose.many("train", sys.argv[1:])
    slurm.join()
    compose.command("train", train, sys.argv[1:])
    if "RANK" in os.environ:  # not after a failure: the other processes may be inside a collective
        from cse.run.launch import leave

        leave()


def train(cfg: DictConfig) -> float | None:
    """One Hydra job. Returns the selection score, for a search."""
    from hydra.core.hydra_config import HydraConfig

    from cse.run import launch, recipe, scale

    hydra = HydraConfig.get()
    cfg.sources = recipe.sources(hydra.runtime.choices, hydra.overrides.task)
    from cse.run.build import output_folder

    folder = output_folder()
    if (folder / "last").exists() and cfg.resume is None:
        raise UserError(f"{folder} holds a run: resume=auto goes on with it, hydra.run.dir=ANOTHER starts a new one")
    scale.fit(cfg)
    if cfg.smoke:
        from cse.run.smoke import shrink

        shrink(cfg)
    return launch.launch(cfg, folder)


if __name__ == "__main__":
    main()
