"""cse-eval: score any encoder with the evaluators of training, and leave results.json and scores.csv, .md and .tex."""

from cse import api
from cse.cli import command
from cse.cli.exits import exit_on_error
from cse.cli.help import EVALUATE
from cse.training.signals import Signals


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    with exit_on_error():
        words = command.words_of_one_job("evaluate", EVALUATE)
        with Signals(lambda: "the same line starts again"):
            api.evaluate_into(*words)


if __name__ == "__main__":
    main()
