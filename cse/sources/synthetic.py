"""Small synthetic resources for smoke=true: an encoder, text, pictures, audio and scored pairs, each written once."""

import random
from collections.abc import Sequence
from pathlib import Path

from cse.errors import check_loads
from cse.files import written_once
from cse.sources.senteval import SICK_FILES, STSB_ROWS, SUBSETS

ROWS, WORDS_A_ROW = 320, 70  # a tenth of the rows still fills a batch; a row has room for two spans of 16 words
PAIRS, FILES = 12, 16
POSITIONS = 512  # tokens that an encoder reads
WORDS = [a + b for a in ("ka", "lo", "mi", "nu", "per", "sta") for b in ("dan", "fel", "gor", "ler", "mon", "zu")]


def text_file(world: Path, columns: Sequence[str], scores: str | None = None) -> Path:
    """Return a file of synthetic rows: with these columns or, without columns, of plain text.

    scores: the name of one more column, with numbers from 0 to 1. The folder's name has the names of the columns.
    """
    name = "-".join(["text", *columns, *([f"{scores}01"] if scores else [])])
    folder = written_once(world / name, lambda folder: write_rows(folder, columns, scores))
    return next(folder.iterdir())


def encoder(world: Path, name: str) -> str:
    """Return the folder of a one-layer encoder with the width of the encoder `name`."""
    width = 1024 if "large" in name else 384 if "MiniLM" in name or "minilm" in name else 768
    family = "roberta" if "roberta" in name else "bert"
    return str(
        written_once(world / f"{family}{width}bytes{POSITIONS}", lambda folder: write_encoder(folder, family, width))
    )


def write_encoder(folder: Path, family: str, width: int) -> None:
    """Write a BERT or RoBERTa of one layer with new weights, and a tokenizer for the synthetic words and for bytes."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

    special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    vocabulary = [*special.values(), *WORDS, *(f"<0x{byte:02X}>" for byte in range(256))]
    core = Tokenizer(models.Unigram([(token, 0.0) for token in vocabulary], unk_id=1, byte_fallback=True))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    config = AutoConfig.for_model(
        family,
        vocab_size=len(vocabulary),
        hidden_size=width,
        num_hidden_layers=1,
        intermediate_size=64,
        num_attention_heads=12 if width == 384 else width // 64,
        max_position_embeddings=POSITIONS + 2,
        pad_token_id=0,
        type_vocab_size=2,
    )
    torch.manual_seed(0)  # transformers' set_seed imports peft
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    names = {f"{role}_token": token for role, token in special.items()}
    PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=POSITIONS, **names).save_pretrained(folder)


def sentence(rng: random.Random, words: int) -> str:
    """Return words in a fixed order, from a random word on. An encoder can learn this order."""
    start = rng.randrange(len(WORDS))
    return " ".join(WORDS[(start + 5 * i) % len(WORDS)] for i in range(words))


def write_rows(folder: Path, columns: Sequence[str], scores: str | None) -> None:
    """Write ROWS synthetic sentences as text.txt, or as text.csv with these columns; see text_file."""
    rng = random.Random(0)
    rows = [[sentence(rng, WORDS_A_ROW) for _ in columns or [""]] for _ in range(ROWS)]
    if scores:
        columns, rows = [*columns, scores], [[*row, f"{rng.random():.1f}"] for row in rows]
    lines = [",".join(row) for row in ([columns, *rows] if columns else rows)]
    (folder / ("text.csv" if columns else "text.txt")).write_text("\n".join(lines) + "\n")


def write_senteval(folder: Path) -> None:
    """Write a few pairs of STS12..16, STS-B and SICK-R in SentEval's layout. More shared words mean a higher score."""
    rng = random.Random(0)

    def pairs() -> list[tuple[str, str, float]]:
        texts = [(sentence(rng, 6), sentence(rng, 6)) for _ in range(PAIRS)]
        return [(a, b, 4.8 * len(set(a.split()) & set(b.split())) / 6 + 0.01 * i) for i, (a, b) in enumerate(texts)]

    def write(name: str, lines: list[str]) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")

    for year, subsets in SUBSETS.items():
        for subset in subsets:
            rows = pairs()
            write(f"STS/{year}-en-test/STS.input.{subset}.txt", [f"{a}\t{b}" for a, b, _ in rows])
            write(f"STS/{year}-en-test/STS.gs.{subset}.txt", [f"{gold:.2f}" for *_, gold in rows])
    for split in STSB_ROWS:
        write(f"STS/STSBenchmark/sts-{split}.csv", [f"-\t-\t-\t-\t{gold:.2f}\t{a}\t{b}" for a, b, gold in pairs()])
    for stem, _ in SICK_FILES.values():
        write(f"SICK/{stem}.txt", ["header", *(f"-\t{a}\t{b}\t{gold:.2f}" for a, b, gold in pairs())])


def write_images(folder: Path) -> None:
    """Write 16 pictures of noise in 4 classes."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(FILES):
        path = folder / f"class{number % 4}" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(path)


def write_audio(folder: Path) -> None:
    """Write 16 clips of noise, half a second each, by 4 speakers."""
    check_loads("soundfile")
    import numpy as np
    import soundfile

    rng = np.random.default_rng(0)
    for number in range(FILES):
        path = folder / f"speaker{number % 4}" / f"{number}.wav"
        path.parent.mkdir(exist_ok=True)
        soundfile.write(path, rng.normal(0, 0.1, 8000).astype(np.float32), 16_000)
