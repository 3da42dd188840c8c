"""Gradient descent on an objective's own weights, for the tests that it learns."""

import torch

from cse.types import Encoded, Objective


def descent(objective: Objective, views: list[Encoded], steps: int) -> list[float]:
    """The loss of the same views before each step of Adam."""
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        loss = objective(views).total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
