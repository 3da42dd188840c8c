"""Where a run's numbers are shown: trackers feeds metrics.jsonl, W&B and TensorBoard."""
