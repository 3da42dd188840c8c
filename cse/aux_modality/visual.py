"""VisualCSE (Jian, Gao & Vosoughi, NeurIPS 2022): images through the sentence encoder, as 16 x 16 patches.

An image of 224 x 224 becomes 196 patches and ViT's CLS: 197 tokens from ViT's patch embedding. These tokens replace
the word embeddings. ViT's layers are not used.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from cse.aux_modality.modality import Modality
from cse.errors import UserError
from cse.needs import Need, Settings
from cse.ranges import EncoderName
from cse.sources import hub
from cse.sources.encoder import WeightsNeed

if TYPE_CHECKING:
    from transformers.models.vit.modeling_vit import ViTEmbeddings

log = logging.getLogger(__name__)

# The authors edit their code to choose the ViT. Here the encoder's width determines it: large for 1024, else base.
VIT = {1024: "google/vit-large-patch16-224-in21k"}
VIT_BASE = "google/vit-base-patch16-224-in21k"
INSTEAD = "give the folder of a ViT, aux_modality.weights=FOLDER, or use aux_modality.init=random, which needs no hub"
PATCH = 16  # pixels, as in ViT, also with random weights


class Visual(Modality):
    """Images as the second modality. data: a cse.data.images.Images. settings: the arguments of Modality.

    init: vit | random. weights, for init=vit: a hub name, a folder, or null for the ViT of the encoder's width.
    """

    def __init__(
        self,
        dim: int,
        data: Any,
        init: Literal["vit", "random"],
        weights: EncoderName | None,
        **settings: Any,
    ):
        if data.size % PATCH:
            why = f"it must be a multiple of {PATCH}, the size of a patch"
            raise UserError(why, key="data.size", value=data.size)
        patches = random_patches(dim, data.size) if init == "random" else vit_patches(weights or VIT.get(dim, VIT_BASE))
        if patches.image_size != (data.size, data.size):
            why = f"these weights need images of size {patches.image_size[0]}"
            raise UserError(why, key="data.size", value=data.size)
        super().__init__(dim, patches.cls_token.shape[-1], data, **settings)
        self.patches = patches

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for a ViT if init=vit. Without `weights` this is ViT base: the encoder's width is unknown."""
        if settings["init"] == "random":
            return []
        return [WeightsNeed(settings["weights"] or VIT_BASE, "weights", INSTEAD)]

    def tokens(self, batch: Any) -> tuple[Tensor, Tensor]:
        """See AuxModality. Returns 2B rows of CLS and the image's patches: view 1, then view 2."""
        pixels_BCHW = self.data.views(batch, self.device)
        return self.projection(self.patches(pixels_BCHW)), batch.labels_B


def vit_patches(weights: str) -> "ViTEmbeddings":
    """Return ViT's embedding module: patches, CLS and position embeddings, no dropout, no LayerNorm.

    Raises MissingResource if the weights are not available, UserError if they are not weights of a ViT.
    """
    from transformers import ViTModel

    from cse.model.integrity import check_files

    repo = hub.Repo(weights, "model", f"`weights`={weights}", INSTEAD)
    source = Path(weights) if Path(weights).is_dir() else hub.fetch_model(repo)
    with hub.refusals(repo):
        check_files(Path(source))
        read: Any = ViTModel.from_pretrained(
            source, add_pooling_layer=False, attn_implementation="sdpa", dtype=torch.float32, output_loading_info=True
        )
    vit, loaded = read
    missing = sorted(name for name in loaded["missing_keys"] if name.startswith("embeddings."))
    if missing:
        raise UserError(f"it is not a ViT: {missing[0]} is missing", key="weights", value=weights, instead=INSTEAD)
    vit.embeddings.dropout.p = 0.0  # as in the released code and in ViT's configuration
    return vit.embeddings


def random_patches(dim: int, size: int) -> "ViTEmbeddings":
    """Return ViT's embedding module with the encoder's width and new weights, initialised as in ViT."""
    from transformers import ViTConfig, ViTModel

    log.warning(
        "aux_modality.init=random: the patch embedding starts from random weights; the paper uses ViT's weights"
    )
    config = ViTConfig(hidden_size=dim, num_hidden_layers=0, num_attention_heads=1, image_size=size)
    return ViTModel(config, add_pooling_layer=False).embeddings
