"""The command cse-data mine. For pairs of texts, it finds hard negatives among the texts of the second column.

Except for `out`, the settings are arguments of sentence-transformers' mine_hard_negatives (6.2), with the same
meanings. Q is the number of distinct queries, N the number of distinct documents, B the number of queries in a chunk,
and K the number of ranks.
"""

import csv
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

import numpy as np
import torch
import yaml
from omegaconf import OmegaConf
from pydantic import with_config
from torch import Tensor
from typing_extensions import TypedDict

from cse import api
from cse.device import default_device
from cse.errors import UserError
from cse.eval.geometry import cosines_in_chunks, unit_rows
from cse.files import replaced_file
from cse.lab.run.instantiate import make
from cse.lab.settings.check import validate_settings
from cse.lab.settings.compose import parsed_value
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.references import resolved
from cse.ranges import STRICT, Count, Name, Natural, NonNegative
from cse.types import Document, Query

log = logging.getLogger(__name__)


@with_config(STRICT)
class Mining(TypedDict):
    """The keys of conf/mining.yaml."""

    out: Name | None
    num_negatives: Count
    range_min: Natural
    range_max: Count | None
    max_score: float | None
    min_score: float | None
    absolute_margin: NonNegative | None
    relative_margin: NonNegative | None
    sampling_strategy: Literal["top", "random"]


DEFAULTS = yaml.safe_load(Path(CONF_DIR, "mining.yaml").read_text(encoding="utf-8"))


def mine(arguments: Sequence[str]) -> None:
    """Write a table of the pairs of `data` with their negatives. arguments: settings of Mining and of cse-train."""
    own = [argument for argument in arguments if argument.partition("=")[0] in DEFAULTS]
    given = {argument.partition("=")[0]: parsed_value(argument) for argument in own}
    mining = cast("Mining", resolved(validate_settings(OmegaConf.create({**DEFAULTS, **given}), Mining)))
    out = Path(mining["out"] or "")
    if out.suffix != ".csv":
        raise UserError(f"out={mining['out'] or ''}: name the table to write, out=FILE.csv")
    if out.exists():  # it may be the file of the pairs
        raise UserError(f"out={out}: this file exists, and cse-data mine replaces no file: name a new one")
    rest = [argument for argument in arguments if argument not in own]
    cfg = api.compose("data=text", "objective=simcse_sup", "eval=[]", *rest)
    text, encoder = make(cfg.data).read(), make(cfg.model).to(default_device())
    if text.num_columns != 2:
        raise UserError(f"data.columns={text.column_names}: name two columns, a text and its positive")
    rows_N = np.arange(len(text))
    pairs = list(zip(text.texts_of(rows_N, 0), text.texts_of(rows_N, 1), strict=True))
    found = Candidates(pairs, mining, cfg.seed)
    vectors = encoder.encode([*map(Query, found.queries), *map(Document, found.documents)])
    negatives = found.negatives(vectors[: len(found.queries)], vectors[len(found.queries) :])
    names = [f"negative_{number}" for number in range(1, mining["num_negatives"] + 1)]
    with replaced_file(out) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*text.column_names, *names])
        for query, positive in pairs:
            row = negatives[query]
            writer.writerow([query, positive, *row, *[""] * (len(names) - len(row))])
    few = sum(len(negatives[query]) < len(names) for query, _ in pairs)
    log.info("%s: %d rows; %d have fewer than %d negatives", out, len(pairs), few, len(names))


class Candidates:
    """The distinct queries and documents of some pairs. `positives`: the indices of each query's positive documents."""

    def __init__(self, pairs: Sequence[tuple[str, str]], mining: Mining, seed: int):
        self.mining, self.seed = mining, seed
        self.queries = list(dict.fromkeys(query for query, _ in pairs))
        self.documents = list(dict.fromkeys(document for _, document in pairs))
        number = {document: i for i, document in enumerate(self.documents)}
        positives: dict[str, list[int]] = {query: [] for query in self.queries}
        for query, document in dict.fromkeys(pairs):
            positives[query].append(number[document])
        self.positives = list(positives.values())
        most, wanted = max(map(len, self.positives)), mining["num_negatives"]
        limits = (mining["absolute_margin"], mining["relative_margin"], mining["max_score"])
        filters = any(limit is not None for limit in limits)
        self.last = mining["range_max"] or mining["range_min"] + wanted * (10 if filters else 1) + most
        if wanted > self.last - mining["range_min"]:
            ranks = f"range_min={mining['range_min']} and range_max={self.last}"
            raise UserError(f"{ranks} leave fewer ranks than num_negatives={wanted}: raise range_max")
        self.depth = min(self.last + most, len(self.documents))

    def negatives(self, queries_QD: np.ndarray, documents_ND: np.ndarray) -> dict[str, list[str]]:
        """Return the negatives of each query, with the nearest negative first."""
        return {
            self.queries[query]: [self.documents[document] for document in self.chosen(query, cosine_K, ranked_K)]
            for query, (cosine_K, ranked_K) in enumerate(self.ranked(unit_rows(queries_QD), unit_rows(documents_ND)))
        }

    def ranked(self, queries_QD: Tensor, documents_ND: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the cosines and indices of each query's nearest documents. An excluded document has the cosine -inf."""
        mining = self.mining
        for rows_B, cosines_BN in cosines_in_chunks(queries_QD, documents_ND):
            for query, cosine_N in zip(rows_B.tolist(), cosines_BN, strict=True):
                positive = cosine_N[self.positives[query]].min()
                cosine_K, ranked_K = cosine_N.topk(self.depth)
                out_K = torch.isin(ranked_K, torch.tensor(self.positives[query]))
                if mining["absolute_margin"] is not None:
                    out_K |= cosine_K + mining["absolute_margin"] > positive
                if mining["relative_margin"] is not None:
                    out_K |= cosine_K > positive - positive.abs() * mining["relative_margin"]
                if mining["max_score"] is not None:
                    out_K |= cosine_K > mining["max_score"]
                if mining["min_score"] is not None:
                    out_K |= cosine_K < mining["min_score"]
                yield cosine_K.masked_fill(out_K, -torch.inf), ranked_K

    def chosen(self, query: int, cosine_K: Tensor, ranked_K: Tensor) -> list[int]:
        """Return the indices of a query's negatives: ranks range_min to range_max - 1, without excluded documents."""
        left = ranked_K[cosine_K > -torch.inf].tolist()[self.mining["range_min"] : self.last]
        if self.mining["sampling_strategy"] == "top" or len(left) <= self.mining["num_negatives"]:
            return left[: self.mining["num_negatives"]]
        rng = np.random.default_rng((self.seed, query))
        return [left[i] for i in sorted(rng.choice(len(left), self.mining["num_negatives"], replace=False))]
