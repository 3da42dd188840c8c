"""Search in image captions: the captions nearest to a query, and how often captions of one image find each other.

    search   the k nearest captions of each query by cosine (VisualCSE's Table C.1): `top` of source()
    recall   each caption is a query for the other captions of its split. A query has a hit at k if one of the k nearest
             captions is of the same image. A tie is a miss, so an encoder that maps all texts to one point has no hit.

N is the number of captions, Q of queries, K of nearest captions, and B of captions in a chunk. D is the embedding
width. For the recall, only the cosines of one chunk are in memory at a time.
"""

import logging
from functools import partial
from typing import Annotated

import numpy as np
import torch
from annotated_types import MinLen

from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.geometry import cosines_in_chunks, unit_rows
from cse.needs import Need, Settings
from cse.ranges import Count, Name, Split
from cse.score import Items, Score, Source, digest_of
from cse.sources.fetch import DatasetNeed
from cse.types import Encode, Evaluator

log = logging.getLogger(__name__)

Caption = tuple[str, str]
"""(name of the image, caption)."""

Hits = dict[str, list[list[float | str]]]
"""{query: [[cosine, caption], ...]}: the nearest captions, nearest first."""


class RetrievalSource(Source):
    """The source of Retrieval's scores. searched: the number of captions in the searched files. top: each query's
    nearest captions."""

    searched: int
    top: Hits


class Retrieval(Evaluator):
    """An evaluator with `recall@<k>` in percent and `median_rank`. source() has the captions nearest to `queries`.

    conf/eval/retrieval.yaml explains the settings. The search is part of scoring the split `test`.
    """

    primary = "recall@1"

    def __init__(
        self,
        captions: Name | None,
        rows: dict[str, Count],
        parts: dict[Split, Annotated[list[Name], MinLen(1)]],
        ks: Annotated[list[Count], MinLen(1)],
        search: list[Name],
        queries: list[Name],
        top_k: Count,
        allow_partial: bool = False,
    ):
        what = f"a folder of captions, as from cse-data fetch flickr ({', '.join(rows)}: image TAB index TAB caption)"
        self.ks, self.search, self.queries = ks, search, queries
        self.folder = DataFolder(captions, "captions", what, allow_partial)
        self.parts = {str(split): list(dict.fromkeys(names)) for split, names in parts.items()}
        self.rows, self.splits, self.top_k = rows, tuple(parts), top_k
        self.files: dict[str, list[Caption]] = {}
        self.hits: Hits = {}

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the captions as a Need."""
        return [DatasetNeed("flickr", settings.get("captions"))]

    def score_names(self, split: str) -> list[str]:
        """Return the names of the recalls and of the median rank."""
        return [*(f"recall@{k}" for k in self.ks), "median_rank"]

    def prepare(self) -> None:
        """Read the captions. Raises MissingResource or UserError."""
        wanted = [name for split in self.splits for name in self.parts[split]]
        wanted += self.search if "test" in self.splits and self.queries else []
        for name in dict.fromkeys(wanted):
            captions = self.folder.attempt(partial(read_captions, name=name, official=self.rows.get(name)))
            if captions is not None:
                self.files[name] = captions
        self.splits = tuple(split for split in self.splits if self._captions(self.parts[split]))
        self.folder.require(self.splits)
        for split in self.splits:
            images = [image for image, _ in self._captions(self.parts[split])]
            if len({*images}) == len(images):
                files = ", ".join(self.parts[split])
                raise UserError(f"{files} of eval=retrieval: no image has two captions, so there is nothing to find")

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return recalls and median rank of the split's captions. On test, also search for `queries`."""
        rows = self._captions(self.parts[split])
        captions = [caption for _, caption in rows]
        search = self.search if split == "test" and self.queries else []
        searched = list(dict.fromkeys(caption for _, caption in self._captions(search)))  # each caption once
        vectors_ND = encode([*captions, *searched, *(self.queries if searched else [])])
        own_ND, searched_ND, queries_QD = np.split(vectors_ND, [len(captions), len(captions) + len(searched)])
        if searched:
            self.hits = top_k(queries_QD, searched_ND, self.queries, searched, self.top_k)
            for query, hits in self.hits.items():
                log.info("%s", "\n".join([query, *(f"  {value:.3f}  {caption}" for value, caption in hits)]))
        image_N = np.unique([image for image, _ in rows], return_inverse=True)[1]
        several_N = np.bincount(image_N)[image_N] > 1
        ranks = ranks_of_same_image(own_ND, image_N)[several_N]
        unit_N = np.unique(image_N[several_N], return_inverse=True)[1]
        digest = digest_of(captions, image_N)
        about = partial(Score, rows=len(ranks), modified=self.folder.modified)
        scores = []
        for k in self.ks:
            hits_N = (ranks <= k).astype(np.uint8)
            items = Items("accuracy", hits_N, np.ones_like(ranks), unit_N[None], digest)
            scores.append(about(f"recall@{k}", 100 * float(hits_N.mean()), unit="recall, %", items=items))
        median = float(np.median(ranks))
        return [*scores, about("median_rank", median, unit="median rank", lower_is_better=True)]

    def texts(self) -> list[str]:
        """Return the captions of all files."""
        return [caption for _, caption in self._captions([*self.files])]

    def source(self) -> RetrievalSource:
        """Return the protocol, the files, and the hits of the last search."""
        how = "cosine; a caption's positives are the other captions of its image, ties count against it"
        return {**self.folder.source(how), "searched": len(self._captions(self.search)), "top": self.hits}

    def _captions(self, names: list[str]) -> list[Caption]:
        """Return the captions of these files. A missing file has no captions."""
        return [caption for name in names for caption in self.files.get(name, [])]


def read_captions(folder: DataFolder, name: str, official: int | None) -> list[Caption]:
    """Return image and caption of each line of a file: `image TAB index TAB caption`."""

    def convert(line: str) -> Caption:
        image, _, caption = line.split("\t")
        return image, caption

    return folder.rows(name, "utf-8", convert, official)


def top_k(queries_QD: np.ndarray, corpus_ND: np.ndarray, queries: list[str], corpus: list[str], k: int) -> Hits:
    """Return the k nearest texts of each query, with their cosines."""
    cosines_QN = unit_rows(queries_QD) @ unit_rows(corpus_ND).T
    values_QK, rows_QK = cosines_QN.topk(min(k, len(corpus)))
    hits: Hits = {}
    for query, values, rows in zip(queries, values_QK.tolist(), rows_QK.tolist(), strict=True):
        hits[query] = [[value, corpus[row]] for value, row in zip(values, rows, strict=True)]
    return hits


def ranks_of_same_image(vectors_ND: np.ndarray, image_N: np.ndarray) -> np.ndarray:
    """Return for each caption the rank (N,) of the nearest other caption of its image. The best rank is 1.

    The rank is 1 + the number of captions of other images with the same or a higher cosine. If the image has no other
    caption, the rank has no meaning.
    """
    unit_ND = unit_rows(vectors_ND)
    images_N = torch.from_numpy(image_N)
    ranks = []
    for rows_B, cosines_BN in cosines_in_chunks(unit_ND, unit_ND):
        same_BN = images_N[rows_B, None] == images_N
        own_BN = torch.arange(len(unit_ND)) == rows_B[:, None]
        best_B1 = cosines_BN.masked_fill(~same_BN | own_BN, -torch.inf).amax(1, keepdim=True)
        ranks.append(1 + ((cosines_BN >= best_B1) & ~same_BN).sum(1))
    return torch.cat(ranks).numpy()
