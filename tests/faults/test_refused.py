"""refused.txt, the table of lines that are refused: each ends with one sentence and leaves nothing behind.

What a part refuses of a damaged file or run is in the other test_refused_*.py; wrong values of settings are in
tests/lab/settings/test_check.py.
"""

import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import damaged
import pytest
from typed import exit_code

import cse
from cse.lab.commands.exits import exit_on_error

SEALED = "F/sealed"


def read_table() -> list[tuple[str, int, str]]:
    """(line, exit code, what its sentence has to name) of each row of refused.txt."""
    table = (Path(__file__).parent / "refused.txt").read_text(encoding="utf-8")
    rows = [line.partition(" => ") for line in table.splitlines() if line and not line.startswith("#")]
    return [(line, int(after.split()[0]), after.partition(" ")[2]) for line, _, after in rows]


def damaged_results(**changes: object) -> dict:
    return {"results.json": {"status": "done", "config": {"a": 1}, "metrics": {}} | changes}


REPORTED = [  # changes of a run that a report survives; more in test_fuzz.py
    {"results.json": 0.5}, {"results.json": ""}, {"results.json": "[]"}, damaged_results(metrics=["a"]),
    damaged_results(status=5, metrics={"test/x": "y", "dev/y": 1}),
    damaged_results(config=["a"], metrics={"dev/y": 1}),
    {"metrics.jsonl": damaged.BINARY}, {"run.yaml": 0.37}, {"run.yaml": "[1]"},
]  # fmt: skip


@pytest.fixture(scope="module")
def places(
    tmp_path_factory, small_run_in, tiny_bert, sentences, senteval, triplets, documents, images, sounds
) -> Iterator[dict[str, str]]:
    """What each word in capitals stands for; see refused.txt."""
    world, cache = tmp_path_factory.mktemp("world"), tmp_path_factory.mktemp("cache")
    small = [word for word in small_run_in(world) if not word.startswith(("hydra.run.dir", "paths.cache"))]
    found = {
        "SMALL": shlex.join([*small, f"paths.cache={cache}"]),
        "SCORES": f"eval=stsb allow_partial=true paths.senteval={senteval}",
        "IMAGES": shlex.join(images), "SOUNDS": shlex.join(sounds), "LONG": "x" * 300,
        "TEXT": sentences, "TRIPLETS": triplets, "DOCUMENTS": documents, "TINY": tiny_bert, "CACHE": cache,
        "EMPTY": world / "empty", "HALF": world / "half", "BINARY": world / "file.bin",
        "COLUMNS": world / "columns.csv", "VECTORS": world / "whole.vec", "RUN": world / "run",
        **{name: world / name for name in "FPS"},
    }  # fmt: skip
    (world / "empty").mkdir()
    damaged.change(world / "half" / "run.yaml", "")
    damaged.change(world / "file.bin", b"x")
    damaged.change(world / "columns.csv", "a,b\n1,2\n")
    damaged.change(world / "whole.vec", damaged.VECTORS)
    damaged.write_files(world / "F")
    words = shlex.split(found["SMALL"])
    assert exit_code("cse-train", *words, "trainer.max_steps=2", f"hydra.run.dir={found['RUN']}") == 0
    damaged.copy(senteval, world / "S", {"STS/STSBenchmark/sts-dev.csv": ""})
    for number, changes in enumerate(REPORTED):
        damaged.copy(found["RUN"], world / "P" / str(number), changes)
    found["SEALED"] = damaged.seal(world / SEALED)
    with damaged.unchanged(world):
        yield {name: str(place) for name, place in found.items()}
    assert not [path for path in cache.rglob(".[0-9]*")]
    damaged.unseal(world / SEALED)


def filled(text: str, places: dict[str, str]) -> str:
    names = "|".join(sorted(places, key=len, reverse=True))
    return re.sub(rf"(?<![\w.@])({names})(?![\w.])", lambda match: places[match[1]], text)


def words_of(line: str, places: dict[str, str]) -> list[str]:
    """The words of a line, of the groups of words without those whose keys the line has itself."""
    words = [(word, filled(word, places)) for word in shlex.split(line)]
    names = ("SMALL", "SCORES", "IMAGES", "SOUNDS")
    keys = {key_of(text) for word, text in words if word not in names}
    keys |= {"data.path"} if "data" in keys else set()
    groups = {name: [one for one in shlex.split(places[name]) if key_of(one) not in keys] for name in names}
    return [one for word, text in words for one in groups.get(word, [text])]


def key_of(word: str) -> str:
    return word.partition("=")[0]


def ended(program: str, words: list[str]) -> int:
    """The exit code of a command, or of the call cse.compose."""
    if program != "cse.compose":
        return exit_code(program, *words)
    with pytest.raises(SystemExit) as end, exit_on_error():
        cse.compose(*words)
    return end.value.code


@pytest.mark.parametrize(("line", "code", "named"), read_table())
def test_one_sentence_and_nothing_left(places, tmp_path, monkeypatch, capsys, line, code, named):
    if SEALED in line and places["SEALED"] == "False":
        pytest.skip("this file system seals no folder against root (chattr +i)")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("what was there before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CSE_CACHE", places["CACHE"])
    program, *words = words_of(line, places)
    while re.match(r"[A-Z_]+=", program):
        name, _, value = program.partition("=")
        monkeypatch.setenv(name, value)
        program, *words = words
    capsys.readouterr()
    found = ended(program, words)
    logging.disable(logging.NOTSET)
    out, err = capsys.readouterr()
    assert found == code, (found, out[-500:], err)
    assert "Traceback" not in out + err
    if code != 0:
        told = shlex.split(filled(named, places))
        assert told
        assert [one for one in told if one not in err] == [], err
        assert len(err.strip().splitlines()) <= max(1, len(told))  # a line for each missing thing at most
        assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["mine", "mine/notes.txt"]
