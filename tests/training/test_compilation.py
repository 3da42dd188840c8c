"""The compiled encoder computes what the plain one does: rows, gradients, losses, dropout."""

from functools import partial
from itertools import repeat
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from functorch.compile import make_boxed_func
from objectives import make
from torch._dynamo.backends.common import aot_autograd
from toy_batches import batch_for
from toys import composed

from cse.errors import UserError
from cse.lab.run.instantiate import make as run_maker
from cse.model.load import load_encoder
from cse.training.step import plain_step
from cse.training.update import Update, check_settings, compiled


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def accumulated(module, encoder, name: str, device: str = "cpu") -> tuple[list[float], list[torch.Tensor]]:
    """The losses of three batches of different shapes, and the sum of their gradients."""
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


@pytest.mark.parametrize(
    ("name", "kind"), [pytest.param("simcse", "tiny_roberta", marks=pytest.mark.nightly), ("declutr", "tiny_bert")]
)
def test_compiled_steps_are_the_plain_steps(name, kind, request):
    """With dropout, which this backend draws as the plain encoder does."""
    encoder = load_encoder(request.getfixturevalue(kind), "mean", dropout=0.3, mlm=True, packed=False)
    check_same(encoder, name, "aot_eager")


def static(graph, _):
    """A compiler whose code returns the same memory at every call of a shape, as a CUDA graph does."""
    held = {}

    def run(*arguments):
        results = graph(*arguments)
        for place, result in enumerate(results):
            if isinstance(result, torch.Tensor):
                held.setdefault((place, result.shape), result.detach().clone()).copy_(result)
        return [held[place, x.shape].detach() if isinstance(x, torch.Tensor) else x for place, x in enumerate(results)]

    return make_boxed_func(run)


@pytest.mark.parametrize("accumulate", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_updates_survive_a_backend_that_reuses_its_memory(accumulate, tiny_bert, monkeypatch):
    """As CUDA graphs do: a result that is read after the next call would be the next one's."""
    backend = aot_autograd(fw_compiler=static, bw_compiler=static)
    monkeypatch.setattr("cse.training.update.compiled", partial(compiled, backend=backend))
    trained = []
    for chosen in (False, True):
        more = [f"trainer.compile={chosen}", f"trainer.accumulate={accumulate}", "trainer.lr=0.01"]
        trainer = run_maker(composed("data=text", "objective=simcse", *more).trainer)
        torch.manual_seed(0)
        encoder, objective = load_encoder(tiny_bert, "cls", dropout=0.0, packed=False), make("simcse", 32).float()
        modules = {"encoder": encoder, "objective": objective}
        parts = SimpleNamespace(trainer=trainer, aux=None, **modules)
        update = Update(parts, modules, Accelerator(cpu=True), steps=9, seed=0)
        batches = (batch_for(objective, 8, seed) for seed in range(2 * accumulate))
        for step in range(2):
            update(step, batches, repeat(None))
        trained.append([p.detach().clone() for p in encoder.parameters()])
    torch.testing.assert_close(*trained, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("last", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_a_compiler_that_fails_ends_the_run_with_one_sentence(last, small_run, cse_train, monkeypatch, capsys):
    """At the first graph, and at one for another shape."""
    graphs = []

    def failing(graph, _):
        graphs.append(graph)
        if len(graphs) == last:
            raise RuntimeError("no compiler here")
        return graph.forward

    monkeypatch.setattr("cse.training.update.compiled", lambda encoder: torch.compile(encoder, backend=failing))
    assert cse_train([*small_run, "trainer.compile=true", "model.packed=false"]) == 1
    assert "trainer.compile=false" in capsys.readouterr().err.splitlines()[-1]


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


FINE = {"compile": False, "chunk": None, "chunk_tokens": None, "warmup": 0, "schedule": "linear", "stop_early": False}


REFUSED = ({"compile": True, "chunk": 4}, {"compile": True, "chunk_tokens": 64},
           {"warmup": 1, "schedule": "slanted_triangular"}, {})  # fmt: skip


@pytest.mark.parametrize("more", REFUSED, ids=str)
def test_settings_that_could_give_a_wrong_gradient_are_refused(more, tiny_bert, monkeypatch):
    """Compiled chunks; a second warm-up; and, as {}, flash attention in float32."""
    encoder = load_encoder(tiny_bert, "cls")
    trainer = SimpleNamespace(**(FINE | more))
    monkeypatch.setattr(type(encoder), "needs_autocast", not more)
    with pytest.raises(UserError, match=r"trainer\."):
        check_settings(trainer, encoder, "no")
    check_settings(SimpleNamespace(**(FINE | {"compile": not more, "warmup": 1})), encoder, "bf16")
