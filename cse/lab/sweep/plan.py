"""Which jobs a line runs: all of a grid (grid.py), or those that searches propose (search.py).

Both kinds of plan have

    jobs         the jobs that are known beforehand: all of a grid, or an example of each search
    check        raises UserError for what is wrong beside the settings of single jobs
    size         how many jobs or trials, as a start says it
    summary      the same, as a dry run says it
    at_a_time    how many jobs a cluster is given at a time
    run          runs the jobs by the runner of a place (place.py)
    conclude     prints the table of what became of them
"""

from cse.lab.sweep.grid import Grid
from cse.lab.sweep.line import Line
from cse.lab.sweep.search import Searches

Plan = Grid | Searches


def plan_line(line: Line) -> Plan:
    """What a line runs. Raises UserError if it has no job."""
    return Grid(line) if line.sweeper is None else Searches(line, line.sweeper)
