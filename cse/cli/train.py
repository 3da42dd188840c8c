"""cse-train: one line, one experiment."""

from cse import api
from cse.cli import command, launched
from cse.cli.exits import exit_on_error
from cse.cli.help import TRAIN
from cse.run import slurm
from cse.training.signals import Signals


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    slurm.hold()
    words = command.words_of_one_job("train", TRAIN)
    slurm.join()
    launched.quiet_followers()
    with exit_on_error(), Signals(lambda: "the same line starts again"):
        launched.refuse_lone_process()
        api.train(*words)


if __name__ == "__main__":
    main()
