"""(f) The time of encoding, STS and transfer. The scores mean nothing, because the sentences are synthetic."""

import time

from benchmarks.gpu.check import MEASURED, Check, Result
from benchmarks.gpu.world import World
from benchmarks.peers import synchronized
from cse.eval.scoring import MemoizedEncode
from cse.lab.run.instantiate import make
from cse.lab.settings.compose import composed
from cse.model.load import load_encoder
from cse.tensors import Precision

SENTENCES = 30_000
TASKS = "[MR,CR,TREC]"


def checks() -> list[Check]:
    return [
        Check("BERT encodes 30,000 sentences, fp32", lambda w: encoding(w, "fp32")),
        Check("BERT encodes 30,000 sentences, bf16", lambda w: encoding(w, "bf16")),
        Check("STS, seven tasks", lambda w: suite(w, "sts", [])),
        Check("transfer, MR CR TREC", lambda w: suite(w, "transfer", [f"eval.transfer.tasks={TASKS}"])),
    ]


def encoding(world: World, precision: Precision) -> Result:
    texts = world.sentences(100 if world.tiny else SENTENCES, 5, (4, 30))
    encoder = load_encoder(world.encoder("bert"), "cls").to(world.device)
    encoder.encode(texts[:100], precision=precision)
    started = synchronized()
    encoder.encode(texts, precision=precision)
    took = synchronized() - started
    return Result(MEASURED, {"seconds": took, "sentences/s": round(len(texts) / took)})


def suite(world: World, name: str, more: list[str]) -> Result:
    """Measure an evaluator on the test split, with its data already read: all seconds, and the encoder's seconds."""
    encoder = load_encoder(world.encoder("bert"), "cls").to(world.device)
    config = composed("evaluate", ["checkpoint=unread", f"eval={name}", f"paths.senteval={world.senteval()}",
                                   "allow_partial=true", *more])  # fmt: skip
    evaluator = make(config.eval[name])
    evaluator.prepare()
    inside = 0.0

    def encode(texts: list[str]):
        nonlocal inside
        started = synchronized()
        rows = encoder.encode(texts)
        inside += synchronized() - started
        return rows

    started = time.perf_counter()
    evaluator(MemoizedEncode(encode), "test")
    took = time.perf_counter() - started
    return Result(MEASURED, {"seconds": took, "seconds in the encoder": inside})
