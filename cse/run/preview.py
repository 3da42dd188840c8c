"""data.preview=3: what the model will see of the first three rows, as text and as views."""

import numpy as np

from cse.data.loader import Batches


def preview(batches: Batches, count: int) -> None:
    """Print the first rows that are trained on, and their views in the first epoch."""
    decode = batches.tokenizer.hf.decode
    for row in map(int, batches.rows[:count]):
        print(f"row {batches.text.number(row)}: {batches.text.text(row)[:300]}")
        for view, [sequences] in enumerate(batches.views(np.array([row]), 0)):
            for ids in sequences:
                print(f"  view {view}  {len(ids):3d} tokens  {decode(ids)}")
                print(f"          ids  {' '.join(map(str, ids))}")
