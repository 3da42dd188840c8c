"""The scores, losses and gradients in bf16 compared with fp32, for every objective of the four papers.

    python -m benchmarks.bench_precision [--part gradients|runs|scores] [--arms simcse ...] [--models minilm bert]
                                         [--steps 100] [--seeds 3] [--runs FOLDER] [--shared ../shared/data]

The weights are MiniLM's, and random weights of BERT base's shape. The real data must be beside the checkout.

gradients   compares the first step, with the same rows and dropout in both precisions
runs        compares runs of cse-train with the same seeds; a finished run in FOLDER is read, not repeated
scores      compares STS-B dev of MiniLM and of the runs in FOLDER, encoded in both precisions, and measures the time of
            the seven STS tasks
"""

import argparse
import itertools
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from benchmarks.bench_aux import IMAGES, SOUND, curves, mean_and_sd, train
from benchmarks.bench_learning import DOCUMENTS, NLI, WIKI
from benchmarks.peers import PACKAGE, PRECISIONS, reset_precision, save_model, synchronized
from benchmarks.results import SHARED, real_data, spread, table, where, write_section
from cse.eval.sts import Sts, Stsb
from cse.lab.folder.runs import read_run
from cse.lab.run.build import build
from cse.lab.run.train import precision_of
from cse.lab.settings.compose import composed
from cse.model.load import load_encoder
from cse.ranges import AnyPooling
from cse.tensors import Precision
from cse.training.loop import Training

ARMS = {
    "simcse": (WIKI, ["objective=simcse"]),
    "simcse_sup": (NLI, ["objective=simcse_sup", "data.columns=[sent0,sent1,hard_neg]"]),
    "visual": (WIKI, ["objective=simcse", *IMAGES, "aux_modality.data.size=32", "aux_modality.data.resize=32"]),
    "audio": (WIKI, ["objective=simcse", *SOUND, "aux_modality.data.batch_size=6"]),
    "whitenedcse": (WIKI, ["objective=whitenedcse"]),
    "declutr": (DOCUMENTS, ["objective=declutr", "augmentation.max_length=64", "trainer.max_length=64"]),
    "barlow": (WIKI, ["objective=barlow", "augmentation=shuffle"]),
    "vicreg": (WIKI, ["objective=vicreg", "augmentation=shuffle"]),
}
RANDOM_BERT = "random_bert"  # a folder
ROWS = {"minilm": (32, 8), "bert": (8, 2)}  # of a batch; of DeCLUTR's batch: documents with two anchors, four positives


def words_of(arm: str, model: str, seed: int, shared: Path, work: Path) -> list[str]:
    """Return the arguments of an arm, except precision and folder. `work` has the cache and, for bert, the weights."""
    text, own = ARMS[arm]
    rows = ROWS[model][arm == "declutr"]
    weights = [f"model.name={work / RANDOM_BERT}"] if model == "bert" else []
    return [
        "model=minilm", *weights, "model.pooling=cls", "data=text", f"data.path={shared / text}", *own, "eval=stsb",
        f"paths.senteval={shared}/senteval", f"paths.images={shared}/images/cifar10_small",
        f"paths.audio={shared}/audio/speech_small", f"paths.cache={work / 'cache'}", "tracker=none", f"seed={seed}",
        f"trainer.batch_size={rows}", "trainer.log_every=1",
    ]  # fmt: skip


def gradient(words: list[str], precision: str, folder: Path) -> tuple[float, Tensor]:
    """Return the first step's text loss, and the gradient of all weights from the text and the second modality."""
    reset_precision()
    accelerator = Accelerator(mixed_precision=precision_of(precision).replace("fp32", "no"), cpu=True)
    config = composed("train", [*words, "trainer.workers=0", "eval=[]", "trainer.select=null"])
    training = Training(build(config, accelerator), accelerator, folder, identity={})
    training.start(config.seed, resume=False)
    update = training.update
    for module in training.modules.values():
        module.train()
    with accelerator.autocast():
        loss, _ = update.text_step(update.text_encoder, update.objective, next(training.batches()), update.backward)
    if update.aux is not None:
        update.aux_backward(update.aux, 0, next(training.aux_batches()))
    weights = [weight for module in training.modules.values() for weight in module.parameters()]
    return loss.total.item(), torch.cat([w.grad.flatten() for w in weights if w.grad is not None])


