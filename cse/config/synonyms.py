"""What other trainers call the settings of this one: the last part of a dotted key, as typed, and ours for it."""

SYNONYMS = {
    **dict.fromkeys(("learning_rate", "learningrate", "peak_lr", "max_lr"), "trainer.lr"),
    **dict.fromkeys(("batch", "bs", "batchsize", "train_batch_size"), "trainer.batch_size"),
    **dict.fromkeys(("per_device_train_batch_size", "per_gpu_train_batch_size"), "trainer.batch_size"),
    **dict.fromkeys(("num_epochs", "num_train_epochs", "n_epochs", "epoch", "max_epochs"), "trainer.epochs"),
    **dict.fromkeys(("steps", "num_steps", "max_iters", "iterations", "total_steps"), "trainer.max_steps"),
    **dict.fromkeys(("eval_steps", "evaluation_steps", "eval_interval", "val_every"), "trainer.eval_every"),
    **dict.fromkeys(("logging_steps", "log_interval", "log_steps"), "trainer.log_every"),
    **dict.fromkeys(("save_steps", "checkpoint_every", "save_interval"), "trainer.save_every"),
    **dict.fromkeys(("max_seq_length", "max_len", "seq_len", "sequence_length"), "trainer.max_length"),
    **dict.fromkeys(
        ("gradient_accumulation_steps", "num_gradient_accumulation_steps", "grad_accum", "accumulation"),
        "trainer.accumulate",
    ),
    **dict.fromkeys(
        ("mini_batch_size", "micro_batch_size", "chunk_size", "cachedmultiplenegativesrankingloss"), "trainer.chunk"
    ),
    **dict.fromkeys(("fp16", "bf16", "amp", "mixed_precision"), "trainer.precision"),
    **dict.fromkeys(("gpus", "n_gpu", "num_gpus", "num_processes", "nproc_per_node"), "trainer.devices"),
    **dict.fromkeys(("warmup_steps", "warmup_ratio", "num_warmup_steps", "cut_frac"), "trainer.warmup"),
    **dict.fromkeys(("scheduler", "lr_scheduler", "lr_scheduler_type"), "trainer.schedule"),
    **dict.fromkeys(("max_grad_norm", "grad_clip", "gradient_clip_val"), "trainer.clip"),
    **dict.fromkeys(("wd", "decay", "l2"), "trainer.weight_decay"),
    **dict.fromkeys(("metric_for_best_model", "load_best_model_at_end", "monitor", "selection"), "trainer.select"),
    **dict.fromkeys(("temp", "tau", "temperature"), "objective.temperature"),
    **dict.fromkeys(("lambda", "lam", "lambda_"), "objective.lambd"),
    **dict.fromkeys(("model_name_or_path", "model_name", "encoder", "pretrained", "backbone"), "model.name"),
    **dict.fromkeys(("pooler", "pooler_type", "pooling_mode"), "model.pooling"),
    **dict.fromkeys(("dropout_rate", "dropout_prob", "hidden_dropout_prob", "dropout"), "augmentation.p"),
    **dict.fromkeys(("train_file", "train_data", "data_path", "dataset_name", "corpus"), "data.path"),
    **dict.fromkeys(("max_train_samples", "subset_size", "num_samples"), "data.limit"),
    **dict.fromkeys(("output_dir", "out_dir", "save_dir", "out", "output"), "hydra.run.dir"),
    **dict.fromkeys(("resume_from_checkpoint", "continue", "restart"), "resume"),
    **dict.fromkeys(("random_seed", "random_state", "rng_seed"), "seed"),
    **dict.fromkeys(("num_workers", "dataloader_num_workers"), "trainer.workers"),
    **dict.fromkeys(("dataset", "corpora"), "data"),
    **dict.fromkeys(("loss", "method", "algorithm"), "objective"),
    **dict.fromkeys(("logger", "report_to", "wandb"), "tracker"),
    **dict.fromkeys(("n_jobs", "max_parallel"), "jobs.parallel"),
    **dict.fromkeys(("do_mlm", "mlm"), "objective.mlm_weight"),
    **dict.fromkeys(("queue_size", "memory_bank", "queue"), "objective.memory_size"),
    **dict.fromkeys(("projector", "projection", "mlp"), "objective.head"),
    "num_anchors": "augmentation.anchors",
    "num_positives": "augmentation.positives",
    "sampling_strategy": "augmentation.strategy",
    "max_span_len": "augmentation.max_length",
    "min_span_len": "augmentation.min_length",
    **dict.fromkeys(("cache_folder", "hf_home"), "paths.cache"),
    **dict.fromkeys(("early_stopping", "early_stopping_patience"), "trainer.stop_early"),
    **dict.fromkeys(("infonce", "mnrl", "multiplenegativesrankingloss", "contrastive_loss", "nt_xent"), "objective"),
    **dict.fromkeys(("task_set", "evaluator", "embeddingsimilarityevaluator", "informationretrievalevaluator"), "eval"),
    "mlm_probability": "masking.probability",
    "adam_epsilon": "trainer.eps",
    **dict.fromkeys(("adam_beta1", "adam_beta2"), "trainer.betas"),
}
ALWAYS = ("hydra.run.dir",)
"""Ours that stand in no list of keys: Hydra's."""


def meant(key: str, keys: list[str]) -> str | None:
    """The setting among `keys` that a stranger's name means, or None."""
    ours = SYNONYMS.get(key.rpartition(".")[2].lower())
    return ours if ours in keys or ours in ALWAYS else None
