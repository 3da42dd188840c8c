"""Made-up batches with the fields that the batches of cse.data.images and cse.data.audio have."""

from types import SimpleNamespace

import pytest
import torch


class MadeUpImages:
    """Images of 32 x 32: three quarters noise, one quarter the pattern of the image's class."""

    size, num_classes = 32, 3
    seconds_waited = 1.5

    def batches(self, first, rank=0, world=1):
        for number in range(first, first + 100):
            generator = torch.Generator().manual_seed(number)
            labels_B = torch.tensor([0, 0, 1, 1, 2, 2])
            patterns = torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(99))[labels_B]
            noise = torch.randn(12, 3, 32, 32, generator=generator)
            yield SimpleNamespace(pixels=0.75 * noise + 0.25 * patterns.repeat(2, 1, 1, 1), labels_B=labels_B)

    def views(self, batch, device):
        return batch.pixels.to(device)


class MadeUpSpeech:
    num_classes = 2
    seconds_waited = 0.0

    def batches(self, first, rank=0, world=1):
        for number in range(first, first + 100):
            generator = torch.Generator().manual_seed(number)
            yield SimpleNamespace(
                fbank_BTF=torch.randn(4, 1024, 128, generator=generator), labels_B=torch.tensor([0, 0, 1, 1])
            )


@pytest.fixture
def made_up_images() -> MadeUpImages:
    return MadeUpImages()


@pytest.fixture
def made_up_speech() -> MadeUpSpeech:
    return MadeUpSpeech()
