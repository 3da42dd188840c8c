"""The packed forward equals the plain one: same rows, same gradients."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny_encoders import exported, random_tokens

from cse.model import packing
from cse.model.load import load_encoder


def test_in_bf16_batches_have_few_numbers_of_tokens(tiny_bert):
    """oneDNN keeps a kernel for every number: its cache was half of a run's memory."""
    rng = np.random.default_rng(0)
    masks = [torch.arange(20) < torch.from_numpy(rng.integers(0, 21, (16, 1))) for _ in range(50)]
    exact = {len(packing._read_cells(mask_BT.long())) for mask_BT in masks}
    with torch.autocast("cpu", torch.bfloat16):
        rounded = [packing._read_cells(mask_BT.long()) for mask_BT in masks]
    assert len(exact) > 25
    assert len({len(cells) for cells in rounded}) < 12
    for mask_BT, cells in zip(masks, rounded, strict=True):
        assert set(mask_BT.flatten().nonzero()[:, 0].tolist()) <= set(cells.tolist())


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_in_bf16_padding_that_is_read_changes_no_vector(tiny_bert, pooling):
    encoder, plain = (load_encoder(tiny_bert, pooling, dropout=0.0, packed=packed) for packed in (True, False))
    tokens = encoder.tokenizer.collate([np.array([2, *range(5, 5 + n), 3], np.int32) for n in (9, 1, 4)])
    with torch.autocast("cpu", torch.bfloat16):
        mine, theirs = encoder(tokens).pooled_BD, plain(tokens).pooled_BD
    torch.testing.assert_close(mine.float(), theirs.float(), rtol=0.05, atol=0.05)
    mine.float().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in encoder.parameters() if weight.grad is not None)


@pytest.mark.parametrize("lengths", [[5, 9, 2, 9], [1, 1], [7]])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("folder", ["tiny_bert", "tiny_roberta"])
def test_packed_equals_plain(request, folder, pooling, masked, lengths):
    results = []
    for packed in (False, True):
        encoder = load_encoder(request.getfixturevalue(folder), pooling, dropout=0.0, mlm=masked, packed=packed)
        encoder = encoder.double()
        encoded = encoder(random_tokens(100, lengths, masked))
        weights = torch.linspace(-1, 1, encoded.pooled_BD.numel(), dtype=torch.float64).view_as(encoded.pooled_BD)
        loss = (encoded.pooled_BD * weights).sum() + (encoded.known["mlm_nll_B"].sum() if masked else 0)
        loss.backward()
        results.append((encoded, {n: p.grad for n, p in encoder.named_parameters() if p.grad is not None}))
    (plain, plain_grads), (packed, packed_grads) = results
    torch.testing.assert_close(packed.pooled_BD, plain.pooled_BD)
    if masked:
        torch.testing.assert_close(packed.known, plain.known)
    assert plain_grads.keys() == packed_grads.keys()
    for name, grad in plain_grads.items():
        torch.testing.assert_close(packed_grads[name], grad, rtol=1e-7, atol=1e-9, msg=name)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_literal_padding_token_and_a_decoders_flag_change_nothing(tiny, kind, tmp_path):
    """Which a text may have, and a configuration; best/ is read by transformers as it was trained."""
    folder = shutil.copytree(tiny(kind), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"is_decoder": True}))
    packed, plain = (load_encoder(str(folder), "mean", packed=packed) for packed in (True, False))
    texts = [f"kadan {packed.tokenizer.hf.pad_token} lofel migor", "perzu"]
    np.testing.assert_allclose(packed.encode(texts), plain.encode(texts), atol=1e-6)
    np.testing.assert_allclose(exported(packed, tmp_path / "best", texts), plain.encode(texts), atol=1e-6)


@pytest.mark.parametrize("folder", ["tiny_bert", "tiny_roberta"])
def test_packed_equals_plain_for_images_and_sound(request, folder):
    """No word embeddings, no padding, and only position 0 is read."""
    x_BTD = torch.randn(3, 7, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    results = []
    for packed in (False, True):
        encoder = load_encoder(request.getfixturevalue(folder), "cls", dropout=0.0, packed=packed).double()
        tokens_BTD = x_BTD.clone().requires_grad_()
        pooled_BD = encoder(x_BTD=tokens_BTD).pooled_BD
        (pooled_BD * torch.linspace(-1, 1, encoder.dim, dtype=torch.float64)).sum().backward()
        grads = {n: p.grad for n, p in encoder.named_parameters() if p.grad is not None}
        results.append({"pooled": pooled_BD.detach(), "tokens": tokens_BTD.grad, **grads})
    plain, packed = results
    assert plain.keys() == packed.keys()
    for name, value in plain.items():
        torch.testing.assert_close(packed[name], value, rtol=1e-7, atol=1e-9, msg=name)


@pytest.mark.parametrize("behind_embeddings", [False, True])
def test_every_dropout_of_the_layers_is_drawn(tiny_bert, behind_embeddings):
    """Attention's and the layers': in train mode the rows of packed and plain passes have the same variance."""
    spreads = []
    for packed in (False, True):
        torch.manual_seed(0)
        encoder = load_encoder(tiny_bert, "cls", dropout=0.3, packed=packed)
        tokens = random_tokens(100, [6, 9, 4], masked=False)
        x_BTD = torch.randn(3, 9, encoder.dim) if behind_embeddings else None
        with torch.no_grad():
            rows = torch.stack([encoder(None if behind_embeddings else tokens, x_BTD).pooled_BD for _ in range(400)])
        spreads.append(rows.var(0).mean().item())
    assert spreads[0] > 0
    assert spreads[1] == pytest.approx(spreads[0], rel=0.1)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("folder", ["tiny_bert", "tiny_roberta"])
def test_the_code_paths_with_and_without_dropout_agree(request, folder, pooling):
    """A probability that rounds to 0 takes the path with dropout, and drops nothing."""
    tokens = random_tokens(100, [6, 9, 2], masked=False)
    rows = []
    for dropout in (0.0, 1e-9):
        encoder = load_encoder(request.getfixturevalue(folder), pooling, dropout=dropout).double()
        assert encoder.packed
        rows.append(encoder(tokens).pooled_BD)
    torch.testing.assert_close(rows[1], rows[0])
