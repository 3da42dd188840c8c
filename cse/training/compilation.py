"""The encoder's forward and backward compiled for a few shapes, and checked against the plain encoder.

At batch 64 and 32 tokens a GPU waits for Python between its kernels. torch.compile fuses them and replays them as one
CUDA graph for each shape, so batches are padded to few widths (step.width_of). Dropout stays torch's own
(`fallback_random`): its generator, its state in checkpoints, its draws, on the compiled path as on the plain one.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from cse.errors import RunError, UserError
from cse.model.encoder import Encoder
from cse.training.step import width_of
from cse.types import Encoded, Tokens

log = logging.getLogger("cse")

MAX_SHAPES = 24  # each costs a compilation; a batch of yet another shape takes the plain path
BREAK_EVEN = 2_000
"""Steps from which trainer.compile=auto compiles. About 40 seconds to compile a shape, over about 20 ms that a step of
batch 64 saves: an estimate, to be replaced by what `python -m benchmarks.gpu --parts recipes` measures on a card."""
BOUNDS = {"no": (1e-4, 1e-4), "bf16": (0.03, 0.1), "fp16": (0.01, 0.05)}
"""By precision: the largest relative differences of the compiled encoder's rows and gradient from the plain one's."""


@dataclass(frozen=True)
class Choice:
    """Whether to compile, and why (printed at the start of training)."""

    compiles: bool
    why: str


def plan(setting: str | bool, encoder: Encoder, steps: int, deterministic: bool) -> Choice:
    """setting: trainer.compile, "auto", True or False. steps: of the whole run."""
    if setting is True and encoder.padding_free:
        raise UserError(
            "trainer.compile=true needs few shapes, and with model.padding_free=true each batch has its own: choose one"
        )
    if setting != "auto":
        return Choice(bool(setting), f"trainer.compile={str(setting).lower()}")
    if encoder.device.type != "cuda":
        return Choice(False, "auto: only on a GPU")
    if deterministic:
        return Choice(False, "auto: not with trainer.deterministic")
    if encoder.backbone.is_gradient_checkpointing:
        return Choice(False, "auto: not with model.gradient_checkpointing")
    if encoder.padding_free:
        return Choice(False, "auto: not with model.padding_free")
    compiles = steps >= BREAK_EVEN
    return Choice(compiles, f"auto: {steps:,} steps, compiling pays from {BREAK_EVEN:,}")


def check_precision(encoder: Encoder, precision: str) -> None:
    """Raise UserError for an attention that cannot compute in the run's precision (Accelerate's name)."""
    if encoder.needs_autocast and precision == "no":
        raise UserError(
            f"model.attention={encoder.backbone.config._attn_implementation} computes in bf16 and fp16 alone, and this "
            "run trains in fp32: set trainer.precision=bf16 (a GPU), or leave it out"
        )


class Compiled(nn.Module):
    """The encoder, compiled for text. Images and sound go through the plain one, as do shapes beyond MAX_SHAPES.

    backend: torch.compile's. Packing without padding is switched off in the encoder, so that shapes repeat.
    """

    def __init__(self, encoder: Encoder, backend: str = "inductor"):
        super().__init__()
        self.encoder = encoder
        encoder.packed = False
        self.shapes: set[torch.Size] = set()
        options: dict[str, str | int | bool | Callable] = {
            "fallback_random": True,
            "triton.cudagraphs": encoder.device.type == "cuda",
        }
        self.compiled = torch.compile(
            self._last_layer,
            backend=backend,
            dynamic=False,
            fullgraph=True,
            options=options if backend == "inductor" else None,
        )
        torch._dynamo.config.recompile_limit = 4 * MAX_SHAPES  # with and without a graph, in training and not

    def forward(
        self, tokens: Tokens | None = None, x_BTD: Tensor | None = None, mask_BT: Tensor | None = None
    ) -> Encoded:
        """As Encoder.forward."""
        if tokens is None:
            return self.encoder(x_BTD=x_BTD, mask_BT=mask_BT)
        longest = tokens.ids_BT.shape[1]
        wide = widened(tokens, self.encoder.tokenizer.hf.pad_token_id)
        if wide.ids_BT.shape not in self.shapes:
            if len(self.shapes) >= MAX_SHAPES:
                return self.encoder(tokens)
            self.shapes.add(wide.ids_BT.shape)
        torch.compiler.cudagraph_mark_step_begin()
        pooled_BD, last_BTD = self.compiled(wide.ids_BT, wide.mask_BT, tokens.labels_BT is not None)
        pooled_BD = pooled_BD.clone()  # the next replay of the graph writes over what it returned
        if last_BTD is None:
            return Encoded(pooled_BD)
        nll_B, count_B = self.encoder.masked_losses(last_BTD[:, :longest], tokens)
        return Encoded(pooled_BD, None, nll_B, count_B)

    def _last_layer(self, ids_BT: Tensor, mask_BT: Tensor, keep_hidden: bool) -> tuple[Tensor, Tensor | None]:
        encoded = self.encoder(Tokens(ids_BT, mask_BT))
        return encoded.pooled_BD, encoded.hidden_BTD if keep_hidden else None


def widened(tokens: Tokens, pad_id: int) -> Tokens:
    """The ids and the mask, padded to the next of step.WIDTHS."""
    longest = tokens.ids_BT.shape[1]
    padding = (0, width_of(longest) - longest)
    return Tokens(pad(tokens.ids_BT, padding, value=pad_id), pad(tokens.mask_BT, padding))


def compiled_or_plain(
    encoder: Encoder, chosen: Choice, tokens: Tokens, precision: str, backend: str = "inductor"
) -> nn.Module:
    """The encoder that steps call: the compiled one, if it agrees with the plain one on the first batch, or the plain.

    precision: Accelerate's name. With trainer.compile=auto, an encoder that cannot be compiled here is used as it is.
    Raises RunError where trainer.compile=true and it cannot, and where the compiled one computes something else.
    """
    attention = encoder.backbone.config._attn_implementation
    if encoder.padding_free:
        rows, gradient = compare_padded(encoder, tokens, BOUNDS[precision])
        log.info(
            "fast path  not compiled (%s); attention %s, all texts in one row without padding; on the first batch its "
            "rows differ from the padded ones by %.1e, its gradient by %.1e",
            *(chosen.why, attention, rows, gradient),
        )
        return encoder
    if not chosen.compiles:
        packing = "rows packed without padding" if encoder.packs else "rows padded"
        log.info("fast path  not compiled (%s); attention %s, %s", chosen.why, attention, packing)
        return encoder
    packed = encoder.packed
    compiled = Compiled(encoder, backend)
    try:
        wide = widened(tokens, encoder.tokenizer.hf.pad_token_id)  # or dropout would draw for other shapes
        rows, gradient = compare(encoder, compiled, wide, BOUNDS[precision])
    except (torch._dynamo.exc.TorchDynamoException, torch._inductor.exc.InductorError) as error:
        encoder.packed = packed
        reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if not chosen.why.startswith("auto"):
            raise RunError(
                f"trainer.compile=true: torch.compile failed ({reason}); use trainer.compile=false"
            ) from error
        log.info("fast path  not compiled (torch.compile failed: %s); attention %s", reason, attention)
        return encoder
    log.info(
        "fast path  compiled (%s); attention %s, rows padded to 8, 16, 24, 32, ... tokens; on the first batch its rows "
        "differ from the plain encoder's by %.1e, its gradient by %.1e",
        chosen.why,
        attention,
        rows,
        gradient,
    )
    return compiled


def compare_padded(encoder: Encoder, tokens: Tokens, bounds: tuple[float, float]) -> tuple[float, float]:
    """How far rows and gradient of the padding-free path lie from the padded one's, relative to those, without dropout.

    Raises RunError beyond the bounds.
    """

    def padded(tokens: Tokens) -> Encoded:
        encoder.padding_free = False
        try:
            return encoder(tokens)
        finally:
            encoder.padding_free = True

    encoder.eval()
    apart = distance(encoder, padded, tokens)
    encoder.train()
    if not within(apart, bounds):
        raise RunError(
            f"model.padding_free: on the first batch its rows differ from the padded ones by {apart[0]:.1e} and its "
            f"gradient by {apart[1]:.1e}, at most {bounds[0]:g} and {bounds[1]:g} are allowed; leave it out"
        )
    return apart


def compare(plain: nn.Module, compiled: nn.Module, tokens: Tokens, bounds: tuple[float, float]) -> tuple[float, float]:
    """The relative differences of the compiled rows, and of the gradient of their sum, from the plain ones.

    First in training mode with the same dropout; if a backend draws its dropout in another order, then without dropout,
    and two calls must differ. Random states and gradients are left as they were. Raises RunError beyond the bounds.
    """
    apart = distance(plain, compiled, tokens)
    if not within(apart, bounds):
        with state_kept(plain), torch.no_grad():
            alive = not torch.equal(compiled(tokens).pooled_BD, compiled(tokens).pooled_BD)
        if not alive:
            raise RunError("trainer.compile: the compiled encoder repeats its dropout; use trainer.compile=false")
        plain.eval()
        apart = distance(plain, compiled, tokens)
        plain.train()
    if not within(apart, bounds):
        raise RunError(
            f"trainer.compile: on the first batch the compiled encoder's rows differ from the plain one's by "
            f"{apart[0]:.1e} and its gradient by {apart[1]:.1e}, at most {bounds[0]:g} and {bounds[1]:g} are allowed; "
            "use trainer.compile=false"
        )
    return apart


def within(apart: tuple[float, float], bounds: tuple[float, float]) -> bool:
    """Whether both distances, of the rows and of the gradient, are within their bounds."""
    return apart[0] <= bounds[0] and apart[1] <= bounds[1]


def distance(plain: nn.Module, compiled: Callable[[Tokens], Encoded], tokens: Tokens) -> tuple[float, float]:
    """Relative distance of the pooled rows and of their weighted sum's gradient, from the same random state.

    Random states and gradients are left as they were.
    """
    rows, gradients = [], []
    for encoder in (plain, compiled):
        with state_kept(plain):
            pooled_BD = encoder(tokens).pooled_BD
            generator = torch.Generator().manual_seed(0)
            weight_BD = torch.randn(pooled_BD.shape, generator=generator).to(pooled_BD)
            (pooled_BD * weight_BD).sum().backward()
            rows.append(pooled_BD.detach().float())
            gradients.append([p.grad.float().clone() for p in plain.parameters() if p.grad is not None])
    apart = torch.stack([(a - b).square().sum() for a, b in zip(*gradients, strict=True)]).sum().sqrt()
    whole = torch.stack([a.square().sum() for a in gradients[0]]).sum().sqrt()
    return float((rows[0] - rows[1]).norm() / rows[0].norm()), float(apart / whole)


@contextmanager
def state_kept(module: nn.Module) -> Iterator[None]:
    """Restore random states and gradients after the block."""
    gradients = [parameter.grad for parameter in module.parameters()]
    module.zero_grad()
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            yield
    finally:
        for parameter, gradient in zip(module.parameters(), gradients, strict=True):
            parameter.grad = gradient
