"""Random files and settings: a reader gives rows or one UserError of one line, never another exception.

CSE_FAULTS_EXAMPLES sets the number of inputs of each test, drawn anew each time. By default there are 200, the same in
every run: all tests take a minute, and no change is blamed for bad luck.
"""

import gzip
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import nn
from toy_hub import parquet

from cse.data.readers import read_rows
from cse.errors import UserError
from cse.eval.senteval.pickles import read_pickle
from cse.lab.commands.exits import exit_on_error
from cse.lab.folder.events import read_events
from cse.lab.folder.runs import read_run
from cse.model.vectors import WordVectors
from cse.training import checkpoint

pytestmark = pytest.mark.nightly
EXAMPLES = int(os.environ.get("CSE_FAULTS_EXAMPLES", 200))
often = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize="CSE_FAULTS_EXAMPLES" not in os.environ,
)


def saved() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with checkpoint.Saver(Path(folder)) as saver:
            saver.save({"encoder": nn.Linear(2, 2)}, {}, [checkpoint.process_random_state()], {"step": 1})
        return (Path(folder) / checkpoint.FILE).read_bytes()


def read_texts(path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):
        for row in read_rows(path, None if path.suffix == ".txt" else ["b", "a"], encoding):
            assert all(isinstance(cell, str) and cell.encode() for cell in row)


CSV = b'a,b\none,"two, three"\nfour,five\n'
READERS = {  # {file: (valid content, its reader)}
    "a.txt": (b"one sentence\nanother one\n", read_texts),
    "a.csv": (CSV, read_texts),
    "a.tsv": (b"a\tb\none\ttwo\nthree\tfour\n", read_texts),
    "a.jsonl": (b'{"a": "one", "b": "two"}\n{"a": "three", "b": null}\n', read_texts),
    "a.parquet": (parquet(a=["one", "two"] * 50, b=["three", None] * 50), read_texts),
    "a.csv.gz": (gzip.compress(CSV * 20, mtime=0), read_texts),
    "a.vec": (
        b"3 2\none 0.5 1\ntwo 1 2\nthree 3 4\n",
        lambda path: WordVectors(path, lowercase=False).encode(["one two", "three"]),
    ),
    checkpoint.FILE: (saved(), lambda path: checkpoint.read_last(path.parents[1])),
    "results.json": (
        b'{"status": "done", "config": {"seed": 1}, "metrics": {"test/x": 1.0}}',
        lambda path: read_run(path.parent).matches({"seed": 1}),
    ),
    "metrics.jsonl": (
        b'{"event": "metrics", "step": 1, "train/loss": 0.5}\n' * 3,
        lambda path: [event["step"] + 1 for event in read_events(path)],
    ),
    "a.pkl": (pickle.dumps({"a": [1]}), lambda path: read_pickle(path.read_bytes(), path)),
}
INSERTED = st.sampled_from([b'"', b"\0", b"\n", b"{", b"["])


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A valid file with bytes replaced, removed or inserted; now and then random bytes alone."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        length = draw(st.sampled_from([0, 1, 1, 2, 8, 100]))
        content[place : place + length] = draw(st.binary(max_size=8) | INSERTED)
    return bytes(content)


@pytest.mark.parametrize("name", READERS)
@often
@given(data=st.data())
def test_a_reader_raises_nothing_but_a_usererror_that_names_the_file(name, data):
    whole, read = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data.draw(damaged(whole)))
        told = refusal(lambda: read(path))
        assert told is None or (len(told.splitlines()) == 1 and folder in told)


def refusal(work: Callable[[], object]) -> str | None:
    """The text of the UserError that it raises, or None."""
    try:
        work()
    except UserError as error:
        return str(error)
    return None


WORDS = st.text("abtrainer.lr=seed[]{}',:-+~@/$0123456789 \"\\()null", max_size=25)


@settings(often, max_examples=max(20, EXAMPLES // 10))
@given(words=st.lists(st.one_of(WORDS, st.builds("trainer.lr={}".format, WORDS), st.builds("{}=1".format, WORDS)),
                      min_size=1, max_size=2))  # fmt: skip
@example(words=["@=0"])
@example(words=["~=0"])
def test_random_settings_are_refused(words):
    from hydra.core.global_hydra import GlobalHydra

    from cse.lab.settings.compose import composed, refuse_arguments
    from cse.lab.settings.mistakes import explaining

    GlobalHydra.instance().clear()
    words = [word for word in words if not word.startswith("-") and "\0" not in word]
    code = 2
    try:
        with exit_on_error(), explaining(words, "train"):
            refuse_arguments(words, "train")
            composed("train", words)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
