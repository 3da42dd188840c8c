"""Every architecture: loading, dropout, export, and what decoders need besides."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny_encoders import ARCHITECTURES, BIDIRECTIONAL, DECODERS, exported, tokens_of

from cse.errors import UserError
from cse.model.export import save_encoder
from cse.model.load import load_encoder

TEXTS = ["kadan lofel", "migor", "perzu stamon triler nudan kafel", "kadan"]


def pooling_for(kind: str) -> str:
    return "last" if kind in DECODERS else "cls"


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_dropout_is_set_for_training_and_exported_as_it_was(tiny, tmp_path, kind):
    """Two passes in training are equal without dropout and differ with it; best/ has the checkpoint's own."""
    folder = tiny(kind)
    passes = {}
    for p in (0.0, 0.3):
        encoder = load_encoder(folder, pooling_for(kind), dropout=p)
        tokens = tokens_of(encoder, TEXTS)
        assert encoder.dropout == p
        passes[p] = torch.equal(encoder(tokens).pooled_BD, encoder(tokens).pooled_BD)
    assert passes == {0.0: True, 0.3: False}
    save_encoder(encoder, tmp_path / "best")
    own = load_encoder(folder, pooling_for(kind)).own_dropout
    config = json.loads((tmp_path / "best" / "config.json").read_text())
    assert {name: config[name] for name in own} == own
    assert own


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_three_libraries_give_the_same_vectors(tiny, tmp_path, kind):
    from transformers import AutoModel

    encoder = load_encoder(tiny(kind), pooling_for(kind), num_layers=1)
    expected = exported(encoder, tmp_path / "best", TEXTS)
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        model = AutoModel.from_pretrained(tmp_path / "best").eval()
        output = model(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT)
    if kind in BIDIRECTIONAL:
        np.testing.assert_allclose(output.last_hidden_state[:, 0].numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", BIDIRECTIONAL)
def test_the_language_model_head_gives_the_librarys_logits(tiny, kind):
    """Logits of backbone and head against the logits of AutoModelForMaskedLM."""
    from transformers import AutoModelForMaskedLM

    encoder = load_encoder(tiny(kind), "mean", mlm=True).eval()
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        whole = AutoModelForMaskedLM.from_pretrained(tiny(kind)).eval()
        expected = whole(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).logits
        hidden_BTD = encoder.backbone(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).last_hidden_state
        logits = encoder.mlm_head(hidden_BTD)
    real = tokens.mask_BT.bool()
    torch.testing.assert_close(logits[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_images_and_sound_enter_the_layers(tiny, kind):
    """The gradient reaches the layers and not the word embeddings; ALBERT's embeddings are narrower than its layers."""
    encoder = load_encoder(tiny(kind), pooling_for(kind))
    assert encoder.takes_embeddings == (kind != "albert")
    if not encoder.takes_embeddings:
        return
    x_BTD = torch.randn(3, 7, encoder.dim, requires_grad=True)
    encoder(x_BTD=x_BTD).pooled_BD[:, 0].sum().backward()
    assert (x_BTD.grad.abs().sum((0, 2)) > 0).all(), "the vector that is pooled does not see every position"
    assert encoder.backbone.get_input_embeddings().weight.grad is None
    assert sum(float(p.grad.abs().sum()) for p in encoder.backbone.parameters() if p.grad is not None) > 0


def test_a_tokenizer_that_pads_left_exports_the_same_vectors(tiny, tmp_path):
    """As Qwen3-Embedding's: sentence-transformers would then pad left, and cse pads right."""
    folder = tmp_path / "given"
    shutil.copytree(tiny("qwen3"), folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"padding_side": "left"}))
    exported(load_encoder(str(folder), "last"), tmp_path / "best", TEXTS)
    assert json.loads((tmp_path / "best" / "tokenizer_config.json").read_text())["padding_side"] == "right"


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(("pooling", "switched"), [("mean", False), ("mean", True), ("cls", True)])
def test_bidirectional_attention_of_decoders_is_exported(tiny, tmp_path, kind, pooling, switched):
    ids = torch.tensor([[2, 7, 9, 3], [2, 7, 11, 3]])
    encoder = load_encoder(tiny(kind), pooling, bidirectional=switched).eval()
    exported(encoder, tmp_path / "best", TEXTS)
    for one in (encoder, load_encoder(str(tmp_path / "best"), None).eval()):
        first = one.backbone(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[:, 0]
        assert torch.equal(first[0], first[1]) != switched


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(("pooling", "bidirectional"), [("mean", False), ("last", False), ("mean", True)])
def test_all_patches_change_the_vector_of_an_image_in_a_decoder(tiny, kind, pooling, bidirectional):
    encoder = load_encoder(tiny(kind), pooling, bidirectional=bidirectional).eval()
    x_BTD = torch.randn(1, 8, 32, generator=torch.Generator().manual_seed(0)).repeat(8, 1, 1)
    x_BTD[range(8), range(8)] += 1  # each row, one patch
    pooled_BD = encoder(x_BTD=x_BTD).pooled_BD
    assert len(pooled_BD.detach().unique(dim=0)) == 8


@pytest.mark.parametrize(("kind", "pooling", "settings", "named"), [
    ("qwen3", "cls", {}, r"pooling"), ("qwen3", "last", {"mlm": True}, r"objective\.mlm_weight"),
    ("bert", "cls", {"bidirectional": True}, r"bidirectional"), ("bert", "cls", {"num_layers": 3}, "num_layers"),
    ("qwen3", "pooler", {}, r"pooling"), ("bert", "pooler", {}, r"pooling"),
])  # fmt: skip
def test_settings_that_an_architecture_does_not_have_are_refused(tiny, kind, pooling, settings, named):
    with pytest.raises(UserError, match=named):
        load_encoder(tiny(kind), pooling, **settings)


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
def test_a_prefix_goes_before_every_text_and_into_the_export(tiny, tmp_path, kind):
    plain, told = (load_encoder(tiny(kind), "mean", prefix=prefix) for prefix in (None, "kafel migor: "))
    expected = plain.encode(["kafel migor: " + text for text in TEXTS])
    np.testing.assert_array_equal(exported(told, tmp_path / "best", TEXTS), expected)
    assert told.tokenizer.key() != plain.tokenizer.key()
    before = plain.tokenizer.key()
    plain.tokenizer.hf.truncation_side = "left"
    assert plain.tokenizer.key() != before


def test_weights_in_bfloat16_give_float32_embeddings(tiny):
    encoder = load_encoder(tiny("bert"), "mean", dtype="bf16")
    assert {p.dtype for p in encoder.backbone.parameters()} == {torch.bfloat16}
    assert encoder(tokens_of(encoder, TEXTS)).pooled_BD.dtype == torch.float32
    np.testing.assert_allclose(encoder.encode(TEXTS), load_encoder(tiny("bert"), "mean").encode(TEXTS), atol=0.1)


def test_a_randomly_initialised_language_model_head_is_warned_of(tiny, tmp_path, caplog):
    """As of a checkpoint without one: ELECTRA's discriminator, DeBERTa-v3."""
    save_encoder(load_encoder(tiny("electra"), "cls"), tmp_path / "plain")
    for folder in (tiny("electra"), str(tmp_path / "plain")):
        load_encoder(folder, "cls", mlm=True)
    (said,) = [record.getMessage() for record in caplog.records if record.name == "cse.model.load"]
    assert str(tmp_path / "plain") in said
