"""The facts of a run that trackers show in addition to its numbers: settings, name, group and tags."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cse.lab.settings.values import PlainConfig

GROUPED = ("objective", "model", "data", "augmentation")
TAGGED = (*GROUPED, "aux_modality")
LONGEST_TAG = 64  # characters; W&B would not start with a longer tag


@dataclass(frozen=True)
class RunInfo:
    """kind: "train" for cse-train, "eval" for cse-eval. config: the resolved settings. command: the run's command.

    commit: the commit of this code; None if unknown. versions: the versions of packages.
    """

    kind: Literal["train", "eval"]
    config: PlainConfig
    command: str
    commit: str | None
    versions: dict[str, str]

    @property
    def choices(self) -> dict[str, str]:
        """The choice of each group: {"objective": "simcse", "model": "minilm", ...}."""
        return self.config.get("choices", {})

    @property
    def name(self) -> str:
        """The name of the run: OBJECTIVE-MODEL-sSEED for a training, eval-SUBJECT for an evaluation."""
        if self.kind == "train":
            return f"{self.choices['objective']}-{self.choices['model']}-s{self.config['seed']}"
        subject = self.config.get("checkpoint") or self.choices.get("model") or ""
        parts = [part for part in Path(subject).parts if part not in ("best", "/")]  # RUN/best is named after RUN
        return "-".join([self.kind, *parts[-1:]])

    @property
    def group(self) -> str | None:
        """The name that runs with different seeds share: OBJECTIVE-MODEL-DATA-AUGMENTATION; None for an evaluation."""
        if self.kind != "train":
            return None
        return "-".join(self.choices[group] for group in GROUPED if self.choices.get(group)) or None

    @property
    def tags(self) -> list[str]:
        """The choices by which dashboards filter runs, each truncated to LONGEST_TAG characters."""
        chosen = (self.choices.get(group) for group in TAGGED)
        return [choice[:LONGEST_TAG] for choice in chosen if choice not in (None, "", "none")]
