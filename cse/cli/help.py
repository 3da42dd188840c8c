"""The help texts: by task, with lines to copy. The choices are read from conf/; nothing slow is imported.

`python -m cse.cli.help docs` (make choices) writes the table of choices and the list of settings into their pages.
"""

import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from cse.config.groups import CONF_DIR, choices, file_of, first_comment, groups, included
from cse.config.mistakes import no_choice
from cse.config.search import NO_SETTINGS, body, find
from cse.errors import UserError

WIDTH = 120
ONE = ["default"]  # the choices of a group that offers none

QUESTION = re.compile(r"\?[\w.]*|[\w.]+[=.]?\?|\w+=\w+\.\?")
"""A word that asks for help: GROUP=?, GROUP=CHOICE.?, KEY=?, ?KEY, ?."""

TRAIN = """\
cse-train: train a sentence encoder as a paper did, or as you like.

  cse-train                                       unsupervised SimCSE on BERT, as published
  cse-train experiment=demo                       needs no hub and no GPU: minutes on two cores
  cse-train objective=barlow model=roberta        that row of the paper, with that row's hyper-parameters
  cse-train objective=declutr model=distilroberta data=text data.path=documents.txt
  cse-train sweep=whitenedcse/table4              a paper's table; the same line again continues it
  cse-train -m objective=barlow,vicreg seed=1,2   every combination; the same line again continues them

Choose                                            (cse-train --help GROUP says what each choice is)
CHOICES

Your own text
  data=text data.path=FILE        .txt .csv .tsv .jsonl (also .gz) .parquet, a folder of them, or a hub dataset
  data.columns=[sent0,sent1]      for files with columns
  data.preview=3                  print what the model will see of three rows, and stop; no data for scores is needed
  augmentation.max_length=64      with objective=declutr: documents need 2 x anchors x max_length words (2,048)

Shorter, larger, elsewhere
  trainer.max_steps=100           stop early; the schedule keeps its length (trainer.schedule_steps changes it)
  trainer.eval_every=250          steps between scores on the dev set, by which the best step is chosen; 0.1: ten in all
  trainer.batch_size=64           rows of text over all devices; aux_modality.data.batch_size=48: images or clips each
  trainer.chunk=64                any batch size in the memory of 64 rows, same loss and gradient
  trainer.precision=bf16          fp32, bf16, fp16; auto by default
  dry_run=true                    print what would run, its time and its memory, measured here, and stop
  smoke=true                      any run in seconds, on a made-up encoder and data; a typed KEY=VALUE keeps its value
  --config-dir own/conf           add choices of your own, in a folder laid out as conf/ (also CSE_CONF)
  hydra.run.dir=FOLDER            where the run goes (outputs/DATE/TIME by default; of -m: hydra.sweep.dir=FOLDER)
  jobs.parallel=2                 of -m and sweep=: jobs at the same time; jobs.fail_fast=true: none after a failure
  tracker.wandb.artifact=true     upload best/ to W&B
  rerun=FOLDER trainer.lr=1e-4    repeat that run with one change in a new folder; its inputs must be the same bytes
  resume=FOLDER                   continue that run, bit for bit, from its last checkpoint

Look before you run                                             (objective=? and objective=barlow.? do the same)
  cse-train --help objective         what each choice is           cse-doctor     what this machine can run
  cse-train --help objective=barlow  a choice's keys, explained    cse-data list  the data, and whether it is here
  cse-train --help temperature       keys and choices by name or by a word in their comments; other trainers' names too
  cse-train ... --cfg job            the whole configuration       cse-train -sc install=bash   completion by TAB
  zsh expands [ ] and ?: quote such words
Exit codes: 0 done, 1 the run (of -m and sweep=, any job) failed, 2 a mistake on the command line or in the data;
129, 130, 138, 140, 143: stopped by SIGHUP, Ctrl-C, SIGUSR1, SIGUSR2 or SIGTERM, with last/ saved once it trains.
"""

EVALUATE = """\
cse-eval: score any encoder.

  cse-eval checkpoint=outputs/2026-01-01/12-00-00 eval=[stsb,sts]       the best step of a run; or its best/ itself
  cse-eval checkpoint=sentence-transformers/all-MiniLM-L6-v2 eval=[sts,transfer]     a hub name; pooling comes with it
  cse-eval model=minilm eval=stsb                                                    a configured encoder
  cse-eval checkpoint=bert-base-uncased pooling=avg_first_last eval=sts              a plain encoder: say its pooling
  cse-eval checkpoint=glove.840B.300d.txt eval=sts                                   averaged word vectors
  cse-eval -m checkpoint=FOLDER,FOLDER eval=sts                                      several, and a table of them

Encoder     pooling=cls mean avg_top2 avg_first_last avg_first_last_0 pooler    null: as the checkpoint records it
            dtype=fp32 bf16 fp16      max_length=N      batch_size=N     lowercase=true (vectors of lower-case words)
Afterwards  whitening.kind=pca whitening.components=256 whitening.fit=FILE    whitened by a file of sentences
Data        paths.senteval=FOLDER (or CSE_SENTEVAL) reads SentEval's files; without it the hub's datasets are used
Choose      splits=[test], and                    (cse-eval --help GROUP says what each choice is)
CHOICES
Output      a table, and results.json, scores.csv, .md and .tex in the run's folder; tracker=wandb shows them there too;
            label=NAME names the row in scores.tex
Exit codes: 0 done, 1 it (of -m, any job) failed, 2 a mistake on the command line or in the data;
129, 130, 138, 140, 143: stopped by SIGHUP, Ctrl-C, SIGUSR1, SIGUSR2 or SIGTERM.
"""

