"""cse-train: one line, one experiment."""

import os
import sys
from pathlib import Path

from omegaconf import DictConfig

from cse.cli import compose
from cse.errors import UserError


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        from cse.cli.help import TRAIN

        print(TRAIN)  # noqa: T201
        return
    from cse.run import slurm
    from cse.sweep import engine

    if engine.wanted(sys.argv[1:]):
        arguments = compose.of_the_only_evaluator(compose.sort_arguments(sys.argv[1:]))
        sys.exit(compose.exit_code(lambda: engine.main(arguments), "train", lambda: arguments))
    slurm.join()
    code = compose.command("train", task, sys.argv[1:])
    if code == 0 and "RANK" in os.environ:  # after a failure the other processes may be inside a collective
        from cse.run.launch import leave

        leave()
    sys.exit(code)


def task(cfg: DictConfig) -> float | None:
    """One Hydra job. Returns the selection score, for a search."""
    from cse.run import launch, startup

    startup.settle_hub()
    startup.quiet()
    from cse.run.build import output_folder

    folder = output_folder()
    check_folder(folder, cfg.resume)
    if cfg.smoke:
        from cse.run.smoke import shrink

        shrink(cfg)
    return launch.launch(cfg, folder)


def check_folder(folder: Path, resume: str | None) -> None:
    """Never write over a run: it is resumed, or another folder is used."""
    if (folder / "last").exists() and resume is None:
        raise UserError(f"{folder} holds a run: resume=auto goes on with it, hydra.run.dir=ANOTHER starts anew")


if __name__ == "__main__":
    main()
