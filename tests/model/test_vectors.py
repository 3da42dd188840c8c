"""Averaged word vectors: every variant of the text format, the mean by hand, bad lines named by file and line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from cse.errors import MissingResource, UserError
from cse.model.vectors import WordVectors

TABLE = {"the": [0.5, -1.0, 2.0], "cat": [1.0, 0.25, 0.0], "sat": [-3.0, 0.0, 1e-3], ".": [0.0, 0.125, 1.0]}
GLOVE = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in TABLE.items())


def written(path: Path, content: str | bytes) -> Path:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


FORMATS = {
    "glove.txt": GLOVE,
    "glove.txt.gz": GLOVE,
    "fasttext.vec": "4 3\n" + GLOVE.replace("\n", " \n"),  # a first line with the counts, a blank after every line
    "windows.vec.gz": "4 3\r\n" + GLOVE.replace("\n", "\r\n"),
    "open_end.txt": GLOVE.rstrip("\n"),
    "blank_end.txt": GLOVE + "\n",
    # words that GloVe's 840B really has: with blanks in them, or with a character that Unicode counts as a line's end
    "odd_words.txt": GLOVE + ". . . 1 2 3\nat name@domain.com 1 2 3\nel\u0085even 1 2 3\n\u00a0 4 5 6\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_mean_of_the_words(tmp_path, name):
    texts = ["the cat sat", "cat", "cat  cat\tthe ", "the dog at"]
    rows_ND = WordVectors(written(tmp_path / name, FORMATS[name]), lowercase=False).encode(texts)
    the, cat, sat = (np.array(TABLE[word]) for word in ("the", "cat", "sat"))
    expected_ND = [(the + cat + sat) / 3, cat, (2 * cat + the) / 3, the]
    assert rows_ND.dtype == np.float32
    np.testing.assert_allclose(rows_ND, expected_ND, rtol=1e-6)


def test_an_empty_sentence_is_a_full_stop_and_unknown_words_are_zero(tmp_path):
    vectors = WordVectors(written(tmp_path / "glove.txt", GLOVE), lowercase=False)
    rows_ND = vectors.encode(["", "   ", "dogs bark", "cat"])
    np.testing.assert_allclose(rows_ND, [TABLE["."], TABLE["."], [0, 0, 0], TABLE["cat"]])


def test_lowercase_looks_words_up_in_lower_case(tmp_path):
    path = written(tmp_path / "glove.txt", GLOVE + "The 7 7 7\ncat 9 9 9\n")  # of a word given twice the first counts
    np.testing.assert_allclose(WordVectors(path, False).encode(["The CAT"]), [[7, 7, 7]])
    np.testing.assert_allclose(WordVectors(path, True).encode(["The CAT"]), [np.add(TABLE["the"], TABLE["cat"]) / 2])


def test_only_the_words_asked_for_are_kept(tmp_path):
    path = written(tmp_path / "big.txt", "".join(f"w{i} {i} {i}\n" for i in range(5000)))
    vectors = WordVectors(path, False)
    vectors.encode(["w1 w2 none"])
    assert set(vectors.known) == {"w1", "w2", "none"}
    path.unlink()  # known words need no file
    np.testing.assert_allclose(vectors.encode(["w2 w2", "w1 none"]), [[2, 2], [1, 1]])


@pytest.mark.parametrize(("name", "content", "line"), [
    ("empty.txt", "", "line 1"), ("prose.txt", "This is no table of numbers.\n", "read as word vectors"),
    ("short.txt", GLOVE + "dog 1 2\n", "line 5"),
    ("word.vec", "4 3\n" + GLOVE.replace("cat 1.0", "cat one"), "line 3"),
    ("nan.txt", GLOVE.replace("cat 1.0", "cat nan"), "line 2"),
    ("cut.vec", "9 3\n" + GLOVE, "4 words"),
    ("tabs.txt", GLOVE.replace(" ", "\t"), "line 1"), ("other.txt", "chat 1 2 3\n", "language"),
])  # fmt: skip
def test_bad_files_are_named_by_line(tmp_path, name, content, line):
    path = written(tmp_path / name, content)
    with pytest.raises(UserError, match=line) as raised:
        WordVectors(path, False).encode(["the cat sat dog"])
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("cut", [5, 40])
def test_a_damaged_gzip_file_is_named(tmp_path, cut):
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(GLOVE.encode() * 50)[:cut])
    with pytest.raises(UserError, match="damaged"):
        WordVectors(path, False).encode(["the cat"])
    path.write_bytes(GLOVE.encode())
    with pytest.raises(UserError, match="damaged"):
        WordVectors(path, False)
    path.unlink()
    with pytest.raises(MissingResource, match=path.name):
        WordVectors(path, False)
