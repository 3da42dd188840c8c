"""The compiled encoder is the plain one: rows, gradients, losses, dropout's draws, and what happens where it is not."""

import logging

import pytest
import torch
from objectives import batch_for, make

from cse.errors import RunError, UserError
from cse.model import flat
from cse.model.load import load_encoder
from cse.training import compilation
from cse.training.step import WIDTHS, Chunks, chunked_step, plain_step

CPU = torch.device("cpu")
YES = compilation.Choice(True, "a test")


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@torch.no_grad()
def pooled(encoder, tokens):
    return encoder(tokens).pooled_BD


def gradients(*modules):
    return [p.grad.clone() for module in modules for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("name", ["simcse", "simcse_mlm", "declutr"])
def test_a_compiled_step_is_the_plain_step_with_dropout(name, kind, tiny_bert, tiny_roberta):
    """Of the same width, so that dropout draws for the same cells; with and without chunks."""
    source = tiny_bert if kind == "bert" else tiny_roberta
    batch = batch_for(make(name, 32), 8)
    encoder = load_encoder(source, "mean", dropout=0.3, mlm=True, packed=False)
    compiled = compilation.Compiled(encoder, "aot_eager")
    chunks = Chunks(rows=len(batch.tokens.ids_BT))
    results = []
    for module in (encoder, compiled):
        for step, more in ((plain_step, {}), (chunked_step, {"chunks": chunks})):
            objective = make(name, 32).float()
            encoder.zero_grad()
            torch.manual_seed(3)
            wide = WIDTHS[0] - batch.tokens.ids_BT.shape[1]
            columns = (batch.tokens.ids_BT, batch.tokens.mask_BT, batch.tokens.labels_BT)
            fills = (encoder.tokenizer.hf.pad_token_id, 0, -100)
            padded = [None if x is None else torch.nn.functional.pad(x, (0, wide), value=fill)
                      for x, fill in zip(columns, fills, strict=True)]  # fmt: skip
            moved = type(batch)(type(batch.tokens)(*padded), batch.sizes)
            if step is chunked_step:  # chunks drop the padding again
                moved = batch
            loss, _ = step(module, objective, moved, torch.Tensor.backward, "exact", **more)
            results.append((loss.total.item(), gradients(encoder, objective)))
    (plain, plain_gradients), _, (other, other_gradients), (chunked, chunked_gradients) = results
    assert other == pytest.approx(plain, rel=1e-5)
    assert chunked == pytest.approx(plain, rel=1e-5), "chunks of the whole batch draw as the whole does"
    for one, two, three in zip(plain_gradients, other_gradients, chunked_gradients, strict=True):
        torch.testing.assert_close(two, one, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(three, one, rtol=1e-4, atol=1e-6)


def test_widths_repeat_and_rare_shapes_take_the_plain_path(tiny_bert, monkeypatch):
    monkeypatch.setattr(compilation, "MAX_SHAPES", 2)
    encoder = load_encoder(tiny_bert, "cls", dropout=0.0)
    compiled = compilation.Compiled(encoder, "aot_eager")
    for longest in (5, 6, 7, 12, 13, 30):
        ids_BT = torch.full((4, longest), 7)
        tokens = compilation.Tokens(ids_BT, torch.ones_like(ids_BT))
        torch.testing.assert_close(compiled(tokens).pooled_BD, encoder(tokens).pooled_BD, rtol=1e-4, atol=1e-5)
    assert compiled.shapes == {torch.Size((4, 8)), torch.Size((4, 16))}


def test_dropout_goes_on_drawing(tiny_bert):
    encoder = load_encoder(tiny_bert, "cls", dropout=0.3)
    compiled = compilation.Compiled(encoder, "aot_eager")
    tokens = batch_for(make("simcse", 32), 4).tokens
    torch.manual_seed(1)
    first, second = pooled(compiled, tokens), pooled(compiled, tokens)
    torch.manual_seed(1)
    assert torch.equal(first, pooled(compiled, tokens))
    assert not torch.equal(first, second)


def test_the_comparison_leaves_the_run_as_it_was(tiny_bert, caplog):
    encoder = load_encoder(tiny_bert, "cls", dropout=0.1)
    tokens = batch_for(make("simcse", 32), 4).tokens
    state = torch.get_rng_state()
    with caplog.at_level(logging.INFO, "cse"):
        module = compilation.compiled_or_plain(encoder, YES, tokens, "no", "aot_eager")
    assert isinstance(module, compilation.Compiled)
    assert torch.equal(state, torch.get_rng_state())
    assert gradients(encoder) == []
    assert encoder.training
    assert "compiled (a test); attention sdpa" in caplog.text


def test_a_compiler_that_computes_something_else_ends_the_run(tiny_bert):
    def wrong(graph, inputs):
        return lambda *arguments: tuple(1.01 * x if x is not None else x for x in graph(*arguments))

    encoder = load_encoder(tiny_bert, "cls", dropout=0.1)
    with pytest.raises(RunError, match=r"rows differ from the plain one's by 1.0e-02 .* trainer.compile=false"):
        compilation.compiled_or_plain(encoder, YES, batch_for(make("simcse", 32), 4).tokens, "no", wrong)


def test_auto_goes_on_without_a_compiler_and_true_ends_the_run(tiny_bert, caplog):
    def broken(graph, inputs):
        raise ValueError("no compiler here")

    encoder = load_encoder(tiny_bert, "cls", dropout=0.1)
    tokens = batch_for(make("simcse", 32), 4).tokens
    with caplog.at_level(logging.INFO, "cse"):
        assert (
            compilation.compiled_or_plain(encoder, compilation.Choice(True, "auto: long"), tokens, "no", broken)
            is encoder
        )
    assert "not compiled (torch.compile failed" in caplog.text
    assert encoder.packed
    with pytest.raises(RunError, match=r"torch\.compile failed"):
        compilation.compiled_or_plain(encoder, compilation.Choice(True, "trainer.compile=true"), tokens, "no", broken)


def test_the_plan(tiny_bert, monkeypatch):
    encoder = load_encoder(tiny_bert, "cls")
    many = 10 * compilation.BREAK_EVEN
    assert compilation.plan(True, encoder, 1, False).compiles
    assert not compilation.plan(False, encoder, many, False).compiles
    assert compilation.plan("auto", encoder, many, False) == compilation.Choice(False, "auto: only on a GPU")
    monkeypatch.setattr(type(encoder), "device", torch.device("cuda"))
    assert compilation.plan("auto", encoder, many, False).compiles
    assert not compilation.plan("auto", encoder, many, True).compiles
    assert not compilation.plan("auto", encoder, compilation.BREAK_EVEN - 1, False).compiles


def test_rows_without_padding_are_held_to_padded_ones(tiny, caplog, monkeypatch):
    encoder = load_encoder(tiny("qwen3"), "last", dropout=0.1, padding_free=True)
    tokens = batch_for(make("simcse", 32), 4).tokens
    chosen = compilation.plan("auto", encoder, 10 * compilation.BREAK_EVEN, False)
    with caplog.at_level(logging.INFO, "cse"):
        assert compilation.compiled_or_plain(encoder, chosen, tokens, "no") is encoder
    assert "texts in one row without padding; on the first batch its rows differ from the padded ones by" in caplog.text
    assert encoder.padding_free
    assert encoder.training
    assert gradients(encoder) == []
    monkeypatch.setattr(flat, "first_position", lambda config: torch.arange(6))  # other distances within a text
    with pytest.raises(RunError, match=r"model\.padding_free: on the first batch its rows differ .* leave it out"):
        compilation.compiled_or_plain(encoder, chosen, tokens, "no")
    with pytest.raises(UserError, match=r"trainer\.compile=true needs few shapes.*: choose one"):
        compilation.plan(True, encoder, 1, False)


def test_flash_attention_is_refused_in_float32(tiny_bert, monkeypatch):
    encoder = load_encoder(tiny_bert, "cls")
    monkeypatch.setattr(flat, "uses_flash", lambda backbone: True)
    compilation.check_precision(encoder, "bf16")
    with pytest.raises(UserError, match=r"computes in bf16 and fp16 alone.*trainer\.precision=bf16"):
        compilation.check_precision(encoder, "no")


@pytest.mark.slow
def test_inductor_computes_the_same_with_the_same_dropout(tiny_bert):
    """Raises beyond the bounds; needs a C++ compiler, which torch.compile looks for."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        pytest.skip("torch.compile finds no C++ compiler here")
    encoder = load_encoder(tiny_bert, "cls", dropout=0.3)
    tokens = batch_for(make("simcse", 32), 4).tokens
    assert isinstance(compilation.compiled_or_plain(encoder, YES, tokens, "no"), compilation.Compiled)
    wide = compilation.widened(tokens, 0)
    with compilation.state_kept(encoder):
        rows, gradient = compilation.distance(encoder, compilation.Compiled(encoder), wide)
    assert max(rows, gradient) < 1e-5, "in training: the draws are the plain encoder's"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: CUDA graphs of the encoder")
def test_cuda_graphs_compute_the_same_with_the_same_dropout(tiny_bert):
    encoder = load_encoder(tiny_bert, "cls", dropout=0.3).cuda()
    tokens = batch_for(make("simcse", 32), 8).tokens.to(torch.device("cuda"))
    compiled = compilation.compiled_or_plain(encoder, YES, tokens, "no")
    wide = compilation.widened(tokens, 0)
    with compilation.state_kept(encoder):
        for _ in range(4):  # the graph is recorded on the second call
            assert max(compilation.distance(encoder, compiled, wide)) < 1e-4
        assert not torch.equal(pooled(compiled, wide), pooled(compiled, wide))
