"""The compiled encoder is the plain one: rows, gradients, losses, dropout's draws."""

import pytest
import torch
from objectives import batch_for, make

from cse.errors import UserError
from cse.model.load import load_encoder
from cse.training import compilation
from cse.training.step import plain_step


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


def assert_same(plain, other) -> None:
    assert other[0] == pytest.approx(plain[0], rel=1e-5)
    for one, two in zip(plain[1], other[1], strict=True):
        torch.testing.assert_close(two, one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("name", ["simcse", "declutr"])
def test_compiled_steps_are_the_plain_steps(name, kind, tiny_bert, tiny_roberta):
    """With dropout, which this backend draws as the plain encoder does, and gradients that add up over batches."""
    encoder = load_encoder(tiny_bert if kind == "bert" else tiny_roberta, "mean", dropout=0.3, mlm=True, packed=False)
    plain = accumulated(encoder, encoder, name)
    assert_same(plain, accumulated(compilation.compiled(encoder, "aot_eager"), encoder, name))


@pytest.mark.nightly
def test_inductor_computes_the_same(tiny_bert):
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        pytest.skip("torch.compile finds no C++ compiler here")
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0, packed=False)
    assert_same(accumulated(encoder, encoder, "simcse"), accumulated(compilation.compiled(encoder), encoder, "simcse"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_same(tiny_bert):
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0).cuda()
    plain = accumulated(encoder, encoder, "simcse", "cuda")
    assert_same(plain, accumulated(compilation.compiled(encoder), encoder, "simcse", "cuda"))


@pytest.mark.parametrize("with_it", ["trainer.chunk=4", "trainer.chunk_tokens=64"])
def test_what_could_give_a_wrong_gradient_is_refused(with_it, small_run, cse_train, capsys, tmp_path):
    assert cse_train([*small_run, "trainer.compile=true", with_it]) == 2
    assert "trainer.compile" in capsys.readouterr().err
    assert not (tmp_path / "run" / "results.json").exists()


def test_flash_attention_is_refused_in_float32(tiny_bert, monkeypatch):
    from types import SimpleNamespace

    encoder = load_encoder(tiny_bert, "cls")
    trainer = SimpleNamespace(compile=False, chunk=None, chunk_tokens=None)
    monkeypatch.setattr(type(encoder), "needs_autocast", True)
    compilation.check_settings(trainer, encoder, "bf16")
    with pytest.raises(UserError, match=r"trainer\.precision"):
        compilation.check_settings(trainer, encoder, "no")
