"""Where SentEval's data is.

The layout is SentEval's `downstream/` folder. Text is what its download script makes (STS and SICK Moses-tokenised,
the classification sets PTB-tokenised).
"""

from functools import cached_property
from pathlib import Path

from cse.eval.senteval.files import DataFolder
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import unpacked

ABOUT = DATASETS["senteval"]
(HUB_FILE,) = ABOUT.files


class SentEvalFolder(DataFolder):
    """SentEval's downstream/ folder at `path`, or the hub's copy of it where path is None."""

    def __init__(self, path: str | None, allow_partial: bool = False):
        source = path or f"{ABOUT.repo}/{HUB_FILE}"
        super().__init__(source, "paths.senteval", "SentEval's downstream/ folder", allow_partial)
        self.on_hub = path is None

    @cached_property
    def root(self) -> Path:
        """The folder, or the hub's copy after its download. Raises MissingResource."""
        return unpacked(hub.file(hub_repo(), HUB_FILE)) if self.on_hub else super().root


def words(line: str) -> str:
    """A sentence as every SentEval task passes it on: its words joined by one space."""
    return " ".join(line.split())


def hub_repo() -> hub.Repo:
    """The repository that has the prepared folder."""
    instead = "give a SentEval downstream/ folder with paths.senteval=DIR (or CSE_SENTEVAL=DIR)"
    return ABOUT.hub_repo("SentEval's data", instead)
