"""The work of the host: rows per second, kernels per step, start-up, and the wait for a checkpoint.

    python -m benchmarks.bench_host [--part rows|operators|startup|checkpoint] [--repeats 5] [--shared ../shared/data]

All parts use one thread. They measure CPU time, which a busy machine changes little. Only the part checkpoint measures
wall-clock time, because it waits for a disk.

rows: the rate of batches as the loop gets them. A first pass over the same batches fills the caches (WordNet's words,
word pieces). If sentence-transformers is installed, its collator reads each text of SimCSE's batches twice, for
comparison. Without the real data, the text is synthetic.

operators: the kernels of a step as a GPU gets them, without packing. Their number depends on the layers, but not on the
width, the rows or the lengths, so 8 rows suffice. On the CPU, torch computes attention with dropout in several kernels.
On a GPU, attention is one kernel forward and one backward. No launches have been counted on a GPU yet.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.peers import PACKAGE, save_model, write_sentences
from benchmarks.results import SHARED, spread, table, write_section
from cse.lab.run import this_process

AUGMENTATIONS = {  # overrides, steps
    "SimCSE's dropout, 64 rows": (["trainer.batch_size=64"], 100),
    "SimCSE's dropout, 512 rows": (["trainer.batch_size=512"], 20),
    "shuffle, 64 rows": (["augmentation=shuffle"], 40),
    "EDA, 64 rows": (["augmentation=eda"], 20),
    "DeCLUTR's spans, masked anchors, 16 documents": (["objective=declutr", "model.pooling=mean"], 10),
}
SMOKE = ["smoke=true", "tracker=none"]
LIGHT = {"cse-train --help": ["--help"], "cse-train smoke=true": SMOKE}


def batches_of(overrides: list[str], text: Path, folder: Path) -> Any:
    """The batches of a run with these settings."""
    from accelerate import Accelerator

    from cse.lab.run.build import build
    from cse.lab.settings.compose import composed

    given = ["model=minilm", *overrides, "data=text", f"data.path={text}", "eval=[]", "trainer.select=null"]
    return build(composed("train", [*given, f"paths.cache={folder}/cache"]), Accelerator(cpu=True)).batches


def rows_a_second(rows: int, work: Callable[[], object], repeats: int) -> list[float]:
    """Return the rows per second of CPU time in each repeat, after an untimed repeat."""
    rates = []
    for _ in range(repeats + 1):
        started = time.process_time()
        work()
        rates.append(rows / (time.process_time() - started))
    return rates[1:]


def rows(shared: Path, repeats: int) -> str:
    """Return a table with the rows per second of each augmentation, and of sentence-transformers' collator."""
    measured = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = write_made_up(folder)
        real = shared.is_dir()
        for what, (overrides, steps) in AUGMENTATIONS.items():
            file = "documents.txt.gz" if "documents" in what else "wiki_sentences.txt.gz"
            batches = batches_of(overrides, shared / "text" / file if real else made[file], folder)
            steps = min(steps, batches.steps_per_epoch)

            def ours(batches: Any = batches, steps: int = steps) -> None:
                for _ in batches.loader(0, steps, 0, False):
                    pass

            measured.append([what, spread(rows_a_second(steps * batches.batch_size, ours, repeats))])
            if "dropout" in what and (rates := peer(batches, steps, repeats)):
                measured.append([f"sentence-transformers' collator, {batches.batch_size} rows twice", spread(rates)])
    about = "" if real else "Made-up words: the real data is not there.\n\n"
    return f"{about}{table(['batches', 'rows a second'], measured)}"


def peer(batches: Any, steps: int, repeats: int) -> list[float]:
    """Rows per second of sentence-transformers' collator on the same texts; [] if it is not installed."""
    try:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
    except ImportError:
        return []
    from cse.sources.encoder import locate

    model = SentenceTransformer(str(locate(PACKAGE)), device="cpu")
    model.max_seq_length = batches.views.max_length
    collate = SentenceTransformerDataCollator(model.preprocess)
    texts = [[batches.text.text(int(row)) for row in batches.row_numbers_of(step)] for step in range(steps)]
    features = [[{"anchor": text, "positive": text} for text in step] for step in texts]
    return rows_a_second(sum(map(len, texts)), lambda: [collate(one) for one in features], repeats)


def write_made_up(folder: Path) -> dict[str, Path]:
    """Write synthetic sentences and documents. Return {name of the real file: synthetic file}."""
    made = {"wiki_sentences.txt.gz": folder / "sentences.txt", "documents.txt.gz": folder / "documents.txt"}
    write_sentences(save_model("minilm", folder / "model"), made["wiki_sentences.txt.gz"], 20_000)
    lines = made["wiki_sentences.txt.gz"].read_text().splitlines()
    made["documents.txt.gz"].write_text("".join(" ".join(lines[i : i + 150]) + "\n" for i in range(0, 20_000, 100)))
    return made


