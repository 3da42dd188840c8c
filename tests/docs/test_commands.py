"""Every command in the documents composes, and (nightly) runs as written, in a folder with the files that it names.

A training run or an evaluation gets smoke=true, a line of many jobs dry_run=true; a launcher's own words are left out.
Commands that cannot be run here are in NOT_RUN, with the reason. An unknown command fails the test.
"""

import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from blocks import blocks, commands, inline_commands
from typed import PROGRAMS, exit_code

from cse import api
from cse.errors import UserError
from cse.lab.settings.arguments import Argument
from cse.lab.settings.command import split_flags
from cse.lab.sweep import sweep_command
from cse.sources import synthetic

ROOT = Path(__file__).resolve().parents[2]
FOLLOWED = {*(ROOT / "docs" / "adding").glob("*.md")}  # test_adding.py
DOCUMENTS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STANDS_FOR = {
    "WORD": ["lr"],
    "NAME": ["wiki1m"],
    "sweep=PAPER/TABLE": ["sweep=whitenedcse/table4"],
}
COMPOSED = {"cse-train": "train", "cse-eval": "evaluate"}
LOOKS = {"--help", "--version", "--cfg", "--info", "--shell-completion", "-sc", "--json"}
NOT_RUN = {
    "git clone": "THIS_REPOSITORY is a placeholder",
    "wandb": "it needs W&B's server",
    "export": "it sets variables for the next lines",
    "trap": "it is part of an sbatch script: tests/slurm runs it",
    "cse-train sweep=whitenedcse/table4 model=minilm": "its dry run refuses two jobs, as the page says",
    "cse-data list LINE": "LINE stands for a line",
    "cse-data fetch": "it needs the hub: tests/lab/commands/test_data.py fetches from a toy one",
    "cse-report runs=[A,B] gate": "it exits with 1 without a clear difference: tests/lab/report/test_differences.py",
    "hf upload": "it needs the hub",
    "hf cache verify": "it needs the hub",
    "git diff": "it shows a change",
    "git checkout": "it changes a checkout",
    "git apply": "it changes a checkout",
    "python -m benchmarks.": "it measures for minutes: tests/benchmarks has its parts",
    "pip freeze": "it is pip's",
    "tar": "it is no program of ours",
    "python -m venv onnx": "it needs a package index, as the page says",
    "onnx/bin/": "it needs that environment, as the page says",
}
LAUNCHERS = {  # here the program runs alone; these tests run it under the launcher, on two processes
    "torchrun": "tests/lab/run/test_launch.py",
    "accelerate": "tests/lab/run/test_launch.py",
    "srun": "tests/slurm",
    "sbatch": "tests/slurm",
}


def shown() -> dict[str, str]:
    """Every command, and the first place that shows it."""
    found: dict[str, str] = {}
    for document in DOCUMENTS:
        if document in FOLLOWED:
            continue
        here = [one for block in blocks(document) if block.language == "sh" for one in commands(block)]
        for number, command in sorted([*here, *inline_commands(document)]):
            found.setdefault(command, f"{document.relative_to(ROOT)}:{number}")
    return found


SHOWN = shown()
PYTHON = [
    pytest.param(block.text, id=f"{document.relative_to(ROOT)}:{block.line}")
    for document in DOCUMENTS
    if document not in FOLLOWED
    for block in blocks(document)
    if block.language == "python"
]


def understood(command: str) -> tuple[dict[str, str], str, list[str]]:
    """Parse a command. Returns its environment variables, its program, and its words with placeholders filled in.

    The program is one of ours, python, make or pip, "" for one in NOT_RUN, and "?" for an unknown one.
    """
    without_options = re.sub(r" \[--[^]]*\]", "", command)  # in brackets: optional
    words = [spelled for word in shlex.split(without_options) for spelled in STANDS_FOR.get(word, [word])]
    variables = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if not words or any(command.startswith(start) for start in NOT_RUN):
        return variables, "", []
    if words[0] in LAUNCHERS:
        words = [word for quoted in words for word in shlex.split(quoted)]  # sbatch --wrap "srun ..."
        start = next(number for number, word in enumerate(words) if word in (*PROGRAMS, "cse.lab.commands.train"))
        words = ["cse-train" if words[start] == "cse.lab.commands.train" else words[start], *words[start + 1 :]]
    if words[:2] == ["python", "-m"] and words[2].startswith("examples."):
        return variables, "python", words[2:]
    return variables, words[0] if words[0] in (*PROGRAMS, "make", "pip") else "?", words[1:]


def test_every_command_is_known():
    unknown = [f"{place}: {command}" for command, place in SHOWN.items() if understood(command)[1] == "?"]
    assert unknown == [], f"{Path(__file__).name} cannot run these"
    assert len(SHOWN) > 20


def starts_many(typed: list[str]) -> bool:
    """Whether a command of cse-train or cse-eval starts many jobs."""
    texts, flags = split_flags(typed)
    return bool(sweep_command.starts_many([Argument(text) for text in texts if "=" in text], flags))


def test_every_line_of_one_run_composes(monkeypatch):
    """Its keys and choices exist and its values are valid; nothing is built."""
    monkeypatch.chdir(ROOT)
    composed = 0
    for command, place in SHOWN.items():
        _, program, words = understood(command)
        looks = any(word.startswith("-") or word.endswith("?") for word in words)
        goes_on = any(word.startswith(("resume=", "rerun=")) for word in words)
        if program not in COMPOSED or looks or goes_on or starts_many(words):
            continue
        try:
            api.compose(*words, command=COMPOSED[program])
        except UserError as error:
            pytest.fail(f"{place}: {command}: {error}")
        composed += 1
    assert composed > 20


