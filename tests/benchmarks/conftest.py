"""Folders of runs as cse-train leaves them, without the training."""

from run_folders import leave  # noqa: F401 (a fixture)
