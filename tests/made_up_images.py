"""Images of one colour each, and the data of conf/aux_modality/visual.yaml with some values changed."""

from pathlib import Path

import torch
from omegaconf import OmegaConf

from cse.data.images import Images

CONF = Path(__file__).parents[1] / "conf"
PLAIN = {"flip_probability": 0, "jitter_probability": 0, "gray_probability": 0}


def images(folder, **changes):
    """Return the data of conf/aux_modality/visual.yaml with some values changed. No worker process loads the images."""
    node = OmegaConf.load(CONF / "aux_modality" / "visual.yaml").data
    assert node.pop("_target_") == "cse.data.images.Images"
    small = {
        "folder": str(folder) if folder else None,
        "batch_size": 4,
        "size": 32,
        "workers": 0,
        "seed": 7,
        "cache": f"{folder}/../cache",
    }
    return Images(**OmegaConf.merge(node, small, changes))


def colour(label: int, number: int) -> tuple[int, int, int]:
    return 40 * label + 20, 10 * number + 10, 200 - 30 * label


def equal(a, b) -> bool:
    return all(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y for x, y in zip(a, b, strict=True))
