"""Chunked steps are plain steps: same loss, same gradient, for every objective."""

import pytest
import torch
from objectives import OBJECTIVES, ToyEncoder, batch_for, make

from cse.model.load import load_encoder
from cse.training.step import chunked_step, plain_step
from cse.types import Encoded, Tokens


def gradients(*modules):
    return [p.grad.clone() for module in modules for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize("chunk", [1, 5, 64])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunked_equals_plain(name, chunk):
    torch.manual_seed(0)
    encoder = ToyEncoder().double()
    results = []
    for step in (plain_step, chunked_step):
        objective = make(name)
        encoder.zero_grad()
        more = (chunk,) if step is chunked_step else ()
        loss, _ = step(encoder, objective, batch_for(objective, 16), torch.Tensor.backward, "exact", *more)
        results.append((loss.total.item(), gradients(encoder, objective)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-9)
    for plain, chunked in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(plain, chunked, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunks_replay_their_dropout(name):
    """With dropout, the chunked gradient is that of one graph over the same chunks with the same draws."""
    torch.manual_seed(0)
    encoder = ToyEncoder(dropout=0.4).double()
    objective = make(name)
    batch = batch_for(objective, 16)
    torch.manual_seed(7)
    loss, _ = chunked_step(encoder, objective, batch, torch.Tensor.backward, "exact", 5)
    chunked = gradients(encoder, objective)
    state = torch.get_rng_state()

    encoder.zero_grad()
    objective = make(name)
    torch.manual_seed(7)
    tokens, pieces = batch.tokens, []
    for i in range(0, len(tokens.ids_BT), 5):
        longest = int(tokens.mask_BT[i : i + 5].sum(1).max())
        cut = [None if x is None else x[i : i + 5, :longest] for x in (tokens.ids_BT, tokens.mask_BT, tokens.labels_BT)]
        pieces.append(encoder(Tokens(*cut)))
    joined = [
        None if getattr(pieces[0], field) is None else torch.cat([getattr(piece, field) for piece in pieces])
        for field in ("pooled_BD", "mlm_nll_B", "mlm_count_B")
    ]
    starts = [sum(batch.sizes[:i]) for i in range(len(batch.sizes))]
    views = [
        Encoded(joined[0][a : a + n], None, *(None if x is None else x[a : a + n] for x in joined[1:]))
        for a, n in zip(starts, batch.sizes, strict=True)
    ]
    whole = objective(views)
    whole.total.backward()
    assert loss.total.item() == pytest.approx(whole.total.item(), rel=1e-9)
    for a, b in zip(chunked, gradients(encoder, objective), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)
    assert torch.equal(state, torch.get_rng_state()), "the chunked step has to draw as often as the forward alone"


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunked_equals_plain_through_the_packed_encoder(name, tiny_bert):
    """Chunks are padded to lengths of their own, and the real encoder leaves padding out."""
    objective = make(name, 32)
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0, mlm=objective.masking != "none").double()
    batch, results = batch_for(objective, 16), []
    for step in (plain_step, chunked_step):
        objective = make(name, 32)
        encoder.zero_grad()
        more = (5,) if step is chunked_step else ()
        loss, _ = step(encoder, objective, batch, torch.Tensor.backward, "exact", *more)
        results.append((loss.total.item(), gradients(encoder, objective)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-9)
    for plain, chunked in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(plain, chunked, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunked_equals_plain_under_bf16(name, tiny_bert):
    """The loss and each gradient to what bfloat16's eight bits leave, in every direction of every weight."""
    objective = make(name, 32)
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0, mlm=objective.masking != "none")
    batch, results = batch_for(objective, 16), []
    for step in (plain_step, chunked_step):
        objective = make(name, 32).float()
        encoder.zero_grad()
        more = (5,) if step is chunked_step else ()
        with torch.autocast("cpu", torch.bfloat16):
            loss, _ = step(encoder, objective, batch, torch.Tensor.backward, "exact", *more)
        results.append((loss.total.item(), torch.cat([g.flatten() for g in gradients(encoder, objective)])))
    (plain, plain_gradient), (chunked, chunked_gradient) = results
    assert chunked == pytest.approx(plain, rel=1e-3)
    assert (chunked_gradient - plain_gradient).norm() < 0.02 * plain_gradient.norm()
