"""The services that show a run's numbers. Order of reading:

run_info      the facts of a run that a tracker shows in addition to its numbers
trackers      every event goes to metrics.jsonl and to each tracker; a tracker may fail or hang
tensorboard   a short tracker
wandb         a long tracker: online, or offline without an API key or an answer of its server
wandb_folder  the facts about a W&B run in the run's folder, and the command that uploads an offline run
"""
