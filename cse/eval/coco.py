"""SentEval's image-caption retrieval on COCO: two linear maps project image features and sentences into one space.

    L = sum over pairs (x, y) and their contrasts of  max(0, m - s(x, y) + s(x, y_c)) + max(0, m - s(x, y) + s(x_c, y))

x is an image and y its caption; x_c and y_c are another image and another caption. s is the cosine after the maps, m
the margin. Dev and test are scored in folds of 1000 images and 5000 captions. SentEval's rank.py sorts the captions, so
they no longer belong to their images. This may explain two scores at chance (0.40) in DeCLUTR's Table S3. Here the
captions keep their order.

N is the number of captions (five per image, in the order of the images), I of images, F of image features, B of
captions in a batch, and C of contrasts. D is the width of the embeddings, P of the projections.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from cse.device import default_device
from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.senteval.pickles import read_pickle
from cse.eval.senteval.stopping import train_until_worse
from cse.needs import Need, Settings
from cse.progress import track
from cse.ranges import Count, Device, Folder, Natural, Positive, Seed
from cse.score import Score, Source
from cse.sources.fetch import DatasetNeed
from cse.types import Encode, Evaluator

CAPTIONS = 5  # the first five of each image
PARTS = {"train": "train.pkl", "dev": "valid.pkl", "test": "test.pkl"}

Images = tuple[Tensor, list[str]]
"""The features of the images (I, F), and five captions of each image, in the order of the images."""


class Coco(Evaluator):
    """An evaluator with recall at 1, 5, 10 in percent and median rank: image to text (`i2t/`), text to image (`t2i/`).

    `average` is the mean of the six recalls. conf/eval/coco.yaml explains the settings. A pickle with code is refused.
    """

    splits = ("test",)
    primary = "average"

    def __init__(
        self,
        folder: Folder | None,
        width: Count,
        margin: Positive,
        contrasts: Count,
        lr: Positive,
        batch_size: Count,
        tenacity: Natural,
        max_epoch: Natural,
        fold_images: Count,
        seed: Seed,
        device: Device,
    ):
        what = "SentEval's downstream/COCO (train.pkl, valid.pkl, test.pkl), as from cse-data fetch coco"
        self.folder = DataFolder(folder, "folder", what, allow_partial=None)
        self.width, self.margin, self.contrasts = width, margin, contrasts
        self.lr, self.batch_size, self.tenacity, self.max_epoch = lr, batch_size, tenacity, max_epoch
        self.fold_images, self.seed = fold_images, seed
        self.device = device if device != "auto" else default_device()
        self.data: dict[str, Images] = {}

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return SentEval's pickles of COCO as a Need."""
        return [DatasetNeed("coco", settings.get("folder"))]

    def prepare(self) -> None:
        """Read the three pickles. Raises MissingResource or UserError."""
        self.data = {part: read_images(self.folder, name) for part, name in PARTS.items()}

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return recalls, median ranks and `average` on test, and the average on dev. Dev selects the epoch."""
        ends = np.cumsum([len(captions) for _, captions in self.data.values()])
        vectors = np.split(np.asarray(encode(self.texts()), np.float32), ends[:-1])
        rows = {
            part: (features_IF, torch.from_numpy(vectors_ND))
            for (part, (features_IF, _)), vectors_ND in zip(self.data.items(), vectors, strict=True)
        }
        maps, best = self._fit(rows["train"], rows["dev"])
        tested, chosen = (len(self.data[part][1]) for part in ("test", "dev"))
        scores, recalls = [], []
        for name, value in self._recalls(maps, *rows["test"]).items():
            if "recall" in name:
                scores.append(Score(name, value, tested, "recall, %"))
                recalls.append(value)
            else:
                scores.append(Score(name, value, tested, "median rank", lower_is_better=True))
        average = Score("average", float(np.mean(recalls)), tested, "average of six recalls, %")
        dev = Score("dev_average", best / len(recalls), chosen, "average of six recalls on dev, %")
        return [*scores, average, dev]

    def _fit(self, train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor]) -> tuple[nn.ModuleList, float]:
        """Train the maps of images and sentences. Return the maps with the best sum of recalls on dev, and this sum."""
        stream = np.random.RandomState(self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            maps = nn.ModuleList([nn.Linear(x.shape[1], self.width).to(self.device) for x in train])
        optimizer = torch.optim.Adam(maps.parameters(), lr=self.lr)

        def one_pass() -> None:
            order = stream.permutation(len(train[1]))
            for start in track(range(0, len(order), self.batch_size), "batch"):
                rows_B = order[start : start + self.batch_size]
                others = np.concatenate([order[:start], order[start + self.batch_size :]])
                # SentEval draws the contrasting images first; a caption's row number stands for its image
                image_BC, sentence_BC = (stream.choice(others, (len(rows_B), self.contrasts)) for _ in range(2))
                optimizer.zero_grad()
                loss = self._loss(maps, train, (rows_B, image_BC, sentence_BC))
                loss.backward()
                optimizer.step()

        def dev_score() -> float:
            return sum(value for key, value in self._recalls(maps, *dev).items() if "recall" in key)

        return maps, train_until_worse(maps, one_pass, dev_score, range(self.max_epoch + 1), self.tenacity)

    def texts(self) -> list[str]:
        """Return the captions of train, dev and test."""
        return [caption for _, captions in self.data.values() for caption in captions]

    def source(self) -> Source:
        """Return the protocol, and the pickles with their checksums."""
        how = f"SentEval's COCO ranking, folds of {self.fold_images} images, captions in their images' order"
        return self.folder.source(how)

    def _loss(
        self, maps: nn.ModuleList, data: tuple[Tensor, Tensor], rows: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> Tensor:
        """Return the loss of a batch.

        data: the features of train's images, and the embeddings of train's captions. rows: the row numbers of the
        batch's captions, of one caption of each contrasting image, and of the contrasting captions.
        """
        (images_IF, sentences_ND), (rows_B, image_BC, sentence_BC) = data, rows
        image_BP = self._project(maps[0], images_IF[rows_B // CAPTIONS])
        sentence_BP = self._project(maps[1], sentences_ND[rows_B])
        other_image_BCP = self._project(maps[0], images_IF[image_BC // CAPTIONS])
        other_sentence_BCP = self._project(maps[1], sentences_ND[sentence_BC])
        slack_B1 = self.margin - (image_BP * sentence_BP).sum(-1, keepdim=True)
        sentence_cost_BC = slack_B1 + torch.einsum("bp,bcp->bc", image_BP, other_sentence_BCP)
        image_cost_BC = slack_B1 + torch.einsum("bp,bcp->bc", sentence_BP, other_image_BCP)
        return sentence_cost_BC.clamp(min=0).sum() + image_cost_BC.clamp(min=0).sum()

    def _project(self, layer: nn.Module, x: Tensor) -> Tensor:
        return normalize(layer(x.to(self.device)), dim=-1)

    @torch.no_grad()
    def _recalls(self, maps: nn.ModuleList, images_IF: Tensor, sentences_ND: Tensor) -> dict[str, float]:
        """Return the scores of `recalls`, each averaged over the folds."""
        folds = []
        for start in range(0, len(images_IF), self.fold_images):
            image_IP = self._project(maps[0], images_IF[start : start + self.fold_images])
            own = slice(CAPTIONS * start, CAPTIONS * (start + self.fold_images))
            folds.append(recalls(image_IP @ self._project(maps[1], sentences_ND[own]).T))
        return {key: float(np.mean([fold[key] for fold in folds])) for key in folds[0]}


def recalls(cosine_IN: Tensor) -> dict[str, float]:
    """Return recall at 1, 5, 10 in percent and median rank. An image's best-ranked caption counts for i2t."""
    rows_I1 = torch.arange(len(cosine_IN), device=cosine_IN.device)[:, None]
    own_I5 = rows_I1 * CAPTIONS + torch.arange(CAPTIONS, device=cosine_IN.device)
    caption_I5 = cosine_IN.gather(1, own_I5)
    others_IN = cosine_IN.scatter(1, own_I5, -torch.inf)
    ranks = {  # 0 is the best rank; in a tie the correct item is ranked last
        "i2t": (others_IN >= caption_I5.amax(1, keepdim=True)).sum(1),
        "t2i": (others_IN >= caption_I5.reshape(-1)).sum(0),
    }
    scores: dict[str, float] = {}
    for direction, rank in ranks.items():
        scores |= {f"{direction}/recall@{k}": 100 * float((rank < k).float().mean()) for k in (1, 5, 10)}
        scores[f"{direction}/median_rank"] = float(np.floor(np.median(rank.cpu().numpy())) + 1)
    return scores


def read_images(folder: DataFolder, name: str) -> Images:
    """Return the image features in one pickle, and five captions per image. Captions end in " ." as in SentEval."""
    path = folder.root / name
    content: Any = read_pickle(folder.read_bytes(name), path)
    try:
        captions = [
            " ".join(f"{content['captions'][key]['cleaned_caption']} .".split())
            for image in range(len(content["features"]))
            for key in content["image_to_caption_ids"][image][:CAPTIONS]
        ]
        features_IF = np.asarray(content["features"], np.float32)
    except (LookupError, ValueError, TypeError, AttributeError) as error:  # other keys, or values of other types
        raise UserError(f"{path} is not SentEval's COCO pickle ({error!r}): fetch it again") from error
    if features_IF.ndim != 2 or not np.isfinite(features_IF).all():
        raise UserError(f"{path} has features that are not rows of finite numbers: fetch it again")
    if len(captions) != CAPTIONS * len(features_IF):
        raise UserError(f"{path} has images with fewer than {CAPTIONS} captions: fetch it again")
    folder.expect(name, len(captions), None)
    return torch.from_numpy(features_IF), captions
