"""Low-rank adapters (LoRA, arXiv:2106.09685), with peft. The encoder's own weights are not trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NotRequired

from annotated_types import MinLen
from pydantic import with_config
from torch import Tensor, nn
from typing_extensions import TypedDict

from cse.errors import MissingResource, UserError
from cse.ranges import STRICT, BelowOne, Count

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

ADAPTER = "default"  # peft's name for the only adapter


@with_config(STRICT)
class Lora(TypedDict):
    """The settings of adapters. r: the rank. alpha: the update is scaled by alpha / r.

    dropout: the dropout probability on the input of the adapter. This dropout makes views differ, like the dropout of
    the encoder. targets: names of the linear layers that get an adapter (q_proj, ...); None: all linear layers.
    """

    r: Count
    alpha: Count
    dropout: NotRequired[BelowOne]  # 0
    targets: NotRequired[Annotated[list[str], MinLen(1)] | None]


def add_adapter(backbone: PreTrainedModel, lora: Lora) -> None:
    """Add a new adapter, in float32, to the backbone, and freeze everything else.

    Raises MissingResource without peft, and UserError if a name in `targets` is not the name of a linear layer. `key`
    and `attention.self.key` both name a layer whose full name ends in `.attention.self.key`.
    """
    try:
        from peft import LoraConfig
        from peft.tuners.lora import Linear
        from peft.tuners.tuners_utils import BaseTunerLayer
        from transformers.pytorch_utils import Conv1D
    except ImportError as error:
        raise MissingResource("it needs peft: pip install -e '.[lora]'", key="lora") from error
    targets = [*map(str, lora.get("targets") or [])] or "all-linear"
    layers = [name for name, layer in backbone.named_modules() if isinstance(layer, (nn.Linear, Conv1D))]
    unknown = [name for name in targets if not any(f".{layer}".endswith(f".{name}") for layer in layers)]
    if lora.get("targets") and unknown:
        linear = sorted({layer.rpartition(".")[2] for layer in layers})
        raise UserError(
            f"no linear layer of the encoder has this name; the linear layers are {', '.join(linear)}",
            key="lora.targets",
            value=", ".join(unknown),
        )
    dropout = lora.get("dropout", 0.0)
    config = LoraConfig(r=lora["r"], lora_alpha=lora["alpha"], lora_dropout=dropout, target_modules=targets)
    backbone.add_adapter(config, ADAPTER)
    adapted = [(name, layer) for name, layer in backbone.named_modules() if isinstance(layer, BaseTunerLayer)]
    if others := [name for name, layer in adapted if not isinstance(layer, Linear)]:
        why = f"these names also match the layer {others[0]}, which cse cannot adapt"
        instead = "give longer names, which match only linear layers"
        raise UserError(why, key="lora.targets", value=targets, instead=instead)
    for parameter in backbone.parameters():
        if parameter.requires_grad:  # bfloat16 would round away most of Adam's small updates
            parameter.data = parameter.data.float()


def merge_adapters(backbone: PreTrainedModel) -> dict[str, Tensor]:
    """Return the backbone's weights plus the adapter's update, with the names of a model without adapter.

    Adapted weights are float32, like the adapter, because bfloat16 would round away most of a small update.
    """
    from peft.tuners.lora import Linear

    state = {
        name.replace(".base_layer.", "."): value for name, value in backbone.state_dict().items() if "lora_" not in name
    }
    for name, layer in backbone.named_modules():
        if isinstance(layer, Linear):
            state[f"{name}.weight"] = state[f"{name}.weight"].cpu() + layer.get_delta_weight(ADAPTER).cpu()
    return state
