"""Write an encoder to a folder that both sentence-transformers (3, 5 and 6) and transformers load.

It has the older layout, which all of them read: module types `sentence_transformers.models.X`, boolean pooling keys,
safetensors.
"""

import copy
import inspect
import json
import logging
from pathlib import Path

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file
from torch import nn

from cse.dotted import Json
from cse.errors import UserError
from cse.files import write_json, write_text
from cse.model.architecture import DENSE_POOLERS
from cse.model.encoder import Encoder
from cse.model.lora import merged
from cse.model.pooling import TRAINABLE
from cse.model.tokenizer import Tokenizer

PROMPT = "default"  # the name of the prompt that records a prefix
ONE_FILE = "50GB"  # transformers' own limit; the hub's, 5GB, would split what a run reads as one model.safetensors


def check_exportable(pooling: str) -> None:
    """Raise UserError, before any work, for a pooling that the exported layout cannot carry."""
    if pooling not in TRAINABLE:
        raise UserError(
            f"model.pooling={pooling} can be evaluated but not exported: train with {' or '.join(TRAINABLE)}"
        )


def save_encoder(encoder: Encoder, folder: Path, head: nn.Module | None = None, card: str = "") -> None:
    """Write the encoder, its tokenizer, its pooling and, if it stays at test time, its head.

    The folder loads with SentenceTransformer(folder) and AutoModel.from_pretrained(folder). A head (linear and tanh)
    is written twice: as 2_Dense for the first, and as the backbone's own pooler for the second (`pooler_output`), where
    the architecture has one; without a head that pooler changes nothing. An adapter is merged into the weights, in
    float32, and also saved by itself in adapter/. config.json has the checkpoint's own dropout, not the run's. card:
    the text of README.md.
    Raises FileExistsError for a folder that holds something.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    write_weights(encoder, folder, head)
    encoder.tokenizer.hf.padding_side = "right"  # as cse pads: a decoder's absolute positions count from the left
    encoder.tokenizer.hf.save_pretrained(folder)
    if encoder.tokenizer.changed or encoder.tokenizer.template_length:  # its own class would build it without that
        own = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": encoder.tokenizer.hf.model_input_names,
        }
        write_json(folder / "tokenizer_config.json", json.loads((folder / "tokenizer_config.json").read_text()) | own)
    kinds = ["Transformer", *["WordWeights"] * (encoder.pooling == "mask"), "Pooling", *["Dense"] * (head is not None)]
    place = {kind: folder / f"{i}_{kind}" for i, kind in enumerate(kinds)}
    if encoder.pooling == "mask":
        write_mask_weights(encoder.tokenizer, place["WordWeights"])
    write_json(place["Pooling"] / "config.json", pooling_config(encoder))
    if head is not None:
        write_dense(head, place["Dense"], encoder.dim)
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    lengths = {"max_seq_length": encoder.tokenizer.longest, "do_lower_case": False}
    write_json(folder / "sentence_bert_config.json", lengths)
    prefix = encoder.tokenizer.prefix
    prompts = {
        "__version__": {},
        "prompts": {PROMPT: prefix} if prefix else {},
        "default_prompt_name": PROMPT if prefix else None,
        "similarity_fn_name": "cosine",
    }
    write_json(folder / "config_sentence_transformers.json", prompts)
    write_text(folder / "README.md", card)


def pooling_config(encoder: Encoder) -> Json:
    """The config of a Pooling module of sentence-transformers, in the booleans that every version reads."""
    named = {"cls": "cls_token", "mean": "mean_tokens", "mask": "mean_tokens", "last": "lasttoken"}[encoder.pooling]
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    return {"word_embedding_dimension": encoder.dim} | {f"pooling_mode_{mode}": mode == named for mode in modes}


def write_mask_weights(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a WordWeights module of sentence-transformers: 1 for the mask token and 0 for all others, so that the mean
    pooling after it gives the mask's vector."""
    hf = tokenizer.hf
    vocabulary = [token or "" for token in hf.convert_ids_to_tokens(list(range(len(hf))))]
    config = {"vocab": vocabulary, "word_weights": {hf.mask_token: 1.0}, "unknown_word_weight": 0.0}
    write_json(folder / "config.json", config)
    weights = torch.zeros(len(vocabulary), 1)
    weights[hf.mask_token_id] = 1
    save_file({"emb_layer.weight": weights}, folder / "model.safetensors", metadata={"format": "pt"})


