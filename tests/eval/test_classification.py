"""Labelled texts of the user's own: what the classifier learns, how dev is made, what is refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from run_folders import results_of
from sklearn.metrics import accuracy_score, f1_score
from toys import composed, ready

from cse.errors import MissingResource, UserError
from cse.eval.classification import Classification
from cse.lab.report.numbers.resampling import score_on
from cse.lab.run.instantiate import make
from cse.score import values

WORDS = {"pets": ["dog", "cat", "hamster"], "sea": ["boat", "wave", "shell"], "sky": ["bird", "cloud", "moon"]}


@pytest.fixture
def folder(tmp_path) -> Path:
    """train, dev and test: texts of words of one of three classes; in test a few have the label of another."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 120), ("dev", 40), ("test", 60)):
        with open(tmp_path / f"{name}.csv", "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(["id", "text", "label"])
            for number in range(rows):
                label = ["pets", "pets", "sea", "sky"][number % 4]
                text = f"{rng.choice(WORDS[label])} {number} {rng.choice(WORDS[label])}"
                writer.writerow([number, text, "sky" if name == "test" and number % 11 == 0 else label])
    return tmp_path


def classification(folder: Path, **changes: object) -> Classification:
    files = {name: f"{folder}/{name}.csv" for name in ("train", "dev", "test")}
    node = composed("eval=classification").eval.classification.copy()
    node.update({**files, "mode": "fast", **changes})
    return make(node)


def test_na_is_a_label_but_no_text(folder):
    train = folder / "train.csv"
    train.write_text(train.read_text().replace(",sky", ",NA"))
    for name in ("dev", "test"):
        (folder / f"{name}.csv").write_text("id,text,label\n1,a dog,pets\n2,a cloud,NA\n")
    assert [*ready(classification(folder)).parts["test"].labels_N] == [1, 0]
    (folder / "dev.csv").write_text("id,text,label\n1,NA,pets\n")
    with pytest.raises(UserError, match=r"row 1, where text "):
        ready(classification(folder))


def test_the_scores_are_those_of_the_predictions(folder, bag_of_letters):
    evaluator = ready(classification(folder))
    assert (evaluator.splits, evaluator.primary) == (("dev", "test"), "accuracy")
    for split, rows in (("dev", 40), ("test", 60)):
        scores = evaluator(bag_of_letters, split)
        gold, predicted = scores[0].items.gold_N, scores[0].items.values_N
        expected = accuracy_score(gold, predicted), f1_score(gold, predicted, average="macro")
        assert values(scores) == pytest.approx({"accuracy": 100 * expected[0], "macro_f1": 100 * expected[1]})
        assert {score.rows for score in scores} == {rows}
        assert 80 < scores[0].value <= 100
        rng = np.random.default_rng(0)
        for score in scores:
            for drawn in (np.arange(rows), rng.integers(0, rows, rows), np.array([1, 1])):
                whole = {"accuracy": accuracy_score(gold[drawn], predicted[drawn]),
                         "macro_f1": f1_score(gold[drawn], predicted[drawn], average="macro")}  # fmt: skip
                assert score_on(score.items, drawn) == pytest.approx(100 * whole[score.name])
    assert values(evaluator(bag_of_letters, "test")) == values(scores)
    assert len(list(evaluator.texts())) == 220


def test_without_a_file_dev_is_a_tenth_of_train(folder, bag_of_letters, caplog):
    caplog.set_level("INFO")
    evaluator = ready(classification(folder, dev=None, test=None))
    assert evaluator.splits == ("dev",)
    assert "dev: 12 of the 120 training texts" in caplog.text
    assert [len(evaluator.parts[part]) for part in ("train", "dev")] == [108, 12]
    assert not {*evaluator.parts["train"].texts()} & {*evaluator.parts["dev"].texts()}
    assert "random tenth" in evaluator.source()["protocol"]
    again = ready(classification(folder, dev=None))
    assert again.parts["dev"].texts() == evaluator.parts["dev"].texts()
    assert evaluator(bag_of_letters, "dev")[0].rows == 12


@pytest.mark.parametrize(("changes", "said"), [
    ({"train": None}, "train"), ({"columns": ["text", "class"]}, r"columns=class: .*no column class"),
    ({"columns": ["id", "text"]}, "the label .* is not in"),
])  # fmt: skip
def test_files_that_do_not_fit_are_named(folder, changes, said):
    with pytest.raises(UserError, match=said):
        ready(classification(folder, **changes))


@pytest.mark.parametrize(("text", "said"), [
    ("text,label\nx,a\ny,a\n", "all 2 rows have the label a"), ("text,label\nx,a\ny,\n", "1 of 2 rows .*first: row 2"),
])  # fmt: skip
def test_a_file_without_two_classes_or_with_an_empty_cell_is_refused(folder, text, said):
    (folder / "train.csv").write_text(text)
    with pytest.raises(UserError, match=said):
        ready(classification(folder))


def test_a_missing_file_is_named_with_its_key(folder):
    with pytest.raises(MissingResource, match=r"test=.*none\.csv"):
        ready(classification(folder, test=f"{folder}/none.csv"))


def test_a_run_is_selected_by_it(small_run, cse_train, folder, tmp_path):
    words = ["eval=classification", f"eval.train={folder}/train.csv", f"eval.test={folder}/test.csv", "eval.mode=fast"]
    assert cse_train([*small_run, *words, "trainer.select=classification"]) == 0
    results = results_of(tmp_path / "run")
    assert results["config"]["trainer"]["select"] == "dev/classification/accuracy"
    assert "test/classification/macro_f1" in (tmp_path / "run/best/README.md").read_text()
    assert results["overlap"]["sets"].keys() == {"classification"}
