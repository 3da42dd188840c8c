"""Where a run's numbers are shown. Read it in this order.

run_info        what a tracker shows of a run beside its numbers
trackers        every event goes to metrics.jsonl and to each chosen tracker, which may fail or hang; what a tracker is
tensorboard     the short example of one
wandb           the long one: online, or offline where its server does not answer
wandb_offline   the API key, what a run's folder keeps of its W&B run, and what uploads an offline run later
"""
