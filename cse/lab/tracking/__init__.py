"""The services that show a run's numbers. Order of reading:

run_info      what a tracker shows of a run besides its numbers
trackers      what a tracker is; every event goes to metrics.jsonl and to each tracker, which may fail or hang
tensorboard   a short tracker
wandb         a long tracker: online, or offline without an API key or an answer of its server
wandb_folder  what a run's folder keeps of its W&B run, and the command that uploads an offline run later
"""
