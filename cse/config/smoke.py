"""smoke=true: any run in seconds, on a CPU and without a network, to see that all its parts fit together.

The encoder keeps its family and its width, so that heads, group numbers and patches are the real run's; it has one
layer with new weights. Text, pictures, speech and score sets are made up, once, in the cache folder. A score means
nothing here. Evaluators other than stsb and sts are left out.
"""

import logging
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from omegaconf import DictConfig, OmegaConf, open_dict

from cse.files import written_once
from cse.sources.catalogue import DATASETS

log = logging.getLogger("cse")

ROWS, WORDS_A_ROW = 320, 70  # a tenth of the rows still fills a batch; a row holds two anchors' spans of 16 words
BATCH = 32  # more rows than the largest of WhitenedCSE's groups has channels (768 / 32 = 24)
PAIRS = 12
WORDS = [a + b for a in ("ka", "lo", "mi", "nu", "per", "sta") for b in ("dan", "fel", "gor", "ler", "mon", "zu")]


def shrink(cfg: DictConfig) -> None:
    """Change a composed config of cse-train or cse-eval in place; see above."""
    world = Path(cfg.paths.cache) / "smoke"
    with open_dict(cfg):
        if "name" in cfg.model:
            # its tokens see all others as they are, whatever a decoder's would
            pooling = cfg.model.pooling or "mean"  # what the real one records, this one does not
            cfg.model.update(name=encoder(world, cfg.model.name), num_layers=None, bidirectional=False, pooling=pooling)
        left_out = sorted(set(cfg.eval) - {"stsb", "sts"})
        if left_out:
            log.info("smoke      eval=%s left out", ",".join(left_out))
        score_sets = written_once(world / "senteval2", write_senteval)
        known = {"senteval": str(score_sets), "allow_partial": True}
        sts = {"sts": {"_target_": "cse.eval.sts.Sts", **known}} if "sts" in cfg.eval else {}
        stsb = {"stsb": {"_target_": "cse.eval.sts.Stsb", "with_sickr": False, **known}} if cfg.eval else {}
        cfg.eval = {**stsb, **sts}
        if "whitening" in cfg and cfg.whitening.kind:
            cfg.whitening.update(fit=str(text_file(world, ())), components=8)
        if "trainer" in cfg:
            shrink_training(cfg, world)


def shrink_training(cfg: DictConfig, world: Path) -> None:
    """What only cse-train has: its text, its second modality, its trainer, its projector."""
    shrink_text(cfg, world)
    cfg.trainer.update(
        batch_size=min(cfg.trainer.batch_size, BATCH),
        max_length=min(cfg.trainer.max_length, 16),
        epochs=1,
        max_steps=2,
        schedule_steps=None,
        eval_every=2,
        save_every=None,
        log_every=1,
        precision="fp32",
        workers=0,
        devices=1,
        stop_on_collapse=False,
        watch=[],
        select=cfg.trainer.select and "dev/stsb/spearman",
    )
    if "min_length" in cfg.augmentation:  # DeCLUTR's spans
        cfg.augmentation.update(min_length=4, max_length=16)
    if OmegaConf.select(cfg, "objective.head.hidden"):
        cfg.objective.head.update(hidden=64, out=64)
    if "data" in cfg.aux_modality:
        cfg.aux_modality.update(init="random", weights=None)
        cfg.aux_modality.data.update(batch_size=8, workers=0)
        if "size" in cfg.aux_modality.data:
            cfg.aux_modality.data.update(folder=str(written_once(world / "images", write_images)), size=32, files=None)
        else:
            cfg.aux_modality.data.update(folder=str(written_once(world / "audio", write_audio)))


def shrink_text(cfg: DictConfig, world: Path) -> None:
    """A made-up corpus. One that is a single file keeps its reader and its columns: the file alone is made up."""
    corpus = DATASETS.get(cfg.data.name)
    if corpus and "file" in (cfg.data.get("rows") or ()):
        file = text_file(world, corpus.columns)
        cfg.data.update(name="smoke", identity=f"smoke/{cfg.data.name}")
        cfg.data.rows.update(file=str(file), allow_partial=True)
        return
    others = {key: cfg.data.get(key) for key in ("columns", "limit", "limit_seed", "noise", "cache_dir", "preview")}
    path = str(text_file(world, cfg.data.get("columns") or ()))
    cfg.data = {"_target_": "cse.data.text.Text", "name": "smoke", "path": path, **others}


def text_file(world: Path, columns: Sequence[str]) -> Path:
    """A file of made-up rows with these columns, plain text where there are none; its folder has their names."""
    folder = written_once(world / "-".join(["text", *columns]), lambda folder: write_text(folder, columns))
    return next(folder.iterdir())


def encoder(world: Path, name: str) -> str:
    """The folder of a one-layer encoder, as wide as the one of that name."""
    width = 1024 if "large" in name else 384 if "MiniLM" in name or "minilm" in name else 768
    family = "roberta" if "roberta" in name else "bert"
    return str(written_once(world / f"{family}{width}", lambda folder: write_encoder(folder, family, width)))


def write_encoder(folder: Path, family: str, width: int) -> None:
    """A BERT or RoBERTa of one layer with new weights, and a tokenizer of the made-up words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast, set_seed

    special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    vocabulary = {word: row for row, word in enumerate([*special.values(), *WORDS])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
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
        max_position_embeddings=128,
        pad_token_id=0,
        type_vocab_size=2,
    )
    set_seed(0)
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    names = {f"{role}_token": token for role, token in special.items()}
    PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=120, **names).save_pretrained(folder)


def sentence(rng: random.Random, words: int) -> str:
    """Words that follow each other in a fixed order, so there is something to learn."""
    start = rng.randrange(len(WORDS))
    return " ".join(WORDS[(start + 5 * i) % len(WORDS)] for i in range(words))


def write_text(folder: Path, columns: Sequence[str]) -> None:
    """ROWS made-up sentences as text.txt, or rows of them as text.csv with these columns."""
    rng = random.Random(0)
    rows = [[sentence(rng, WORDS_A_ROW) for _ in columns or [""]] for _ in range(ROWS)]
    lines = [",".join(row) for row in ([columns, *rows] if columns else rows)]
    (folder / ("text.csv" if columns else "text.txt")).write_text("\n".join(lines) + "\n")


def write_senteval(folder: Path) -> None:
    """STS12..16, STS-B and SICK-R in SentEval's layout, a few pairs each, scored by the words they share."""
    from cse.eval.senteval.pairs import SICK_FILES, STSB_ROWS, SUBSETS

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
    """16 pictures of noise in 4 classes."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(16):
        path = folder / f"class{number % 4}" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(path)


def write_audio(folder: Path) -> None:
    """16 clips of half a second of noise by 4 speakers."""
    import soundfile

    rng = np.random.default_rng(0)
    for number in range(16):
        path = folder / f"speaker{number % 4}" / f"{number}.wav"
        path.parent.mkdir(exist_ok=True)
        soundfile.write(path, rng.normal(0, 0.1, 8000).astype(np.float32), 16_000)
