"""A teacher's vectors: its own encoder makes them once, and anew for another text or other weights."""

import logging
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoders import change_one_weight
from toys import composed

from cse.errors import UserError
from cse.lab.run.instantiate import make
from cse.model.load import load_encoder
from cse.objective.rankcse import Rankcse
from cse.training.teacher import Teachers, identity_of, teacher_table


@pytest.fixture
def teacher(tiny_bert, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "teacher"))


@pytest.fixture
def taught(teacher, triplets, tmp_path):
    def build(*more, second=None, dry=False):
        words = [f"data.path={triplets}", "data.columns=[sent0,sent1]", f"paths.cache={tmp_path}/cache", *more]
        text = make(composed("data=text", *words).data).read()
        objective = Rankcse(8, str(teacher), second, 0.25, "mean", "listmle", 1, 1, 1, 1, 1, torch.nn.Identity)
        return Teachers(objective, text, torch.device("cpu"), dry), text

    return build


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_vectors_are_the_teachers_by_row_and_column(taught, teacher):
    found, text = taught("data.limit=20", "data.limit_seed=1")
    rows, columns = np.array([3, 3, 19, 0]), np.array([0, 1, 1, 0])
    texts = [text.text(row, column) for row, column in zip(rows, columns, strict=True)]
    expected = unit(load_encoder(str(teacher), "mean").encode(texts))
    np.testing.assert_allclose(found(rows, columns), expected, rtol=1e-4, atol=1e-5)


def test_a_product_is_the_weighted_mean_of_two_teachers_cosines(taught, tiny):
    both, text = taught(second=tiny("bert", hidden_size=64))
    first, second = taught()[0], load_encoder(tiny("bert", hidden_size=64), "mean")
    rows, column = np.arange(6), np.zeros(6, int)
    one, two = first(rows, column), unit(second.encode([text.text(row) for row in rows]))
    expected = 0.25 * one @ one.T + 0.75 * two @ two.T
    np.testing.assert_allclose(both(rows, column) @ both(rows, column).T, expected, rtol=1e-4, atol=1e-5)


def test_scores_on_a_teachers_card_make_no_other_teacher(teacher):
    before = identity_of(str(teacher), "mean")
    (teacher / "README.md").write_text("| test/sts/average | 76.25 |")
    (teacher / "mteb").mkdir()
    (teacher / "mteb" / "STS12.json").write_text("{}")
    assert identity_of(str(teacher), "mean") == before
    change_one_weight(teacher)
    assert identity_of(str(teacher), "mean") != before


def test_vectors_are_made_once_and_again_for_other_text_or_weights(taught, teacher, caplog):
    caplog.set_level(logging.INFO)

    def made(*more, **options) -> int:
        caplog.clear()
        taught(*more, **options)
        return sum("keeps the vectors" in message for message in caplog.messages)

    assert made(dry=True) == 0
    assert [made(), made(), made("data.limit=30"), made("data.columns=[sent1,hard_neg]"), made()] == [1, 0, 1, 1, 0]
    before = taught()[0].inputs()
    change_one_weight(teacher)
    assert made() == 1
    after = taught()[0].inputs()
    assert before.keys() == after.keys() == {f"the checkpoint objective.teacher={teacher}"}
    assert before != after


def test_two_starts_at_the_same_time_make_one_table(taught, teacher, monkeypatch, caplog):
    _, text = taught(dry=True)
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("cse.training.teacher.load_encoder", lambda *words: time.sleep(0.5) or load_encoder(*words))
    about = {"pooling": "mean", "device": torch.device("cpu"), "dry": False}
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(
            lambda _: teacher_table(str(teacher), identity_of(str(teacher), "mean"), text, **about), range(2)
        )
    assert sum("keeps the vectors" in message for message in caplog.messages) == 1
    np.testing.assert_array_equal(one, other)


def test_a_run_is_resumed_with_the_same_teacher_only(small_run, cse_train, teacher, triplets, tmp_path, capsys):
    words = [word for word in small_run if not word.startswith(("data", "trainer.max_steps"))]
    words += ["objective=gist", "data=text", f"data.path={triplets}", "data.columns=[sent0,sent1,hard_neg]",
              f"objective.teacher={teacher}", "trainer.max_length=32"]  # fmt: skip
    assert cse_train([*words, "trainer.max_steps=2"]) == 2
    assert "objective.teacher_pooling=" in capsys.readouterr().err
    words.append("objective.teacher_pooling=mean")
    assert cse_train([*words, "data.preview=2"]) == 0
    assert not (tmp_path / "cache" / "teachers").exists()
    assert cse_train([*words, "trainer.max_steps=2"]) == 0
    change_one_weight(teacher)
    capsys.readouterr()
    assert cse_train([f"resume={tmp_path}/run", "trainer.max_steps=4"]) == 2
    assert f"the checkpoint objective.teacher={teacher}" in capsys.readouterr().err
    assert cse_train([*words, "objective.teacher=/no/where", f"hydra.run.dir={tmp_path}/other"]) == 2
    assert "objective.teacher=/no/where" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_teacher_that_changes_while_it_reads_leaves_no_vectors(taught, teacher, tmp_path, monkeypatch):
    """As best/ of a run that is training does: the vectors would be cached under the digest of the old weights."""
    load = load_encoder

    def changed(*words):
        change_one_weight(teacher)
        return load(*words)

    monkeypatch.setattr("cse.training.teacher.load_encoder", changed)
    with pytest.raises(UserError, match=r"^teacher=.* changed while"):
        taught()
    assert not [
        file for file in (tmp_path / "cache" / "teachers").rglob("*") if file.is_file() and file.suffix != ".lock"
    ]
