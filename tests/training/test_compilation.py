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
from cse.training.update import Update, check_settings, compiled, widened
from cse.types import Tokens


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


@pytest.mark.parametrize(
    ("way", "accumulate"),
    [
        pytest.param("true", 1, marks=pytest.mark.nightly),
        ("true", 2),
        pytest.param("graphs", 2, marks=pytest.mark.nightly),
    ],
)
def test_updates_survive_a_backend_that_reuses_its_memory(way, accumulate, tiny_bert, monkeypatch):
    """As CUDA graphs do: a result that is read after the next call would be the next one's."""
    backend = aot_autograd(fw_compiler=static, bw_compiler=static)
    monkeypatch.setattr("cse.training.update.compiled", partial(compiled, backend=backend))
    trained = []
    for chosen in ("false", way):
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
    torch.testing.assert_close(*trained, rtol=1e-4, atol=3e-4)  # a step is 1e-2, also where a gradient is rounding


WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "_assert_async"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "pooling"), [("tiny_bert", "cls"), ("tiny_roberta", "mean"), ("tiny_bert", "avg_first_last")]
)
def test_graphs_are_one_static_graph_without_a_wait(kind, pooling, request):
    """For batches of every length, in bf16 with dropout: a CUDA graph can hold no break, and nothing that the host
    reads. Another number of rows, as in an epoch's last batch, makes a second one."""
    kernels = []

    def noted(graph, _):
        kernels.append(
            [
                node.target.overloadpacket.__name__
                for node in graph.graph.nodes
                if hasattr(node.target, "overloadpacket")
            ]
        )
        return make_boxed_func(graph.forward)

    encoder = load_encoder(request.getfixturevalue(kind), pooling, dropout=0.1).train()
    fast = compiled(encoder, aot_autograd(fw_compiler=noted, bw_compiler=noted), graphs=True)
    assert torch._dynamo.explain(encoder)(tokens_of(4)).graph_break_count == 0
    torch._dynamo.reset()
    for longest, rows in ((4, 8), (6, 8), (9, 8), (9, 5), (5, 5)):
        with torch.autocast("cpu", torch.bfloat16):
            encoded = fast(widened(tokens_of(longest, rows), 9, encoder.tokenizer.hf.pad_token_id))
        encoded.pooled_BD.sum().backward()
    assert len(kernels) == 4  # of two numbers of rows, forward and backward
    assert {name for names in kernels for name in names} & WAITS == set()
    assert min(map(len, kernels)) > 50


def tokens_of(longest: int, rows: int = 8) -> Tokens:
    """Random ids; every row but the first has padding."""
    lengths_B = torch.arange(longest, longest - rows, -1).clamp(min=2)
    mask_BT = (torch.arange(longest) < lengths_B[:, None]).long()
    return Tokens(torch.randint(5, 20, (rows, longest)) * mask_BT, mask_BT)


@pytest.mark.parametrize("pooling", ["cls", "mean", "avg_first_last"])
@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta"])
def test_wider_batches_have_the_same_embeddings(kind, pooling, request):
    encoder = load_encoder(request.getfixturevalue(kind), pooling, packed=False).eval()
    padding = encoder.tokenizer.hf.pad_token_id
    tokens = widened(tokens_of(6), 6, padding)
    tokens = Tokens(tokens.ids_BT.masked_fill(tokens.mask_BT == 0, padding), tokens.mask_BT)
    wide = widened(tokens, 11, padding)
    assert wide.ids_BT.shape == wide.mask_BT.shape == (8, 11)
    torch.testing.assert_close(encoder(wide).pooled_BD, encoder(tokens).pooled_BD, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("last", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_a_compiler_that_fails_ends_the_run_with_one_sentence(last, small_run, cse_train, monkeypatch, capsys):
    """At the first graph, and at one for another shape."""
    graphs = []

    def failing(graph, _):
        graphs.append(graph)
        if len(graphs) == last:
            raise RuntimeError("no compiler here")
        return graph.forward

    monkeypatch.setattr("cse.training.update.compiled", lambda encoder, graphs: torch.compile(encoder, backend=failing))
    assert cse_train([*small_run, "trainer.compile=true", "model.packed=false"]) == 1
    said = capsys.readouterr()
    assert "trainer.compile=false" in said.err.splitlines()[-1]
    (device,) = (line for line in said.out.splitlines() if line.startswith("device "))
    assert "trainer.compile=false" in device  # it is slower on a CPU


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


REFUSED = ({"compile": True, "chunk": 4}, {"compile": "graphs", "chunk_tokens": 64}, {"compile": "graphs"},
           {"warmup": 1, "schedule": "slanted_triangular"}, {})  # fmt: skip


@pytest.mark.parametrize("more", REFUSED, ids=str)
def test_settings_that_could_give_a_wrong_gradient_are_refused(more, tiny_bert, monkeypatch):
    """Compiled chunks; CUDA graphs on a CPU; a second warm-up; and, as {}, flash attention in float32."""
    encoder = load_encoder(tiny_bert, "cls")
    trainer = SimpleNamespace(**(FINE | more))
    monkeypatch.setattr(type(encoder), "needs_autocast", not more)
    with pytest.raises(UserError, match=r"trainer\."):
        check_settings(trainer, encoder, "no")
    check_settings(SimpleNamespace(**(FINE | {"compile": not more, "warmup": 1})), encoder, "bf16")


def test_graphs_of_masked_tokens_are_refused(tiny_bert, monkeypatch):
    """Their number is not static."""
    monkeypatch.setattr("cse.training.update.is_gpu", lambda device: True)
    trainer, encoder = SimpleNamespace(**FINE | {"compile": "graphs"}), load_encoder(tiny_bert, "cls")
    check_settings(trainer, encoder, "bf16")
    with pytest.raises(UserError, match=r"trainer\.compile"):
        check_settings(trainer, encoder, "bf16", masking="first")
