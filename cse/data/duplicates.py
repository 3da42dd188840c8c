"""Rows that share a text. If one batch has two such rows, a contrastive loss treats a copy of a positive as a negative.

N is the number of rows, C the number of columns.
"""

from collections import defaultdict
from itertools import islice

import numpy as np

from cse.data.rows import TextRows


def text_keys(text: TextRows) -> np.ndarray:
    """Return a key for each text of the rows in use, (N, C) int64. Only equal texts have equal keys. A missing text has
    a key of its own. The keys differ between processes, because Python salts its hashes."""
    keys = np.fromiter((hash(cell) for cell in text.cells()), np.int64)
    return apart_if_missing(keys.reshape(text.num_columns, len(text)).T, text.missing_NC)


def met(text: TextRows, rows_B: np.ndarray) -> int:
    """Return how many rows of a batch share a text with another row of the batch."""
    keys = [[hash(cell) for cell in text.texts_of(rows_B, column)] for column in range(text.num_columns)]
    missing_BC = None if text.missing_NC is None else text.missing_NC[rows_B]
    return int(sharing(apart_if_missing(np.array(keys).T, missing_BC)).sum())


def apart_if_missing(keys_NC: np.ndarray, missing_NC: np.ndarray | None) -> np.ndarray:
    """Return the keys, with a new key for each missing text."""
    if missing_NC is not None:
        keys_NC = keys_NC.copy()
        keys_NC[missing_NC] = np.arange(missing_NC.sum())
    return keys_NC


def sharing(keys_NC: np.ndarray) -> np.ndarray:
    """Return for each row whether any other row shares a text with it, in any column: (N,) bool."""
    _, places, counts = np.unique(keys_NC, return_inverse=True, return_counts=True)
    keys_NC = places.reshape(keys_NC.shape)
    own_NC = (keys_NC[:, :, None] == keys_NC[:, None, :]).sum(2)
    return (counts[keys_NC] > own_NC).any(1)


def apart(order_N: np.ndarray, keys_NC: np.ndarray, batch_size: int) -> np.ndarray:
    """Return an order of the rows in which, as far as possible, no two rows of a batch share a text.

    order_N: the row numbers of an epoch, batch after batch; the last batch may be smaller. keys_NC: the keys of these
    rows, in the same order. Rows that share a text are placed first, rows with the most frequent texts before others.
    Each such row goes to the batch with the most free places among the batches without the row's texts. If several of
    these batches have equally many, the row stays in its old batch if that is one of them, or else goes to the next
    one. All other rows fill the free places in their old order. If only one column has shared texts, and an order
    without a shared text in any batch exists, the result is such an order (Gale 1957, Ryser 1957). The result depends
    only on which keys are equal.
    """
    members: list[list[int]] = [[] for _ in range(0, len(order_N), batch_size)]
    room = np.full(len(members), batch_size)
    room[-1] -= batch_size * len(members) - len(order_N)
    _, first, places, counts = np.unique(keys_NC, return_index=True, return_inverse=True, return_counts=True)
    places_NC = places.reshape(keys_NC.shape)
    often_N = counts[places_NC].argmax(1)
    text_N = places_NC[np.arange(len(order_N)), often_N]  # the most frequent text of each row
    shared = np.flatnonzero(sharing(keys_NC))
    rest = set(range(len(order_N)))
    used: dict[int, set[int]] = defaultdict(set)
    for i in shared[np.lexsort((first[text_N[shared]], -counts[text_N[shared]]))].tolist():
        keys = keys_NC[i].tolist()
        free = room.copy()
        free[[*set().union(*(used[key] for key in keys))]] = 0
        own = i // batch_size
        batch = (int(np.roll(free, -own).argmax()) + own) % len(room)
        if free[batch] == 0:
            continue
        room[batch] -= 1
        members[batch].append(i)
        rest.remove(i)
        for key in keys:
            used[key].add(batch)
    others = iter(sorted(rest))
    for batch, rows in enumerate(members):
        rows += islice(others, int(room[batch]))
    return order_N[[i for rows in members for i in sorted(rows)]]
