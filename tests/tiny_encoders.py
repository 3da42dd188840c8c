"""Encoders of two layers with random weights and a synthetic vocabulary, one for each architecture that is tested."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, PreTrainedTokenizerFast

from cse.model.encoder import Encoder
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.types import Tokens

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 70,
    "pad_token_id": 0,
}
GROUPED = {"num_key_value_heads": 1, "head_dim": 16, "bos_token_id": 2, "eos_token_id": 3}
BIDIRECTIONAL: dict[str, dict[str, Any]] = {
    "bert": {},
    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "deberta": {"pos_att_type": ["p2c", "c2p"], "relative_attention": True},
    "deberta-v2": {"pos_att_type": ["p2c", "c2p"], "relative_attention": True, "share_att_key": True,
                   "norm_rel_ebd": "layer_norm", "position_buckets": 16, "position_biased_input": False},
    "electra": {"embedding_size": 16},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "nomic_bert": {"head_dim": 16, "num_key_value_heads": 2},
    "eurobert": {"num_key_value_heads": 1, "head_dim": 16, "bos_token_id": 2, "eos_token_id": 3},
    "mpnet": {},
    "albert": {"embedding_size": 16, "hidden_dropout_prob": 0.1},
    "xlm-roberta": {},
    "camembert": {},
}  # fmt: skip
DECODERS: dict[str, dict[str, Any]] = {"qwen3": GROUPED, "llama": GROUPED, "gemma": GROUPED, "mistral": GROUPED}
ARCHITECTURES = BIDIRECTIONAL | DECODERS


def save_tiny(folder: Path, kind: str, tokenizer: PreTrainedTokenizerFast, **changes: object) -> str:
    """Write an encoder and return its folder. A bidirectional encoder has its language-model head."""
    torch.manual_seed(0)
    settings = SMALL | ARCHITECTURES.get(kind, {}) | changes
    if kind == "distilbert":
        for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
            del settings[name]
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), initializer_range=0.1, **settings)
    factory = AutoModelForMaskedLM if kind not in DECODERS else AutoModel
    factory.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def change_one_weight(folder: str | Path) -> None:
    """Change one number of a layer of a saved encoder."""
    file = Path(folder) / "model.safetensors"
    tensors = load_file(file)
    next(value for name, value in tensors.items() if name.endswith("output.dense.weight"))[0, 0] += 1
    save_file(tensors, file, metadata={"format": "pt"})


def random_tokens(vocabulary: int, lengths: list[int], masked: bool) -> Tokens:
    """Return padded rows of these lengths. masked: whether the tokens have labels, as for masked tokens."""
    generator = torch.Generator().manual_seed(3)
    longest = max(lengths)
    mask_BT = (torch.arange(longest)[None] < torch.tensor(lengths)[:, None]).long()
    ids_BT = torch.randint(5, vocabulary, (len(lengths), longest), generator=generator) * mask_BT
    labels_BT = None
    if masked:
        labels_BT = torch.where(torch.rand(ids_BT.shape, generator=generator) < 0.3, ids_BT, -100)
        labels_BT = torch.where(mask_BT.bool(), labels_BT, -100)
    return Tokens(ids_BT, mask_BT, labels_BT)


def tokens_of(encoder: Encoder, texts: list[str], max_length: int = 32) -> Tokens:
    return encoder.tokenizer.collate(encoder.tokenizer(texts, max_length))


def exported(encoder: Encoder, best: Path, texts: list[str], head: torch.nn.Module | None = None) -> np.ndarray:
    """Write the encoder, and return its vectors. Check that cse and sentence-transformers compute the same vectors."""
    from sentence_transformers import SentenceTransformer

    expected = encoder.encode(texts, head=head)
    save_encoder(encoder, best, head)
    again = load_encoder(str(best), None)
    assert again.pooling == encoder.pooling
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-5)
    np.testing.assert_allclose(SentenceTransformer(str(best), device="cpu").encode(texts), expected, atol=1e-5)
    return expected
