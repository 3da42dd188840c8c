"""The objectives of a mixture's sources. A batch has rows of one source, whose objective computes the batch's loss."""

from collections.abc import Mapping

from torch import nn

from cse.types import Encoded, Loss, Objective


class BySource(Objective):
    """An objective for each source of a mixture, with its own parameters. objectives: {source: objective}.

    No objective has a head at test time, because all objectives train the same embedding.
    """

    def __init__(self, objectives: Mapping[str, Objective]):
        super().__init__()
        self.names = list(objectives)
        self.objectives = nn.ModuleList(objectives.values())
        self.masking = "none" if all(one.masking == "none" for one in objectives.values()) else "some"

    def of(self, source: str | None) -> Objective:
        """See Objective."""
        if source is None:
            raise ValueError("a batch of a mixture names its source")
        objective = self.objectives[self.names.index(source)]
        assert isinstance(objective, Objective)
        return objective

    def forward(self, views: list[Encoded]) -> Loss:
        """Raise NotImplementedError. Call the objective that `of` returns."""
        raise NotImplementedError("a batch's views are for the objective of its source: call of(source)")

    def negatives(self, anchors: int) -> int:
        """Return the largest number of negatives over the sources."""
        return max(self.of(name).negatives(anchors) for name in self.names)
