"""A table of runs: every architecture with every kind of training, resumed, chunked and exported."""

from itertools import product

import numpy as np
import pytest
import torch
from killed import assert_same_tensors, train_to
from run_folders import results_of
from safetensors.torch import load_file
from tiny_encoders import ARCHITECTURES, BIDIRECTIONAL, DECODERS

TEXTS = ["kadan lofel", "perzu stamon triler nudan kafel"]
RUNS = {
    "simcse": ["augmentation.p=0.1"],
    "barlow, shuffle": [
        "objective=barlow",
        "augmentation=shuffle",
        "objective.head.hidden=64",
        "objective.head.out=64",
    ],
    "whitenedcse": ["objective=whitenedcse", "objective.whitening.num_groups=16", "augmentation.p=0.1"],
    "declutr, MLM": ["objective=declutr", "augmentation.min_length=4", "augmentation.max_length=8"],
    "chunked": ["augmentation.p=0.1", "trainer.chunk=3"],
    "LoRA": ["augmentation.p=0.0", "model.lora={r:4,alpha:8,dropout:0.2}"],
}
BESIDE_IMAGES = {"beside images": ["augmentation.p=0.1"]}  # ALBERT's layers take no images
BOTH_WAYS = {
    f"both ways, {pooling}": ["augmentation.p=0.1", "model.bidirectional=true", f"model.pooling={pooling}"]
    for pooling in ("mean", "cls")
}
EVERY_DAY = [("modernbert", "whitenedcse"), ("qwen3", "LoRA"), ("llama", "declutr, MLM")]
CASES = [
    pytest.param(*case, marks=[] if case in EVERY_DAY else pytest.mark.nightly)
    for case in [
        *product(ARCHITECTURES, RUNS),
        *product(DECODERS, BOTH_WAYS),
        *product(sorted({*ARCHITECTURES} - {"albert"}), BESIDE_IMAGES),
    ]
]


def arguments(small_run: list[str], folder: str, kind: str) -> list[str]:
    """A run of one architecture."""
    pooling = "cls" if kind in BIDIRECTIONAL else "last"
    return [*small_run, f"model.name={folder}", f"model.pooling={pooling}", "trainer.lr=1e-3", "trainer.max_length=32"]


@pytest.mark.parametrize(("kind", "run"), CASES)
def test_every_architecture_trains_and_exports(request, tiny, small_run, cse_train, documents, tmp_path, kind, run):
    """With plain SimCSE and with LoRA, also: a stop after two of four steps changes nothing."""
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    from cse.model.load import load_encoder

    more = (RUNS | BOTH_WAYS | BESIDE_IMAGES)[run]
    if run == "beside images":
        more = [*more, *request.getfixturevalue("images")]
    if run == "declutr, MLM":
        more = [*more, f"data.path={documents}", *([] if kind in BIDIRECTIONAL else ["objective.mlm_weight=0"])]
    if run == "LoRA":
        pytest.importorskip("peft", reason="needs peft (pip install -e '.[lora]')")
    line = [*arguments(small_run, tiny(kind), kind), *more]
    paused = train_to(cse_train, line, tmp_path / "paused", 2)
    best = paused / "best"
    before, after = load_encoder(tiny(kind), "mean").backbone, load_encoder(str(best), None)
    pairs = zip(before.parameters(), after.backbone.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)
    vectors = SentenceTransformer(str(best), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors, after.encode(TEXTS), atol=1e-5)
    AutoModel.from_pretrained(best)
    if run == "LoRA":
        names = load_file(paused / "last" / "state.safetensors").keys()
        weights = [name for name in names if name.startswith("encoder/")]
        assert weights
        assert all("lora_" in name for name in weights)
        assert (best / "adapter" / "adapter_model.safetensors").is_file()
    if run in ("simcse", "LoRA"):
        check_resume(cse_train, line, tmp_path)


@pytest.mark.nightly
def test_an_untied_language_model_head_resumes_where_it_stopped(tiny_bert, small_run, cse_train, tmp_path):
    more = ["augmentation.p=0.1", "objective.mlm_weight=0.1", "model.lm_head=copy"]
    check_resume(cse_train, [*arguments(small_run, tiny_bert, "bert"), *more], tmp_path)
    state = load_file(tmp_path / "straight" / "last" / "state.safetensors")
    words = state["encoder/backbone.embeddings.word_embeddings.weight"]
    (decoder,) = (w for name, w in state.items() if "mlm_head" in name and w.shape == words.shape)
    assert not torch.equal(decoder, words)


def check_resume(cse_train, line, tmp_path):
    """Four steps at once and two and two end with the same bits."""
    straight = train_to(cse_train, line, tmp_path / "straight", 4)
    paused = train_to(cse_train, line, tmp_path / "paused", 2, 4)
    assert_same_tensors(straight, paused)
    results = [results_of(out)["metrics"] for out in (straight, paused)]
    assert results[0] == results[1]


@pytest.mark.parametrize(("kind", "more", "named"), [
    ("bert", ["model.lm_head=copy"], "objective.mlm_weight"), ("albert", "images", "model.name"),
])  # fmt: skip
def test_what_an_architecture_cannot_take_is_refused(
    request, tiny, small_run, cse_train, tmp_path, capsys, kind, more, named
):
    more = request.getfixturevalue(more) if isinstance(more, str) else more
    assert cse_train([*arguments(small_run, tiny(kind), kind), *more]) == 2
    assert named in capsys.readouterr().err
