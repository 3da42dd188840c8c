"""Every objective at toy size, for the tests that all of them have to pass."""

from omegaconf import DictConfig
from torch import nn
from toy_batches import DIM, built
from toys import composed, objectives

BY_WIDTH = {
    "simcse by width": ["objective=simcse"],
    "simcse_sup by width": ["objective=simcse_sup", "objective.num_views=3"],
}
OBJECTIVES = objectives(DIM) | BY_WIDTH


def settings_of(name: str, dim: int = DIM) -> DictConfig:
    """An objective as conf/ has it."""
    widths = [f"objective.widths=[{dim},{dim // 2}]"] if name in BY_WIDTH else []
    return composed("data=text", "trainer.batch_size=16", *OBJECTIVES[name], *widths).objective


def make(name: str, dim: int = DIM) -> nn.Module:
    """The objective of these settings."""
    return built(settings_of(name, dim), dim)
