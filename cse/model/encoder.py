"""The transformer that every method trains: text, image or audio tokens in, one vector a row out.

B rows, T tokens, D width, V vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.errors import UserError
from cse.model import packing
from cse.model.architecture import hidden_of_embeddings, takes_embeddings
from cse.model.pooling import pool
from cse.model.template import Denoising
from cse.model.tokenizer import Tokenizer
from cse.progress import track
from cse.types import Encoded, Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

FETCHED = 256  # batches whose rows wait on the device, to be copied together
TEXTS = 128  # in a batch of encode()
TOKENS = 2**15  # to which a batch in bf16 is filled up, padding included: of short texts a GPU takes many at once
KEPT = 200_000  # texts whose token ids encode() keeps; the corpora of MTEB's retrieval have millions


class Encoder(nn.Module):
    """A Hugging Face encoder with its pooling.

    backbone: what AutoModel loads, without a pooler. pooling: cls | mean | last | mask | avg_top2 | avg_first_last |
    avg_first_last_0 (cse.model.pooling). mlm_head: hidden (n, D) -> logits (n, V), or None where no objective asks for
    a masked-language-model loss. head: the trained head that stays on at test time (supervised SimCSE), or None.
    unit_length: whether `encode` returns vectors of length 1, as some published sentence-transformers folders ask.
    packed: leave out padding and what the pooling does not read, on a CPU (cse.model.packing); the same function,
    faster. dropout: the largest dropout probability in training, adapters' included. own_dropout: the checkpoint's own
    probabilities by the configuration's names; they are what `best/` records. lora: whether only an adapter is trained.
    denoising: what is subtracted in training (cse.model.template), or None.
    """

    def __init__(
        self,
        backbone: "PreTrainedModel",
        tokenizer: Tokenizer,
        pooling: str,
        *,
        mlm_head: nn.Module | None = None,
        head: nn.Module | None = None,
        unit_length: bool = False,
        packed: bool = False,
        dropout: float = 0.0,
        own_dropout: Mapping[str, float] | None = None,
        lora: bool = False,
    ):
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.mlm_head = mlm_head
        self.head = head
        self.unit_length = unit_length
        self.packed = packed
        self.dropout = dropout
        self.own_dropout = dict(own_dropout or {})
        self.lora = lora
        self.denoising: Denoising | None = None
        self._token_ids: dict[str, np.ndarray] = {}  # of texts that encode() has seen, KEPT at most

    @property
    def dim(self) -> int:
        """D, the width of the hidden states and of the embeddings."""
        return self.backbone.config.hidden_size

    @property
    def size(self) -> str:
        """How many parameters it has, in words."""
        return f"{sum(p.numel() for p in self.parameters()) / 1e6:.1f}M parameters"

    @property
    def described(self) -> str:
        """How a text becomes a vector: pooling, head, unit length and the longest text, as recorded or as asked for."""
        about = [f"{self.pooling} pooling", *["in a template"] * bool(self.tokenizer.beside)]
        about += ["its dense head"] * (self.head is not None)
        return ", ".join([*about, *["unit length"] * self.unit_length, f"at most {self.tokenizer.longest} tokens"])

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.backbone.device

    @property
    def takes_embeddings(self) -> bool:
        """Whether images and sound can enter the layers (`from_embeddings`)."""
        return takes_embeddings(self.backbone)

    @property
    def packs(self) -> bool:
        """On a CPU only: the shapes depend on the data, which a GPU would have to wait for."""
        return self.packed and self.device.type == "cpu"

    @property
    def needs_autocast(self) -> bool:
        """Whether its attention (a flash package's) computes in half precision alone, and its weights are wider."""
        return "flash" in self.backbone.config._attn_implementation and self.backbone.dtype == torch.float32

    def forward(
        self, tokens: Tokens | None = None, x_BTD: Tensor | None = None, mask_BT: Tensor | None = None
    ) -> Encoded:
        """Encode tokens, or, given x_BTD, what already stands where token embeddings would."""
        if tokens is None:
            assert x_BTD is not None
            return self.from_embeddings(x_BTD, mask_BT)
        if self.packs and self.pooling == "cls" and tokens.labels_BT is None:
            return Encoded(packing.pooled_cls(self.backbone, tokens))
        all_layers = self.pooling.startswith("avg")
        if self.packs and not all_layers:
            last_BTD, layers = packing.hidden_states(self.backbone, tokens), None
        else:
            output = self.backbone(
                input_ids=tokens.ids_BT,
                attention_mask=self._attention_mask(tokens.mask_BT),
                output_hidden_states=all_layers,
            )
            last_BTD, layers = output.last_hidden_state, output.hidden_states
        nll_B, count_B = self.masked_losses(last_BTD, tokens)
        read_BT = tokens.mask_BT
        if self.pooling == "mask":
            read_BT = read_BT * (tokens.ids_BT == self.tokenizer.hf.mask_token_id)
        pooled_BD = pool(self.pooling, last_BTD, layers, read_BT)
        if self.denoising is not None and self.training:
            pooled_BD = pooled_BD - self.denoising(self.backbone, tokens)
        return Encoded(self._wide(pooled_BD), last_BTD, nll_B, count_B)

    def _attention_mask(self, mask_BT: Tensor) -> Tensor:
        """As (B, 1, 1, T) booleans where the layers read that: of a mask of two dimensions transformers asks whether
        any token is padding, and a GPU would have to be waited for."""
        config = self.backbone.config
        whole = config.model_type in packing.ARCHITECTURES and config._attn_implementation == "sdpa"
        return mask_BT[:, None, None, :].bool() if whole else mask_BT

    def from_embeddings(self, x_BTD: Tensor, mask_BT: Tensor | None = None) -> Encoded:
        """Image or audio tokens enter the layers here (cse.model.architecture.hidden_of_embeddings): CLS comes first,
        and is what is pooled; a decoder's last position, which alone sees every token. Without mask_BT every position
        is attended to."""
        if mask_BT is None and self.packs:
            return Encoded(packing.pooled_cls_of(self.backbone, x_BTD))
        hidden_BTD = hidden_of_embeddings(self.backbone, x_BTD.to(self.backbone.dtype), mask_BT)
        if self.pooling != "last":
            return Encoded(self._wide(hidden_BTD[:, 0]), hidden_BTD)
        mask_BT = hidden_BTD.new_ones(hidden_BTD.shape[:2]) if mask_BT is None else mask_BT
        return Encoded(self._wide(pool("last", hidden_BTD, None, mask_BT)), hidden_BTD)

    def _wide(self, pooled_BD: Tensor) -> Tensor:
        """Heads and losses compute in float32 beside weights in bfloat16."""
        return pooled_BD.float() if self.backbone.dtype in (torch.bfloat16, torch.float16) else pooled_BD

    def masked_losses(self, hidden_BTD: Tensor, tokens: Tokens) -> tuple[Tensor | None, Tensor | None]:
        """Per row: the sum of -log p(original token) over masked tokens, and their number; None without labels."""
        labels_BT, masked_N = tokens.labels_BT, tokens.masked_N
        if labels_BT is None:
            return None, None
        if self.mlm_head is None:
            raise ValueError("labels were given to an encoder that was loaded without its language-model head")
        if masked_N is None:
            masked_N = (labels_BT != -100).flatten().nonzero()[:, 0]
        logits_NV = self.mlm_head(hidden_BTD.flatten(0, 1)[masked_N])
        nll_N = cross_entropy(logits_NV.float(), labels_BT.flatten()[masked_N], reduction="none")
        nll_B = nll_N.new_zeros(len(labels_BT)).index_add(0, masked_N // labels_BT.shape[1], nll_N)
        return nll_B, (labels_BT != -100).sum(1)

    @torch.no_grad()
    def encode(
        self, texts: list[str], batch_size: int = TEXTS, head: nn.Module | None = None, precision: str = "fp32"
    ) -> np.ndarray:
        """n texts -> (n, D) float32, in eval mode, without dropout.

        Each distinct token sequence is encoded once, in batches sorted by length; each text is tokenised once in
        the life of the encoder. head: applied to the pooled rows (default: the encoder's own, if it kept one).
        precision: fp32, or bf16 (autocast in the layers; rows and head stay float32), which fills up batches to TOKENS.
        """
        if not texts:
            raise UserError("encode() was given no text")
        head = head or self.head
        known = self._token_ids
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known = known | dict(zip(new, self.tokenizer(new, self.tokenizer.longest), strict=True))
        if len(known) <= KEPT:
            self._token_ids = known
        keys = [known[text].tobytes() for text in texts]
        distinct = sorted(set(keys), key=lambda key: (len(key), key))
        rows, waiting = [], []  # on the CPU; on the device, which is not waited for batch by batch
        with self._scoring(precision):
            batches = in_batches(distinct, batch_size, TOKENS if precision == "bf16" else 0)
            for number, batch in enumerate(track(batches, "batch"), 1):
                ids = [np.frombuffer(key, np.int32) for key in batch]
                with torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16"):
                    pooled_BD = self(self.tokenizer.collate(ids).to(self.device)).pooled_BD
                pooled_BD = pooled_BD.float() if head is None else head(pooled_BD.float())
                waiting.append(normalize(pooled_BD, dim=1) if self.unit_length else pooled_BD)
                if len(waiting) == FETCHED or number == len(batches):
                    rows.append(torch.cat(waiting).cpu())
                    waiting = []
        place = {key: i for i, key in enumerate(distinct)}
        return torch.cat(rows).numpy()[[place[key] for key in keys]]

    @contextmanager
    def _scoring(self, precision: str) -> Iterator[None]:
        """Inside, in eval mode; where float32 is asked for, without flash attention, which does not compute in it."""
        training, attention = self.training, self.backbone.config._attn_implementation
        exact = precision == "fp32" and self.needs_autocast
        self.eval()
        if exact:
            self.backbone.set_attn_implementation("sdpa")
        try:
            yield
        finally:
            if exact:
                self.backbone.set_attn_implementation(attention)
            self.train(training)


def in_batches(keys: Sequence[bytes], texts: int, tokens: int) -> list[Sequence[bytes]]:
    """The keys, int32 ids sorted by length, in batches of `texts`, or of more where these have at most `tokens` tokens
    with their padding."""
    batches, start = [], 0
    while start < len(keys):
        stop = start + texts
        while stop < len(keys) and (stop + 1 - start) * len(keys[stop]) <= tokens * np.int32().itemsize:
            stop += 1
        batches.append(keys[start:stop])
        start = stop
    return batches