DOCTOR = """\
cse-doctor: what this machine has, and which choices of every config group work on it.

  cse-doctor                              a table
  cse-doctor paths.senteval=FOLDER        as if that folder were set; also paths.images=, paths.audio=, ...
  cse-doctor --json                       the same for programs

Exit codes: 0 done, whatever it found; 2 a mistake on the command line.
"""


def answer(config_name: str, text: str, arguments: Sequence[str]) -> str | None:
    """The text that --help, --version or a question mark asks for; None if the arguments have none of them.

    WORD=?, WORD.? and ?WORD mean `--help WORD`, which needs no quotes in shells that expand question marks. Raises
    UserError for a word that is not the name of a group, a choice or a setting.
    """
    if "--version" in arguments:
        from importlib.metadata import version

        return f"cse {version('cse-lab')}"
    questions = [word.strip("?").rstrip("=.") for word in arguments if QUESTION.fullmatch(word)]
    helped = bool({"-h", "--help"} & {*arguments}) or list(arguments[:1]) == ["help"] or "" in questions
    words = [word for word in arguments if not word.startswith("-") and word != "help"]
    if asked := [word for word in (words if helped else questions) if word.strip("?")]:
        return "\n\n".join(help_on(config_name, word) for word in asked)
    if not helped:
        return None
    offered = {group: choices(group) for group in groups(config_name)}
    offered["sweep"] = ["PAPER/TABLE"] * ("sweep" in offered)
    return text.replace(
        "CHOICES",
        "\n".join(
            wrap(" ".join(names), f"  {group + '=':<16}") for group, names in offered.items() if names not in ([], ONE)
        ),
    )


def wrap(text: str, head: str) -> str:
    """The text after `head`, wrapped at WIDTH and indented below itself."""
    return textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def help_on(config_name: str, word: str) -> str:
    """The choices of a group, the keys of a choice, or the settings and choices of that name.

    Raises UserError for a choice that the group lacks.
    """
    group, _, choice = word.partition("=")
    if group not in groups(config_name):
        return find(config_name, group, WIDTH)
    several = choices(group)
    if several == ONE:
        return help_on_choice(group, "default")
    if not choice:
        width = max(map(len, several)) + 2
        return "\n".join(wrap(first_comment(group, one), f"{one:<{width}}") for one in several)
    names = choice.strip("[]").split(",")
    for name in names:
        if name not in several:
            raise UserError(f"--help {word}: {no_choice(group, name)}")
    if group == "sweep":
        return "\n".join(f"{name}: {first_comment(group, name)}. Its jobs: sweep={name} dry_run=true" for name in names)
    return "\n\n".join(help_on_choice(group, name) for name in names)


def help_on_choice(group: str, choice: str) -> str:
    """A choice's lines, and those of the files that it includes, below the full name of its keys."""
    whole = "# @package _global_" in file_of(group, choice).read_text(encoding="utf-8")
    key = f"eval.{choice}.KEY" if group == "eval" else f"{group}.KEY"
    lines = [f"{group}={choice}    (to set one: {key}=VALUE{', and so for the other parts' * whole})"]
    for file in included(file_of(group, choice)):
        kept = [
            line for line in body(file, comment=True) if not re.match(r"\s*_(target|convert|partial)_|# @pack", line)
        ]
        lines += ["", "\n".join(kept).strip()]
    return "\n".join(lines)


def table() -> str:
    """The table of groups and choices in docs/choices.md."""
    rows = [
        f"| `{group}=` | {comment} | {' '.join(f'`{choice}`' for choice in choices(group))} |"
        for group, comment in groups("train").items()
        if choices(group) != ONE and group != "sweep"
    ]
    return "\n".join(["| group | what it is | choices |", "|---|---|---|", *rows]) + "\n"


def every_setting() -> str:
    """The list in docs/settings.md: each file of conf/ that has keys of its own, under its name."""
    names = {file.relative_to(CONF_DIR).with_suffix(""): file for file in Path(CONF_DIR).rglob("*.yaml")}
    return "".join(
        f"\n## {name.as_posix()}\n\n```yaml\n{names[name].read_text(encoding='utf-8')}```\n"
        for name in sorted(names, key=lambda name: (len(name.parts), name))
        if name.parts[0] not in (*NO_SETTINGS, "recipe")
    )


if __name__ == "__main__":
    page, settings = (Path(sys.argv[1], name) for name in ("choices.md", "settings.md"))
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"\| group \|.*?\n(?!\|)", lambda _: table(), text, count=1, flags=re.DOTALL))
    settings.write_text(settings.read_text(encoding="utf-8").partition("\n## ")[0] + every_setting())
