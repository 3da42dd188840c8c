"""Where a run's numbers are shown. Read it in this order.

trackers        every event goes to metrics.jsonl and to each chosen tracker, which may fail or hang; what a tracker is
tensorboard     the short example of one
wandb           the long one: online, or offline where its server does not answer
wandb_offline   whether there is a key for that server, and what uploads an offline run later
"""
