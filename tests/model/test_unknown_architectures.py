"""Architectures that AutoModel loads and cse cannot train are refused before any work."""

import pytest
import torch
from transformers import AutoConfig, AutoModel

from cse.errors import UserError
from cse.model.architecture import POSITIONS_AFTER_PADDING, longest_input
from cse.model.integrity import check_forward
from cse.model.load import load_encoder

SIZES = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
         "max_position_embeddings": 40}  # fmt: skip


def backbone_of(kind: str, **settings):
    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(kind, **SIZES | settings))


def test_an_encoder_with_a_decoder_is_refused(tmp_path, tiny_tokenizer):
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    config = AutoConfig.for_model("bart", vocab_size=len(tiny_tokenizer), pad_token_id=0, **sizes)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=f"{tmp_path}: bart"):
        load_encoder(str(tmp_path), "cls")


REFORMER = {"attention_head_size": 16, "feed_forward_size": 64, "attn_layers": ["local"], "axial_pos_embds": False,
            "is_decoder": False}  # fmt: skip


@pytest.mark.parametrize(("kind", "more"), [("xmod", {"languages": ["en"]}), ("reformer", REFORMER)])
def test_a_model_that_does_not_encode_text_is_refused(kind, more):
    """X-MOD needs a language for its adapters; Reformer has two hidden states side by side."""
    with pytest.raises(UserError, match=f"lab/x: {kind}"):
        check_forward("lab/x", backbone_of(kind, **more))


def test_a_model_that_reads_padding_is_warned_of(caplog):
    """FNet mixes all positions and has no mask."""
    check_forward("lab/bert", backbone_of("bert"))
    assert not caplog.text
    check_forward("lab/fnet", backbone_of("fnet"))
    assert "lab/fnet" in caplog.text


@pytest.mark.parametrize("kind", POSITIONS_AFTER_PADDING)
def test_longest_input_is_exactly_what_the_position_table_holds(kind):
    more = {"attention_window": 8} if kind == "longformer" else {"languages": ["en"], "default_language": "en"}
    more |= {"entity_vocab_size": 5, "entity_emb_size": 8} if kind == "luke" else {}
    backbone = backbone_of(kind, pad_token_id=1, **more).eval()
    longest = longest_input(backbone.config)
    backbone(input_ids=torch.full((1, longest), 5))
    if kind != "longformer":  # it pads to whole windows first, and here stops at fewer
        with pytest.raises((IndexError, RuntimeError)):
            backbone(input_ids=torch.full((1, longest + 1), 5))


def test_an_architecture_without_a_table_of_positions_has_no_longest_input():
    assert longest_input(AutoConfig.for_model("bloom")) is None
    assert longest_input(AutoConfig.for_model("xlnet")) is None
