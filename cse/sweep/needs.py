"""Which datasets a sweep reads, from its jobs as they are composed: seconds for a sweep, half a minute for all."""

from cse.config.compose import composed, is_group
from cse.config.keys import key_of
from cse.sources.catalogue import DATASETS
from cse.sweep.jobs import CONFIGS, Sweep
from cse.sweep.overrides import first_values


def datasets_of(sweep: Sweep) -> set[str]:
    """The datasets that some job of the sweep reads."""
    grid = sweep.jobs([]) if sweep.sweeper == "basic" else [sweep.job(first_values(sweep.axes([])))]
    lines = {
        (job.program, *(a for a in job.arguments if a.startswith("~") or is_group(key_of(a)) or ".parts." in key_of(a)))
        for job in grid
    }
    return {dataset for program, *arguments in lines for dataset in read_by(program, arguments)}


def read_by(program: str, arguments: list[str]) -> set[str]:
    """The datasets that one job reads, by what it chooses from conf/."""
    config = composed(CONFIGS[program], arguments)
    chosen = {f"{group}={choice}" for group, choice in config.hydra.runtime.choices.items()}
    chosen |= {f"eval={name}" for name in config.eval or {}}
    return {name for name, about in DATASETS.items() if chosen & set(about.reads)}
