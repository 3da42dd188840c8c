"""Every architecture: one loader, one dropout, one export, and what decoders need besides."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny_encoders import ARCHITECTURES, BIDIRECTIONAL, DECODERS

from cse.errors import UserError
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.types import Tokens

TEXTS = ["kadan lofel", "migor", "perzu stamon triler nudan kafel", "kadan"]


def tokens_of(encoder, texts: list[str], max_length: int = 32) -> Tokens:
    return encoder.tokenizer.collate(encoder.tokenizer(texts, max_length))


def pooling_for(kind: str) -> str:
    return "last" if kind in DECODERS else "cls"


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_dropout_is_found_set_and_exported_as_it_was(tiny, tmp_path, kind):
    """Two passes in training are equal without dropout and differ with it, and `best/` keeps the checkpoint's own."""
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


@pytest.mark.parametrize("pooling", ["own", "mean"])
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_three_libraries_give_the_same_vectors(tiny, tmp_path, kind, pooling):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    pooling = pooling_for(kind) if pooling == "own" else pooling
    encoder = load_encoder(tiny(kind), pooling, num_layers=1)
    expected = encoder.encode(TEXTS)
    save_encoder(encoder, tmp_path / "best")
    np.testing.assert_allclose(load_encoder(str(tmp_path / "best"), None).encode(TEXTS), expected, atol=1e-5)
    st = SentenceTransformer(str(tmp_path / "best"), device="cpu")
    np.testing.assert_allclose(st.encode(TEXTS), expected, atol=1e-5)
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        model = AutoModel.from_pretrained(tmp_path / "best").eval()
        output = model(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT)
    if pooling == "cls":
        np.testing.assert_allclose(output.last_hidden_state[:, 0].numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", BIDIRECTIONAL)
def test_the_language_model_head_is_the_librarys(tiny, kind):
    """Logits of backbone and head against those of AutoModelForMaskedLM."""
    from transformers import AutoModelForMaskedLM

    encoder = load_encoder(tiny(kind), "mean", mlm=True).eval()
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        whole = AutoModelForMaskedLM.from_pretrained(tiny(kind)).eval()
        expected = whole(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).logits
        logits = encoder.mlm_head(encoder(tokens).hidden_BTD)
    real = tokens.mask_BT.bool()
    torch.testing.assert_close(logits[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_images_and_sound_enter_where_the_layers_take_them(tiny, kind):
    """The gradient reaches the layers and no word embedding; ALBERT's embeddings are narrower than its layers."""
    encoder = load_encoder(tiny(kind), pooling_for(kind))
    assert encoder.takes_embeddings == (kind != "albert")
    if not encoder.takes_embeddings:
        return
    x_BTD = torch.randn(3, 7, encoder.dim, requires_grad=True)
    encoder(x_BTD=x_BTD).pooled_BD[:, 0].sum().backward()
    assert x_BTD.grad.abs().sum() > 0
    assert encoder.backbone.get_input_embeddings().weight.grad is None
    assert sum(float(p.grad.abs().sum()) for p in encoder.backbone.parameters() if p.grad is not None) > 0
    encoder.eval()
    padded = torch.cat([x_BTD, torch.randn(3, 2, encoder.dim)], dim=1)
    mask = torch.tensor([[1] * 7 + [0] * 2] * 3)
    alone, together = encoder.from_embeddings(x_BTD).pooled_BD, encoder.from_embeddings(padded, mask).pooled_BD
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", DECODERS)
def test_the_last_token_is_found_on_either_side_of_padding(tiny, kind):
    encoder = load_encoder(tiny(kind), "last").eval()
    ids = torch.tensor([[2, 7, 9, 3]])
    plain = encoder(Tokens(ids, torch.ones_like(ids))).pooled_BD
    for before, after in ((0, 3), (3, 0), (1, 2)):
        padded = torch.nn.functional.pad(ids, (before, after))
        mask = torch.nn.functional.pad(torch.ones_like(ids), (before, after))
        torch.testing.assert_close(encoder(Tokens(padded, mask)).pooled_BD, plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", DECODERS)
def test_a_tokenizer_that_pads_on_either_side_exports_the_same_vectors(tiny, tmp_path, kind, side):
    """Qwen3-Embedding's pads left; sentence-transformers follows it, cse pads right."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path / "given"
    shutil.copytree(tiny(kind), folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"padding_side": side}))
    encoder = load_encoder(str(folder), "last")
    save_encoder(encoder, tmp_path / "best")
    st = SentenceTransformer(str(tmp_path / "best"), device="cpu")
    assert st.tokenizer.padding_side == side
    np.testing.assert_allclose(st.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("kind", DECODERS)
def test_bidirectional_attention_is_a_switch_that_is_exported(tiny, tmp_path, kind):
    ids = torch.tensor([[2, 7, 9, 3], [2, 7, 11, 3]])
    for switched in (False, True):
        encoder = load_encoder(tiny(kind), "mean", bidirectional=switched).eval()
        save_encoder(encoder, tmp_path / str(switched))
        for one in (encoder, load_encoder(str(tmp_path / str(switched)), None).eval()):
            first = one.backbone(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[:, 0]
            assert torch.equal(first[0], first[1]) != switched


def test_a_decoder_has_no_first_token_to_read_and_no_masked_language_model(tiny):
    with pytest.raises(UserError, match=r"model\.pooling=cls: .* use model\.pooling=last"):
        load_encoder(tiny("qwen3"), "cls")
    load_encoder(tiny("qwen3"), "cls", bidirectional=True)
    with pytest.raises(UserError, match=r"objective\.mlm_weight=0"):
        load_encoder(tiny("qwen3"), "last", mlm=True)


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
def test_a_prefix_goes_before_every_text_and_into_the_export(tiny, tmp_path, kind):
    from sentence_transformers import SentenceTransformer

    plain, told = (load_encoder(tiny(kind), "mean", prefix=prefix) for prefix in (None, "kafel migor: "))
    expected = plain.encode(["kafel migor: " + text for text in TEXTS])
    np.testing.assert_array_equal(told.encode(TEXTS), expected)
    assert told.tokenizer.key() != plain.tokenizer.key()
    save_encoder(told, tmp_path / "best")
    np.testing.assert_allclose(load_encoder(str(tmp_path / "best"), None).encode(TEXTS), expected, atol=1e-6)
    st = SentenceTransformer(str(tmp_path / "best"), device="cpu")
    np.testing.assert_allclose(st.encode(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
def test_weights_in_bfloat16_give_float32_embeddings(tiny, kind):
    encoder = load_encoder(tiny(kind), "mean", dtype="bf16")
    assert {p.dtype for p in encoder.backbone.parameters()} == {torch.bfloat16}
    assert encoder(tokens_of(encoder, TEXTS)).pooled_BD.dtype == torch.float32
    expected = load_encoder(tiny(kind), "mean").encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=0.1)


def test_a_new_language_model_head_is_announced(tiny, tmp_path, caplog):
    """A checkpoint without one trains from new weights there: ELECTRA's discriminator, DeBERTa-v3."""
    save_encoder(load_encoder(tiny("electra"), "cls"), tmp_path / "plain")
    load_encoder(str(tmp_path / "plain"), "cls", mlm=True)
    assert "has no weights for its language-model head" in caplog.text
    caplog.clear()
    load_encoder(tiny("electra"), "cls", mlm=True)
    assert not caplog.text
