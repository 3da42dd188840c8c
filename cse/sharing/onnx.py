"""The encoder's layers as ONNX, by torch's exporter: `onnx/model.onnx`, where the hub's clients look for it.

input_ids (B, T), attention_mask (B, T) -> last_hidden_state (B, T, D). Pooling and later modules are not included;
modules.json describes them.
"""

import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from cse.errors import MissingResource, RunError, first_line

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

    from cse.model.encoder import Encoder

PACKAGES = ("onnx", "onnxruntime", "onnxscript")
NOISY_LOGGERS = ("torch.onnx", "onnx_ir", "onnxscript")
TOLERANCE = 1e-5  # for every number of the last layer
TEXTS = ["A sentence.", "Another one, which is longer than the first.", "One"]
INPUTS = ("input_ids", "attention_mask")


class Layers(nn.Module):
    """The backbone with the inputs and the output of the exported model."""

    def __init__(self, backbone: "PreTrainedModel"):
        super().__init__()
        self.backbone = backbone

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """last_hidden_state (B, T, D)."""
        return self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def check_installed() -> None:
    """Raise MissingResource if a package is missing."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise MissingResource(f"--onnx needs {', '.join(missing)}: pip install -e '.[onnx]'")


def write_onnx(source: Path, folder: Path) -> None:
    """Write `onnx/model.onnx` into the folder, from the encoder in `source`.

    Raises RunError if torch cannot export it, or onnxruntime's numbers differ by more than TOLERANCE.
    """
    from cse.model.load import load_encoder

    encoder = load_encoder(str(source), None).eval()
    layers, file = Layers(encoder.backbone).eval(), folder / "onnx" / "model.onnx"
    file.parent.mkdir()
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                layers,
                inputs_of(encoder, TEXTS),
                dynamo=True,
                dynamic_shapes=(sizes, sizes),
                input_names=list(INPUTS),
                output_names=["last_hidden_state"],
                verbose=False,
            )
        assert program is not None
        program.save(file)
    except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:  # an architecture that it cannot trace
        raise RunError(
            f"--onnx: torch cannot export {type(encoder.backbone).__name__} ({first_line(error)})"
        ) from error
    difference = max(largest_difference(file, encoder, texts) for texts in (TEXTS, TEXTS[:1], [*TEXTS, "a " * 60]))
    if not difference <= TOLERANCE:
        raise RunError(f"--onnx: onnxruntime's numbers are off by {difference:.1e}, more than {TOLERANCE:g}")


def inputs_of(encoder: "Encoder", texts: list[str]) -> tuple[Tensor, Tensor]:
    """(input_ids, attention_mask), (B, T) each."""
    tokens = encoder.tokenizer.hf(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
    return tokens["input_ids"], tokens["attention_mask"]


def largest_difference(file: Path, encoder: "Encoder", texts: list[str]) -> float:
    """The largest difference between onnxruntime's last layer and the encoder's, without padding."""
    import onnxruntime

    ids_BT, mask_BT = inputs_of(encoder, texts)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (found_BTD,) = session.run(None, {"input_ids": ids_BT.numpy(), "attention_mask": mask_BT.numpy()})
    with torch.no_grad():
        own_BTD = encoder.backbone(input_ids=ids_BT, attention_mask=mask_BT).last_hidden_state.numpy()
    return float(np.abs(found_BTD - own_BTD)[mask_BT.bool().numpy()].max())
