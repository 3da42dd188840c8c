"""The services that show a run's numbers. Read the modules in this order:

run_info      the facts of a run that a tracker shows in addition to its numbers
trackers      sends every event to metrics.jsonl and to each tracker, even if a tracker fails or hangs
tensorboard   the tracker for TensorBoard, a short example of a tracker
wandb         the tracker for W&B, which is offline without an API key or an answer from the server
wandb_folder  the facts about a W&B run in the run's folder, and the command that uploads an offline run
"""
