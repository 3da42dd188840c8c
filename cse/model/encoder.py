"""The transformer that every method trains. It maps text, image or audio tokens to one vector per row.

B is the number of rows, T of tokens in a row, and V of tokens in the vocabulary. D is the width of the vectors.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from rich.console import Console
from rich.progress import track as bar
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.errors import UserError
from cse.files import Json
from cse.model import packing
from cse.model.architecture import hidden_of_embeddings, is_causal, takes_embeddings
from cse.model.pooling import pool
from cse.model.template import Denoising
from cse.model.tokenizer import Tokenizer
from cse.progress import track
from cse.tensors import Precision, full_precision
from cse.types import Document, Encoded, Query, Sided, Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

FETCHED = 256  # batches whose vectors stay on the device until they are copied together
TEXTS = 128  # texts in a batch of encode()
READ_AHEAD = 2**16  # texts that are sorted by length together; the next texts are tokenised while the layers compute
TOKENISED = 2**12  # texts in a call of the tokenizer, which needs 7 KiB a text until it returns
SHOWN = 60  # characters of a prompt in a description
LONG = 512  # tokens; a batch of longer texts has fewer texts, so that it needs no more memory
TOKENS = 2**12  # tokens, with padding, up to which a bf16 batch is filled; with 2**15 a CPU was slower than in fp32


def as_texts(sentences: str | Iterable[str]) -> list[str]:
    """Return one text or several as a list. Raises TypeError for other objects, and for a table of several columns."""
    if isinstance(sentences, Mapping) or getattr(sentences, "ndim", 1) > 1:  # list() would give the names of columns
        raise TypeError(f"sentences is a {type(sentences).__name__}: give the texts of one column, sentences['text']")
    if not isinstance(sentences, Iterable):
        raise TypeError(f"sentences must be texts, not {type(sentences).__name__}: {sentences!r:.80}")
    texts = [sentences] if isinstance(sentences, str) else list(sentences)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"sentences[{number}] must be a str, not {type(text).__name__}: {text!r:.80}")
    return texts


def shown_prompt(prompt: str) -> str:
    """Return a prompt in quotes, shortened to SHOWN characters, for a description."""
    return repr(prompt if len(prompt) <= SHOWN else f"{prompt[: SHOWN - 3]}...")


class Encoder(nn.Module):
    """A Hugging Face encoder with its pooling.

    backbone: a model from AutoModel, without its pooler. pooling: a value of model.pooling, such as cls. mlm_head: maps
    hidden states (n, D) to logits (n, V); None if no objective needs a masked-language-model loss. head: the modules
    that the checkpoint records after the pooling (supervised SimCSE's linear layer and tanh), or None. Training also
    trains the head. unit_length: whether `encode` returns vectors of length 1; some sentence-transformers folders
    record this.
    settings: the recorded keys and values that an export writes again (cse.model.recorded.KEPT).
    packed: whether, on a CPU, the layers skip padding and all that the pooling does not read. This saves time, with the
    same result (cse.model.packing). dropout: the largest dropout probability in training, including adapters.
    own_dropout: the checkpoint's own probabilities by configuration key; best/ records them. lora: whether only an
    adapter is trained. denoising: the bias that is subtracted in training (cse.model.template), or None. full_n: for
    each text of the last call of `encode`, whether the text has `tokenizer.longest` tokens; a longer text is truncated.
    """

    def __init__(
        self,
        backbone: "PreTrainedModel",
        tokenizer: Tokenizer,
        pooling: str,
        *,
        mlm_head: nn.Module | None = None,
        head: nn.Sequential | None = None,
        unit_length: bool = False,
        settings: Json | None = None,
        packed: bool = False,
        dropout: float = 0.0,
        own_dropout: Mapping[str, float] | None = None,
    ):
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.mlm_head = mlm_head
        self.head = head
        self.unit_length = unit_length
        self.settings = settings or {}
        self.packed = packed
        self.dropout = dropout
        self.own_dropout = dict(own_dropout or {})
        self.lora = False
        self.denoising: Denoising | None = None
        self.full_n = np.empty(0, bool)

    @property
    def width(self) -> int:
        """The width of the hidden states. Image and audio tokens have the same width."""
        return self.backbone.config.hidden_size

    @property
    def dim(self) -> int:
        """D, the width of the embeddings: the width of the hidden states, unless the head changes it."""
        linear = [module for module in self.head.modules() if isinstance(module, nn.Linear)] if self.head else []
        return linear[-1].out_features if linear else self.width

    @property
    def vector_length(self) -> int:
        """The dimension of a vector from `encode`: D, or the checkpoint's truncate_dim if truncate_dim is smaller."""
        return min(self.dim, self.settings.get("truncate_dim") or self.dim)

    @property
    def size(self) -> str:
        """The number of parameters and, for LoRA, of trained parameters, as text."""
        adapted = sum(p.numel() for p in self.parameters() if p.requires_grad) if self.lora else 0
        trained = f"; LoRA trains {adapted / 1e6:.2g}M" * bool(adapted)
        return f"{sum(p.numel() for p in self.parameters()) / 1e6:.1f}M parameters{trained}"

    @property
    def described(self) -> str:
        """The steps from a text to its vector: pooling, template, head, unit length and the longest text."""
        about = [f"{self.pooling} pooling", *["in a template"] * bool(self.tokenizer.template_length)]
        about += self.prompts_in_words
        about += ["its dense head"] * (self.head is not None)
        about += ["unit length"] * self.unit_length
        about += [f"the first {self.vector_length} numbers"] * (self.vector_length < self.dim)
        return ", ".join([*about, f"at most {self.tokenizer.longest} tokens"])

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts that `encode` puts before a text, a Query and a Document, without empty prompts."""
        if self.settings.get("include_prompt") is False:  # then `encode` refuses prompts
            return {}
        tokenizer = self.tokenizer
        sides = {"text": str, "query": Query, "document": Document}
        found = {name: tokenizer.prefixes.get(side, tokenizer.prefix) for name, side in sides.items()}
        return {name: prompt for name, prompt in found.items() if prompt}

    @property
    def prompts_in_words(self) -> list[str]:
        """The prompts in words: the prompt before every text, and the prompts before queries and documents."""
        text, query, document = (self.prompts.get(name, "") for name in ("text", "query", "document"))
        words = [f"{shown_prompt(text)} before a text"] if text else []
        if self.tokenizer.documents_follow:
            words.append(f"{shown_prompt(document)} before a document")
        elif {query, document} != {text}:
            words.append(
                f"in search {shown_prompt(query)} before a query and {shown_prompt(document)} before a document"
            )
        return words

    def check_prompts(self, sides: Iterable[type[str]]) -> None:
        """Raise UserError if a text of these types has a prompt, and the checkpoint pools without the prompt."""
        if self.settings.get("include_prompt") is False and any(map(self.tokenizer.prefixes.get, sides)):
            raise UserError(
                "this encoder does not pool the prompt's tokens (include_prompt=false), but cse pools all tokens",
                instead="remove include_prompt from its Pooling's config.json",
            )

    def __repr__(self) -> str:
        """Return one line. The repr of `backbone` lists the layers."""
        return f"Encoder({self.size}, {self.vector_length} numbers a text: {self.described})"

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.backbone.device

    @property
    def takes_embeddings(self) -> bool:
        """Whether the layers accept image and audio tokens (`from_embeddings`)."""
        return takes_embeddings(self.backbone)

    @property
    def packs(self) -> bool:
        """Whether `packed` takes effect: only on a CPU. On a GPU, shapes that depend on data make the host wait."""
        return self.packed and self.device.type == "cpu"

    @property
    def needs_autocast(self) -> bool:
        """Whether flash attention, which computes only in half precision, is used with float32 weights."""
        return "flash" in self.backbone.config._attn_implementation and self.backbone.dtype == torch.float32

    def forward(self, tokens: Tokens | None = None, x_BTD: Tensor | None = None) -> Encoded:
        """Encode text `tokens`, or image or audio tokens x_BTD."""
        if tokens is None:
            assert x_BTD is not None
            return self.from_embeddings(x_BTD)
        if self.packs and self.pooling == "cls" and tokens.labels_BT is None:
            return Encoded(self._embedded(packing.pooled_cls(self.backbone, tokens)))
        all_layers = self.pooling.startswith("avg")
        if self.packs and not all_layers:
            last_BTD, layers = packing.hidden_states(self.backbone, tokens), None
        else:
            output = self.backbone(
                input_ids=tokens.ids_BT,
                attention_mask=self._attention_mask(tokens.mask_BT),
                output_hidden_states=all_layers,
                **self.tokenizer.types(tokens.mask_BT),
            )
            last_BTD, layers = output.last_hidden_state, output.hidden_states
        read_BT = tokens.mask_BT
        if self.pooling == "mask":
            read_BT = self.tokenizer.template_masks(tokens.ids_BT, tokens.mask_BT)
        pooled_BD = pool(self.pooling, last_BTD, layers, read_BT)
        if self.denoising is not None and self.training:
            pooled_BD = pooled_BD - self.denoising(self.backbone, tokens)
        return Encoded(self._embedded(pooled_BD), self.masked_losses(last_BTD, tokens))

    def _attention_mask(self, mask_BT: Tensor) -> Tensor:
        """Return the mask as (B, 1, 1, T) booleans if the layers accept this shape, or else unchanged.

        For a mask of two dimensions, transformers would check for padding and wait for the GPU.
        """
        config = self.backbone.config
        whole = config.model_type in packing.ARCHITECTURES and config._attn_implementation == "sdpa"
        return mask_BT[:, None, None, :].bool() if whole else mask_BT

    def from_embeddings(self, x_BTD: Tensor) -> Encoded:
        """Encode image or audio tokens without padding (cse.model.architecture.hidden_of_embeddings).

        For any `pooling`, the embedding is the last layer at the first token, CLS. In a causal decoder it is the last
        layer at the last token, because only the last token attends to all tokens.
        """
        x_BTD = x_BTD.to(self.backbone.dtype)
        if self.packs:  # decoders do not pack
            return Encoded(self._embedded(packing.pooled_cls_of(self.backbone, x_BTD)))
        hidden_BTD = hidden_of_embeddings(self.backbone, x_BTD)
        return Encoded(self._embedded(hidden_BTD[:, -1 if is_causal(self.backbone.config) else 0]))

    def _embedded(self, pooled_BD: Tensor) -> Tensor:
        """Return the embeddings: the pooled vectors, after the encoder's own head if there is one. Embeddings are
        float32 even if the weights are half precision, because heads and losses compute in float32."""
        if self.backbone.dtype in (torch.bfloat16, torch.float16):
            pooled_BD = pooled_BD.float()
        if self.head is None:
            return pooled_BD
        with full_precision(pooled_BD) as (exact_BD,):
            return self.head(exact_BD)

    def masked_losses(self, hidden_BTD: Tensor, tokens: Tokens) -> dict[str, Tensor]:
        """Return the entries "mlm_nll_B" and "mlm_count_B" of Encoded.known; {} if the tokens have no labels."""
        labels_BT, masked_N = tokens.labels_BT, tokens.masked_N
        if labels_BT is None:
            return {}
        if self.mlm_head is None:
            raise ValueError("labels were given to an encoder that was loaded without its language-model head")
        if masked_N is None:
            masked_N = (labels_BT != -100).flatten().nonzero()[:, 0]
        logits_NV = self.mlm_head(hidden_BTD.flatten(0, 1)[masked_N])
        nll_N = cross_entropy(logits_NV.float(), labels_BT.flatten()[masked_N], reduction="none")
        nll_B = nll_N.new_zeros(len(labels_BT)).index_add(0, masked_N // labels_BT.shape[1], nll_N)
        return {"mlm_nll_B": nll_B, "mlm_count_B": (labels_BT != -100).sum(1)}

    @torch.no_grad()
    def encode(
        self,
        sentences: str | Iterable[str],
        batch_size: int = TEXTS,
        head: nn.Module | None = None,
        precision: Precision = "fp32",
        *,
        normalize_embeddings: bool = False,
        show_progress_bar: bool | None = None,
    ) -> np.ndarray:
        """Return the vectors of n texts, (n, D) float32, or of one text, (D,), in eval mode, without dropout.

        Each distinct token sequence is encoded once, in batches sorted by length. head: a module that is applied to the
        vectors, after the encoder's own head if there is one. precision: "fp32" or "bf16". With bf16 the layers run
        under autocast, and a batch may have more texts, up to TOKENS tokens. Vectors and head stay float32.
        normalize_embeddings: scale to length 1, even if `unit_length` is false. show_progress_bar: True shows a bar, on
        a terminal or in a notebook. Raises TypeError if a sentence is not text, and ValueError for an unknown
        precision or a batch_size below 1.
        """
        texts = as_texts(sentences)
        self.check_prompts(map(type, texts))
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size} must be at least 1")
        if precision not in get_args(Precision):
            raise ValueError(f"{precision=} must be one of {', '.join(get_args(Precision))}")
        most = self.settings.get("truncate_dim")
        full, is_full = self.tokenizer.longest * np.int32().itemsize, []
        if not texts:
            self.full_n = np.empty(0, bool)
            none_0D = torch.zeros(0, self.dim, device=self.device)
            return (none_0D if head is None else head(none_0D)).cpu().numpy()[:, :most]
        number_of: dict[bytes, int] = {}  # the number of a text's vector, by its ids
        numbers: list[int] = []  # for each text
        rows, waiting = [], []  # vectors on the CPU, and on the device: a copy after each batch would be slow
        console = Console(stderr=True)
        done = iter(bar(texts, "encode", console=console) if show_progress_bar else track(texts, "text"))
        next(done)  # shows the bar
        with self._scoring(precision, head):
            for keys in self._tokenised(texts):
                new = sorted(set(keys) - number_of.keys(), key=lambda key: (len(key), key))
                number_of |= zip(new, range(len(number_of), len(number_of) + len(new)), strict=True)
                numbers += map(number_of.__getitem__, keys)
                is_full += [len(key) >= full for key in keys]
                batches = in_batches(new, batch_size, TOKENS if precision == "bf16" else 0)
                advance(done, len(keys) - len(new))  # repeated texts
                for number, batch in enumerate(batches, 1):
                    ids = [np.frombuffer(key, np.int32) for key in batch]
                    with torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16"):
                        pooled_BD = self(self.tokenizer.collate(ids).to(self.device)).pooled_BD
                    pooled_BD = pooled_BD.float() if head is None else head(pooled_BD.float())
                    if self.unit_length:
                        pooled_BD = normalize(pooled_BD, dim=1)
                    pooled_BD = pooled_BD[:, :most]
                    waiting.append(normalize(pooled_BD, dim=1) if normalize_embeddings else pooled_BD)
                    if len(waiting) == FETCHED or number == len(batches):
                        rows.append(torch.cat(waiting).cpu())
                        waiting = []
                    advance(done, len(batch))
        self.full_n = np.array(is_full, bool)
        rows_ND = torch.cat(rows).numpy()[numbers]
        return rows_ND[0] if isinstance(sentences, str) else rows_ND

    def _tokenised(self, texts: list[str]) -> Iterator[list[bytes]]:
        """Yield the int32 ids of READ_AHEAD texts at a time. Meanwhile a thread tokenises the next READ_AHEAD texts."""
        _ = self.tokenizer.has_types  # computed once, and now: two threads cannot use a tokenizer at the same time

        def keys_of(block: list[str]) -> list[bytes]:
            parts = (block[start : start + TOKENISED] for start in range(0, len(block), TOKENISED))
            return [ids.tobytes() for part in parts for ids in self.tokenizer(part, self.tokenizer.longest)]

        with ThreadPoolExecutor(1, "tokenise") as thread:
            ahead = thread.submit(keys_of, texts[:READ_AHEAD])
            for start in range(READ_AHEAD, len(texts) + READ_AHEAD, READ_AHEAD):
                keys = ahead.result()
                ahead = thread.submit(keys_of, texts[start : start + READ_AHEAD])
                yield keys

    def encode_query(self, sentences: str | Iterable[str], **settings: Any) -> np.ndarray:
        """Encode as `encode` does, with the query prefix. settings: the other arguments of `encode`."""
        return self._encode_as(Query, sentences, settings)

    def encode_document(self, sentences: str | Iterable[str], **settings: Any) -> np.ndarray:
        """Encode as `encode` does, with the document prefix. settings: the other arguments of `encode`."""
        return self._encode_as(Document, sentences, settings)

    def _encode_as(self, side: type[Sided], sentences: str | Iterable[str], settings: Json) -> np.ndarray:
        rows_ND = self.encode([side(text) for text in as_texts(sentences)], **settings)
        return rows_ND[0] if isinstance(sentences, str) else rows_ND

    @contextmanager
    def _scoring(self, precision: str, head: nn.Module | None) -> Iterator[None]:
        """Put the encoder and the head in eval mode during the block. For fp32, also turn off flash attention, because
        flash attention cannot compute in fp32."""
        parts: list[nn.Module] = [self] if head is None else [self, head]
        training, attention = [part.training for part in parts], self.backbone.config._attn_implementation
        exact = precision == "fp32" and self.needs_autocast
        for part in parts:
            part.eval()
        if exact:
            self.backbone.set_attn_implementation("sdpa")
        try:
            yield
        finally:
            if exact:
                self.backbone.set_attn_implementation(attention)
            for part, was in zip(parts, training, strict=True):
                part.train(was)


def advance(progress: Iterator[str], texts: int) -> None:
    """Advance a bar: take so many texts from the iterator that it tracks."""
    deque(islice(progress, texts), maxlen=0)


def in_batches(keys: Sequence[bytes], texts: int, tokens: int) -> list[Sequence[bytes]]:
    """Split the keys (int32 ids of texts, sorted by length) into batches of `texts` texts.

    A batch gets more texts while it has at most `tokens` tokens, including padding. It gets fewer texts if they are
    long, so that it has at most texts * LONG tokens.
    """
    batches, start = [], 0
    while start < len(keys):
        stop = min(start + texts, len(keys))
        while stop > start + 1 and (stop - start) * len(keys[stop - 1]) > texts * LONG * np.int32().itemsize:
            stop -= 1
        while stop < len(keys) and (stop + 1 - start) * len(keys[stop]) <= tokens * np.int32().itemsize:
            stop += 1
        batches.append(keys[start:stop])
        start = stop
    return batches
