"""The compiled encoder is the plain one: rows, gradients, losses, dropout's draws."""

from types import SimpleNamespace

import pytest
import torch
from objectives import batch_for, make

from cse.errors import UserError
from cse.model.load import load_encoder
from cse.training.step import plain_step
from cse.training.update import check_settings, compiled


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def accumulated(module, encoder, name: str, device: str = "cpu") -> tuple[list[float], list[torch.Tensor]]:
    """The losses of three batches of other texts and shapes, and the sum of their gradients."""
    objective = make(name, 32).float().to(device)
    encoder.zero_grad()
    torch.manual_seed(3)
    losses = []
    for seed, rows in enumerate((8, 8, 5)):
        batch = batch_for(objective, rows, seed)
        loss, _ = plain_step(module, objective, batch, torch.Tensor.backward, "exact")
        losses.append(loss.total.item())
    return losses, [p.grad.clone() for m in (encoder, objective) for p in m.parameters() if p.grad is not None]


def check_same(encoder, name: str, backend: str, device: str = "cpu") -> None:
    plain = accumulated(encoder, encoder, name, device)
    other = accumulated(compiled(encoder, backend), encoder, name, device)
    assert other[0] == pytest.approx(plain[0], rel=1e-5)
    torch.testing.assert_close(other[1], plain[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("name", ["simcse", "declutr"])
def test_compiled_steps_are_the_plain_steps(name, kind, request):
    """With dropout, which this backend draws as the plain encoder does, and gradients that add up over batches."""
    encoder = load_encoder(request.getfixturevalue(kind), "mean", dropout=0.3, mlm=True, packed=False)
    check_same(encoder, name, "aot_eager")


@pytest.mark.nightly
def test_inductor_computes_the_same(tiny_bert):
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        pytest.skip("torch.compile finds no C++ compiler here")
    check_same(load_encoder(tiny_bert, "cls", dropout=0.0, packed=False), "simcse", "inductor")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_same(tiny_bert):
    check_same(load_encoder(tiny_bert, "cls", dropout=0.0).cuda(), "simcse", "inductor", "cuda")


@pytest.mark.parametrize("more", [{"compile": True, "chunk": 4}, {"compile": True, "chunk_tokens": 64}, {}], ids=str)
def test_what_could_give_a_wrong_gradient_is_refused(more, tiny_bert, monkeypatch):
    """Chunks that are compiled; and, without either, flash attention in float32."""
    encoder = load_encoder(tiny_bert, "cls")
    trainer = SimpleNamespace(**({"compile": False, "chunk": None, "chunk_tokens": None} | more))
    monkeypatch.setattr(type(encoder), "needs_autocast", not more)
    with pytest.raises(UserError, match=r"trainer\."):
        check_settings(trainer, encoder, "no")
    check_settings(SimpleNamespace(compile=not more, chunk=None, chunk_tokens=None), encoder, "bf16")
