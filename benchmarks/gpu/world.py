"""Synthetic inputs of the GPU benchmark: encoders of the papers' shapes, text, score sets, pictures, sound.

Nothing is downloaded. Weights and words are random, because neither the times nor the equality checks depend on them.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.bench_cost import SHAPES
from cse.types import Batch, Tokens

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
VOCABULARY = 30_522  # BERT's
WORDS_A_SENTENCE = (18, 30)  # one token each: 20 to 32 tokens with both special ones
POSITIONS = 514

SHAPES_HERE = {
    **SHAPES,
    "roberta_large": (1024, 24, 16),
    "two layers": (384, 2, 12),
    "tiny": (32, 2, 2),
}
"""Width, layers, heads."""


@dataclass
class World:
    """The inputs. folder: the folder of all files. tiny: whether inputs are small enough for a test on two cores."""

    folder: Path
    tiny: bool
    known: dict[str, float] = field(default_factory=dict)

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """Return the value of `measure()`. For each name, `measure` is called only once."""
        if name not in self.known:
            self.known[name] = measure()
        return self.known[name]

    @property
    def device(self) -> str:
        return "cuda" if torch.cuda.is_available() else "cpu"

    @cached_property
    def words(self) -> list[str]:
        """Made-up words of two or three syllables, as many as BERT's vocabulary has rows (200 if tiny)."""
        count = 200 if self.tiny else VOCABULARY - len(SPECIAL)
        made = ("".join(parts) for length in (2, 3) for parts in product(SYLLABLES, repeat=length))
        return [word for word, _ in zip(made, range(count), strict=False)]

    def encoder(self, shape: str) -> str:
        """A folder with a BERT of that shape (width, layers and heads), its language-model head and a tokenizer."""
        from transformers import BertConfig, BertForMaskedLM

        name = "tiny" if self.tiny else shape
        folder = self.folder / "encoders" / name.replace(" ", "_")
        if not folder.exists():
            width, layers, heads = SHAPES_HERE[name]
            torch.manual_seed(0)
            config = BertConfig(
                vocab_size=len(SPECIAL) + len(self.words), hidden_size=width, num_hidden_layers=layers,
                num_attention_heads=heads, intermediate_size=4 * width, max_position_embeddings=POSITIONS,
                pad_token_id=0,
            )  # fmt: skip
            BertForMaskedLM(config).save_pretrained(folder)
            self._tokenizer().save_pretrained(folder)
        return str(folder)

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer, models, pre_tokenizers, processors
        from transformers import PreTrainedTokenizerFast

        vocabulary = {word: row for row, word in enumerate([*SPECIAL.values(), *self.words])}
        core = Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL["unk"]))
        core.pre_tokenizer = pre_tokenizers.Whitespace()
        core.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        names = {f"{role}_token": token for role, token in SPECIAL.items()}
        return PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=512, **names)

    def sentences(self, rows: int, seed: int = 0, words: tuple[int, int] = WORDS_A_SENTENCE) -> list[str]:
        rng = random.Random(seed)
        return [" ".join(rng.choices(self.words, k=rng.randint(*words))) for _ in range(rows)]

    def text(self, rows: int, words: tuple[int, int] = WORDS_A_SENTENCE) -> Path:
        """A file of made-up sentences, one a line."""
        path = self.folder / f"text_{rows}_{words[0]}_{words[1]}.txt"
        if not path.exists():
            path.write_text("\n".join(self.sentences(rows, words=words)) + "\n")
        return path

    def senteval(self) -> Path:
        """STS and four transfer tasks in SentEval's layout, with the official numbers of rows (at most 120 if tiny)."""
        folder = self.folder / "senteval"
        if not folder.exists():
            for name, lines in (self._sts_files() | self._transfer_files()).items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join(lines) + "\n", encoding="latin-1")
        return folder

    def _count(self, official: int) -> int:
        return min(official, 120) if self.tiny else official

    def _sts_files(self) -> dict[str, list[str]]:
        from cse.sources.senteval import SICK_FILES, STSB_ROWS, SUBSETS

        rng = np.random.default_rng(0)

        def pairs(official: int) -> Iterator[tuple[str, str, str]]:
            """Yield (first, second, score). Both sentences begin with the same words; the score is 5 x their share."""
            rows = self._count(official)
            for one, two, share in zip(self.sentences(rows, 1), self.sentences(rows, 2), rng.random(rows), strict=True):
                first, second = one.split(), two.split()
                kept = round(share * min(len(first), len(second)))
                yield one, " ".join(first[:kept] + second[kept:]), f"{5 * share:.3f}"

        files: dict[str, list[str]] = {}
        for year, subsets in SUBSETS.items():
            for subset, official in subsets.items():
                rows = list(pairs(official))
                files[f"STS/{year}-en-test/STS.input.{subset}.txt"] = [f"{a}\t{b}" for a, b, _ in rows]
                files[f"STS/{year}-en-test/STS.gs.{subset}.txt"] = [gold for *_, gold in rows]
        for split, official in STSB_ROWS.items():
            files[f"STS/STSBenchmark/sts-{split}.csv"] = [
                f"-\t-\t-\t-\t{gold}\t{a}\t{b}" for a, b, gold in pairs(official)
            ]
        for stem, official in SICK_FILES.values():
            files[f"SICK/{stem}.txt"] = ["header", *(f"-\t{a}\t{b}\t{gold}" for a, b, gold in pairs(official))]
        return files

    def _transfer_files(self) -> dict[str, list[str]]:
        from cse.eval.senteval.data import BINARY, TABLES, TREC_LABELS

        files: dict[str, list[str]] = {}
        for task in ("MR", "CR"):
            positive, negative, official = BINARY[task]
            rows = self.sentences(self._count(official), 3)
            files[f"{task}/{positive}"], files[f"{task}/{negative}"] = rows[::2], rows[1::2]
        labels = list(TREC_LABELS)
        for file, official in TABLES["TREC"].files.values():
            rows = self.sentences(self._count(official), 4)
            files[file] = [f"{labels[i % len(labels)]}:some {row} ?" for i, row in enumerate(rows)]
        return files

    def pictures(self) -> Path:
        """Return a folder of noise in JPEG files: 20 classes with 20 pictures of 320 x 240; tiny: 4 classes with 4."""
        from PIL import Image

        folder, classes = self.folder / "pictures", 4 if self.tiny else 20
        if not folder.exists():
            rng = np.random.default_rng(0)
            for number in range(classes**2):
                path = folder / f"class{number % classes}" / f"{number}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                coarse = rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)
                Image.fromarray(coarse).resize((320, 240)).save(path)
        return folder

    def clips(self) -> Path:
        """Return a folder of noise in wave files: 10 speakers, 8 clips each of 10 s at 16 kHz; tiny: 3, 4, 0.25 s."""
        from scipy.io import wavfile

        folder = self.folder / "clips"
        speakers, each, samples = (3, 4, 4000) if self.tiny else (10, 8, 160_000)
        if not folder.exists():
            rng = np.random.default_rng(0)
            for speaker, number in product(range(speakers), range(each)):
                path = folder / f"speaker{speaker}" / f"{number}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                wavfile.write(path, 16_000, (3000 * rng.standard_normal(samples)).astype(np.int16))
        return folder


def batch_for(objective: Any, rows: int, vocabulary: int, longest: int) -> Batch:
    """Return random tokens on the CPU, as a loader does: every view of `rows` rows.

    If the objective averages positives, a row has two positives. If the objective masks tokens, there are labels.
    """
    generator = torch.Generator().manual_seed(0)
    sizes = [rows] * objective.num_views
    if objective.averages_positives:
        sizes[1] = 2 * rows
    if objective.masking == "copies":
        sizes.append(sum(sizes))
    lengths_B = torch.randint(longest // 2, longest + 1, (sum(sizes),), generator=generator)
    lengths_B[0] = longest
    mask_BT = (torch.arange(longest)[None] < lengths_B[:, None]).long()
    ids_BT = torch.randint(len(SPECIAL), vocabulary, mask_BT.shape, generator=generator) * mask_BT
    labels_BT = None
    if objective.masking != "none":
        first, last = (0, sizes[0]) if objective.masking == "first" else (sum(sizes[:-1]), sum(sizes))
        labels_BT = torch.full_like(ids_BT, -100)
        labels_BT[first:last, 1:4] = ids_BT[first:last, 1:4]
    return Batch(Tokens(ids_BT, mask_BT, labels_BT), tuple(sizes))