@pytest.fixture(scope="session")
def world(tmp_path_factory, tiny) -> Path:
    """A folder with the files that the documents name: a run in FOLDER, text, SentEval, encoders."""
    place = tmp_path_factory.mktemp("world")
    for name in ("SENTEVAL/downstream", "outputs/DATE", "sentence-transformers"):
        (place / name).mkdir(parents=True)
    synthetic.write_senteval(place / "SENTEVAL" / "downstream")
    synthetic.write_rows(place, (), None)
    (place / "text.txt").rename(place / "sentences.txt")
    sentences = (place / "sentences.txt").read_text().splitlines()
    (place / "documents.txt").write_text("".join(f"{sentence} {sentence}\n" for sentence in sentences))
    synthetic.write_rows(place, ("sent0", "sent1", "hard_neg"), None)
    (place / "text.csv").rename(place / "nli.csv")
    synthetic.write_rows(place, ("a", "b"), "s")
    (place / "text.csv").rename(place / "pairs.csv")
    for name in ("dev.csv", "test.csv"):
        shutil.copy(place / "pairs.csv", place / name)
    synthetic.write_rows(place, ("a", "b", "negative_1", "negative_2", "negative_3"), None)
    (place / "text.csv").rename(place / "mined.csv")
    synthetic.write_rows(place, ("sentence1", "sentence2"), "score")
    (place / "text.csv").rename(place / "sts.csv")
    search = [{"query": {"text": one}, "positive": [one[::-1]], "negative": [one[5:], one[:5]]} for one in sentences]
    (place / "search.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in search))
    before = Path.cwd()
    os.chdir(place)
    try:
        run = api.train("smoke=true", "tracker=none", f"paths.cache={place}/cache", folder="FOLDER")
    finally:
        os.chdir(before)
    synthetic.write_images(place / "FOLDER")
    synthetic.write_audio(place / "FOLDER")
    for name in ("outputs/DATE/TIME", "runs/whitenedcse/table4/job", "multirun/seed/job", "RUNS/job", "EVALS/job"):
        shutil.copytree(place / run.folder, place / name)
    (place / "sentence-transformers" / "all-MiniLM-L6-v2").symlink_to(place / "FOLDER" / "best")
    wide = tiny("bert", hidden_size=768, num_attention_heads=12, max_position_embeddings=64, type_vocab_size=2)
    (place / "bert-base-uncased").symlink_to(wide)  # as wide as the genuine one, which dry runs ask
    return place


@pytest.fixture
def run(world, monkeypatch, tmp_path) -> Callable[[str], int]:
    """run(command) -> its exit code, in this process, in the world."""

    def call(command: str) -> int:
        variables, program, words = understood(command)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        match program:
            case "make":
                return 0 if f"\n{words[0]}:" in (ROOT / "Makefile").read_text() else 2
            case "pip":  # the project with existing extras
                asked = re.fullmatch(r"(?:\.|cse-lab)\[([\w,]+)\]", words[-1])
                return 0 if asked and set(asked[1].split(",")) <= set(PROJECT["optional-dependencies"]) else 2
            case "python":
                monkeypatch.setattr(sys, "argv", words)
                runpy.run_module(words[0], run_name="__main__")
            case _ if program:
                return exit_code(program, *words, *smaller(program, words, tmp_path))
        return 0

    monkeypatch.chdir(world)
    monkeypatch.setenv("CSE_CACHE", str(world / "cache"))
    return call


def smaller(program: str, words: list[str], folder: Path) -> list[str]:
    """The words that make one of our commands end in seconds and leave nothing behind."""
    if program == "cse-data" and words[0] == "mine":
        return [f"out={folder}/mined.csv"]  # it replaces no file, and the world has the page's mined.csv
    if program not in ("cse-train", "cse-eval") or LOOKS & set(words):
        return []
    if starts_many(words):
        return ["dry_run=true"]
    if any(word.startswith("resume=") and word != "resume=auto" for word in words):
        return []  # the run in FOLDER was a small one
    keys = {word.partition("=")[0] for word in words}
    place = [f"hydra.run.dir={folder}/run"] if "hydra.run.dir" not in keys else []
    if "rerun" in keys:
        return place  # it has the run's own size and tracker
    return ["smoke=true", *(["tracker=none"] if "tracker" not in keys else []), *place]


@pytest.mark.nightly
@pytest.mark.parametrize("command", [pytest.param(command, id=place) for command, place in SHOWN.items()])
def test_every_command_works(run, capsys, command):
    code = run(command)
    said = capsys.readouterr()
    lacks = code == 1 and command.startswith("cse-data list ")  # what a sweep reads is not here
    assert code == 0 or lacks, f"{SHOWN[command]}: {command}\n{said.out[-2000:]}{said.err[-2000:]}"


@pytest.mark.nightly
@pytest.mark.parametrize("code", PYTHON)
def test_every_block_of_python_works(code, world, monkeypatch, tmp_path):
    """As written, except that training is smoke=true and scores come from the made-up SentEval."""
    train, evaluate = api.train, api.evaluate

    def trained(*words, **settings):
        return train(*words, "smoke=true", folder=tmp_path / "run", **settings)

    def scored(encoder, *words, **settings):
        here = [f"paths.senteval={world}/SENTEVAL/downstream", "allow_partial=true"]
        return evaluate(encoder, *words, *here, **settings)

    monkeypatch.setattr(api, "train", trained)
    monkeypatch.setattr(api, "evaluate", scored)
    monkeypatch.setenv("CSE_CACHE", str(world / "cache"))
    monkeypatch.chdir(world)
    exec(compile(code, "block", "exec"), {"__name__": "block"})
