"""Probing: SentEval's file format, its scheme, the average of ten, and damaged files."""

from pathlib import Path

import numpy as np
import pytest
from eval.senteval import one_fit
from eval.senteval.one_fit import FAST, GRID, classifier
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval import probing
from cse.eval.files import DataFolder
from cse.eval.probing import FILES, Probing, read_probing
from cse.score import values


@pytest.fixture
def senteval(tmp_path, monkeypatch) -> Path:
    """downstream/ and, beside it, probing/ with ten toy files; the label is whether words have two a's or two b's."""
    monkeypatch.setattr(probing, "ROWS", {"train": 60, "dev": 20, "test": 20})
    rng = np.random.default_rng(0)
    (tmp_path / "downstream").mkdir()
    (tmp_path / "probing").mkdir()
    for stem in FILES.values():
        lines = []
        for part, n in (("va", 20), ("tr", 60), ("te", 20)):
            for label in ["PRES", "PAST"] * (n // 2):
                text = " ".join(
                    ("aab" if label == "PAST" else "abb") * rng.integers(1, 3) for _ in range(rng.integers(2, 6))
                )
                extra = "\tthing" if stem == "word_content" else ""
                lines.append(f"{part}\t{label}{extra}\t{text} .")
        (tmp_path / "probing" / f"{stem}.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "downstream"


def evaluator(senteval: Path | None, tasks=tuple(FILES), **options) -> Probing:
    classifiers = {"fast": {"kfold": 5, "fit": classifier(**FAST), "snli": {}}}
    return Probing(None if senteval is None else str(senteval), None, list(tasks), "fast", classifiers, **options)


def test_a_task_scores_as_with_one_fit_after_the_other(senteval, bag_of_letters):
    suite = ready(evaluator(senteval))
    found = suite(bag_of_letters, "test")
    scores = values(found)
    parts = read_probing(DataFolder(str(senteval.parent / "probing"), "key", "what"), "Depth")
    x = {part: bag_of_letters(examples.sentences[0]) for part, examples in parts.items()}
    y = {part: examples.labels_N for part, examples in parts.items()}
    expected = one_fit.split(x, y, GRID, **FAST)
    assert (scores["Depth/dev_accuracy"], scores["Depth/accuracy"]) == expected
    assert scores["average"] == np.mean([scores[f"{task}/accuracy"] for task in FILES])
    assert scores["dev_average"] == np.mean([scores[f"{task}/dev_accuracy"] for task in FILES])
    assert {one.rows for one in found if one.name.startswith("Tense/")} == {20}


def test_labels_are_numbered_by_name_and_the_sentence_is_the_last_field(senteval):
    train = read_probing(DataFolder(str(senteval.parent / "probing"), "key", "what"), "WordContent")["train"]
    rows = list(zip(train.sentences[0], train.labels_N, strict=True))
    assert all("thing" not in text and (label == 0) == text.startswith("aab") for text, label in rows)
    assert rows == sorted(rows, key=lambda row: (len(row[0].split()), row[1]))


def test_missing_and_damaged_files_are_named(senteval):
    path = senteval.parent / "probing" / "tree_depth.txt"
    whole = path.read_text()
    for old, new in (("tr\t", "xx\t"), ("te\tPAST", "te\tFUTURE"), ("te\tPAST\t", "te\tPAST "), ("va\t", "tr\t")):
        path.write_text(whole.replace(old, new, 1))
        with pytest.raises(UserError, match=r"tree_depth\.txt"):
            evaluator(senteval, ["Depth"]).prepare()
    with pytest.raises(MissingResource, match=r"folder"):
        evaluator(None).prepare()
    path.unlink()
    with pytest.raises(MissingResource, match=r"tree_depth\.txt .*folder"):
        evaluator(senteval, ["Depth"]).prepare()
