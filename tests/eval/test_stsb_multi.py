"""STS-B in other languages, from files and from the hub's data set, and MiniLM's measured scores."""

import csv
from pathlib import Path

import numpy as np
import pytest
from toy_hub import parquet
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval import stsb_multi
from cse.eval.stsb_multi import StsbMulti
from cse.score import values


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(stsb_multi, "STSB_ROWS", {"dev": 12, "test": 9})
    rng = np.random.default_rng(0)
    for language in ("de", "zh"):
        for split, n in stsb_multi.STSB_ROWS.items():
            with open(tmp_path / f"stsb-{language}-{split}.csv", "w", newline="", encoding="utf-8") as file:
                for i in range(n):
                    shared = "猫" * i if language == "zh" else "ab" * i
                    csv.writer(file).writerow(
                        [f"{shared}, \u201equoted\u201c", f'{shared}"{rng.integers(10, 99)}', i % 11 / 2]
                    )
    return tmp_path


def test_each_language_and_split_is_scored_separately(folder, bag_of_letters):
    evaluator = ready(StsbMulti(str(folder), ["de", "zh"]))
    dev, test = values(evaluator(bag_of_letters, "dev")), values(found := evaluator(bag_of_letters, "test"))
    names = {"de/spearman", "de/pearson", "zh/spearman", "zh/pearson", "average"}
    assert set(dev) == names
    assert dev["average"] == (dev["de/spearman"] + dev["zh/spearman"]) / 2
    assert dev["de/pearson"] != test["de/pearson"]
    assert evaluator.tasks["dev"]["zh"][0].sentences[0][2] == "猫猫, \u201equoted\u201c"
    assert [one.rows for one in found] == [9, 9, 9, 9, 18]


@pytest.fixture
def hub(folder, toy_hub):
    """A hub with MTEB's copy: parquet files, one configuration per language."""
    files, parts = {}, []
    for language in ("de", "zh"):
        splits = []
        for split in ("dev", "test"):
            text = (folder / f"stsb-{language}-{split}.csv").read_text(encoding="utf-8")
            first, second, gold = zip(*csv.reader(text.splitlines()), strict=True)
            scores = [float(score) for score in gold]
            files[f"{split}/{language}.parquet"] = parquet(sentence1=first, sentence2=second, similarity_score=scores)
            splits.append(f"  - split: {split}\n    path: {split}/{language}.parquet\n")
        parts.append(f"- config_name: {language}\n  data_files:\n" + "".join(splits))
    files["README.md"] = ("---\nconfigs:\n" + "".join(parts) + "---\n").encode()
    toy_hub.add("datasets/mteb/stsb_multi_mt", files)
    return toy_hub


def test_the_hubs_rows_give_the_same_scores(folder, hub, bag_of_letters, monkeypatch):
    on_hub = ready(StsbMulti(None, ["de", "zh"]))
    local = ready(StsbMulti(str(folder), ["de", "zh"]))
    assert values(on_hub(bag_of_letters, "dev")) == values(local(bag_of_letters, "dev"))
    assert any(str(stsb_multi.ABOUT.revision) in line for line in hub.requests)
    about = on_hub.source()
    assert "mteb/stsb_multi_mt@" in about["place"]
    assert set(about["files"]) == {"de-dev", "de-test", "zh-dev", "zh-test"}
    assert len({entry["sha256"] for entry in about["files"].values()}) == 4

    monkeypatch.setitem(stsb_multi.STSB_ROWS, "dev", 7)
    with pytest.raises(UserError, match=r"stsb_multi_mt.*de-dev .*7"):
        StsbMulti(None, ["de"]).prepare()
    partial = ready(StsbMulti(None, ["de"], allow_partial=True))
    assert partial.source()["problems"]


def test_missing_and_damaged_files_are_named(folder, bag_of_letters):
    with pytest.raises(MissingResource, match=r"stsb-fr-dev\.csv.*stsb_multi"):
        StsbMulti(str(folder), ["fr"]).prepare()
    scores = values(ready(StsbMulti(str(folder), ["de", "fr"], allow_partial=True))(bag_of_letters, "dev"))
    assert set(scores) == {"de/spearman", "de/pearson"}
    path = folder / "stsb-de-test.csv"
    whole = path.read_text()
    for damaged in (whole.split("\n", 1)[1], whole.replace(",0.5", ",half", 1), whole.replace(",0.0", "", 1)):
        path.write_text(damaged)
        with pytest.raises(UserError, match=r"stsb-de-test\.csv"):
            StsbMulti(str(folder), ["de"]).prepare()


@pytest.mark.parametrize("allow_partial", [False, True])
def test_without_hub_or_folder_the_error_names_the_data(allow_partial):
    with pytest.raises(MissingResource, match=r"stsb_multi, de dev"):
        StsbMulti(None, ["de"], allow_partial=allow_partial).prepare()


MINILM = {  # all-MiniLM-L6-v2, dev
    "mean": {"de": 70.2975, "fr": 72.0750, "ru": 61.9994, "zh": 48.7408},
    "cls": {"de": 70.7456, "zh": 53.4911},
}


@pytest.mark.nightly
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_minilm_scores_as_measured(shared, minilm_encode, pooling):
    evaluator = ready(StsbMulti(str(shared / "data" / "stsb_multi_mt"), list(MINILM[pooling])))
    scores = values(evaluator(minilm_encode(pooling), "dev"))
    for language, expected in MINILM[pooling].items():
        # texts of unknown words have the same ids: rounding orders their cosines of 1
        assert scores[f"{language}/spearman"] == pytest.approx(expected, abs=0.01), language
