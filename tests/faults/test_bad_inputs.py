"""One command line of each kind of mistake: one sentence, the exit code, and nothing left behind.

The mistakes that each part refuses are in test_refused_*.py, without a command.
"""

import logging
import re
import shlex

import damaged
import pytest
from typed import exit_code

SEALED = "F/sealed"
LINES = [  # (environment variables and command line, exit code, what its one sentence has to name)
    ("cse-train trainer.lr=nan seed=0.5", 2, "seed=0.5"),
    ("cse-train --learning_rate 1", 2, "trainer.lr=..."),
    ("cse-train -x", 2, "-x"),
    ("cse-train resume=/no/run --cfg job", 2, "resume=/no/run"),
    ("cse-train --cfg job seed=1", 0, ""),  # flags may stand anywhere
    ("cse-train --config-dir=/no/such/folder", 2, "/no/such/folder"),
    ("cse-train -m 'seed=interval(1,2)' SMALL", 2, "seed"),
    ("RANK=0 WORLD_SIZE=1 cse-train -m seed=1 SMALL", 2, "torchrun"),
    ("cse-eval SCORES checkpoint=VECTORS paths.senteval=S", 0, ""),  # an empty file is left out and marked
    ("cse-report runs=F/empty interval=z confidence=2", 2, "interval"),
    ("cse-report differ=[RUN,/no/run]", 2, "/no/run"),
    ("cse-report runs=P", 0, ""),  # what is damaged is left out, and said
    ("cse-train SMALL hydra.run.dir=", 2, "hydra.run.dir"),
    ("cse-train SMALL hydra.run.dir=F/plain.txt/run", 2, "F/plain.txt"),
    ("cse-train SMALL hydra.run.dir=F/sealed/run", 2, "F/sealed"),
    ("cse-train SMALL hydra.run.dir=F/LONG", 2, "LONG"),
    ("cse-train SMALL paths.cache=F/sealed/cache", 2, "F/sealed"),
    ("cse-train -m seed=1 SMALL hydra.sweep.dir=F/sealed/m", 2, "F/sealed"),
    ("cse-eval SCORES checkpoint=VECTORS hydra.run.dir=F/plain.txt", 2, "F/plain.txt"),
    ("cse-report runs=RUN out=F/sealed/report", 2, "F/sealed"),
    ("CSE_SENTEVAL=/no/folder cse-eval checkpoint=VECTORS eval=stsb", 2, "/no/folder"),
    ("HF_ENDPOINT=nonsense cse-train SMALL model.name=no/model", 2, "no/model"),
]


def results(**changes: object) -> dict:
    return {"results.json": {"status": "done", "config": {"a": 1}, "metrics": {}} | changes}


REPORTED = [  # changes of a run that a report survives; more in test_fuzz.py
    {"results.json": 0.5}, {"results.json": ""}, {"results.json": "[]"}, results(metrics=["a"]),
    results(status=5, metrics={"test/x": "y", "dev/y": 1}), results(config=["a"], metrics={"dev/y": 1}),
    {"metrics.jsonl": damaged.BINARY}, {"run.yaml": 0.37}, {"run.yaml": "[1]"},
]  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory, tiny_bert, sentences, senteval):
    """What each word in capitals stands for.

    F: files; P, S: damaged copies of a run of two steps, and of scores.
    """
    world = tmp_path_factory.mktemp("bad")
    small = (
        f"model=bert model.name={tiny_bert} data=text data.path={sentences} eval=stsb allow_partial=true tracker=none "
        f"paths.senteval={senteval} trainer.batch_size=8 trainer.max_steps=2 trainer.eval_every=2 trainer.log_every=1"
    )
    cache = tmp_path_factory.mktemp("cache")
    found = {
        "SMALL": f"{small} paths.cache={cache}", "LONG": "x" * 300,
        "VECTORS": world / "whole.vec", "SCORES": f"eval=stsb allow_partial=true paths.senteval={senteval}",
        "RUN": world / "run", "CACHE": cache, **{name: world / name for name in "FPS"},
    }  # fmt: skip
    (world / "whole.vec").write_text(damaged.VECTORS)
    damaged.write_files(world / "F")
    assert exit_code("cse-train", *found["SMALL"].split(), f"hydra.run.dir={found['RUN']}") == 0
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


@pytest.mark.parametrize(("line", "code", "told"), LINES)
def test_one_sentence_and_nothing_left(places, tmp_path, monkeypatch, capsys, line, code, told):
    if SEALED in line and places["SEALED"] == "False":
        pytest.skip("this file system seals no folder against root (chattr +i)")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("what was there before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CSE_CACHE", places["CACHE"])
    words = shlex.split(filled(line, places))
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value)
    capsys.readouterr()
    ended = exit_code(*words)
    logging.disable(logging.NOTSET)
    out, err = capsys.readouterr()
    assert ended == code, (ended, out[-500:], err)
    assert "Traceback" not in out + err
    if code != 0:
        (said,) = err.strip().splitlines()
        assert filled(told, places) in said
        assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["mine", "mine/notes.txt"]