def write_dense(head: nn.Module, folder: Path, dim: int) -> None:
    """Write a Dense module of sentence-transformers: the head's linear layer, dim -> dim, and tanh."""
    activation = "torch.nn.modules.activation.Tanh"
    config = {"in_features": dim, "out_features": dim, "bias": True, "activation_function": activation}
    write_json(folder / "config.json", config)
    dense = {f"linear.{name}": value for name, value in linear_of(head).items()}
    save_file(dense, folder / "model.safetensors", metadata={"format": "pt"})


def write_weights(encoder: Encoder, folder: Path, head: nn.Module | None) -> None:
    """Write config.json and model.safetensors, and adapter/ where the encoder has one."""
    backbone = encoder.backbone
    weights = merged(backbone) if encoder.lora else backbone.state_dict()
    state = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
    if backbone.config.model_type in DENSE_POOLERS:
        state |= {f"pooler.dense.{name}": value for name, value in pooler_of(encoder, head).items()}
    if encoder.lora:
        backbone.config.architectures = [type(backbone).__name__]
        backbone.config.dtype = "float32"  # in which transformers then loads them
        backbone.config.save_pretrained(folder)
        logging.getLogger(inspect.getfile(save_torch_state_dict)).setLevel(logging.ERROR)  # so the hub names it
        save_torch_state_dict(state, folder, max_shard_size=ONE_FILE)
        backbone.save_pretrained(folder / "adapter")  # of a model with an adapter, this writes only the adapter
    else:
        backbone.save_pretrained(folder, state_dict=state)
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | encoder.own_dropout)


def pooler_of(encoder: Encoder, head: nn.Module | None) -> dict[str, torch.Tensor]:
    """weight and bias of the backbone's own pooler: the head's, or one that changes nothing, as AutoModel would draw
    weights that are missing, with a warning."""
    if head is not None:
        return linear_of(head)
    dtype = encoder.backbone.dtype
    return {"weight": torch.eye(encoder.dim, dtype=dtype), "bias": torch.zeros(encoder.dim, dtype=dtype)}


def check_head(head: nn.Module, dim: int) -> None:
    """Raise UserError for a kept head that best/ cannot hold, as sentence-transformers reads it: anything but one
    linear layer, dim -> dim, and tanh."""
    linears = [module for module in head.modules() if isinstance(module, nn.Linear)]
    own, x_BD = copy.deepcopy(head).cpu().float().eval(), torch.linspace(-1, 1, 2 * dim).view(2, dim)
    with torch.no_grad():
        if len(linears) == 1 and linears[0].weight.shape == (dim, dim) and linears[0].bias is not None:
            y_BD = torch.tanh(copy.deepcopy(linears[0]).cpu().float()(x_BD))
            if torch.allclose(own(x_BD), y_BD, atol=1e-5):
                return
    raise UserError(
        f"objective.keep_head=true: best/ holds a linear layer and tanh, and objective.head is {type(head).__name__}, "
        "which is another function: drop it after training (objective.keep_head=false)"
    )


def linear_of(head: nn.Module) -> dict[str, torch.Tensor]:
    """weight and bias of a head's only linear layer."""
    (linear,) = [module for module in head.modules() if isinstance(module, nn.Linear)]
    return {name: value.detach().cpu().contiguous() for name, value in linear.state_dict().items()}
