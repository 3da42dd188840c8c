"""Which sweeps need which dataset. Composing every job takes half a minute, so the answer is kept beside this file.

`python -m cse.sweep.needs` (make readme) writes it anew from sweeps/ and conf/.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from cse.config.compose import composed, is_group
from cse.config.groups import choices
from cse.sources.catalogue import DATASETS
from cse.sweep.jobs import Sweep, key_of, read, sampled

KEPT = Path(__file__).with_suffix(".yaml")


def kept() -> dict[str, list[str]]:
    """{dataset: sweeps that read it}, as last written."""
    return yaml.safe_load(KEPT.read_text(encoding="utf-8"))


def needs(names: Sequence[str]) -> dict[str, list[str]]:
    """{dataset: those of the sweeps that read it}."""
    by_sweep = {name: read_by(read(name)) for name in names}
    return {dataset: [name for name, mine in by_sweep.items() if dataset in mine] for dataset in DATASETS}


def read_by(sweep: Sweep) -> set[str]:
    """The datasets that some job of the sweep reads."""
    grid = sweep.jobs([]) if sweep.sweeper == "basic" else [sweep.job(sampled(sweep.axes([])))]
    lines = {
        (job.program, *(a for a in job.arguments if a.startswith("~") or is_group(key_of(a)) or ".parts." in key_of(a)))
        for job in grid
    }
    return {dataset for program, *arguments in lines for dataset in datasets_of(program, arguments)}


def datasets_of(program: str, arguments: list[str]) -> set[str]:
    """The datasets that one job reads, by what it chooses from conf/."""
    config = composed("train" if program == "cse-train" else "evaluate", arguments)
    chosen = {f"{group}={choice}" for group, choice in config.hydra.runtime.choices.items()}
    chosen |= {f"eval={name}" for name in config.eval or {}}
    return {name for name, about in DATASETS.items() if chosen & set(about.reads)}


if __name__ == "__main__":
    head = "# Which sweeps read which dataset: written by `python -m cse.sweep.needs` (make readme)\n"
    text = yaml.safe_dump(needs(choices("sweep")), sort_keys=False, width=120, default_flow_style=None)
    KEPT.write_text(head + text, encoding="utf-8")
