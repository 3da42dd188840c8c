"""A run on disk: runs and results read it, heartbeat locks it, events and score_tables write it, card shares it."""
