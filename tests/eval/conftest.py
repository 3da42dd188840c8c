"""Encoders for the evaluators (the real all-MiniLM-L6-v2 for published figures, a toy for the rest) and toy data."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml
from toys import composed

from cse.eval.senteval import data
from cse.lab.settings.groups import choices, file_of
from cse.sources.synthetic import PAIRS, write_senteval

Encode = Callable[[list[str]], np.ndarray]


@pytest.fixture(scope="session")
def minilm_encode(minilm) -> Callable[[str], Encode]:
    """pooling -> encode; one model for the session, each text is embedded once per pooling."""
    from cse.model.load import load_encoder

    encoder = load_encoder(minilm, pooling="mean")
    encoder.unit_length = False
    tables: dict[str, dict[str, np.ndarray]] = {"mean": {}, "cls": {}}

    def bind(pooling: str) -> Encode:
        table = tables[pooling]

        def encode(texts: list[str]) -> np.ndarray:
            encoder.pooling = pooling
            new = [text for text in dict.fromkeys(texts) if text not in table]
            if new:
                table.update(zip(new, encoder.encode(new), strict=True))
            return np.stack([table[text] for text in texts])

        return encode

    return bind


@pytest.fixture(scope="session")
def evaluators() -> list[type]:
    """The classes of conf/eval."""
    targets = [yaml.safe_load(file_of("eval", name).read_text())["_target_"] for name in choices("eval")]
    return [getattr(import_module(module), cls) for module, _, cls in (target.rpartition(".") for target in targets)]


@pytest.fixture(autouse=True)
def _every_score_says_what_it_is(monkeypatch, evaluators):
    """Checks in every test that all scores of conf/eval's evaluators have a name of their own, a unit and rows.

    The name is among the names that are known before scoring.
    """
    for found in evaluators:

        def checked(self, encode, split, score=found.__call__):
            scores = score(self, encode, split)
            assert len({one.name for one in scores}) == len(scores)
            assert all(one.unit for one in scores)
            assert {one.name for one in scores} <= {*self.score_names(split)} or not self.score_names(split)
            return scores

        monkeypatch.setattr(found, "__call__", checked)


@pytest.fixture
def bag_of_letters() -> Encode:
    """A deterministic toy encoder: counts of letters, so that similar strings lie close."""

    def encode(texts: list[str]) -> np.ndarray:
        counts = [[text.lower().count(chr(97 + i)) + 0.01 * len(text) for i in range(26)] for text in texts]
        return np.array(counts, np.float32)

    return encode


@pytest.fixture(scope="session")
def transfer_settings() -> dict:
    """`classifiers` and `regression` as conf/eval/transfer.yaml builds them."""
    from hydra.utils import instantiate

    built = instantiate(composed("eval=transfer").eval.transfer, _target_="builtins.dict")
    return {name: built[name] for name in ("classifiers", "regression")}


@pytest.fixture
def toy_senteval(tmp_path, monkeypatch) -> Path:
    """The made-up STS12..16, STS-B and SICK-R of smoke=true, with the official counts changed to match."""
    write_senteval(tmp_path)
    monkeypatch.setattr(data, "SUBSETS", {year: dict.fromkeys(sets, PAIRS) for year, sets in data.SUBSETS.items()})
    for task in ("STS-B", "SICK-R"):
        files = {split: (name, PAIRS) for split, (name, _) in data.TABLES[task].files.items()}
        monkeypatch.setitem(data.TABLES, task, replace(data.TABLES[task], files=files))
    return tmp_path
