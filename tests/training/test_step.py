"""Chunked steps are plain steps: same loss, same gradient, for every objective."""

import pytest
import torch
from objectives import OBJECTIVES, make
from toy_batches import DIM, ToyEncoder, batch_for

from cse.errors import UserError
from cse.model.load import load_encoder
from cse.training.step import Chunks, chunked_step, loss_of, plain_step
from cse.types import Encoded, Loss, Tokens


def gradients(*modules):
    return [p.grad.clone() for module in modules for p in module.parameters() if p.grad is not None]


WAYS = [Chunks(rows=1), Chunks(rows=5), Chunks(rows=64), Chunks(tokens=1), Chunks(tokens=17), Chunks(tokens=4096)]


def by_steps(name, ways, encoder, dim=DIM, dtype=torch.float64):
    """(loss, gradients) of the plain step, and after it of each chunked one."""
    for step, more in [(plain_step, {}), *((chunked_step, {"chunks": chunks}) for chunks in ways)]:
        objective = make(name, dim).to(dtype)
        encoder.zero_grad()
        loss, _ = step(encoder, objective, batch_for(objective, 16), torch.Tensor.backward, "exact", **more)
        yield loss.total.item(), gradients(encoder, objective)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunked_equals_plain(name):
    torch.manual_seed(0)
    (loss, plain), *others = by_steps(name, WAYS, ToyEncoder().double())
    for chunks, (other, chunked) in zip(WAYS, others, strict=True):
        assert other == pytest.approx(loss, rel=1e-9), chunks
        torch.testing.assert_close(chunked, plain, rtol=1e-8, atol=1e-10, msg=lambda said, of=chunks: f"{of}: {said}")


@pytest.mark.parametrize("chunks", [None, Chunks(rows=5)])
def test_a_loss_that_does_not_reach_the_encoder_is_refused(chunks):
    class Detached(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, views):
            return Loss(self.scale * views[0].pooled_BD.detach().mean())

    step, more = (chunked_step, {"chunks": chunks}) if chunks else (plain_step, {})
    batch = batch_for(make("simcse"), 16)
    with pytest.raises(UserError, match=r"Detached: the loss does not depend on the embeddings"):
        step(ToyEncoder(), Detached(), batch, torch.Tensor.backward, "exact", **more)


@pytest.mark.parametrize(("made", "said"), [
    (torch.zeros(()), "not Tensor"), (Loss(torch.zeros(32)), r"total has shape \[32\]"), (None, "not NoneType"),
    (Loss(torch.zeros(()), {"a": 1.0}), "a is float"), (Loss(torch.ones(()), {"a": torch.ones(2, 3)}), r"a .*\[2, 3\]"),
])  # fmt: skip
def test_what_is_no_loss_of_scalars_is_named_without_its_numbers(made, said):
    with pytest.raises(UserError, match=rf"scalar tensors(, |: ){said}$"):
        loss_of(lambda views: made, [])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunks_replay_their_dropout(name):
    """With dropout, the chunked gradient is that of one graph over the same chunks with the same draws."""
    torch.manual_seed(0)
    encoder = ToyEncoder(dropout=0.4).double()
    objective = make(name)
    batch = batch_for(objective, 16)
    torch.manual_seed(7)
    loss, _ = chunked_step(encoder, objective, batch, torch.Tensor.backward, "exact", chunks=Chunks(rows=5))
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
    known = {key: torch.cat([piece.known[key] for piece in pieces]) for key in pieces[0].known} | batch.known
    rows = torch.arange(sum(batch.sizes)).split(batch.sizes)
    pooled_BD = torch.cat([piece.pooled_BD for piece in pieces])
    whole = objective([Encoded(pooled_BD[view], {key: x[view] for key, x in known.items()}) for view in rows])
    whole.total.backward()
    assert loss.total.item() == pytest.approx(whole.total.item(), rel=1e-9)
    torch.testing.assert_close(chunked, gradients(encoder, objective), rtol=1e-8, atol=1e-10)
    assert torch.equal(state, torch.get_rng_state()), "the chunked step draws more than one forward pass"


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunked_equals_plain_through_the_packed_encoder(name, tiny_bert):
    """Each chunk is padded to its own longest row, and the packed encoder leaves padding out. Under bf16 autocast loss
    and gradient agree to the precision of bf16."""
    ways = [Chunks(rows=5), Chunks(tokens=17)]
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0, mlm=make(name, 32).masking != "none")
    with torch.autocast("cpu", torch.bfloat16):
        (loss, plain), *others = by_steps(name, ways, encoder, 32, torch.float32)
    first = torch.cat([grad.flatten() for grad in plain])
    for other, chunked in others:
        assert other == pytest.approx(loss, rel=1e-3)
        second = torch.cat([grad.flatten() for grad in chunked])
        assert (second - first).norm() < 0.02 * first.norm()
    (loss, plain), *others = by_steps(name, ways, encoder.double(), 32)
    for other, chunked in others:
        assert other == pytest.approx(loss, rel=1e-9)
        torch.testing.assert_close(chunked, plain, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("chunks", [None, Chunks(rows=5), Chunks(tokens=17)], ids=str)
def test_what_the_loader_knows_of_a_row_stays_with_its_vector(chunks):
    objective, seen = make("gist"), []
    objective.reads_scores = True
    objective.register_forward_pre_hook(lambda module, inputs: seen.extend(inputs[0]))
    batch, encoder = batch_for(objective, 16), ToyEncoder().double()
    step, more = (chunked_step, {"chunks": chunks}) if chunks else (plain_step, {})
    step(encoder, objective, batch, torch.Tensor.backward, "exact", **more)
    torch.testing.assert_close(torch.cat([view.pooled_BD for view in seen]), encoder(batch.tokens).pooled_BD)
    assert batch.known.keys() == {"targets_B", "teacher_BE"}
    assert all(torch.equal(torch.cat([view.known[name] for view in seen]), x) for name, x in batch.known.items())


@pytest.mark.parametrize("tokens", [1, 7, 30, 1000])
def test_chunks_of_tokens_hold_every_row_once_within_their_size(tokens):
    lengths_B = torch.tensor([3, 9, 1, 9, 4, 4, 2])
    pieces = Chunks(tokens=tokens).cut(lengths_B)
    assert sorted(torch.cat(pieces).tolist()) == list(range(len(lengths_B)))
    assert all(len(rows) == 1 or len(rows) * lengths_B[rows].max() <= tokens for rows in pieces)
    assert len(pieces) < len(lengths_B) or tokens < 8
