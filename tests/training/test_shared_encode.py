"""Two processes share the encoding of the main one's texts until it is done."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch.distributed as dist
import torch.multiprocessing as mp

from cse.training import distributed
from cse.training.distributed import follow_encoding, lead_encoding

TEXTS = [f"text {number}" for number in range(7)]


def worker(rank: int, meeting: Path, results) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    distributed.TEXTS_PER_SHARE = 3
    seen: list[str] = []

    def encode(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.array([[float(text.split()[1]), 1.0] for text in texts], np.float32)

    if rank == 0:
        with lead_encoding(encode, nullcontext) as shared:
            rows = [shared(TEXTS), shared(TEXTS[:1]), shared(TEXTS[:4])]
        try:
            with lead_encoding(encode, nullcontext) as shared:
                raise ValueError("an evaluator fails")
        except ValueError:
            results["rows"] = rows
    else:
        follow_encoding(encode)
        follow_encoding(encode)  # ends although the evaluator failed
    results[rank] = seen
    stop = distributed.Agreement(lambda: (10 * rank, 1 - rank))
    stop.ask()
    results[f"agreed by {rank}"] = stop.answer()
    dist.destroy_process_group()


def test_each_process_encodes_its_share(tmp_path):
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, (tmp_path / "meeting", results), nprocs=2)
        found = dict(results)
    for rows_ND, count in zip(found["rows"], (7, 1, 4), strict=True):
        assert rows_ND[:, 0].tolist() == [float(number) for number in range(count)]
    assert found[0] == [*TEXTS[::2], TEXTS[0], *TEXTS[:4:2]]
    assert found[1] == [*TEXTS[1::2], *TEXTS[1:4:2]]
    assert found["agreed by 0"] == found["agreed by 1"] == [10, 1]
