"""cse: the laboratory for contrastive sentence embeddings.

The functions of this package are in cse/api.py: `cse.train`, `cse.evaluate`, `cse.load`, `cse.runs` and `cse.compose`.
`import cse` loads no large library. Each function loads its libraries when it is called.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cse.api import TrainingRun, compose, evaluate, load, runs, train

__all__ = ["TrainingRun", "compose", "evaluate", "load", "runs", "train"]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("cse-lab")
    if name not in __all__:
        raise AttributeError(f"module 'cse' has no attribute {name!r}; it has {', '.join(__all__)}")
    from cse import api

    return vars(api)[name]
