"""The services that show a run's numbers. Read the modules in this order:

run_info      the facts of a run that a tracker shows in addition to its numbers
trackers      sends every event to metrics.jsonl and to each tracker, even if a tracker fails or hangs
tensorboard   a short tracker
wandb         a long tracker, which is offline if it has no API key or if its server does not answer
wandb_folder  the facts about a W&B run in the run's folder, and the command that uploads an offline run
"""
