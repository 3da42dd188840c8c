"""A line of each kind of refusal, as a person types it: one sentence, its exit code, and nothing left behind.

What a part refuses is tried in test_refused_*.py, without a command.
"""

import logging
import os
import re
import shlex
from pathlib import Path

import bad_copies
import bad_files
import pytest
from made_up import WORDS
from typed import exit_code

SEALED = "F/sealed"
LINES = [  # (the line, after NAME=VALUE words of its environment; its exit code; what its one sentence has to name)
    ("cse-train trainer.lr=nan seed=0.5", 2, "seed=0.5"),
    ("cse-train 'seed=${nokey}'", 2, "nokey"),
    ("cse-train SMALL ~trainer.lr", 2, "trainer.lr"),
    ("cse-train -x", 2, "-x"),
    ("cse-train --cfg everything", 2, "everything"),
    ("cse-train --config-dir=/no/such/folder", 2, "/no/such/folder"),
    ("cse-train hydra.run.dir=", 2, "hydra.run.dir"),
    ("cse-train hydra/launcher=nothing", 2, "hydra/launcher=nothing"),
    ("cse-train SMALL 'trainer.lr=1e-5 '", 0, ""),
    ("cse-train SMALL data.path=F/latin.txt", 2, "F/latin.txt, line 3"),
    ("cse-train SMALL data.path=/dev/null", 2, "/dev/null"),
    ("cse-train SMALL model.name=C/no_weights", 2, "C/no_weights"),
    ("cse-train SMALL AUDIO paths.audio=F/broken_sounds", 2, "F/broken_sounds"),
    ("cse-train resume=R/state_cut", 2, "R/state_cut"),
    ("cse-train sweep=whitenedcse/table4 resume=RUN", 2, "resume="),
    ("cse-train -m 'seed=interval(1,2)' SMALL", 2, "seed"),
    ("RANK=0 WORLD_SIZE=1 cse-train -m seed=1 SMALL", 2, "torchrun"),
    ("cse-eval SCORES checkpoint=VECTORS max_length=8", 2, "max_length"),
    ("cse-eval SCORES checkpoint=VECTORS paths.senteval=S/gold_nan", 2, "sts-dev.csv"),
    ("cse-eval SCORES checkpoint=VECTORS paths.senteval=S/empty", 0, ""),  # left out, and marked so
    ("cse-eval SCORES checkpoint=VECTORS splits=[dev,dev]", 0, ""),
    ("cse-report runs=F/empty interval=z confidence=2", 2, "interval"),
    ("cse-report runs=F/empty", 2, "F/empty"),
    ("cse-report runs=P", 0, ""),  # what is damaged is left out, and said
    ("cse-report sweep=whitenedcse/table4 runs=P", 0, ""),
    ("cse-train SMALL hydra.run.dir=F/plain.txt/run", 2, "F/plain.txt"),
    ("cse-train SMALL hydra.run.dir=/proc/nothing/run", 2, "/proc/nothing"),
    ("cse-train SMALL hydra.run.dir=F/sealed/run", 2, "F/sealed"),
    ("cse-train SMALL hydra.run.dir=F/LONG", 2, "LONG"),
    ("cse-train SMALL paths.cache=F/sealed/cache", 2, "F/sealed"),
    ("cse-train SMALL paths.cache=F/loop", 2, "F/loop"),
    ("cse-train -m seed=1 SMALL hydra.sweep.dir=F/sealed/m", 2, "F/sealed"),
    ("cse-eval SCORES checkpoint=VECTORS hydra.run.dir=F/plain.txt", 2, "F/plain.txt"),
    ("cse-report runs=RUN out=F/sealed/report", 2, "F/sealed"),
    ("CSE_SENTEVAL=/no/folder cse-eval checkpoint=VECTORS eval=stsb", 2, "/no/folder"),
    ("CSE_CACHE=F/plain.txt cse-train CACHELESS", 2, "F/plain.txt"),
    ("HF_ENDPOINT=nonsense cse-train SMALL model.name=no/model", 2, "no/model"),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory, tiny_bert, sentences, senteval, sounds):
    """What each word in capitals of a line stands for; S, R, P: damaged copies of scores, and of a run of two steps."""
    world = tmp_path_factory.mktemp("bad")
    small = (
        f"model=bert model.name={tiny_bert} data=text data.path={sentences} eval=stsb allow_partial=true tracker=none "
        f"paths.senteval={senteval} trainer.batch_size=8 trainer.max_steps=2 trainer.eval_every=2 trainer.log_every=1"
    )
    found = {
        "SMALL": f"{small} paths.cache={world}/cache", "CACHELESS": small, "AUDIO": " ".join(sounds), "LONG": "x" * 300,
        "VECTORS": world / "whole.vec", "SCORES": f"eval=stsb allow_partial=true paths.senteval={senteval}",
        "RUN": world / "R/whole", "WORLD": world,
    }  # fmt: skip
    for name in "FCRPS":
        found[name] = world / name
        found[name].mkdir()
    numbers = [f"{word} {0.1 * n} {(7 * n) % 5} 1" for n, word in enumerate(WORDS)]
    (world / "whole.vec").write_text("\n".join([f"{len(WORDS)} 3", *numbers]) + "\n")
    bad_files.write_texts(world / "F")
    assert exit_code("cse-train", *found["SMALL"].split(), f"hydra.run.dir={world}/R/whole") == 0
    for name, whole, changes, some in (
        ("C", tiny_bert, bad_copies.CHECKPOINTS, ["no_weights"]),
        ("S", senteval, bad_copies.SCORED, ["gold_nan", "empty"]),
        ("R", world / "R/whole", bad_copies.RESUMED, ["state_cut"]),
        ("P", world / "R/whole", bad_copies.REPORTED, bad_copies.REPORTED),
    ):
        bad_copies.write_copies(world / name, Path(whole), {change: changes[change] for change in some})
    found["SEALED"] = bad_files.seal(world / SEALED)
    yield {name: str(place) for name, place in found.items()}
    bad_files.unseal(world / SEALED)


