"""AudioCSE (Jian, Gao & Vosoughi, NeurIPS 2022, Appendix B): filter banks through the sentence encoder, as patches.

1024 frames x 128 mel bands are split into 24 x 24 patches: 5 x 42 = 210 tokens, and CLS. Appendix B says that SSAST's
code makes the patches. The released code uses neither SSAST's weights (here `init: random`) nor a position embedding
(here `position_embeddings: false`).
"""

import logging
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn
from torch.nn.functional import interpolate

from cse.aux_modality.modality import Modality
from cse.device import to_device
from cse.errors import MissingResource, UserError, in_short
from cse.needs import FileNeed, Need, Settings
from cse.ranges import EncoderName

log = logging.getLogger(__name__)

BANDS, FRAMES = 128, 1024
INSTEAD = (
    "download SSAST-Base-Patch-400.pth from its authors and give aux_modality.weights=FILE, or use "
    "aux_modality.init=random (as in the released code)"
)


class Patches(nn.Module):
    """(B, 1024, 128) filter banks -> (B, 1 + patches, width) tokens: CLS, then the patches, low frequencies first."""

    def __init__(self, width: int, patch: int, position_embeddings: bool):
        super().__init__()
        self.width = width
        self.grid = BANDS // patch, FRAMES // patch
        self.conv = nn.Conv2d(1, width, kernel_size=patch, stride=patch)
        self.cls_token = nn.Parameter(torch.empty(1, 1, width))
        nn.init.trunc_normal_(self.cls_token, std=0.02)  # like timm's DeiT in the released code
        self.positions = None
        if position_embeddings:
            self.positions = nn.Parameter(torch.empty(1, 1 + self.grid[0] * self.grid[1], width))
            nn.init.trunc_normal_(self.positions, std=0.02)

    def forward(self, fbank_BTF: Tensor) -> Tensor:
        """Return the tokens of the filter banks of B clips, (B, 1 + patches, width)."""
        patches_BTD = self.conv(fbank_BTF.transpose(1, 2)[:, None]).flatten(2).transpose(1, 2)
        x_BTD = torch.cat([self.cls_token.expand(len(patches_BTD), -1, -1), patches_BTD], dim=1)
        return x_BTD if self.positions is None else x_BTD + self.positions


class Audio(Modality):
    """Sound as the second modality. data: a cse.data.audio.Speech. settings: the arguments of Modality.

    init: random | ssast. weights: a checkpoint of SSAST, for init=ssast.
    """

    needs_dropout = True

    def __init__(
        self,
        dim: int,
        data: Any,
        init: Literal["random", "ssast"],
        weights: EncoderName | None,
        patch: Annotated[int, Ge(1), Le(BANDS)],
        position_embeddings: bool,
        **settings: Any,
    ):
        if init == "random":
            patches = Patches(dim, patch, position_embeddings)
        else:
            patches = ssast_patches(weights, patch, position_embeddings)
        super().__init__(dim, patches.width, data, **settings)
        self.patches = patches

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for SSAST's checkpoint. Without `weights`, or with init=random, nothing is needed."""
        if settings["init"] == "random" or settings["weights"] is None:
            return []
        return [FileNeed(settings["weights"], "weights", INSTEAD)]

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """See AuxModality: 2B rows of CLS and patches. Both views are equal; only the encoder's dropout differs."""
        x_BTD = self.projection(self.patches(to_device(batch.fbank_BTF, self.device)))
        return x_BTD.repeat(2, 1, 1), batch.labels_B


def ssast_tensors(weights: str) -> list[Tensor]:
    """Return kernel (D, 1, H, W), bias (D), CLS (1, 1, D) and positions (1, T, D) of an SSAST checkpoint.

    Raises UserError for any other file.
    """
    shapes = {"patch_embed.proj.weight": 4, "patch_embed.proj.bias": 1, "cls_token": 3, "pos_embed": 3}
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        named = {str(name).removeprefix("module."): value for name, value in state.items()}
        tensors = [named[f"v.{name}"] for name in shapes]
        for tensor, (name, dimensions) in zip(tensors, shapes.items(), strict=True):
            if tensor.dim() != dimensions:
                raise ValueError(f"v.{name} has {tensor.dim()} dimensions, not {dimensions}")
    except Exception as error:  # for another kind of file, torch's reader or the checks may raise nearly anything
        why = f"it is not an SSAST checkpoint ({in_short(error)})"
        raise UserError(why, key="weights", value=weights) from error
    return tensors


def ssast_patches(weights: str | None, patch: int, position_embeddings: bool) -> Patches:
    """Return Patches with SSAST's weights. If `patch` is not SSAST's 16, filters and positions are resized.

    weights: the path of a checkpoint from SSAST's authors. Raises MissingResource if there is no file, UserError for
    any other file.
    """
    if weights is None or not Path(weights).is_file():
        raise MissingResource(
            f"`init`=ssast needs SSAST's checkpoint, but `weights`={weights or 'null'} is not a file",
            instead=INSTEAD,
        )
    kernel_D1HW, bias_D, cls_token, positions_1TD = ssast_tensors(weights)
    patches = Patches(len(bias_D), patch, position_embeddings)
    height, width = kernel_D1HW.shape[2:]
    if (height, width) != (patch, patch):
        log.info("aux        SSAST's %dx%d filters are resized to aux_modality.patch=%d", height, width, patch)
    scale = height * width / patch**2  # a patch of more pixels must not give a larger sum
    with torch.no_grad():
        resized_D1HW = interpolate(kernel_D1HW, (patch, patch), mode="bicubic") * scale
        patches.conv.load_state_dict({"weight": resized_D1HW, "bias": bias_D})
        patches.cls_token.copy_(cls_token)
        if patches.positions is not None:
            grid = BANDS // height, FRAMES // width
            first = positions_1TD.shape[1] - grid[0] * grid[1]  # skip CLS, and SSAST's distillation token
            map_1DHW = positions_1TD[:, first:].transpose(1, 2).unflatten(2, grid)
            resized_1TD = interpolate(map_1DHW, patches.grid, mode="bilinear").flatten(2).transpose(1, 2)
            patches.positions.copy_(torch.cat([positions_1TD[:, :1], resized_1TD], dim=1))
    return patches
