"""Templates and denoising: in chunks, on two processes, resumed, scored, and loaded by sentence-transformers."""

import numpy as np
import pytest
from killed import assert_same_run, train_to
from run_folders import logged_of, results_of
from typed import exit_code

from cse.model.load import load_encoder

PROMPT = [
    "model.pooling=mask", "model.template='kadan, [X] lofel [MASK].'", "model.denoise=paper",
    "model.second_template='migor [X] nuler [MASK].'", "trainer.lr=1e-3",
]  # fmt: skip
STILL = ["augmentation=shuffle", "augmentation.model_dropout=0.0"]  # dropout differs between processes


def test_a_run_is_resumed_scored_and_loaded_by_others(small_run, cse_train, tmp_path, senteval):
    from sentence_transformers import SentenceTransformer

    straight = train_to(cse_train, [*small_run, *PROMPT], tmp_path / "run", 6)
    assert_same_run(straight, train_to(cse_train, [*small_run, *PROMPT], tmp_path / "paused", 4, 6))
    texts = ["kadan lofel migor", "permon"]
    ours = load_encoder(str(tmp_path / "run/best"), None).encode(texts)
    np.testing.assert_allclose(SentenceTransformer(f"{tmp_path}/run/best", device="cpu").encode(texts), ours, atol=1e-5)
    scored = ["eval=stsb", f"paths.senteval={senteval}", "allow_partial=true", "tracker=none"]
    assert exit_code("cse-eval", f"checkpoint={tmp_path}/run", *scored, f"hydra.run.dir={tmp_path}/scores") == 0
    results = [results_of(tmp_path / name)["metrics"] for name in ("run", "scores")]
    assert results[1]["test/stsb/spearman"] == pytest.approx(results[0]["test/stsb/spearman"], abs=1e-3)


@pytest.mark.parametrize("more", ["trainer.chunk=3", pytest.param("trainer.devices=2", marks=pytest.mark.nightly)])
def test_chunks_and_two_processes_are_the_whole_batch(small_run, cse_train, tmp_path, more):
    for folder, words in (("whole", []), ("parts", [more])):
        assert cse_train([*small_run, *PROMPT, *STILL, *words, f"hydra.run.dir={tmp_path}/{folder}"]) == 0
    np.testing.assert_allclose(logged_of(tmp_path / "parts"), logged_of(tmp_path / "whole"), rtol=1e-4)
