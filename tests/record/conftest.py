"""Fixtures that leave folders of runs."""

from run_folders import leave, runs  # noqa: F401
