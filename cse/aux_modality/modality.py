"""The base class of images and sound: the head, the contrastive loss, and the settings for the training loop."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn

from cse.aux_modality.supcon import WITHOUT_LABELS, Kind, contrast
from cse.errors import UserError
from cse.ranges import Name, NonNegative, Positive
from cse.tensors import full_precision
from cse.types import AuxModality, Loss

log = logging.getLogger(__name__)


class Modality(AuxModality):
    """The base class of Visual and Audio, which add `tokens`. conf/aux_modality explains the settings.

    data: the source of the batches, a cse.data.stream.Stream.
    width: the width of the modality's tokens. If it is not the encoder's `dim`, a linear layer changes it to `dim`.
    head_mode: "own": a separate head; "shared": the objective's head; "text_then_own": first the objective's head, then
    a separate head; "none": no head.
    """

    def __init__(
        self,
        dim: int,
        width: int,
        data: Any,
        loss: Kind,
        temperature: Positive,
        head: Callable[[int], nn.Module] | None,
        head_mode: Literal["own", "text_then_own", "shared", "none"],
        weight: NonNegative,
        order: Literal["aux_first", "text_first"],
        optimizer: Literal["separate", "joint"],
        lr: Positive,
        weight_decay: NonNegative,
        no_decay: list[Name],
        schedule: Literal["cosine", "linear", "constant"],
        clip: Positive | None,
    ):
        super().__init__()
        if head is None and head_mode in ("own", "text_then_own"):
            why = "this mode needs a `head`; without a head, use `head_mode`=none or shared"
            raise UserError(why, key="head_mode", value=head_mode)
        if data.num_classes == 1 and loss not in WITHOUT_LABELS:
            raise UserError(
                f"it learns from classes, but all {data.kind} of {data.where} have the same class",
                key="loss",
                value=loss,
                instead="name a folder that has two or more folders, one per class, or choose `loss`=simclr",
            )
        self.projection: nn.Module = nn.Identity()
        if width != dim:
            self.projection = nn.Linear(width, dim)
            log.info("aux        tokens of width %d go through a linear layer to the encoder's width %d", width, dim)
        self.text_head: nn.Module | None = None
        self.head = head(dim) if head is not None and head_mode == "own" else nn.Identity()
        self.data, self.kind, self.temperature = data, loss, temperature
        self.make_head, self.head_mode = head, head_mode
        self.uses_text_head = head_mode in ("text_then_own", "shared")
        self.weight, self.order, self.optimizer = weight, order, optimizer
        self.lr, self.schedule, self.clip = lr, schedule, clip
        self.weight_decay, self.no_decay = weight_decay, list(no_decay)

    def bind(self, text_head: nn.Module | None) -> None:
        """Share the objective's head, if head_mode uses it. Call `bind` before the optimizers are made.

        The head becomes part of this module. So the auxiliary update also trains the head and clips its gradient, as in
        the released code. Raises UserError if the objective has no head.
        """
        if not self.uses_text_head:
            return
        if text_head is None:
            raise UserError(
                "it uses the objective's head, but this objective has none",
                key="head_mode",
                value=self.head_mode,
                instead="use `head_mode`=own or none",
            )
        self.text_head = text_head
        if self.head_mode == "text_then_own":
            assert self.make_head is not None
            self.head = self.make_head(text_head.out_dim)  # type: ignore[arg-type]

    def inputs(self) -> dict[str, str]:
        """See AuxModality."""
        return self.data.inputs

    def provenance(self) -> dict[str, object]:
        """See AuxModality."""
        return self.data.provenance() | {"loss": self.kind}

    def batches(self, first: int, rank: int = 0, world: int = 1) -> Iterator[Any]:
        """See AuxModality. Every process has its own batches, and computes its own loss."""
        return self.data.batches(first, rank, world)

    @property
    def seconds_waited(self) -> float:
        """See AuxModality."""
        return self.data.seconds_waited

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return next(self.parameters()).device

    def loss(self, pooled_BD: Tensor, labels_B: Tensor) -> Loss:
        """Return the loss without the factor `weight`. pooled_BD: 2B rows, view 1 then view 2. labels_B: B labels."""
        if self.uses_text_head:
            assert self.text_head is not None, "bind comes first"
            pooled_BD = self.text_head(pooled_BD)
        features_BD = self.head(pooled_BD)
        with full_precision(*features_BD.chunk(2)) as (view1_BD, view2_BD):
            return Loss(contrast(view1_BD, view2_BD, labels_B, self.temperature, self.kind))
