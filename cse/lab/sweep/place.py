"""Where the jobs of a line run: on this machine (machine.py), or on a cluster (cluster.py)."""

from typing import Protocol

from cse.lab.sweep.line import Line
from cse.lab.sweep.machine import Machine
from cse.lab.sweep.plan import Plan
from cse.lab.sweep.start import Runner


class Place(Protocol):
    """What a machine and a cluster have in common."""

    def runner(self) -> Runner:
        """What runs jobs there. Raises UserError if nothing can."""

    def print_advice(self) -> None:
        """Print what a start leaves idle there."""

    def print_submission(self) -> None:
        """Print what a dry run shows beside the jobs."""


def place_of(line: Line, plan: Plan) -> Place:
    """Where a line's jobs run. Raises UserError for more GPUs than this machine has."""
    if line.launcher == "basic":
        return Machine(plan.jobs, line.options.jobs.parallel)
    from cse.lab.sweep.cluster import Cluster  # the package submitit is an extra

    return Cluster(line, plan.jobs, plan.at_a_time)