def gradients(arms: list[str], models: list[str], seeds: int, shared: Path, work: Path) -> str:
    """Return a row for each model and arm: how far bf16's loss and gradient are from fp32's, for each seed."""
    rows = []
    for model, arm in itertools.product(models, arms):
        found = []
        for seed in range(1, seeds + 1):
            words = words_of(arm, model, seed, shared, work)
            with tempfile.TemporaryDirectory() as folder:
                (loss, exact), (rounded_loss, rounded) = (gradient(words, p, Path(folder)) for p in PRECISIONS)
            cosine = torch.nn.functional.cosine_similarity(exact.double(), rounded.double(), dim=0)
            found.append((abs(rounded_loss / loss - 1), float(cosine), float(rounded.norm() / exact.norm())))
        apart, cosines, norms = zip(*found, strict=True)
        rows.append([model, arm, f"{100 * np.mean(apart):.2g} %", *(", ".join(f"{x:.4f}" for x in of)
                     for of in (cosines, norms))])  # fmt: skip
        print(*rows[-1], flush=True)
    return table(["weights", "objective", "loss apart", "gradient's cosine, by seed", "its norm, fp32 = 1"], rows)


def is_finished(folder: Path) -> bool:
    """Return whether a folder has a finished run, which is not repeated."""
    return read_run(folder).is_done


def runs(arms: list[str], models: list[str], seeds: int, shared: Path, work: Path, steps: int) -> str:
    """Return a row for each model and arm, over the seeds that both precisions finished: dev scores and losses."""
    rows = []
    for model, arm in itertools.product(models, arms):
        pairs, ends = [], []
        for seed in range(1, seeds + 1):
            places = [work / model / arm / f"{precision}-{seed}" for precision in PRECISIONS]
            for precision, place in zip(PRECISIONS, places, strict=True):
                if steps and not is_finished(place):
                    words = words_of(arm, model, seed, shared, work)
                    words += [f"trainer.max_steps={steps}", f"trainer.eval_every={steps}"]
                    train([*words, f"trainer.precision={precision}", "resume=auto"], place)
            if all(map(is_finished, places)):
                pairs.append([curves(place) for place in places])
                ends.append([read_run(place).scored["dev/stsb/spearman"].value for place in places])
        if not pairs:
            rows.append([model, arm, "0", *["not run"] * 5])
            continue
        losses = [
            np.mean([[loss for _, loss in run["train/loss"][-10:]] for run in of]) for of in zip(*pairs, strict=True)
        ]
        gaps = [abs(b / a - 1) for one, two in pairs
                for (_, a), (_, b) in zip(one["train/loss"][:10], two["train/loss"][:10], strict=True)]  # fmt: skip
        moved = ", ".join(f"{rounded - exact:+.2f}" for exact, rounded in ends)
        rows.append([model, arm, str(len(pairs)), *map(mean_and_sd, zip(*ends, strict=True)), moved,
                     ", ".join(f"{loss:.4g}" for loss in losses), f"{100 * np.mean(gaps):.2g} %"])  # fmt: skip
    return table(["weights", "objective", "seeds", "dev, fp32", "dev, bf16", "bf16 - fp32, by seed",
                  "loss, last ten steps: fp32, bf16", "first ten losses apart"], rows)  # fmt: skip


