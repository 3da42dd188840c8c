"""Low-rank adapters: only they are trained, and merged weights equal base plus adapter."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_encoders import exported, tokens_of
from toys import composed

from cse.errors import UserError
from cse.lab.settings.check import validate_command
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.training.checkpoint import frozen_names

pytest.importorskip("peft", reason="needs peft (pip install -e '.[lora]')")
TEXTS = ["kadan lofel", "migor", "perzu stamon triler nudan kafel"]
LORA = {"r": 4, "alpha": 8, "dropout": 0.2}


def trained(folder: str, kind: str, **settings):
    """An encoder whose adapter is not zero, as after training."""
    encoder = load_encoder(folder, "last" if kind == "qwen3" else "mean", lora=LORA, **settings)
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3)
    return encoder


@pytest.mark.parametrize("kind", ["bert", "modernbert", "qwen3", "gemma"])
def test_only_the_adapter_is_trained_and_its_dropout_is_used(tiny, kind):
    encoder = trained(tiny(kind), kind, dropout=0.0)
    assert encoder.dropout == 0.2
    names = {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert names
    assert all("lora_" in name for name in names)
    assert not names & frozen_names(encoder)
    tokens = tokens_of(encoder, TEXTS)
    assert not torch.equal(encoder(tokens).pooled_BD, encoder(tokens).pooled_BD)


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
@pytest.mark.parametrize("autocast", [False, True])
def test_a_small_update_of_an_adapter_beside_bf16_weights_is_kept(tiny, kind, autocast):
    encoder = trained(tiny(kind), kind, dtype="bf16")
    adapter = {name: p for name, p in encoder.named_parameters() if p.requires_grad}
    assert {p.dtype for p in encoder.parameters() if not p.requires_grad} == {torch.bfloat16}
    before = {name: p.detach().clone() for name, p in adapter.items()}
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        pooled_BD = encoder(tokens_of(encoder, TEXTS)).pooled_BD
    assert pooled_BD.dtype == torch.float32
    pooled_BD.square().sum().backward()
    torch.optim.Adam(adapter.values(), lr=1e-6).step()
    for name, p in adapter.items():
        assert ((p != before[name]) == (p.grad != 0)).float().mean() > 0.99, name


@pytest.mark.parametrize("kind", ["bert", "modernbert", "qwen3", "mistral"])
def test_the_merged_model_and_the_adapter_are_exported(tiny, tmp_path, kind):
    from peft import PeftModel
    from transformers import AutoModel

    encoder = trained(tiny(kind), kind)
    expected = exported(encoder, tmp_path / "best", TEXTS)
    assert np.abs(expected - load_encoder(tiny(kind), encoder.pooling).encode(TEXTS)).max() > 0.01
    np.testing.assert_array_equal(encoder.encode([*TEXTS, "kadan"])[:3], expected)  # exporting left it as it was
    base = AutoModel.from_pretrained(tiny(kind)).eval()
    adapted = PeftModel.from_pretrained(base, str(tmp_path / "best" / "adapter")).eval()
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        hidden = adapted(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).last_hidden_state
        ours = encoder.eval().backbone(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).last_hidden_state
    real = tokens.mask_BT.bool()
    torch.testing.assert_close(ours[real], hidden[real], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["modernbert", "qwen3"])
def test_a_small_update_of_bf16_weights_is_in_the_merged_model(tiny, tmp_path, kind):
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    encoder = trained(tiny(kind), kind, dtype="bf16")
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "lora_B" in name:
                parameter.mul_(1e-3)
    save_encoder(encoder, tmp_path / "best")
    base = AutoModel.from_pretrained(tiny(kind), dtype=torch.bfloat16).float()
    expected = PeftModel.from_pretrained(base, str(tmp_path / "best" / "adapter")).merge_and_unload().state_dict()
    weights = load_file(tmp_path / "best" / "model.safetensors")
    assert weights.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(weights[name].float(), expected[name], atol=1e-8, rtol=1e-6)
    published = load_encoder(str(tmp_path / "best"), None).encode(TEXTS)
    shared = SentenceTransformer(str(tmp_path / "best"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(shared, published, atol=1e-5)


@pytest.mark.parametrize(("lora", "key"), [
    ("{rank: 4, alpha: 8}", r"model\.lora\.(r|rank)\b"), ("{r: 0, alpha: 8}", r"model\.lora\.r\b"),
    ("{r: 4, alpha: 8, dropout: 1}", r"model\.lora\.dropout"),
])  # fmt: skip
def test_impossible_settings_of_an_adapter_are_refused(lora, key):
    with pytest.raises(UserError, match=key):
        validate_command(composed(f"model.lora={lora}", "data=text", "data.path=x"), "train")


@pytest.mark.parametrize(
    ("targets", "wrong"),
    [
        (["q_proj"], "q_proj"),
        (["query", "word_embeddings"], "word_embeddings"),
        (["query", "valeu"], "valeu"),  # peft adapts the right one and ignores the other
        (["query", "uery"], "uery"),
        (["query", ".*value"], r"\.\*value"),
        (["attention.self.query", "self.valeu"], "self.valeu"),
    ],
)
def test_every_target_is_a_linear_layer(tiny, targets, wrong):
    with pytest.raises(UserError, match=rf"lora\.targets={wrong}: .*query"):
        load_encoder(tiny("bert"), "cls", lora={"r": 4, "alpha": 8, "targets": targets})


def test_a_target_may_be_the_end_of_a_whole_name(tiny):
    encoder = load_encoder(tiny("bert"), "cls", lora={"r": 4, "alpha": 8, "targets": ["attention.self.query"]})
    adapted = {name.split(".lora_")[0] for name, weight in encoder.named_parameters() if weight.requires_grad}
    assert adapted == {f"backbone.encoder.layer.{i}.attention.self.query" for i in (0, 1)}


def test_no_target_is_not_every_layer(small_run, cse_train, capsys):
    assert cse_train([*small_run, "model.lora={r:4,alpha:8,targets:[]}"]) == 2
    assert "model.lora.targets" in capsys.readouterr().err


def test_targets_of_the_command_line_are_exported(small_run, cse_train, tmp_path):
    assert cse_train([*small_run, "model.lora={r:4,alpha:8,targets:[query,value]}", "trainer.max_steps=2"]) == 0
    adapter = json.loads((tmp_path / "run/best/adapter/adapter_config.json").read_text())
    assert sorted(adapter["target_modules"]) == ["query", "value"]
