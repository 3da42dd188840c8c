"""What a word may have meant: other trainers' names for our settings, topics that are no setting, near spellings."""

import difflib
from collections.abc import Collection, Sequence

CLUSTER = (
    "hydra/launcher=submitit_slurm: each job of -m and sweep= as a SLURM job, with hydra.launcher.partition, account, "
    "qos, timeout_min, mem_gb, gpus_per_node and others in docs/devices.md"
)
SEARCH = (
    "cse-train -m hydra/sweeper=smac hydra.sweeper.n_trials=20 'trainer.lr=tag(log,interval(1e-6,1e-4))' "
    "'objective.KEY=choice(A,B)': the best of so many trials, with smac, pip install -e '.[smac]': docs/sweeps.md"
)
FREEZE = (
    "no setting freezes layers; model.num_layers=N keeps the first N, and 'model.lora={r:16,alpha:32}' trains adapters"
)
ENCODER = "the encoder is model.name=NAME, a folder or its name on the hub; of cse-eval it is checkpoint=NAME"
DEVICE = "a GPU is used where there is one; trainer.devices=N trains in N processes, each on a GPU of its own"

SYNONYMS = {
    "learning_rate": "trainer.lr",
    "batch": "trainer.batch_size",
    "steps": "trainer.max_steps",
    "layers": "model.num_layers",
    "grad_accum": "trainer.accumulate",
    "eval_steps": "trainer.eval_every",
    "save_steps": "trainer.save_every",
    "logging_steps": "trainer.log_every",
    "warmup_steps": "trainer.warmup",
    "warmup_ratio": "trainer.warmup",
    "max_grad_norm": "trainer.clip",
    "fp16": "trainer.precision",
    "bf16": "trainer.precision",
    "train_file": "data.path",
    "output_dir": "hydra.run.dir",
    "resume_from_checkpoint": "resume",
    "report_to": "tracker",
}
"""Those that people type and that are too different for difflib, which finds num_train_epochs or max_seq_length."""
TOPICS = {
    "significance": "cse-report runs=FOLDER: differences between settings, intervals, corrected p (cse-report --help)",
    "repeat": "-m seed=1,2,3: a line once for each seed; cse-report runs=FOLDER: mean and deviation over them",
    "rerun": "rerun=FOLDER: a new run with that run's settings; resume=FOLDER continues a run",
    "splits": "cse-eval splits=[test]; cse-train scores dev while it trains, and every split of its best step",
    **dict.fromkeys(("slurm", "launcher", "partition", "account", "qos", "sbatch", "cluster", "queue"), CLUSTER),
    **dict.fromkeys(("time", "timeout", "mem", "gpus", "nodes", "container"), CLUSTER),
    **dict.fromkeys(("search", "sweeper", "smac", "optuna", "interval", "n_trials"), SEARCH),
    **dict.fromkeys(("freeze", "freeze_layers"), FREEZE),
    **dict.fromkeys(("model_name_or_path", "model_name"), ENCODER),
    **dict.fromkeys(("device", "cuda", "gpu"), DEVICE),
    "multiplenegativesrankingloss": "objective=simcse is this loss; objective=simcse_sup, of triplets",
    "all_minilm_l6_v2": "model=minilm is this encoder, from a Python package",
    "stsbenchmark": "eval=stsb is STS-B, and eval=sts the seven STS tasks",
    "licence": "cse-data list: each dataset's; an encoder's is in its model card",
}
"""Words that no setting is named after, and an answer to each."""


def topic(word: str) -> str | None:
    """The answer to a word that no setting is named after, or None."""
    return TOPICS.get(word.lower().replace("-", "_").replace("license", "licence"))


def by_other_trainers(name: str, known: Collection[str]) -> str | None:
    """The known setting that another trainer calls by this name, or None."""
    ours = SYNONYMS.get(name.rpartition(".")[2].lower().replace(" ", "_"))
    return ours if ours in known else None


def meant(name: str, known: Sequence[str]) -> str:
    """The known name that a word meant: what another trainer calls so; else what is spelled most like it, or whose last
    part is, or what alone begins so. "" if none is near."""
    if ours := by_other_trainers(name, known):
        return ours
    name = name.lower()
    last = name.rpartition(".")[2]
    by_last = {one.rpartition(".")[2]: one for one in known}
    same = [one for one in known if one.rpartition(".")[2] == last]
    begun = [one for one in known if one.startswith(name)]
    if len(same) == 1:
        return same[0]
    if len(begun) == 1:
        return begun[0]
    if close := difflib.get_close_matches(name, known, 1, 0.6):
        return close[0]
    return "".join(by_last[end] for end in difflib.get_close_matches(last, list(by_last), 1, 0.7))


def nearest(name: str, known: Sequence[str]) -> str:
    """` (did you mean KEY?)` with the known name that a word meant, or ""."""
    inside = [one for one in known if one.endswith((f"/{name}", f"={name}"))]  # TABLE of PAPER/TABLE
    guess = by_other_trainers(name, known) or " or ".join(inside) or meant(name, known)
    return f" (did you mean {guess}?)" if guess else ""