def content(folder: Path) -> dict[str, tuple[int, object]]:
    """Size and time (of Hydra's files, which may be put back, content) of all below a folder but logs and caches."""
    found = {}
    for path in folder.rglob("*"):
        if path.suffix != ".log" and "cache" not in path.relative_to(folder).parts:
            about = path.lstat()
            held = path.read_bytes() if path.suffix == ".yaml" and path.is_file() else about.st_mtime_ns
            found[str(path)] = (about.st_size, 0 if path.is_dir() else held)
    return found


def filled(text: str, places: dict[str, str]) -> str:
    names = "|".join(sorted(places, key=len, reverse=True))
    return re.sub(rf"(?<![\w.@])({names})(?![\w.])", lambda match: places[match[1]], text)


@pytest.mark.parametrize(("line", "code", "told"), LINES)
def test_one_sentence_and_nothing_left(places, tmp_path, monkeypatch, capsys, line, code, told):
    if SEALED in line and places["SEALED"] == "False":
        pytest.skip("this file system seals no folder against root (chattr +i)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CSE_CACHE", f"{places['WORLD']}/cache")
    words = shlex.split(filled(line, places))
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value)
    capsys.readouterr()
    before = content(Path(places["WORLD"]))
    ended = exit_code(*words)
    logging.disable(logging.NOTSET)
    out, err = capsys.readouterr()
    said = err.strip()
    assert ended == code, (ended, out[-500:], said)
    assert "Traceback" not in out + err
    if code == 0:
        return
    assert len(said.splitlines()) == 1, said
    assert filled(told, places) in said
    assert content(Path(places["WORLD"])) == before
    assert [name for name in os.listdir(tmp_path) if name != "cache"] == []
    assert not [path for path in Path(places["WORLD"], "cache").rglob(".[0-9]*")]
