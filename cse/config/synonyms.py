"""Other trainers' names for our settings: {the last part of a dotted key, as typed: our key}."""

SYNONYMS = {
    **dict.fromkeys(("learning_rate", "peak_lr"), "trainer.lr"),
    **dict.fromkeys(("batch", "bs", "train_batch_size", "per_device_train_batch_size"), "trainer.batch_size"),
    **dict.fromkeys(("num_epochs", "num_train_epochs", "epoch"), "trainer.epochs"),
    **dict.fromkeys(("steps", "num_steps"), "trainer.max_steps"),
    "eval_steps": "trainer.eval_every",
    **dict.fromkeys(("max_seq_length", "max_len"), "trainer.max_length"),
    **dict.fromkeys(("gradient_accumulation_steps", "grad_accum"), "trainer.accumulate"),
    **dict.fromkeys(("mini_batch_size", "micro_batch_size"), "trainer.chunk"),
    **dict.fromkeys(("fp16", "bf16"), "trainer.precision"),
    **dict.fromkeys(("warmup_steps", "warmup_ratio"), "trainer.warmup"),
    "max_grad_norm": "trainer.clip",
    **dict.fromkeys(("temperature", "tau"), "objective.temperature"),
    **dict.fromkeys(("model_name_or_path", "model_name", "encoder"), "model.name"),
    **dict.fromkeys(("train_file", "data_path"), "data.path"),
    **dict.fromkeys(("output_dir", "out_dir"), "hydra.run.dir"),
    "resume_from_checkpoint": "resume",
    "report_to": "tracker",
    "loss": "objective",
}
TOPICS = {
    "significance": "cse-report runs=FOLDER: differences between settings, intervals, corrected p (cse-report --help)",
    "repeat": "-m seed=1,2,3: a line once for each seed; cse-report runs=FOLDER: mean and deviation over them",
    "rerun": "the best/README.md of a run has the line that repeats it; resume=FOLDER continues a run",
    "splits": "cse-eval splits=[test]; cse-train scores dev while it trains, and every split of its best step",
    "licence": "cse-data list: each dataset's; an encoder's is in its model card",
}
"""Words that no setting is named after, and an answer to each."""
ALWAYS = ("hydra.run.dir",)
"""Keys that no list has, since they are Hydra's."""


def meant(key: str, keys: list[str]) -> str | None:
    """The setting among `keys` that another trainer's name means, or None."""
    ours = SYNONYMS.get(key.rpartition(".")[2].lower())
    return ours if ours in keys or ours in ALWAYS else None
