"""cse-data mine: the negatives that sentence-transformers finds, with each setting; a table to train on; refusals."""

import csv
from pathlib import Path

import numpy as np
import pytest
from run_folders import results_of
from typed import exit_code

from cse.lab.commands.mine import DEFAULTS, Candidates
from cse.sources.encoder import local_folder

WORDS = ["kadan", "lofel", "migor", "nuler", "permon", "stazu"]


@pytest.fixture
def pairs(tmp_path) -> Path:
    """60 pairs; some queries and some answers occur several times."""
    rng = np.random.default_rng(0)
    rows = [(" ".join(rng.choice(WORDS, 2)), " ".join(rng.choice(WORDS, 3))) for _ in range(60)]
    with open(tmp_path / "pairs.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("q", "a"), *rows])
    return tmp_path / "pairs.csv"


def rows_of(file: Path) -> list[list[str]]:
    with open(file, newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines))


@pytest.mark.parametrize("settings", [
    {}, {"num_negatives": 5, "range_min": 2}, {"relative_margin": 0.05}, {"absolute_margin": 0.1, "range_max": 20},
    {"max_score": 0.6, "min_score": 0.1}, {"relative_margin": 0.2, "num_negatives": 1, "range_min": 1, "range_max": 9},
], ids=str)  # fmt: skip
def test_the_negatives_are_those_of_sentence_transformers(pairs, minilm, tmp_path, settings):
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import mine_hard_negatives

    typed = [f"{name}={value}" for name, value in settings.items()]
    out = tmp_path / "mined.csv"
    words = [f"data.path={pairs}", "data.columns=[q,a]", f"model.name={minilm}", "model=minilm", f"out={out}", *typed]
    assert exit_code("cse-data", "mine", *words, f"paths.cache={tmp_path}/cache") == 0
    header, *mined = rows_of(out)
    assert header[:3] == ["q", "a", "negative_1"]
    assert [row[:2] for row in mined] == rows_of(pairs)[1:]
    _, *rows = rows_of(pairs)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("q", "a"))}
    theirs = mine_hard_negatives(
        Dataset.from_dict(columns), SentenceTransformer(local_folder(minilm), device="cpu"), verbose=False, **settings
    )
    expected: dict[tuple[str, str], list[str]] = {}
    for row in theirs:
        expected.setdefault((row["q"], row["a"]), []).append(row["negative"])
    assert {(row[0], row[1]): [cell for cell in row[2:] if cell] for row in mined if row[2]} == expected
    assert expected


def test_drawn_negatives_are_candidates_and_depend_on_the_seed_alone():
    pairs = [(f"q{i}", f"d{i}") for i in range(40)]
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((2, 40, 8)).astype(np.float32)
    options = {"num_negatives": 3, "sampling_strategy": "random", "range_min": 2, "range_max": 12}

    def drawn(seed: int, **more) -> dict[str, list[str]]:
        return Candidates(pairs, {**DEFAULTS, **options, **more}, seed).negatives(*vectors)

    every = drawn(1, num_negatives=10)
    once = drawn(1)
    assert once == drawn(1) != drawn(2)
    for query, negatives in once.items():
        assert negatives == [one for one in every[query] if one in negatives]
        assert len(negatives) == 3
        assert query.replace("q", "d") not in every[query]


def test_a_run_trains_on_the_table(pairs, small_run, cse_train, tiny_bert, tmp_path):
    words = [f"data.path={pairs}", "data.columns=[q,a]", f"model.name={tiny_bert}", "model.pooling=mean"]
    mined = tmp_path / "mined.csv"
    wanted = [f"out={mined}", "num_negatives=2", "max_score=0.9"]
    assert exit_code("cse-data", "mine", *words, *wanted, f"paths.cache={tmp_path}/cache") == 0
    columns = "data.columns=[q,a,negative_1,negative_2]"
    assert cse_train([*small_run, "objective=simcse_sup", f"data.path={mined}", columns]) == 0
    assert results_of(tmp_path / "run")["status"] == "done"


@pytest.mark.parametrize(("words", "said"), [
    (["out=x.txt"], "out=x.txt"), ([], "out="), (["out=x.csv", "num_negatives=0"], "num_negatives"),
    (["out=x.csv", "range_max=2"], "range_max=2"), (["out=x.csv", "sampling_strategy=best"], "sampling_strategy"),
    (["out=x.csv", "data.columns=[q]"], "two columns"), (["out=x.csv", "rnage_max=2"], "rnage_max"),
    (["out=pairs.csv"], "out=pairs.csv: this file exists"),
])  # fmt: skip
def test_a_mistake_is_refused_before_any_work(pairs, tiny_bert, tmp_path, monkeypatch, capfd, words, said):
    monkeypatch.chdir(tmp_path)
    before = pairs.read_bytes()
    common = [f"data.path={pairs}", "data.columns=[q,a]", f"model.name={tiny_bert}", "model.pooling=mean"]
    if any(word.startswith("data.columns") for word in words):
        del common[1]
    assert exit_code("cse-data", "mine", *common, *words, f"paths.cache={tmp_path}/cache") == 2
    assert said in capfd.readouterr().err
    assert not list(tmp_path.glob("x*"))
    assert pairs.read_bytes() == before
