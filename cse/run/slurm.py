"""A run that `srun` started, one task a device: SLURM's words for its processes become torch's."""

import os
import re


def join() -> None:
    """Set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT where `srun` started several tasks, unless they
    are there already (torchrun, accelerate).

    A batch script without srun is one task, whatever sbatch was told, and so is a job of hydra/launcher=submitit_slurm:
    only srun sets SLURM_STEP_NUM_TASKS.
    """
    tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    if "RANK" in os.environ or tasks == 1:
        return
    import torch

    # with --gpus-per-task each task sees one GPU, which is its number 0
    visible = torch.cuda.device_count() or tasks
    os.environ["RANK"] = os.environ["SLURM_PROCID"]
    os.environ["WORLD_SIZE"] = str(tasks)
    os.environ["LOCAL_RANK"] = str(int(os.environ["SLURM_LOCALID"]) % visible)
    os.environ.setdefault("MASTER_ADDR", first_host(os.environ["SLURM_STEP_NODELIST"]))
    os.environ.setdefault("MASTER_PORT", str(20000 + int(os.environ["SLURM_JOB_ID"]) % 40000))


def first_host(nodes: str) -> str:
    """The first of SLURM's node list: gpu[003-005,9]-ib,cpu1 gives gpu003-ib."""
    parts = re.match(r"([^,\[]*)(?:\[(\w+)[^\]]*\]([^,]*))?", nodes)
    assert parts is not None  # it matches the empty string
    return "".join(part or "" for part in parts.groups())
