"""trainer.compile=true: torch.compile, as it is, for the encoder as steps on text call it. No card has run it yet."""

from typing import cast

import torch
from torch import nn

from cse.errors import UserError
from cse.model.encoder import Encoder
from cse.training.settings import Trainer


def check_settings(trainer: Trainer, encoder: Encoder, precision: str) -> None:
    """Raise UserError for a path through the encoder that would be wrong or cannot be had. precision: Accelerate's."""
    if trainer.compile and (trainer.chunk is not None or trainer.chunk_tokens is not None):
        raise UserError(
            "trainer.compile=true with trainer.chunk or trainer.chunk_tokens: a chunk is encoded twice, and compiled "
            "code need not draw the same dropout twice, so the gradient could be wrong; choose one"
        )
    if encoder.needs_autocast and precision == "no":
        raise UserError(
            f"model.attention={encoder.backbone.config._attn_implementation} computes in bf16 and fp16 alone, and this "
            "run trains in fp32: set trainer.precision=bf16 (a GPU), or leave it out"
        )


def compiled(encoder: Encoder, backend: str = "inductor") -> nn.Module:
    """The encoder, compiled. Images, sound and scores go through the plain one. backend: torch.compile's."""
    encoder.packed = False  # which makes shapes of its own for every batch
    return cast(nn.Module, torch.compile(encoder, backend=backend))