def scores(shared: Path, folder: Path, rounds: int) -> str:
    """Return tables: STS-B dev of MiniLM and of every best/ in both precisions, and the time of the seven STS tasks."""
    dev, seven = Stsb(f"{shared}/senteval"), Sts(f"{shared}/senteval")
    dev.prepare()
    seven.prepare()
    sentences = [text for pairs in seven.tasks["test"].values() for one in pairs for text in one.texts()]
    places: dict[str, tuple[str, AnyPooling | None]] = {"all-MiniLM-L6-v2, CLS": (PACKAGE, "cls")}
    for best in sorted(folder.glob("*/*/*/best")):
        places[f"{best.parents[2].name}, {best.parents[1].name}, {best.parent.name}"] = str(best), None
    own, rows = load_encoder(PACKAGE, "mean"), []
    for name, place in {"all-MiniLM-L6-v2, mean pooling": None, **places}.items():
        encoder = load_encoder(*place) if place else own
        exact, rounded = (dev(partial(encoder.encode, precision=p), "dev")[0].value for p in PRECISIONS)
        rows.append([name, f"{exact:.3f}", f"{rounded:.3f}", f"{rounded - exact:+.3f}"])
    rates: dict[Precision, list[float]] = {precision: [] for precision in PRECISIONS}
    for _ in range(rounds):
        for precision, found in rates.items():
            started = synchronized()
            own.encode(sentences, precision=precision)
            found.append(len(sentences) / (synchronized() - started))
    speed = [[precision, spread(found), spread([f / o for f, o in zip(found, rates["fp32"], strict=True)])]
             for precision, found in rates.items()]  # fmt: skip
    return "\n\n".join([table(["encoder", "dev, fp32", "dev, bf16", "bf16 - fp32"], rows),
                        f"The {len(sentences):,} sentences of the seven STS tasks, mean pooling, {rounds} rounds:",
                        table(["precision", "sentences a second", "fp32 = 1"], speed)])  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--part", choices=("gradients", "runs", "scores"))
    arguments.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    arguments.add_argument("--models", nargs="+", choices=ROWS, default=list(ROWS))
    arguments.add_argument("--steps", type=int, default=100, help="0: only read what is finished in --runs")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--runs", type=Path, help="keep the runs there")
    arguments.add_argument("--shared", type=real_data, default=str(SHARED))
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(given, given.runs or Path(temporary))


def measure(given: argparse.Namespace, work: Path) -> None:
    """Write a section of RESULTS.md for each part asked for."""
    command = " ".join(["python -m benchmarks.bench_precision", *sys.argv[1:]])
    shape = "minilm: MiniLM, batch 32 (DeCLUTR 8). bert: random weights of BERT-base's shape, batch 8 (DeCLUTR 2)."
    which = given.arms, given.models, given.seeds, given.shared, work
    if "bert" in given.models and given.part != "scores" and not (work / RANDOM_BERT).exists():
        torch.manual_seed(0)
        save_model("bert", work / RANDOM_BERT)
    if given.part in (None, "gradients"):
        note = f"The first step of a run in fp32 and in bf16, with the same weights, rows and dropout.\n{shape}"
        write_section(f"bf16's gradient beside fp32's, {where()}", command, f"{note}\n\n{gradients(*which)}")
    if given.part in (None, "runs"):
        body = runs(*which, given.steps)
        scored = "STS-B dev Spearman x100 of best/ in fp32, mean ± sd."
        note = f"CLS pooling, {given.steps} steps, the same seeds; {scored}\n{shape}"
        write_section(f"bf16 beside float32, {where()}", command, f"{note}\n\n{body}")
        print(body)
    if given.part in (None, "scores"):
        body = scores(given.shared, work, rounds=given.seeds)
        note = "STS-B dev Spearman x100 of the same weights, encoded in fp32 and in bf16; for a run, of its best/."
        write_section(f"Encoding in bf16, {where()}", command, f"{note}\n\n{body}")
        print(body)


if __name__ == "__main__":
    main()
