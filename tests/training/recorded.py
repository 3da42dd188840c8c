"""cse-train as torchrun starts it, with the collectives that it calls written to FOLDER/RANK.json.

python recorded.py FOLDER STEP WORDS...: process 1 runs out of memory at update number STEP, or never where that is -1.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from cse.lab.commands.train import main
from cse.training.update import Update

NAMES = ("all_gather", "all_reduce", "all_gather_object", "broadcast_object_list", "barrier", "new_group")
folder, fails_at, *words = sys.argv[1:]
rank, called = os.environ["RANK"], []


def recorded(name: str):
    collective = getattr(dist, name)

    def call(*arguments, **more):
        shapes = [tuple(x.shape) for x in arguments if isinstance(x, torch.Tensor)]
        called.append(f"{name} {shapes}")
        return collective(*arguments, **more)

    return call


def update(self, step, *batches):
    if step == int(fails_at) and rank == "1":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    return updated(self, step, *batches)


updated, Update.__call__ = Update.__call__, update
for one in NAMES:
    setattr(dist, one, recorded(one))
sys.argv = ["cse-train", *words]
main()
Path(folder, f"{rank}.json").write_text(json.dumps(called))
