"""Fixtures that leave folders of runs."""

from run_folders import compared, leave, runs  # noqa: F401
