"""Attention in blocks equals attention written out: values, gradients, and the dropped elements."""

import pytest
import torch
from tiny_encoders import random_tokens

from cse.model import attention, packing
from cse.model.attention import Attend, Block, blocks_of
from cse.model.dropout import drop_signs, keep
from cse.model.load import load_encoder

HEADS, WIDTH = 2, 8


@pytest.mark.parametrize("limit", [1, 100, 10**6])
@pytest.mark.parametrize("lengths", [[1, 2, 2, 5, 7], [6, 6, 6], [3]])
def test_blocks_hold_every_token_once_and_few_scores(lengths, limit, monkeypatch):
    monkeypatch.setattr(attention, "BLOCK", limit)
    blocks = blocks_of(lengths, HEADS)
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == sum(lengths)
    assert sum(block.shape[0] for block in blocks) == len(lengths)
    for block in blocks:
        rows, longest = block.shape
        assert rows == 1 or rows * HEADS * longest**2 <= limit
        assert (block.index_n is None) == (block.keys_b11t is None) == (block.stop - block.start == rows * longest)


def written_out(qkv_N3D: torch.Tensor, blocks: list[Block], p: float) -> torch.Tensor:
    """A row and a head at a time, with the masks that the blocks draw."""
    rows = []
    for block in blocks:
        count, longest = block.shape
        signs, factor = drop_signs(torch.Size((count, HEADS, longest, longest)), p, qkv_N3D.dtype)
        lengths = [longest] * count if block.keys_b11t is None else block.keys_b11t.sum(3).flatten().tolist()
        start = block.start
        for row, length in enumerate(lengths):
            heads = qkv_N3D[start : start + length].view(length, 3, HEADS, -1)
            context = []
            for head in range(HEADS):
                query, key, value = heads[:, :, head].unbind(1)
                probabilities = (query @ key.T / query.shape[1] ** 0.5).softmax(1)
                kept = (signs[row, head, :length, :length] >= 0) * factor
                context.append((probabilities * kept) @ value)
            rows.append(torch.cat(context, 1))
            start += length
    rows.append(qkv_N3D.new_zeros(len(qkv_N3D) - sum(map(len, rows)), WIDTH))
    return torch.cat(rows)


@pytest.mark.parametrize("unread", [0, 3])
@pytest.mark.parametrize("limit", [1, 100, 10**6])
def test_blocks_equal_the_formula_with_gradient(limit, unread, monkeypatch):
    """Some tokens may stand in no block."""
    monkeypatch.setattr(attention, "BLOCK", limit)
    lengths = [1, 2, 2, 5, 7]
    generator = torch.Generator().manual_seed(0)
    qkv_N3D = torch.randn(sum(lengths) + unread, 3 * WIDTH, dtype=torch.float64, generator=generator)
    weight_ND = torch.randn(len(qkv_N3D), WIDTH, dtype=torch.float64, generator=generator)
    blocks = blocks_of(lengths, HEADS)
    results = []
    for attend in (lambda x: Attend.apply(x, blocks, HEADS, 0.3), lambda x: written_out(x, blocks, 0.3)):
        torch.manual_seed(1)
        leaf = qkv_N3D.clone().requires_grad_()
        context_ND = attend(leaf)
        (context_ND * weight_ND).sum().backward()
        results.append((context_ND.detach(), leaf.grad))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_signs_are_the_mask(p, dtype):
    """For probabilities that are rounded to an even level."""
    torch.manual_seed(1)
    kept, factor = keep(torch.Size((100, 1003)), p, torch.float32)
    torch.manual_seed(1)
    signs, same = drop_signs(kept.shape, p, dtype)
    assert torch.equal(torch.copysign(torch.ones(kept.shape, dtype=dtype), signs) > 0, kept > 0)
    assert same == factor


def in_blocks(monkeypatch) -> None:
    """Let an encoder compute short rows in several blocks."""
    for module in (attention, packing):
        monkeypatch.setattr(module, "BLOCK", 200)
    monkeypatch.setattr(packing, "SHORT", 1)


@pytest.mark.parametrize("behind_embeddings", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("folder", ["tiny_bert", "tiny_roberta"])
def test_an_encoder_in_blocks_equals_the_plain_one(request, folder, pooling, behind_embeddings, monkeypatch):
    """A probability that rounds to 0 takes the path with dropout, and drops nothing."""
    in_blocks(monkeypatch)
    tokens, x_BTD = random_tokens(100, [6, 9, 2, 9, 1], masked=False), torch.randn(3, 9, 32, dtype=torch.float64)
    results = []
    for packed, dropout in ((False, 0.0), (True, 1e-9)):
        encoder = load_encoder(request.getfixturevalue(folder), pooling, dropout=dropout, packed=packed).double()
        pooled_BD = encoder(None if behind_embeddings else tokens, x_BTD).pooled_BD
        (pooled_BD * torch.linspace(-1, 1, pooled_BD.numel(), dtype=torch.float64).view_as(pooled_BD)).sum().backward()
        grads = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
        results.append({"pooled": pooled_BD.detach(), **grads})
    plain, blocks = results
    assert plain.keys() == blocks.keys()
    for name, value in plain.items():
        torch.testing.assert_close(blocks[name], value, rtol=1e-7, atol=1e-9, msg=name)


def test_in_bf16_padding_that_is_read_stays_outside_the_blocks(tiny_bert, monkeypatch):
    in_blocks(monkeypatch)
    tokens = random_tokens(100, [6, 9, 2, 9, 1], masked=False)
    rows = []
    for packed, dropout in ((False, 0.0), (True, 1e-9)):
        encoder = load_encoder(tiny_bert, "mean", dropout=dropout, packed=packed)
        with torch.autocast("cpu", torch.bfloat16):
            rows.append(encoder(tokens).pooled_BD.float())
    torch.testing.assert_close(*rows, rtol=0.05, atol=0.05)
    rows[1].sum().backward()
    assert all(weight.grad.isfinite().all() for weight in encoder.parameters() if weight.grad is not None)
