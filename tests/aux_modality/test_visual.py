"""Images through the text encoder: the authors' numbers, ViT's weights, what the gradient reaches."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from torch import nn
from transformers import BertConfig, BertModel, ViTConfig, ViTModel

from cse.aux_modality.visual import Visual, vit_patches
from cse.errors import MissingResource, UserError
from cse.model.heads import MLPHead
from cse.model.load import load_encoder

CONF = Path(__file__).parents[2] / "conf" / "aux_modality"


@pytest.fixture(scope="module")
def vit(tmp_path_factory) -> str:
    """A folder with a ViT of width 48 for images of 32 x 32."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("vit")
    config = ViTConfig(hidden_size=48, num_hidden_layers=1, num_attention_heads=2, intermediate_size=96, image_size=32,
                       hidden_dropout_prob=0.3)  # fmt: skip
    ViTModel(config).save_pretrained(folder)
    return str(folder)


def visual(data, dim=32, **changes) -> Visual:
    """conf/aux_modality/visual.yaml with made-up data, new weights and some values changed."""
    node = dict(OmegaConf.load(CONF / "visual.yaml"))
    assert node.pop("_target_") == "cse.aux_modality.visual.Visual"
    return Visual(dim, **node | {"data": data, "head": MLPHead, "init": "random"} | changes)


def test_image_tokens_have_the_numbers_of_the_authors_code():
    """On 2 images of 32 x 32, patches of 16, two layers of BERT with width 32, without a mask."""
    rng = np.random.default_rng(0)
    pixels = torch.from_numpy(rng.standard_normal((2, 3, 32, 32)).astype(np.float32))
    config = BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    bert = BertModel(config, add_pooling_layer=False).eval()
    patches = ViTModel(
        ViTConfig(hidden_size=32, num_hidden_layers=0, num_attention_heads=1, image_size=32), add_pooling_layer=False
    ).embeddings
    named = {f"emb.{name}": parameter for name, parameter in patches.named_parameters()}
    named |= {f"enc.{name}": parameter for name, parameter in bert.encoder.named_parameters()}
    with torch.no_grad():
        for name in sorted(named):
            draw = 0.05 * rng.standard_normal(tuple(named[name].shape)) + name.endswith("LayerNorm.weight")
            named[name].copy_(torch.from_numpy(draw.astype(np.float32)))
    x_BTD = patches(pixels)
    assert x_BTD.shape == (2, 5, 32)
    assert x_BTD.norm().item() == pytest.approx(21.124617, rel=1e-5)
    cls_BD = bert.encoder(x_BTD).last_hidden_state[:, 0]
    assert cls_BD.norm().item() == pytest.approx(8.1560049, rel=1e-5)
    assert cls_BD[0, :4].tolist() == pytest.approx([-0.4912788, -0.83816701, -0.53677905, 1.8383422], rel=1e-4)


def test_random_weights_warn_and_are_initialised_like_vits(made_up_images, caplog):
    aux = visual(made_up_images)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert isinstance(aux.projection, nn.Identity)
    assert aux.patches.patch_embeddings.projection.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert 0 < aux.patches.position_embeddings.std() < 0.03


def test_vit_weights_are_those_of_the_folder(vit, made_up_images):
    theirs = ViTModel.from_pretrained(vit, add_pooling_layer=False).embeddings.state_dict()
    same = visual(made_up_images, dim=48, init="vit", weights=vit)
    assert isinstance(same.projection, nn.Identity)
    assert all(torch.equal(same.patches.state_dict()[name], value) for name, value in theirs.items())
    assert same.patches.dropout.p == 0
    assert all(parameter.requires_grad for parameter in same.patches.parameters())
    narrow = visual(made_up_images, dim=32, init="vit", weights=vit)  # projected from 48 to 32
    assert narrow.tokens(next(narrow.batches(0)))[0].shape == (12, 5, 32)


def test_weights_that_are_missing_not_a_vits_or_of_another_size_are_refused(vit, tiny_bert, made_up_images, tmp_path):
    for dim, name in ((768, "google/vit-base-patch16-224-in21k"), (1024, "google/vit-large-patch16-224-in21k")):
        with pytest.raises(MissingResource, match=name):
            visual(made_up_images, dim=dim, init="vit")
    with pytest.raises(UserError, match=tiny_bert):
        vit_patches(tiny_bert)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"adapter_config\.json"):
        vit_patches(str(tmp_path))
    made_up_images.size = 224
    with pytest.raises(UserError, match=r"data\.size=224"):
        visual(made_up_images, init="vit", weights=vit)


@pytest.mark.parametrize("backbone", ["tiny_bert", "tiny_roberta"])
def test_the_gradient_reaches_layers_patches_and_head_but_no_word_embedding(backbone, request, made_up_images):
    encoder = load_encoder(request.getfixturevalue(backbone), "cls")
    aux = visual(made_up_images)
    x_BTD, labels_B = aux.tokens(next(aux.batches(0)))
    assert x_BTD.shape == (12, 5, 32)
    assert labels_B.shape == (6,)
    assert aux.seconds_waited == 1.5
    loss = aux.loss(encoder.from_embeddings(x_BTD).pooled_BD, labels_B)
    loss.total.backward()
    assert all(parameter.grad.norm() > 0 for parameter in aux.parameters())
    trained = {name for name, p in encoder.backbone.named_parameters() if p.grad is not None}
    assert trained == {f"encoder.{name}" for name, _ in encoder.backbone.encoder.named_parameters()}
