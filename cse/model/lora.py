"""Low-rank adapters (LoRA, arXiv:2106.09685) through peft: the encoder's own weights stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt
from pydantic import ConfigDict, TypeAdapter, ValidationError
from torch import Tensor

from cse.errors import MissingResource, UserError

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

ADAPTER = "default"  # peft's name for the only adapter


@dataclass(frozen=True)
class Lora:
    """r: rank. alpha: the update is scaled by alpha / r. dropout: before the adapter; it makes views differ, as the
    encoder's own does. targets: names of the linear layers that get one (q_proj, ...), None for all."""

    r: Annotated[int, Gt(0)]
    alpha: Annotated[int, Gt(0)]
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    targets: tuple[str, ...] | None = None

    __pydantic_config__ = ConfigDict(extra="forbid")


def lora_settings(settings: Mapping | None) -> Lora | None:
    """model.lora as a Lora, None for None. Raises UserError for a key that it does not have, or lacks."""
    if settings is None:
        return None
    plain = dict(settings)
    if plain.get("targets") is not None:
        plain["targets"] = list(plain["targets"])
    try:
        return TypeAdapter(Lora).validate_python(plain)
    except ValidationError as error:
        wrong = "; ".join(f"model.lora.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UserError(
            f"{wrong} (model.lora={{r: 16, alpha: 32, dropout: 0.1, targets: [q_proj, v_proj]}})"
        ) from error


def add_adapter(backbone: PreTrainedModel, lora: Lora) -> None:
    """Put a new adapter into the backbone and freeze everything else.

    Raises MissingResource without peft, UserError where no layer has a name of `targets`.
    """
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise MissingResource("model.lora needs peft: pip install -e '.[lora]'") from error
    targets = "all-linear" if lora.targets is None else list(lora.targets)
    config = LoraConfig(r=lora.r, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=targets)
    try:
        backbone.add_adapter(config, ADAPTER)
    except ValueError as error:  # no module of these names
        raise UserError(f"model.lora.targets={targets}: {str(error).splitlines()[0]}") from error


def merged(backbone: PreTrainedModel) -> dict[str, Tensor]:
    """The backbone's weights with the adapter added in, by the names they have without an adapter."""
    from peft.tuners.lora import Linear

    state = {
        name.replace(".base_layer.", "."): value for name, value in backbone.state_dict().items() if "lora_" not in name
    }
    for name, layer in backbone.named_modules():
        if isinstance(layer, Linear):
            weight = state[f"{name}.weight"]
            state[f"{name}.weight"] = weight + layer.get_delta_weight(ADAPTER).to(weight.dtype)
    return state


def save_adapter(backbone: PreTrainedModel, folder: Path) -> None:
    """Write the adapter alone, as peft's PeftModel.from_pretrained(base, folder) reads it."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir()
    tensors = {
        f"base_model.model.{name}": value.detach().cpu().contiguous()
        for name, value in get_peft_model_state_dict(backbone, adapter_name=ADAPTER).items()
    }
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    backbone.peft_config[ADAPTER].save_pretrained(str(folder))
