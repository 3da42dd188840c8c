"""Low-rank adapters (LoRA, arXiv:2106.09685), by peft: the encoder's own weights are not trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired

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
    """r: rank. alpha: the update is scaled by alpha / r. dropout: on the adapter's input; it makes views differ, as the
    encoder's own does. targets: names of the linear layers that get an adapter (q_proj, ...); None: all."""

    r: Count
    alpha: Count
    dropout: NotRequired[BelowOne]  # 0
    targets: NotRequired[list[str] | None]


def add_adapter(backbone: PreTrainedModel, lora: Lora) -> None:
    """Add a new adapter, in float32, to the backbone and freeze everything else.

    Raises MissingResource without peft, and UserError where no linear layer, or another layer, has a name of `targets`.
    """
    try:
        from peft import LoraConfig
        from peft.tuners.lora import Linear
        from peft.tuners.tuners_utils import BaseTunerLayer
    except ImportError as error:
        raise MissingResource("model.lora needs peft: pip install -e '.[lora]'") from error
    targets = [*map(str, lora.get("targets") or [])] or "all-linear"
    linear = {name.rpartition(".")[2] for name, layer in backbone.named_modules() if isinstance(layer, nn.Linear)}
    refusal = UserError(f"model.lora.targets={targets}: the encoder's linear layers are {', '.join(sorted(linear))}")
    dropout = lora.get("dropout", 0.0)
    config = LoraConfig(r=lora["r"], lora_alpha=lora["alpha"], lora_dropout=dropout, target_modules=targets)
    try:
        backbone.add_adapter(config, ADAPTER)
    except ValueError as error:  # no module of these names
        raise refusal from error
    if any(isinstance(layer, BaseTunerLayer) and not isinstance(layer, Linear) for layer in backbone.modules()):
        raise refusal  # an embedding, whose update `merged` does not add
    for parameter in backbone.parameters():
        if parameter.requires_grad:  # bfloat16 would round most of Adam's small updates away
            parameter.data = parameter.data.float()


def merged(backbone: PreTrainedModel) -> dict[str, Tensor]:
    """The backbone's weights with the adapter's update added, by their names without an adapter, on the CPU. Adapted
    weights are float32, as the adapter: bfloat16 would round most of a small update away."""
    from peft.tuners.lora import Linear

    state = {
        name.replace(".base_layer.", "."): value for name, value in backbone.state_dict().items() if "lora_" not in name
    }
    for name, layer in backbone.named_modules():
        if isinstance(layer, Linear):
            state[f"{name}.weight"] = state[f"{name}.weight"].cpu() + layer.get_delta_weight(ADAPTER).cpu()
    return state
