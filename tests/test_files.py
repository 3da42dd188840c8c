import json
import os

import numpy as np
import pytest
import torch

from cse.errors import RunError
from cse.files import write_json, write_text


def test_json_comes_back(tmp_path):
    path = tmp_path / "deep" / "results.json"
    write_json(path, {"a": 1, 2: (True, None), "np": np.float32(0.5), "t": torch.arange(2), "p": tmp_path, "é": "ü"})
    assert json.loads(path.read_text()) == {
        "a": 1, "2": [True, None], "np": 0.5, "t": [0, 1], "p": str(tmp_path), "é": "ü",
    }  # fmt: skip


def test_nan_and_infinity_become_null(tmp_path):
    write_json(tmp_path / "r.json", {"loss": float("nan"), "max": np.inf, "t": torch.tensor(float("-inf"))})
    assert json.loads((tmp_path / "r.json").read_text()) == {"loss": None, "max": None, "t": None}


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path):
    write_json(tmp_path / "r.json", {"a": 1})
    with pytest.raises(TypeError, match="object"):
        write_json(tmp_path / "r.json", {"a": object()})
    assert json.loads((tmp_path / "r.json").read_text()) == {"a": 1}


def test_a_write_that_dies_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    write_text(tmp_path / "r.json", "old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"r\.json: No space left on device"):
        write_text(tmp_path / "r.json", "new")
    assert (tmp_path / "r.json").read_text() == "old"
    assert os.listdir(tmp_path) == ["r.json"]
