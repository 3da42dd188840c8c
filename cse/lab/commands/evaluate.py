"""The command cse-eval, which scores any encoder with the evaluators that training uses: its help and its `main`."""

from collections.abc import Sequence

from cse.lab.commands.dispatch import run_command
from cse.lab.commands.exits import exit_on_error
from cse.lab.run import this_process
from cse.lab.run.start import start_evaluation
from cse.lab.settings.arguments import Argument
from cse.training.signals import Signals

HELP = """\
cse-eval: score any encoder.

  cse-eval checkpoint=outputs/2026-01-01/12-00-00 eval=[stsb,sts]               the best checkpoint of a run
  cse-eval checkpoint=sentence-transformers/all-MiniLM-L6-v2 eval=[sts,transfer]    a hub name, with its own pooling
  cse-eval model=minilm eval=stsb                                               a configured encoder
  cse-eval checkpoint=bert-base-uncased pooling=avg_first_last eval=sts         a plain encoder needs a pooling
  cse-eval checkpoint=glove.840B.300d.txt eval=sts                              averaged word vectors
  cse-eval -m checkpoint=FOLDER,FOLDER eval=sts                                 several encoders, and a table of them

Encoder
  pooling=NAME                  cls mean last mask avg_top2 avg_first_last avg_first_last_0 pooler; null: as recorded
  dtype=fp32                    fp32, bf16 or fp16
  max_length=N batch_size=N     tokens per sentence; sentences per batch
  lowercase=true                for word vectors: look words up in lower case
  whitening.kind=pca whitening.components=256 whitening.fit=FILE
                                whiten the embeddings; FILE has the sentences to fit on

Data
  splits=[test]                 the splits to score
  paths.senteval=FOLDER         read SentEval's own files (also CSE_SENTEVAL); without it, the hub's datasets

Choose (cse-eval --help GROUP explains each choice)
CHOICES

Output
  a table, and results.json, scores.csv, scores.md and scores.tex in the run's folder
  label=NAME                    the name of the row in scores.tex
  tracker=wandb                 send the scores to W&B, too
  dry_run=true                  print the encoder and what would be scored, and stop

Exit codes
  0    done
  1    the evaluation failed, or a job of -m failed
  2    a mistake in the command or in the data
  129, 130, 138, 140, 143    stopped by SIGHUP, Ctrl-C, SIGUSR1, SIGUSR2 or SIGTERM
"""


def main() -> None:
    """Run cse-eval. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    with exit_on_error():
        run_command("evaluate", HELP, evaluate_as_given)


def evaluate_as_given(arguments: Sequence[Argument]) -> None:
    """Score an encoder with the arguments of one job."""
    with Signals(lambda: "the same command starts again"), this_process.alone():
        start_evaluation(arguments)


if __name__ == "__main__":
    main()
