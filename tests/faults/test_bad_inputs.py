"""Every line of bad_inputs.yaml: one sentence that names what is wrong, its exit code, and nothing left behind."""

import logging
import os
import re
import shlex
from pathlib import Path

import bad_copies
import bad_files
import pytest
import yaml
from made_up import WORDS
from typed import exit_code

HERE = Path(__file__).parent
LINES = [line for lines in yaml.safe_load((HERE / "bad_inputs.yaml").read_text()).values() for line in lines]
SEALED = "F/sealed"


@pytest.fixture(scope="module")
def places(tmp_path_factory, tiny_bert, sentences, senteval, images, sounds):
    """What each word in capitals of a line stands for."""
    world = tmp_path_factory.mktemp("bad")
    small = (
        f"model=bert model.name={tiny_bert} data=text data.path={sentences} eval=stsb allow_partial=true tracker=none "
        f"paths.senteval={senteval} trainer.batch_size=8 trainer.max_steps=2 trainer.eval_every=2 trainer.log_every=1"
    )
    found = {
        "SMALL": f"{small} paths.cache={world}/cache", "CACHELESS": small, "TINY": tiny_bert,
        "VISUAL": " ".join(images), "AUDIO": " ".join(sounds), "LONG": "x" * 300, "VECTORS": world / "whole.vec",
        "SCORES": f"eval=stsb allow_partial=true paths.senteval={senteval}",
        "RUN": world / "R/whole", "LAST": world / "R/last", "WORLD": world,
    }  # fmt: skip
    for name in "FCRPS":
        found[name] = world / name
        found[name].mkdir()
    numbers = [f"{word} {0.1 * n} {(7 * n) % 5} 1" for n, word in enumerate(WORDS)]
    (world / "whole.vec").write_text("\n".join([f"{len(WORDS)} 3", *numbers]) + "\n")
    bad_files.write_texts(world / "F")
    bad_copies.write_copies(world / "C", Path(tiny_bert), some(bad_copies.CHECKPOINTS, "weights_nan", "pickle"))
    bad_copies.write_copies(world / "S", senteval, some(bad_copies.SCORED, "gold_nan", "empty"))
    assert exit_code("cse-train", *found["SMALL"].split(), f"hydra.run.dir={world}/R/whole") == 0
    bad_copies.write_copies(
        world / "R", world / "R/whole", some(bad_copies.RESUMED, "state_cut") | {"last": lambda folder: None}
    )
    bad_copies.write_copies(world / "P", world / "R/whole", bad_copies.REPORTED)
    found["SEALED"] = bad_files.seal(world / SEALED)
    yield {name: str(place) for name, place in found.items()}
    bad_files.unseal(world / SEALED)


def some(changes: dict, *names: str) -> dict:
    return {name: changes[name] for name in names}


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


@pytest.fixture
def typed(places, tmp_path, monkeypatch, capsys):
    """typed(line) -> (exit code, standard output, standard error), in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CSE_CACHE", f"{places['WORLD']}/cache")

    def run(line: str) -> tuple[object, str, str]:
        words = shlex.split(filled(line, places))
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        try:
            code = exit_code(*words)
        finally:
            logging.disable(logging.NOTSET)
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(("line", "code", "told"), LINES)
def test_one_sentence_and_nothing_left(places, typed, tmp_path, line, code, told):
    if SEALED in line and places["SEALED"] == "False":
        pytest.skip("this file system seals no folder against root (chattr +i)")
    before = content(Path(places["WORLD"]))
    ended, out, err = typed(line)
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
