"""Rows that share a text. If two are in one batch, a contrastive loss treats a copy of the positive as a negative.

N is the number of rows, C the columns.
"""

from collections import defaultdict
from itertools import islice

import numpy as np

from cse.data.rows import TextRows


def text_keys(text: TextRows) -> np.ndarray:
    """(N, C) int64: equal numbers for equal texts of the rows in use. Each process has different numbers. A missing
    text equals no other."""
    keys = np.fromiter((hash(cell) for cell in text.cells()), np.int64)
    return apart_if_missing(keys.reshape(text.num_columns, len(text)).T, text.missing_NC)


def met(text: TextRows, rows_B: np.ndarray) -> int:
    """How many rows of a batch share a text with another row of the batch."""
    keys = [[hash(cell) for cell in text.texts_of(rows_B, column)] for column in range(text.num_columns)]
    missing_BC = None if text.missing_NC is None else text.missing_NC[rows_B]
    return int(sharing(apart_if_missing(np.array(keys).T, missing_BC)).sum())


def apart_if_missing(keys_NC: np.ndarray, missing_NC: np.ndarray | None) -> np.ndarray:
    """The keys, in which each missing text gets a number of its own."""
    if missing_NC is not None:
        keys_NC = keys_NC.copy()
        keys_NC[missing_NC] = np.arange(missing_NC.sum())
    return keys_NC


def sharing(keys_NC: np.ndarray) -> np.ndarray:
    """(N,) bool: whether another row has a text of this row, in any column."""
    _, places, counts = np.unique(keys_NC, return_inverse=True, return_counts=True)
    keys_NC = places.reshape(keys_NC.shape)
    own_NC = (keys_NC[:, :, None] == keys_NC[:, None, :]).sum(2)
    return (counts[keys_NC] > own_NC).any(1)


def apart(order_N: np.ndarray, keys_NC: np.ndarray, batch_size: int) -> np.ndarray:
    """Move rows between batches until no two rows of a batch share a text, as far as there is room.

    order_N: the row numbers of an epoch's batches; the last batch may be smaller. keys_NC: the keys of the rows, in
    this order. First the rows that share a text are placed, most frequent texts first. Each row goes to a batch that
    has none of its texts, namely to the batch with the most room. If several batches have the same room, the row goes
    to the first of them, counted from its own batch. If texts are shared in one column only, and some order keeps
    all of them apart, this order does too (Gale 1957, Ryser 1957). The other rows keep their order. Rows without a
    place fill the remaining room. The result does not depend on the keys' values, which differ between processes.
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