NO_KERNEL = {"detach", "alias", "empty", "empty_like", "empty_strided", "_unsafe_view", "_reshape_alias", "lift_fresh"}
"""Operators of ATen that only allocate, or name the same memory."""


class Kernels(TorchDispatchMode):
    """A counter of the operators that compute something in the block. Views and allocations do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.counts[name] += func.namespace == "aten" and not (func.is_view or name in NO_KERNEL)
        return func(*args, **(kwargs or {}))


def operators() -> str:
    """Return a table with the kernels of SimCSE's second training step, by shape and precision."""
    measured = []
    for shape in ("minilm", "bert"):
        for precision in ("fp32", "bf16"):
            with tempfile.TemporaryDirectory() as name:
                training = small_training(Path(name), shape, precision)
                given, aux = training.batches(), training.aux_batches()
                training.update(0, given, aux)
                with Kernels() as mode:
                    training.update(1, given, aux)
            most = ", ".join(f"{name} {n}" for name, n in mode.counts.most_common(6))
            measured.append([shape, precision, f"{mode.counts.total():,}", str(mode.counts["_to_copy"]), most])
    return table(["model", "precision", "kernels", "of them casts", "the most frequent"], measured)


def small_training(folder: Path, shape: str, precision: str) -> Any:
    """Return a training of SimCSE of this shape on synthetic sentences, without packing."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    from cse.lab.run.build import build
    from cse.lab.settings.compose import composed
    from cse.training.loop import Training

    AcceleratorState._reset_state(reset_partial_state=True)  # else it keeps the previous precision

    source = save_model(shape, folder / "model")
    write_sentences(source, folder / "text.txt", 64)
    settings = ["model=bert", f"model.name={source}", "model.packed=false", "data=text", "eval=[]"]
    settings += [f"data.path={folder}/text.txt", f"paths.cache={folder}/cache", "trainer.select=null"]
    settings += ["trainer.batch_size=8", f"trainer.precision={precision}"]
    accelerator = Accelerator(cpu=True, mixed_precision={"fp32": "no"}.get(precision, precision))
    training = Training(build(composed("train", settings), accelerator), accelerator, folder, identity={})
    training.start(seed=0, resume=False)
    return training


def start(repeats: int) -> str:
    """Return a table with the CPU seconds (user and system) of whole commands, including all their processes."""
    measured: dict[str, list[float]] = {name: [] for name in LIGHT}
    for _ in range(repeats):
        for name, words in LIGHT.items():
            with tempfile.TemporaryDirectory() as folder:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                command = [str(Path(sys.executable).parent / "cse-train"), *words]
                if words is SMOKE:
                    command += [f"hydra.run.dir={folder}/run", f"paths.cache={folder}/cache"]
                subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            measured[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return table(["command", "CPU seconds"], [[name, spread(times)] for name, times in measured.items()])


def checkpoint(repeats: int) -> str:
    """Return a table with the wall-clock seconds that the loop waits for last/ of a BERT base with its optimizer."""
    from transformers import BertConfig, BertModel

    from cse.training import checkpoint as saving

    model = BertModel(BertConfig(), add_pooling_layer=False)
    optimizer = torch.optim.AdamW(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    stalls, whole = [], []
    with tempfile.TemporaryDirectory() as folder, saving.Saver(Path(folder)) as saver:
        for _ in range(repeats):
            started = time.perf_counter()
            saver.save({"encoder": model}, {"adamw": optimizer}, [saving.process_random_state()], {})
            stalls.append(time.perf_counter() - started)
            saver.wait()
            whole.append(time.perf_counter() - started)
        size = (Path(folder) / saving.FILE).stat().st_size
    measured = [[f"the loop waits ({size / 1e9:.2f} GB)", spread(stalls)], ["until it is on the disk", spread(whole)]]
    return table(["last/ of BERT-base", "seconds"], measured)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--part", choices=["rows", "operators", "startup", "checkpoint"])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--shared", type=Path, default=SHARED)
    given = arguments.parse_args()
    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    this_process.quiet()
    parts: dict[str, Callable[[], str]] = {
        "rows": lambda: rows(given.shared, given.repeats),
        "operators": operators,
        "startup": lambda: start(given.repeats),
        "checkpoint": lambda: checkpoint(given.repeats),
    }
    for name in [given.part] if given.part else parts:
        body = parts[name]()
        write_section(f"The host: {name}", f"python -m benchmarks.bench_host --part {name}", body)
        print(f"{body}\n")


if __name__ == "__main__":
    main()
