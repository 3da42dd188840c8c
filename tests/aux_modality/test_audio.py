"""Sound through the text encoder: the authors' numbers, SSAST's weights, what the gradient reaches."""

from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from cse.aux_modality.audio import Audio, Patches, ssast_patches
from cse.errors import MissingResource, UserError
from cse.model.heads import MLPHead
from cse.model.load import load_encoder

CONF = Path(__file__).parents[2] / "conf" / "aux_modality"


def sound(data, dim=32, **changes) -> Audio:
    """conf/aux_modality/audio.yaml with made-up data and some values changed."""
    node = dict(OmegaConf.load(CONF / "audio.yaml"))
    assert node.pop("_target_") == "cse.aux_modality.audio.Audio"
    return Audio(dim, **node | {"data": data, "head": MLPHead} | changes)


def test_audio_tokens_have_the_numbers_of_the_authors_code():
    rng = np.random.default_rng(0)
    draw = lambda shape, scale: torch.from_numpy((rng.standard_normal(shape) * scale).astype(np.float32))  # noqa: E731
    fbank_BTF = draw((2, 1024, 128), 1.0)
    patches = Patches(8, 24, position_embeddings=False)
    with torch.no_grad():
        patches.conv.weight.copy_(draw((8, 1, 24, 24), 0.05))
        patches.conv.bias.copy_(draw((8,), 0.05))
        patches.cls_token.copy_(draw((1, 1, 8), 0.02))
    tokens = patches(fbank_BTF)
    assert tokens.shape == (2, 211, 8)
    assert tokens.norm().item() == pytest.approx(69.548309, rel=1e-5)
    assert tokens[0, 1, :4].tolist() == pytest.approx([0.86540306, -0.22983856, -2.7353737, -2.5445499], rel=1e-4)
    assert tokens[0, 43, :4].tolist() == pytest.approx([1.01316, -1.307138, 1.999068, 0.36032882], rel=1e-4)


def test_patches_equal_their_sums_by_hand():
    """Token 1 + 42 f + t covers mel bands 24 f .. 24 f + 23 of frames 24 t .. 24 t + 23."""
    patches = Patches(6, 24, position_embeddings=True)
    fbank_BTF = torch.randn(1, 1024, 128)
    tokens = patches(fbank_BTF)[0] - patches.positions[0]
    assert torch.allclose(tokens[0], patches.cls_token[0, 0], atol=1e-6)
    for f, t in ((0, 0), (0, 41), (3, 7), (4, 41)):
        piece_FT = fbank_BTF[0, 24 * t : 24 * t + 24, 24 * f : 24 * f + 24].T
        expected = (patches.conv.weight[:, 0] * piece_FT).sum((1, 2)) + patches.conv.bias
        assert torch.allclose(tokens[1 + 42 * f + t], expected, atol=1e-5)


def test_the_views_are_the_same_tokens_and_only_dropout_differs(tiny_bert, made_up_speech):
    encoder = load_encoder(tiny_bert, "cls")
    aux = sound(made_up_speech)
    x_BTD, labels_B = aux.tokens(next(aux.batches(0)))
    assert x_BTD.shape == (8, 211, 32)
    assert torch.equal(x_BTD[:4], x_BTD[4:])
    assert labels_B.tolist() == [0, 0, 1, 1]
    view1, view2 = encoder.train().from_embeddings(x_BTD).pooled_BD.chunk(2)
    assert not torch.allclose(view1, view2)
    view1, view2 = encoder.eval().from_embeddings(x_BTD).pooled_BD.chunk(2)
    assert torch.allclose(view1, view2, atol=1e-6)


def test_the_gradient_reaches_patches_and_layers(tiny_roberta, made_up_speech):
    encoder = load_encoder(tiny_roberta, "cls")
    aux = sound(made_up_speech, position_embeddings=True)
    x_BTD, labels_B = aux.tokens(next(aux.batches(0)))
    aux.loss(encoder.from_embeddings(x_BTD).pooled_BD, labels_B).total.backward()
    assert all(parameter.grad.norm() > 0 for parameter in aux.parameters())
    assert {n.split(".")[0] for n, p in encoder.backbone.named_parameters() if p.grad is not None} == {"encoder"}


def test_random_weights_are_initialised_as_released():
    patches = Patches(512, 24, position_embeddings=False)
    assert patches.positions is None
    assert patches.cls_token.std().item() == pytest.approx(0.02, rel=0.15)
    bound = 1 / 24  # torch's own initialisation of a convolution: uniform within 1 / sqrt(24 * 24)
    assert patches.conv.weight.abs().max().item() == pytest.approx(bound, rel=0.01)


@pytest.fixture(scope="module")
def ssast(tmp_path_factory) -> str:
    """A checkpoint with SSAST's names: width 48, 16 x 16 patches, 8 x 64 positions after CLS and distillation."""
    torch.manual_seed(2)
    path = tmp_path_factory.mktemp("ssast") / "patch.pth"
    positions = torch.randn(1, 2 + 8 * 64, 48)
    positions[0, 2:, 0] = torch.arange(8).repeat_interleave(64)  # column 0 counts rows of the map, column 1 columns
    positions[0, 2:, 1] = torch.arange(64).repeat(8)
    state = {"v.patch_embed.proj.weight": torch.randn(48, 1, 16, 16), "v.patch_embed.proj.bias": torch.randn(48),
             "v.cls_token": torch.randn(1, 1, 48), "v.dist_token": torch.randn(1, 1, 48), "v.pos_embed": positions,
             "v.norm.weight": torch.ones(48)}  # fmt: skip
    torch.save({f"module.{name}": value for name, value in state.items()}, path)
    return str(path)


def test_ssasts_weights_are_copied_for_its_own_patch_size(ssast):
    state = torch.load(ssast)
    patches = ssast_patches(ssast, 16, position_embeddings=True)
    assert torch.equal(patches.conv.weight, state["module.v.patch_embed.proj.weight"])
    assert torch.equal(patches.conv.bias, state["module.v.patch_embed.proj.bias"])
    assert torch.equal(patches.cls_token, state["module.v.cls_token"])
    theirs = state["module.v.pos_embed"]
    assert torch.equal(patches.positions[:, 1:], theirs[:, 2:])
    assert torch.equal(patches.positions[:, 0], theirs[:, 0])
    assert patches(torch.zeros(1, 1024, 128)).shape == (1, 513, 48)


def test_ssasts_weights_are_resized_for_another_patch_size(ssast):
    patches = ssast_patches(ssast, 24, position_embeddings=True)
    rows, columns = patches.positions[0, 1:, 0].view(5, 42), patches.positions[0, 1:, 1].view(5, 42)
    assert (rows.diff(dim=0) > 1).all()  # 8 rows spread over 5
    assert rows.std(dim=1).max() < 1e-5
    assert (columns.diff(dim=1) > 1).all()
    # a constant sound gives the same token whatever the size of the patch
    own = ssast_patches(ssast, 16, position_embeddings=False)(torch.ones(1, 1024, 128))
    resized = ssast_patches(ssast, 24, position_embeddings=False)(torch.ones(1, 1024, 128))
    assert torch.allclose(own[0, 1], resized[0, 1], rtol=0.2, atol=3)


def test_weights_that_are_missing_or_not_ssasts_are_refused(tmp_path, made_up_speech):
    with pytest.raises(MissingResource, match=r"weights=null"):
        sound(made_up_speech, init="ssast")
    torch.save({"conv.weight": torch.ones(2)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match=r"v\.patch_embed\.proj\.weight"):
        sound(made_up_speech, init="ssast", weights=str(tmp_path / "other.pth"))
