"""results.json as its schema has it: a reader finds every key of the file there."""

import pytest
from pydantic import TypeAdapter
from run_folders import results_of
from typed import exit_code

from cse.data.overlap import Overlap
from cse.eval.items import KeptItems
from cse.lab.folder import contents
from cse.lab.folder.contents import Results


@pytest.fixture
def schema(monkeypatch):
    """Results with its types; two of them are of modules that import torch."""
    monkeypatch.setattr(contents, "Overlap", Overlap, raising=False)
    monkeypatch.setattr(contents, "KeptItems", KeptItems, raising=False)
    return TypeAdapter(Results)


def test_the_schema_has_every_key_that_runs_write(small_run, cse_train, images, schema, tmp_path):
    assert cse_train([*small_run, *images]) == 0
    words = [f"checkpoint={tmp_path}/run", "eval=stsb", "allow_partial=true", *small_run[7:8], "tracker=none"]
    assert exit_code("cse-eval", *words, f"hydra.run.dir={tmp_path}/scored") == 0
    for folder in (tmp_path / "run", tmp_path / "scored"):
        results = results_of(folder)
        assert results.keys() <= Results.__annotations__.keys()
        schema.validate_python(results, strict=True)
    learned = results_of(tmp_path / "run")["training_data"]
    assert learned.keys() == contents.TrainingData.__annotations__.keys() - {"sources"}  # of a mixture
    assert learned["aux_modality"].keys() == contents.TrainedModality.__annotations__.keys()
