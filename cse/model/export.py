"""Write an encoder to a folder that both sentence-transformers (3, 5 and 6) and transformers load.

The folder has the layout that all these versions read: module types `sentence_transformers.models.X`, boolean pooling
keys, safetensors.
"""

import copy
import inspect
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file
from torch import nn

from cse.errors import UserError
from cse.files import Json, write_json, write_text
from cse.model.architecture import DENSE_POOLERS
from cse.model.encoder import Encoder
from cse.model.heads import is_mlp_head
from cse.model.lora import merge_adapters
from cse.model.pooling import TRAINABLE
from cse.model.recorded import prompts_of
from cse.model.tokenizer import Tokenizer

OF_ONE_CALL = ("max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "pad_token_type_id")
"""Keys of tokenizer_config.json in which transformers saves the tokenizer's last truncation and padding. An export
removes these keys, because fastembed would truncate to max_length."""
ONE_FILE = "50GB"  # transformers' limit; with the hub's limit, 5GB, there could be several files, but a run reads one


def check_exportable(pooling: str) -> None:
    """Raise UserError for a pooling that the exported folder cannot express. Called before any work."""
    if pooling not in TRAINABLE:
        why = f"it can be evaluated, but not exported: train with {' or '.join(TRAINABLE)}"
        raise UserError(why, key="pooling", value=pooling)


def save_encoder(encoder: Encoder, folder: Path, head: nn.Module | None = None, card: str = "") -> None:
    """Write the encoder with its tokenizer, pooling and own head. head: the objective's head, if it stays at test time.

    SentenceTransformer(folder) and AutoModel.from_pretrained(folder) load the folder. Both compute in float32, as cse
    does. For SentenceTransformer, each module after the pooling is a folder, such as 2_Dense. For AutoModel, the
    backbone's own pooler (`pooler_output`) is written if the architecture has one (see pooler_of). Unit length, prompts
    and similarity stay as recorded by the checkpoint, except prompts that the prefix changes. An adapter is merged into
    the float32 weights, and also saved alone in adapter/. config.json has the dropout of the checkpoint, which may
    differ from the run's dropout. card: the text of README.md. Raises FileExistsError for a folder that is not empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    ends = [*(encoder.head or []), *([nn.Sequential(linear_of(head), nn.Tanh())] if head is not None else [])]
    write_weights(encoder, folder, ends)
    write_tokenizer(encoder.tokenizer, folder)
    kinds = ["Transformer", *["WordWeights"] * (encoder.pooling == "mask"), "Pooling"]
    if encoder.pooling == "mask":
        write_mask_weights(encoder.tokenizer, folder / "1_WordWeights")
    write_json(folder / f"{len(kinds) - 1}_Pooling" / "config.json", pooling_config(encoder))
    for module in ends:
        kinds.append(type_of_module(module))
        write_module(module, folder / f"{len(kinds) - 1}_{kinds[-1]}")
    kinds += ["Normalize"] * encoder.unit_length
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    lengths = {"max_seq_length": encoder.tokenizer.longest, "do_lower_case": False}
    write_json(folder / "sentence_bert_config.json", lengths)
    own = {key: value for key, value in encoder.settings.items() if key in ("similarity_fn_name", "truncate_dim")}
    prompts = prompts_of(encoder.settings, encoder.tokenizer.prefix)
    settings = {"__version__": {}, "similarity_fn_name": "cosine", **own, **prompts}
    write_json(folder / "config_sentence_transformers.json", settings)
    write_text(folder / "README.md", card)


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the tokenizer. The written tokenizer truncates a text as `encode` does, and does not pad by itself."""
    hf = tokenizer.hf
    hf.padding_side = "right"  # as cse pads: a decoder's absolute positions count from the left
    hf.backend_tokenizer.no_truncation()
    hf.backend_tokenizer.no_padding()
    hf.save_pretrained(folder)
    written = json.loads((folder / "tokenizer_config.json").read_bytes())
    config = {key: value for key, value in written.items() if key not in OF_ONE_CALL}
    config["model_max_length"] = tokenizer.longest
    if tokenizer.changed or tokenizer.template_length:  # the tokenizer's own class would drop these changes
        config |= {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": hf.model_input_names}
    write_json(folder / "tokenizer_config.json", config)


def pooling_config(encoder: Encoder) -> Json:
    """Return the config of a Pooling module of sentence-transformers, with boolean keys, which every version reads."""
    named = {"cls": "cls_token", "mean": "mean_tokens", "mask": "mean_tokens", "last": "lasttoken"}[encoder.pooling]
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    config = {"word_embedding_dimension": encoder.width} | {f"pooling_mode_{mode}": mode == named for mode in modes}
    return config | ({"include_prompt": False} if encoder.settings.get("include_prompt") is False else {})


def write_mask_weights(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a WordWeights module of sentence-transformers: 1 for the mask token and 0 for all other tokens. The mean
    pooling after this module gives the mask token's vector."""
    hf = tokenizer.hf
    vocabulary = [token or "" for token in hf.convert_ids_to_tokens(list(range(tokenizer.id_bound)))]
    config = {"vocab": vocabulary, "word_weights": {hf.mask_token: 1.0}, "unknown_word_weight": 0.0}
    write_json(folder / "config.json", config)
    weights = torch.zeros(len(vocabulary), 1)
    weights[hf.mask_token_id] = 1
    save_file({"emb_layer.weight": weights}, folder / "model.safetensors", metadata={"format": "pt"})


def type_of_module(module: nn.Module) -> str:
    """Return the name of the sentence-transformers class for a module after the pooling."""
    return type(module).__name__ if isinstance(module, nn.LayerNorm | nn.Dropout) else "Dense"


def write_module(module: nn.Module, folder: Path) -> None:
    """Write a module after the pooling, in the format that cse.model.recorded.head_of reads."""
    if isinstance(module, nn.Dropout):
        write_json(folder / "config.json", {"dropout": module.p})
        return
    config: Json
    if isinstance(module, nn.LayerNorm):
        prefix, weights, config = "norm", module.state_dict(), {"dimension": module.normalized_shape[0]}
    else:
        linear, activation = linear_of(module), list(module.children())[-1]
        prefix, weights, kind = "linear", linear.state_dict(), type(activation)
        config = {"in_features": linear.in_features, "out_features": linear.out_features}
        config |= {"bias": linear.bias is not None, "activation_function": f"{kind.__module__}.{kind.__name__}"}
    write_json(folder / "config.json", config)
    tensors = {f"{prefix}.{name}": value.detach().cpu().contiguous() for name, value in weights.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_weights(encoder: Encoder, folder: Path, ends: Sequence[nn.Module]) -> None:
    """Write config.json, model.safetensors and, for LoRA, adapter/. ends: the modules after the pooling."""
    backbone = encoder.backbone
    weights = merge_adapters(backbone) if encoder.lora else backbone.state_dict()
    state = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
    if backbone.config.model_type in DENSE_POOLERS:
        state |= {f"pooler.dense.{name}": value for name, value in pooler_of(encoder, ends).items()}
    if encoder.lora:
        backbone.config.architectures = [type(backbone).__name__]
        backbone.config.save_pretrained(folder)
        logging.getLogger(inspect.getfile(save_torch_state_dict)).setLevel(logging.ERROR)  # named after its file
        save_torch_state_dict(state, folder, max_shard_size=ONE_FILE)
        backbone.save_pretrained(folder / "adapter")  # for a model with an adapter, this writes only the adapter
    else:
        backbone.save_pretrained(folder, state_dict=state)
    config = json.loads((folder / "config.json").read_bytes())
    config["dtype"] = "float32"  # transformers then loads half precision as float32, in which cse computes
    write_json(folder / "config.json", config | encoder.own_dropout)


def pooler_of(encoder: Encoder, ends: Sequence[nn.Module]) -> dict[str, torch.Tensor]:
    """Return {"weight", "bias"} of the backbone's own pooler.

    If only one linear layer with tanh follows the pooling, return this layer's weight and bias. Otherwise return the
    identity matrix and zeros. Without a saved pooler AutoModel would draw random weights, with a warning.
    """
    dtype, width = encoder.backbone.dtype, encoder.width
    if len(ends) == 1 and is_mlp_head(ends[0], width):
        return {name: value.detach().cpu().contiguous() for name, value in linear_of(ends[0]).state_dict().items()}
    return {"weight": torch.eye(width, dtype=dtype), "bias": torch.zeros(width, dtype=dtype)}


def check_head(head: nn.Module, dim: int) -> None:
    """Raise UserError unless the head is a linear layer, dim -> dim, followed by tanh. best/ can hold no other head."""
    linears = [module for module in head.modules() if isinstance(module, nn.Linear)]
    own, x_BD = copy.deepcopy(head).cpu().float().eval(), torch.linspace(-1, 1, 2 * dim).view(2, dim)
    with torch.no_grad():
        if len(linears) == 1 and linears[0].weight.shape == (dim, dim) and linears[0].bias is not None:
            y_BD = torch.tanh(copy.deepcopy(linears[0]).cpu().float()(x_BD))
            if torch.allclose(own(x_BD), y_BD, atol=1e-5):
                return
    raise UserError(
        f"objective.keep_head=true: best/ can only hold a head of one linear layer and tanh, but objective.head is "
        f"{type(head).__name__}: set objective.keep_head=false"
    )


def linear_of(head: nn.Module) -> nn.Linear:
    """Return the only linear layer of a head."""
    (linear,) = [module for module in head.modules() if isinstance(module, nn.Linear)]
    return linear
