"""The padding-free forward is the padded one: rows and gradients, for every architecture whose attention can do it.

On a CPU without flash attention's kernels: `varlen_attention` stands for them, behind transformers' own hand-over.
"""

import importlib.util
from itertools import pairwise

import pytest
import torch
from tiny_encoders import ARCHITECTURES, DECODERS, random_tokens
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import flash_attention_mask

from cse.errors import UserError
from cse.model import flat
from cse.model.load import load_encoder

NAME = "by_loops"  # with "flash" in it, transformers would look for kernels of that name
WITHOUT_FLASH = ("deberta", "deberta-v2", "mpnet")  # their attention adds relative positions to its scores
FLASH = [kind for kind in ARCHITECTURES if kind not in WITHOUT_FLASH]
LENGTHS = [5, 9, 2, 12]


def varlen_attention(module, query, key, value, attention_mask, *, scaling=None, sliding_window=None, is_causal=None,
                     cu_seq_lens_q=None, cu_seq_lens_k=None, max_length_q=None, max_length_k=None, **_):  # fmt: skip
    """What flash_attn_varlen_func computes, text by text, (B, heads, T, d) -> (B, T, heads, d)."""
    causal = module.is_causal if is_causal is None else is_causal
    if cu_seq_lens_q is None:
        lengths = attention_mask.sum(1) if attention_mask is not None else [query.shape[2]] * len(query)
        texts = [(row, 0, int(length)) for row, length in enumerate(lengths)]
    else:
        assert torch.equal(cu_seq_lens_q, cu_seq_lens_k)
        assert max_length_q == max_length_k >= cu_seq_lens_q.diff().max()
        texts = [(0, int(a), int(b)) for a, b in pairwise(cu_seq_lens_q)]
    out = torch.zeros_like(query)
    for row, begin, end in texts:
        places = torch.arange(end - begin)
        apart = places[:, None] - places
        seen = apart >= 0 if causal else torch.ones_like(apart, dtype=torch.bool)
        if sliding_window is not None:
            seen &= (apart < sliding_window) & (apart > -sliding_window)
        parts = (x[row, None, :, begin:end] for x in (query, key, value))
        out[row, :, begin:end] = scaled_dot_product_attention(*parts, attn_mask=seen, scale=scaling, enable_gqa=True)[0]
    return out.transpose(1, 2), None


@pytest.fixture
def by_loops(monkeypatch):
    """An attention by that name, with flash attention's mask, is taken for flash attention."""
    monkeypatch.setattr(flat, "uses_flash", lambda backbone: backbone.config._attn_implementation == NAME)
    AttentionInterface.register(NAME, varlen_attention)
    AttentionMaskInterface.register(NAME, flash_attention_mask)


def rows_and_gradients(encoder, masked: bool):
    encoder = encoder.double().eval()
    encoded = encoder(random_tokens(100, LENGTHS, masked))
    weights = torch.linspace(-1, 1, encoded.pooled_BD.numel(), dtype=torch.float64).view_as(encoded.pooled_BD)
    ((encoded.pooled_BD * weights).sum() + (encoded.mlm_nll_B.sum() if masked else 0)).backward()
    return encoded.pooled_BD, {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}


def assert_equal(alone, padded, atol=1e-6):
    torch.testing.assert_close(alone[0], padded[0], rtol=0, atol=atol)
    assert alone[1].keys() == padded[1].keys()
    largest = max(float(gradient.abs().max()) for gradient in padded[1].values())
    for name, gradient in padded[1].items():
        torch.testing.assert_close(alone[1][name], gradient, rtol=0, atol=atol * largest, msg=name)


@pytest.mark.parametrize("pooling", ["mean", "avg_first_last", "last"])
@pytest.mark.parametrize("kind", FLASH)
def test_with_flash_attention_it_equals_the_padded_forward(by_loops, tiny, kind, pooling):
    masked = kind not in DECODERS and pooling == "mean"
    padded = load_encoder(tiny(kind), pooling, mlm=masked, packed=False)
    alone = load_encoder(tiny(kind), pooling, mlm=masked, attention=NAME, padding_free=True)
    assert alone.padding_free
    assert_equal(rows_and_gradients(alone, masked), rows_and_gradients(padded, masked))


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_needs_no_flash_attention(tiny, kind, attention):
    padded = load_encoder(tiny(kind), "last", attention=attention)
    alone = load_encoder(tiny(kind), "last", attention=attention, padding_free=True)
    atol = 1e-5 if attention == "eager" else 1e-6  # its softmax is in float32
    assert_equal(rows_and_gradients(alone, False), rows_and_gradients(padded, False), atol)


@pytest.mark.parametrize(("kind", "more"), [("bert", {}), ("deberta-v2", {}), ("qwen3", {"bidirectional": True})])
def test_where_texts_would_see_each_other_it_is_refused(tiny, kind, more):
    with pytest.raises(UserError, match=r"padding_free=true: .* would see each other in .*flash_attention_2"):
        load_encoder(tiny(kind), "mean", padding_free=True, **more)


def test_scores_in_float32_do_without_flash_attention(by_loops, tiny):
    """Its kernels compute in half precision alone; bf16 scores take them."""
    encoder = load_encoder(tiny("modernbert"), "mean", attention=NAME, padding_free=True)
    texts = ["kadan lofel", "perzu stamon triler nudan kafel"]
    seen = []
    encoder.backbone.register_forward_pre_hook(
        lambda module, _, given: seen.append((module.config._attn_implementation, len(given["input_ids"]))),
        with_kwargs=True,
    )
    encoder.encode(texts)
    encoder.encode(texts, precision="bf16")
    assert seen == [("sdpa", 2), (NAME, 1)]
    assert encoder.padding_free
    assert encoder.training


@pytest.mark.skipif(
    not torch.cuda.is_available() or importlib.util.find_spec("flash_attn") is None,
    reason="needs a GPU and the package flash-attn",
)
@pytest.mark.parametrize("kind", FLASH)
def test_with_the_kernels_of_a_gpu(tiny, kind):
    rows = []
    for more in ({}, {"attention": "flash_attention_2", "padding_free": True}):
        encoder = load_encoder(tiny(kind), "mean", dtype="bf16", packed=False, **more).to("cuda").eval()
        rows.append(encoder(random_tokens(100, LENGTHS, masked=False).to("cuda")).pooled_BD)
    assert float((rows[1] - rows[0]).norm() / rows[0].norm()) < 0.03
